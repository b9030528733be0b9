"""Harbour: questions on notices to mariners, searched for in their corpus."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.benchmark import Benchmark, CorpusSpec, Document, MetricUse
from quadrag.data.builders import rows
from quadrag.metrics._shared.slots import fill
from quadrag.prompts import Message, Prompts
from quadrag.records import Passage, Question
from quadrag.retrieval.search import CORPUS_RETRIEVERS, searcher
from quadrag.spec import RunSpec

HERE = Path(__file__).parent


def questions(builder: Any, split: str, options: Mapping[str, Any]) -> Iterator[Question]:
    """Yield the questions of a split."""
    for row in rows(builder, split):
        yield Question(
            benchmark="harbour",
            config="ships",
            split=split,
            id=row["id"],
            query=row["question"],
            references=row["ports"],
            language="en",
            relevant=(row["notice"],),
            slices={"kind": row["kind"]},
        )


def messages(question: Question, passages: Sequence[Passage], prompts: Prompts, retriever: str) -> list[Message]:
    """Build the one message of a question: the notices that were found, and what is asked."""
    notices = "\n".join(passage.text for passage in passages)
    return [{"role": "user", "content": fill(prompts["ask"]["user"], {"notices": notices, "query": question.query})}]


def metrics(spec: RunSpec) -> list[MetricUse]:
    """Return the one metric, and ranks where something is searched."""
    ranks = MetricUse("retrieval_ranking", ("mrr", f"recall@{spec.top_k}"), ranks=True)
    return [MetricUse("port_named", ("port_named", "ports")), *([ranks] if spec.top_k else [])]


def keywords(metric: MetricUse, questions: Sequence[Question], spec: RunSpec) -> dict[str, Any]:
    """Return a metric's keyword arguments."""
    return {"k": [spec.top_k]} if metric.ranks else {}


BENCHMARK = Benchmark(
    name="harbour",
    paper="notices of 2026",
    sample="Harbour on the bundled sample: 6 questions over 8 notices",
    retrievers={**CORPUS_RETRIEVERS, "words": searcher("harbour.words:Words")},
    temperature=0.0,
    questions=questions,
    messages=messages,
    metrics=metrics,
    keywords=keywords,
    paper_runs=lambda original: [("ships", None)],
    corpus=CorpusSpec("corpus", (), lambda row: Document(row["id"], "", row["text"])),
    headlines=("port_named", "mrr"),
    script=HERE / "data" / "harbour.py",
    card=HERE / "card.md",
    metric_folder=HERE / "metrics",
)

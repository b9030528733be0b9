"""CRUD-RAG: what each of its six tasks searches for, is told, and is judged by.

Lyu et al. 2024 (arXiv:2401.17043), sections 3 and 4. The query is the event, the beginning of the article or the
question. For hallucination modification the authors' code searches with the beginning alone, their paper describes
beginning and continuation: ``--option query=paper`` takes the paper's word. Recipes of published rows name their
retriever, and cut whole files into chunks, as the authors' code does (`retrieval.whole`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag.benchmark import Benchmark, CorpusSpec, Document, MetricUse, OptionSpec, SourceFile
from quadrag.data.builders import SAMPLE, open_builder, rows
from quadrag.data.files import find_lacking
from quadrag.errors import QuadragError
from quadrag.metrics._shared.slots import fill
from quadrag.prompts import Message, Prompts
from quadrag.records import Passage, Question
from quadrag.retrieval.search import CORPUS_RETRIEVERS
from quadrag.spec import RunSpec

NAME = "crud_rag"
TASKS = ("summary", "continuation", "qa_1doc", "qa_2doc", "qa_3doc", "hallucination")
_OVERLAP = MetricUse(
    "crud_overlap", ("bleu", "bleu_bp", "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "bertscore", "length")
)
_QUESTIONS = MetricUse("ragquesteval", ("precision", "recall"))


def questions(builder: Any, split: str, options: Mapping[str, Any]) -> Iterator[Question]:
    config = builder.config.name
    if split == "full" and options.get("gold") == "test":
        raise QuadragError("gold=test lacks most gold documents of the split full; give --option gold=full")
    for row in rows(builder, split):
        query, continuation = row["query"], row["continuation"] or ""
        whole = config == "hallucination" and options.get("query") == "paper"
        # Named as in the protocol, so that the authors' own prompts can be put in.
        slot = {"continuation": "beginning_text", "summary": "event", "hallucination": "begin"}.get(config, "question")
        yield Question(
            benchmark=NAME,
            config=config,
            split=split,
            id=row["id"],
            query=query + continuation if whole else query,
            references=row["reference"],
            language="zh",
            relevant=tuple(dict.fromkeys(row["document_ids"])),
            slots={slot: query, **({"hallu_continue": continuation} if config == "hallucination" else {})},
        )


def messages(question: Question, passages: Sequence[Passage], prompts: Prompts, retriever: str) -> list[Message]:
    """Build the one user message of a question.

    Passages are joined as in the authors' runs: by one line break from BM25, by two from the others.
    """
    found = ("\n" if retriever == "bm25" else "\n\n").join(passage.text for passage in passages)
    slots = {**question.slots, "search_documents": found}
    return [{"role": "user", "content": fill(prompts[question.config]["user"], slots)}]


def parse(config: str, text: str) -> str:
    """Return what stands after the last ``<response>``, up to the next closing tag; without a tag, the whole reply."""
    return text.rpartition("<response>")[2].partition("</response>")[0].strip()


def metrics(spec: RunSpec) -> list[MetricUse]:
    """Return a task's metrics; retrieval is measured where option ``gold`` puts the gold documents into the corpus."""
    found = [_OVERLAP, _QUESTIONS]
    if spec.top_k and spec.options.get("gold"):
        per_cut = [f"{name}@{k}" for name in ("recall", "ndcg", "hit") for k in _cuts(spec.top_k)]
        found.append(MetricUse("retrieval_ranking", ("mrr_per_gold", "mrr", "map", *per_cut), ranks=True))
    return found


def keywords(metric: MetricUse, questions: Sequence[Question], spec: RunSpec) -> dict[str, Any]:
    if metric.module == _QUESTIONS.module:
        shipped = _shipped(questions[0].config, spec.data_dir)
        return {"ids": [question.id for question in questions], "question_cache": shipped}
    return {"k": _cuts(spec.top_k)} if metric.ranks else {}


def read_result(row: Mapping[str, Any], config: str) -> dict[str, Any] | None:
    """Read an entry of a result file of the authors' code; it has no text where a call failed."""
    log = row.get("log")
    if not isinstance(log, Mapping) or "generated_text" not in log:
        return None
    return {"id": row.get("id"), "answer": log["generated_text"] if row.get("valid", True) else None}


def _cuts(top_k: int) -> list[int]:
    return sorted({k for k in (1, 5, 10) if k <= top_k} | {top_k})


def _shipped(config: str, data_dir: str | None) -> dict[str, dict[str, list[str]]] | None:
    if data_dir not in (None, SAMPLE) and find_lacking(NAME, "ragquesteval", data_dir, config):
        return None
    builder, _ = open_builder(NAME, "ragquesteval", data_dir, None, config)
    return {
        row["id"]: {"key_info": row["key_info"], "question": row["questions"], "answers": row["answers"]}
        for row in rows(builder, config)
    }


def _file(row: Mapping[str, Any]) -> SourceFile:
    """Return a file under the path that the authors' code reads it by, which stands before each of its chunks."""
    return SourceFile(row["id"], f"file_path: data/80000_docs/{row['file']}", row["body"], row["aliases"])


BENCHMARK = Benchmark(
    name=NAME,
    paper="arXiv:2401.17043",
    sample="CRUD-RAG on the bundled sample: 8 made-up questions a task over some 130 articles, found by BM25, "
    "the gold ones among them (--option gold=test)",
    retrievers=CORPUS_RETRIEVERS,
    temperature=0.1,
    questions=questions,
    messages=messages,
    parse=parse,
    metrics=metrics,
    keywords=keywords,
    read_result=read_result,
    paper_runs=lambda original: [(config, None) for config in TASKS],
    default_split="test",  # the paper's experiments; `full` holds these questions again
    corpus_options=("gold",),
    corpus=CorpusSpec("corpus", ("gold",), lambda row: Document(row["id"], "", row["body"]), _file),
    options={"query": OptionSpec("code", ("code", "paper"), configs=("hallucination",))},
    option_help="gold=test (gold documents into the corpus, so that retrieval is measured), query=code|paper",
    headlines=("rouge_l", "bleu", "precision", "recall", "recall@k", "mrr", "bertscore", "length"),
    gold=("document_ids", "documents"),
)

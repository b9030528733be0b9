"""What to run, the questions it means, and the corpus that passages are found in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data import check_split, fingerprint, open_builder, options_of, rows, splits
from quadrag.errors import QuadragError, unknown_name
from quadrag.records import Question

from .benchmark import Benchmark, Conditions, Retrieval, Searched
from .passages import Document

# What each retriever reads of the settings, besides the chunks and top_k that all of them need.
_USES: dict[str, tuple[str, ...]] = {
    "bm25": ("tokenizer",),
    "dense": ("embedding", "instruction", "index"),
    "hybrid": ("tokenizer", "embedding", "instruction", "index"),
    "hybrid-rerank": ("tokenizer", "embedding", "instruction", "index", "reranker"),
}
# The same of retrievers that search no corpus: they take pages apart that come with the questions.
_SUPPLIED: dict[str, tuple[str, ...]] = {"pages": ("embedding",), "pages-kg": ("embedding",)}
UNKNOWN = "unknown"  # the retriever behind a file of answers that does not say it
_CHUNKS = ("chunk_size", "chunk_overlap", "chunk_tokenizer", "top_k")


_SECRET = re.compile(r"(\w+://)[^/\s]*@")


@dataclass(slots=True)
class Task:
    """What to run: a config of a benchmark, under which conditions."""

    benchmark: str
    config: str
    split: str | None = None
    data_dir: str | None = None
    retriever: str = "own"
    retrieval: Retrieval = field(default_factory=Retrieval)
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    samples: int = 1
    prompts: str | None = None

    @property
    def searches(self) -> bool:
        """Whether passages are found in a corpus."""
        return self.retriever in _USES

    @property
    def conditions(self) -> Conditions:
        """What the metrics depend on."""
        top_k = self.retrieval.top_k if self.searches else 0
        return Conditions(self.retriever, self.options, top_k, self.data_dir)

    def uses(self, setting: str) -> bool:
        """Whether the retriever uses a setting of the retrieval."""
        used = (*_CHUNKS, *_USES[self.retriever]) if self.searches else _SUPPLIED.get(self.retriever, ())
        return setting in used

    def settings(self) -> dict[str, Any]:
        """Return those settings of the retrieval that its retriever uses; {} where it uses none.

        They are for files and folder names: an address is there without user name and password.
        """
        values = asdict(self.retrieval).items()
        found = {name: value for name, value in values if self.uses(name) and value is not None}
        if found.get("instruction") == Retrieval().instruction:
            del found["instruction"]  # what every run had before there was a choice
        return found | ({"index": _SECRET.sub(r"\1", found["index"])} if "index" in found else {})


class Corpus(NamedTuple):
    """A corpus that can be read: a digest of all that decides its documents, and where they come from."""

    fingerprint: str
    source: str
    builder: Any
    declared: Searched

    def documents(self) -> Iterator[Document]:
        """Yield its documents in order."""
        for row in rows(self.builder, splits(self.builder)[0]):
            yield self.declared.document(row)


def script_options(task: Task, benchmark: Benchmark) -> dict[str, Any]:
    """Return the options that the dataset script of the questions takes, less the baseline's and the corpus's own.

    Raises:
        QuadragError: one of the baseline's own has no such value, or the retriever does not use it.
    """
    for name, own in benchmark.OPTIONS.items():
        if task.options.get(name) is not None and not own.serves(task.retriever):
            raise QuadragError(f"--retriever {task.retriever} does not use the option {name}; leave it out")
        own.read(name, task.options)
    known = (*benchmark.OPTIONS, *(benchmark.CORPUS.options if benchmark.CORPUS else ()))
    script = options_of(catalogue.config(task.benchmark, task.config))
    for name in task.options:
        if name not in known and name not in script:
            raise unknown_name(f"option of {task.benchmark}", name, dict.fromkeys([*script, *known]))
    return {name: value for name, value in task.options.items() if name not in known}


def load_questions(task: Task, benchmark: Benchmark) -> tuple[list[Question], str]:
    """Load a task's questions, and say where they come from.

    Raises:
        QuadragError: a name is unknown, a file is missing or wrong, or two questions of a split have one id.
    """
    if benchmark.CORPUS and task.retriever == "none":
        for name in benchmark.CORPUS.options:
            if task.options.get(name) is not None:
                raise QuadragError(f"option {name} is of the corpus, and --retriever none searches none; leave it out")
    # OmniEval's tasks are configs too, parts of the one that the paper's tables need.
    asked = [*(config for config, _ in benchmark.campaign()), *getattr(benchmark, "TASKS", ())]
    if benchmark.CORPUS and task.config not in asked:
        raise QuadragError(f"{task.benchmark} {task.config} holds no questions; expected one of {', '.join(asked)}")
    split = task.split or benchmark.DEFAULT_SPLIT
    options = script_options(task, benchmark)
    builder, source = open_builder(task.benchmark, task.config, task.data_dir, options, split)
    chosen = [check_split(builder, split)] if split else splits(builder)
    questions: list[Question] = []
    for name in chosen:
        part = list(benchmark.questions(builder, name, task.options))
        ids = {question.id for question in part}
        if len(ids) != len(part):
            raise QuadragError(f"{task.config} {name}: {len(part)} questions but {len(ids)} ids; expected one id each")
        questions += part[: task.limit] if task.limit else part
    if not questions:
        raise QuadragError(f"{task.config} holds no questions in {source}")
    return questions, source


def load_rows(
    benchmark: str, config: str, data_dir: str | None, options: Mapping[str, Any], split: str
) -> tuple[Iterator[dict[str, Any]], str, int | None]:
    """Open a split's rows as they are in the data, one at a time in memory.

    Returns:
        The rows, where they come from, and how many there are, where that is known.

    Raises:
        QuadragError: a name is unknown, or a file is missing or wrong.
    """
    builder, source = open_builder(benchmark, config, data_dir, options, split)
    known = builder.info.splits[split].num_examples if builder.info.splits and split in builder.info.splits else None
    return rows(builder, check_split(builder, split)), source, known


def open_corpus(task: Task, benchmark: Benchmark) -> Corpus | None:
    """Open the corpus that a task searches; None where it searches none.

    Raises:
        QuadragError: its files are missing, or an option is wrong.
    """
    declared = benchmark.CORPUS
    if not task.searches or declared is None:
        return None
    options = {name: task.options[name] for name in declared.options if name in task.options}
    builder, source = open_builder(task.benchmark, declared.config, task.data_dir, options)
    return Corpus(fingerprint(builder), source, builder, declared)

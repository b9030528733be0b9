"""What the pipeline asks of a benchmark's file, and how it finds that file and its prompts.

A benchmark is one module beside this one, named like its dataset script, with the members of `Benchmark`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast

from quadrag.errors import QuadragError, unknown_name
from quadrag.records import Key, Passage, Question

from .passages import Document

Prompts = Mapping[str, Mapping[str, str]]
WHOLE = 1_000_000  # characters of a chunk that is a whole passage, since none is longer
_SLOT = re.compile(r"\{[a-z_]+\}")


def _as_they_are(references: Any) -> Any:
    return references


class Metric(NamedTuple):
    """An evaluate module, with the config it is loaded with and the keys it reports.

    Keys in `judged` need a judge, those in `embedded` a sentence embedding. With `ranks` it is given the ids of the
    documents retrieved and of the relevant ones in place of answers and references, with `contexts` the passages shown
    too. With `panel` it averages several judges, else it asks the one at `judge` in the order given, or the last.
    `shape` brings a question's references into the module's form. `worst` is what an unscored item counts as under
    ``corrected``, by key, where that is not 0. Without `nothing` the module knows no item that lacks a reference.
    """

    module: str
    keys: tuple[str, ...]
    judged: tuple[str, ...] = ()
    embedded: tuple[str, ...] = ()
    ranks: bool = False
    panel: bool = False
    shape: Callable[[Any], Any] = _as_they_are
    contexts: bool = False
    worst: Mapping[str, float] = MappingProxyType({})
    config: str | None = None
    judge: int = 0
    nothing: bool = True

    def lacks(self, key: str, judge: bool, embed: bool) -> str | None:
        """Say what a key needs and does not have, as ``no judge``; None where it can be computed."""
        if key in self.judged and not judge:
            return "no judge"
        return "no embedding" if key in self.embedded and not embed else None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How passages are found in a corpus. Only what a retriever uses enters `run.json`.

    Attributes:
        tokenizer: terms of BM25: ``unigram``, ``jieba`` or ``rjieba``.
        chunk_size: characters, or tokens of `chunk_tokenizer`, from 1.
        chunk_overlap: percent of the chunk, from 0 to 90.
        chunk_tokenizer: a tokenizer's file, folder or name; None counts characters.
        embedding: preset, name or folder of a sentence-transformers model.
        instruction: where the embedding's instruction stands: before ``queries``, or before passages too (``both``).
        reranker: the same of a cross-encoder.
        index: None for exact search, or ``milvus:URI``.
        top_k: passages shown, from 1.
    """

    tokenizer: str = "unigram"
    chunk_size: int = 128
    chunk_overlap: int = 0
    chunk_tokenizer: str | None = None
    embedding: str = "bge-base"
    instruction: str = "queries"
    reranker: str = "bge-rank"
    index: str | None = None
    top_k: int = 8


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which conditions answers were made and are scored, as far as the metrics depend on them.

    `data_dir` is where the task's files are, for metrics that read some themselves.
    """

    retriever: str
    options: Mapping[str, Any] = field(default_factory=dict)
    top_k: int = 0
    data_dir: str | None = None


class Own(NamedTuple):
    """An option of a baseline's own: its default, and what else it may be.

    `values` are the only ones; else a whole number from `least`; else what `check` takes, which raises QuadragError and
    returns what identifies the value in `run.json`, where a path says nothing. `retrievers` are those that use the
    option; () is all of them.
    """

    default: Any = None
    values: tuple[str, ...] = ()
    least: int | None = None
    check: Callable[[Any], str] | None = None
    retrievers: tuple[str, ...] = ()

    def serves(self, retriever: str) -> bool:
        """Whether a retriever uses the option."""
        return not self.retrievers or retriever in self.retrievers

    def read(self, name: str, options: Mapping[str, Any]) -> Any:
        """Return the option's value among those given, else its default.

        Raises:
            QuadragError: it may not have that value.
        """
        value = options.get(name)
        if value is None:
            return self.default
        if self.values and value not in self.values:
            raise unknown_name(f"value of {name}", str(value), self.values)
        if self.least is not None and (type(value) is not int or value < self.least):
            raise QuadragError(f"option {name} is {value!r}; expected a whole number from {self.least}")
        if self.check is not None:
            self.check(value)
        return value


def identified(known: Mapping[str, Own], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as `run.json` names them: files by their content."""
    found = {}
    for name, value in options.items():
        check = known[name].check if name in known else None
        found[name] = check(value) if check is not None and value is not None else value
    return found


class Finder(Protocol):
    """What finds the passages of a benchmark that has neither a corpus nor all passages in its questions.

    `inputs` and `found` are for `run.json`.
    """

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What decides the passages."""

    @property
    def found(self) -> Mapping[str, Any]:
        """What is to be told of them."""

    def find(
        self, questions: Sequence[Question], llm: Any, prompts: Prompts, done: Collection[Key] = ()
    ) -> Iterator[tuple[Question, tuple[Passage, ...]]]:
        """Yield the passages of each question that is not done, in any order."""

    def close(self) -> None:
        """Close what is open."""


class Searched(NamedTuple):
    """A corpus as a benchmark declares it: its config, the options that are its own, and how a row is a document."""

    config: str
    options: tuple[str, ...]
    document: Callable[[Mapping[str, Any]], Document]


class Benchmark(Protocol):
    """The members of a benchmark's module.

    The first of `RETRIEVERS` is the default, that of the paper's tables where it can be; `OPTIONS` are the baseline's
    own; over the groups of each grouping in `MACRO` an unweighted mean is taken too.
    """

    NAME: str
    PAPER: str
    RETRIEVERS: tuple[str, ...]
    RETRIEVAL: Retrieval
    TEMPERATURE: float
    DEFAULT_SPLIT: str | None
    CORPUS: Searched | None
    MACRO: tuple[str, ...]
    OPTIONS: Mapping[str, Own]

    def questions(self, builder: Any, split: str, options: Mapping[str, Any]) -> Iterator[Question]:
        """Yield the questions of a split."""

    def finder(self, task: Any) -> Finder | None:
        """Return what finds the passages of a `Task`; None where its questions or a corpus bring them.

        Raises:
            QuadragError: something that it needs cannot be had.
        """

    def messages(
        self, question: Question, passages: Sequence[Passage], prompts: Prompts, retriever: str
    ) -> list[dict[str, str]]:
        """Build the chat messages of one question."""

    def parse(self, config: str, text: str) -> str:
        """Return what is scored of a model's reply."""

    def metrics(self, config: str, conditions: Conditions) -> list[Metric]:
        """Return the metrics of a config."""

    def keywords(self, metric: Metric, questions: Sequence[Question], conditions: Conditions) -> dict[str, Any]:
        """Return a metric's keyword arguments besides profile, states, judge and embed."""

    def campaign(self, original: bool = False) -> list[tuple[str, str | None]]:
        """Return every (config, retriever) that the paper's tables need; None is the user's choice of retriever."""


def known() -> list[str]:
    """Names of the benchmarks that have a baseline here."""
    from quadrag.catalogue import benchmarks

    return [name for name in benchmarks() if Path(__file__).with_name(f"{name}.py").is_file()]


def load(name: str) -> Benchmark:
    """Return a benchmark's module.

    Raises:
        QuadragError: there is none of this name.
    """
    if name not in known():
        raise unknown_name("benchmark", name, known())
    return cast(Benchmark, importlib.import_module(f".{name}", __package__))


def load_prompts(benchmark: str, path: str | None = None) -> Prompts:
    """Read the prompts of a benchmark, or the user's own from a file of the same form.

    Raises:
        QuadragError: the file cannot be read, or lacks a language, a part or a slot that the bundled file has.
    """
    import yaml

    bundled = Path(__file__).with_name("prompts") / f"{benchmark}.yaml"
    file = Path(path) if path else bundled
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise QuadragError(f"cannot read prompts from {file} ({' '.join(str(error).split())})") from None
    wanted = yaml.safe_load(bundled.read_text(encoding="utf-8"))
    for language, parts in wanted.items():
        for part, text in parts.items():
            named = found.get(language) if isinstance(found, dict) else None
            given = named.get(part) if isinstance(named, dict) else None
            if not isinstance(given, str):
                raise QuadragError(f"{file} has no text {language}.{part}; expected the form of {bundled}")
            for slot in sorted(set(_SLOT.findall(text))):
                if text.count(slot) != given.count(slot):
                    raise QuadragError(f"{file}: {language}.{part} needs {slot} {text.count(slot)} time(s)")
    return cast(Prompts, found)

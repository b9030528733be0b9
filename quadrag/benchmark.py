"""The record of a benchmark: all that is decided by its name, in one place, and how that place is found.

A benchmark is a plugin: an entry point of the group ``quadrag.benchmarks`` names its record, and its prompts, published
figures, tables and recipes lie beside the file that holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from quadrag import catalogue
from quadrag.errors import QuadragError, unknown_name
from quadrag.metric_record import metric_record
from quadrag.parts import Retrieval, RetrieverSpec
from quadrag.prompts import Message, Prompts
from quadrag.records import Key, Passage, Question

if TYPE_CHECKING:
    from quadrag.spec import RunSpec

NOT_GIVEN = "the system gave no passages"  # why nothing is ranked
NO_JUDGE = "no judge"  # why a key is not computed


class OptionSpec(NamedTuple):
    """An option: its default, and what else it may be.

    `values` are the only ones; else a whole number from `least`; else what `check` takes, which raises QuadragError and
    returns what identifies the value in `run.json`, where a path says nothing. `retrievers` and `configs` are those
    that use the option; () is all of them.
    """

    default: Any = None
    values: tuple[str, ...] = ()
    least: int | None = None
    check: Callable[[Any], str] | None = None
    retrievers: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()

    def find_idle(self, config: str, retriever: str) -> str | None:
        """Say what does not use the option, as ``--retriever none``; None where it is of use."""
        if self.retrievers and retriever not in self.retrievers:
            return f"--retriever {retriever}"
        return config if self.configs and config not in self.configs else None

    def read(self, name: str, options: Mapping[str, Any]) -> Any:
        """Return the option's value among those given, else its default."""
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


def identify_options(known: Mapping[str, OptionSpec], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as `run.json` names them: files by their content."""
    found = {}
    for name, value in options.items():
        check = known[name].check if name in known else None
        found[name] = check(value) if check is not None and value is not None else value
    return found


class Document(NamedTuple):
    """A text to be searched. `id` is unique in its corpus and holds no ``#``."""

    id: str
    title: str
    text: str


class SourceFile(NamedTuple):
    """A file of a corpus as it stands, with many documents in it.

    `id` is its path, unique in its corpus and without ``#``; `title` is what an encoder reads before each of its
    chunks; `articles` has for every line of `text` the id of the document that the line is of, "" for none.
    """

    id: str
    title: str
    text: str
    articles: Sequence[str]


class CorpusSpec(NamedTuple):
    """A corpus: its config, the options that are its own, and how a row of it becomes a document.

    `file` is how a row becomes a file where the script has the option ``whole`` and is given it; None where it has not.
    """

    config: str
    options: tuple[str, ...]
    document: Callable[[Mapping[str, Any]], Document]
    file: Callable[[Mapping[str, Any]], SourceFile] | None = None


class Stratum(NamedTuple):
    """A question's part of a weighted mean: a type of questions within a domain, and the type's weight there."""

    domain: str
    kind: str
    weight: float


class MetricUse(NamedTuple):
    """How a benchmark uses an evaluate module: the config it is loaded with, and the keys that are reported.

    With `ranks` it is given the ids of the documents retrieved and of the relevant ones in place of answers and
    references, with `contexts` the passages shown too. With `panel` it averages several judges, else it asks the one at
    `judge` in the order given, or the last. `shape` brings a question's references into the module's form. Without
    `nothing` the module knows no item that lacks a reference. With `rated` people judge. `unmeasured` says why none of
    the keys can be computed, whatever judge there is. What a key needs and means is said by the metric's own record.
    """

    module: str
    keys: tuple[str, ...]
    ranks: bool = False
    panel: bool = False
    shape: Callable[[Any], Any] = lambda references: references
    contexts: bool = False
    config: str | None = None
    judge: int = 0
    nothing: bool = True
    unmeasured: str | None = None
    rated: bool = False

    @property
    def judged(self) -> tuple[str, ...]:
        """The keys that need a judge; none where people judge, or nothing can be computed."""
        return (
            ()
            if self.unmeasured or self.rated
            else tuple(key for key in self.keys if metric_record(self.module).key(key).needs == "judge")
        )

    @property
    def name(self) -> str:
        """What it is called where verdicts are kept."""
        return f"{self.module}.{self.config}" if self.config else self.module

    def asks(self, place: int, judges: int) -> bool:
        return bool(self.judged) and (self.panel or min(self.judge, judges - 1) == place)

    @property
    def embedded(self) -> tuple[str, ...]:
        return tuple(key for key in self.keys if metric_record(self.module).key(key).needs == "embed")

    def find_lacking(self, key: str, judge: bool, embed: bool) -> str | None:
        """Say what a key needs and does not have, as ``no judge``; None where it can be computed."""
        if self.unmeasured is not None:
            return self.unmeasured
        if key in self.judged and not judge:
            return NO_JUDGE
        return "no embedding" if key in self.embedded and not embed else None


class JudgePreset(NamedTuple):
    """A judge of a paper: the model's name as servers call it, and how it is asked."""

    model: str
    parameters: Mapping[str, Any]
    source: str
    role: int | None = None  # the only place at which it may be named


class Finder(Protocol):
    """What finds the passages of a benchmark that has neither a corpus nor all passages in its questions.

    `inputs` (`retrieval`, `search`, `graph`) and `found` are for `run.json`.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """All of a benchmark that is not data."""

    name: str  # that of its folder and of its dataset script
    paper: str  # where it was published
    sample: str  # a line on the bundled sample
    # what may find passages, by name; the first is the default, that of the paper's tables where it can.
    retrievers: Mapping[str, RetrieverSpec]
    temperature: float  # of the paper's runs, else of its released code
    # yields the questions of a split, from a builder, the split and the options.
    questions: Callable[[Any, str, Mapping[str, Any]], Iterator[Question]]
    # builds the chat messages of a question from its passages, the prompts and the retriever.
    messages: Callable[[Question, Sequence[Passage], Prompts, str], list[Message]]
    metrics: Callable[[RunSpec], list[MetricUse]]  # returns the metrics of a run's config, as the run is made
    # returns every (config, retriever) that the paper's tables need, on the original data where it is told so and there
    # are two versions; a retriever of None is the user's choice.
    paper_runs: Callable[[bool], list[tuple[str, str | None]]]
    # returns what is scored of a model's reply, by config; the whole of it.
    parse: Callable[[str, str], Any] = lambda config, text: text
    # returns, of accepted answers, those that a passage may hold; all of them.
    matchable_answers: Callable[[Any], Any] = lambda references: references
    # returns a line of answers (``id``, ``answer``, maybe ``split`` and ``query``), made of one that the authors' own
    # code wrote, and of its config; None of anything else.
    read_result: Callable[[Mapping[str, Any], str], dict[str, Any] | None] = lambda row, config: None
    # returns a metric's keyword arguments besides profile, states, judge and embed. Raises QuadragError.
    keywords: Callable[[MetricUse, Sequence[Question], RunSpec], dict[str, Any]] = lambda metric, questions, spec: {}
    # returns the strata of questions for weighted means, by their keys; none where nothing is weighed.
    strata: Callable[[Sequence[Question], RunSpec], Mapping[Key, Stratum]] = lambda questions, spec: {}
    # returns what finds the passages of a run; None where questions or a corpus bring them. Raises QuadragError
    # where something that it needs cannot be had.
    finder: Callable[[RunSpec], Finder | None] = lambda spec: None
    # whether it asks a model for the entities of the questions of a run.
    asks_entities: Callable[[RunSpec], bool] = lambda spec: False
    # makes what names them for the bundled sample, without a network, for the demo.
    scripted: Callable[[], Any] | None = None
    retrieval: Retrieval = field(default_factory=Retrieval)  # settings of a search
    default_split: str | None = None  # None for all of a config's
    corpus: CorpusSpec | None = None  # None where nothing is searched
    # the options that put documents into the corpus which that of the printed rows lacks.
    corpus_options: tuple[str, ...] = ()
    options: Mapping[str, OptionSpec] = field(default_factory=dict)  # the baseline's own
    option_help: str = ""  # a line on these and on the dataset script's
    # the keys that a summary begins with, the most telling first; of one with a cut (``recall@k``) the deepest. All
    # keys in the metrics' order when empty.
    headlines: tuple[str, ...] = ()
    macro: tuple[str, ...] = ()  # groupings over whose groups an unweighted mean is taken too
    parts: tuple[str, ...] = ()  # configs that hold questions and are part of another one, which the paper runs
    default_context: str | None = None  # the retriever whose passages come with the questions
    handed_over: str | None = None  # the retriever that leaves whole pages to what answers, for systems that want them
    pages: tuple[str, ...] = ()  # configs whose rows hold web pages
    # yields the pages of questions in the form in which such a system is handed them.
    records: Callable[[Any, Sequence[Question]], Iterator[dict[str, Any]]] | None = None
    # the columns of rows that hold the ids of a question's gold documents, and their texts; None where none do.
    gold: tuple[str, str] | None = None
    # the paper's, by the names that ``--judge NAME=URL`` takes.
    judges: Mapping[str, JudgePreset] = field(default_factory=dict)
    # its dataset loading script, with ``sample/`` beside it; that of its name in ``datasets_scripts``.
    script: Path | None = None
    card: Path | None = None  # its card for the Hub; that of its name in ``hub_cards``
    metric_folder: Path | None = None  # a folder with metrics of its own, each in a folder like those of ``metrics``
    # commands of its own: by name the module, which is like those of `quadrag.commands`.
    commands: Mapping[str, str] = field(default_factory=dict)

    @property
    def default_retriever(self) -> str:
        return next(iter(self.retrievers))

    @property
    def configs(self) -> list[str]:
        """The configs that hold questions."""
        return list(dict.fromkeys([*(config for config, _ in self.paper_runs(False)), *self.parts]))

    def find_default_context(self, config: str) -> str | None:
        """Return the retriever that shows the passages which come with a config's questions; None where none come."""
        return self.default_context if config in (self.pages or [config]) else None


@cache
def load(name: str) -> Benchmark:
    return cast(Benchmark, catalogue.plugin(catalogue.benchmark_name(name)))

"""What to run, the questions it means, and the corpus that passages are found in."""

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data.builders import check_split, fingerprint, open_builder, options_of, rows, splits
from quadrag.errors import QuadragError, unknown_name
from quadrag.provenance import Source, join
from quadrag.records import Question

from .authors import know_rows
from .benchmark import Benchmark, load
from .settings import FILES, NONE, Conditions, Retrieval, RetrieverSpec

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
    replaced: Mapping[str, str] = field(default_factory=dict)  # settings that a recipe says otherwise, as it says them
    row: Mapping[str, str] = field(default_factory=dict)  # the printed row that a recipe replicates, as a run's record

    @property
    def searches(self) -> bool:
        """Whether passages are found in a corpus."""
        return self._spec.searches

    @property
    def conditions(self) -> Conditions:
        """What the metrics depend on."""
        top_k = self.retrieval.top_k if self.searches else 0
        return Conditions(self.retriever, self.options, top_k, self.data_dir, self.prompts)

    @property
    def _spec(self) -> RetrieverSpec:
        # What found the passages of a file of answers, or of a RAG service, is none of the benchmark's.
        return load(self.benchmark).retrievers.get(self.retriever, RetrieverSpec())

    def uses(self, setting: str) -> bool:
        """Whether the retriever uses a setting of the retrieval."""
        return setting in self._spec.settings

    def settings(self) -> dict[str, Any]:
        """Return those settings of the retrieval that its retriever uses; {} where it uses none.

        They are for files and folder names: an address is there without user name and password.
        """
        values = asdict(self.retrieval).items()
        found = {name: value for name, value in values if self.uses(name) and value is not None}
        for name in ("instruction", "chunk_source"):
            if found.get(name) == getattr(Retrieval(), name):
                del found[name]  # what every run had before there was a choice
        return found | ({"index": _SECRET.sub(r"\1", found["index"])} if "index" in found else {})


class Corpus(NamedTuple):
    """A corpus that can be read: a digest of all that decides its documents, and where they come from."""

    fingerprint: str
    source: Source
    builder: Any
    read: Callable[[Mapping[str, Any]], Any]

    def documents(self) -> Iterator[Any]:
        """Yield its documents in order, each a `Document`, or its files, each a `SourceFile`."""
        return map(self.read, self._rows())

    def count_rows(self) -> int:
        """Count its rows, which are read through where they were not prepared."""
        (name, *_), prepared = splits(self.builder), self.builder.config.data_dir is None
        known = self.builder.info.splits if prepared else None
        return int(known[name].num_examples) if known else sum(1 for _ in self._rows())

    def choose(self, where: str) -> set[str]:
        """Return the ids of the documents that ``FIELD=VALUE`` is true of.

        FIELD is a column of the corpus, of a list any entry will do; each ``*`` in VALUE stands for any text or none.
        """
        field, mark, value = where.partition("=")
        if not mark:
            raise QuadragError(f"--where {where!r} is not FIELD=VALUE; expected a column of the corpus, as id=abc*")
        wanted = re.compile(".*".join(map(re.escape, value.split("*"))), re.DOTALL)
        chosen = set()
        for row in self._rows():
            if field not in row:
                raise unknown_name("column of the corpus", field, row)
            held = row[field] if isinstance(row[field], list) else [row[field]]
            if any(wanted.fullmatch(one if isinstance(one, str) else json.dumps(one)) for one in held):
                chosen.add(self.read(row).id)
        if not chosen:
            raise QuadragError(f"--where {where} is true of no document of the corpus; * stands for any text")
        return chosen

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        return rows(self.builder, splits(self.builder)[0])


def script_options(task: Task, benchmark: Benchmark) -> dict[str, Any]:
    """Return the options that the dataset script of the questions takes, less the baseline's and the corpus's own."""
    for name, option in benchmark.options.items():
        idle = option.find_idle(task.config, task.retriever)
        if task.options.get(name) is not None and idle:
            raise QuadragError(f"{idle} does not use the option {name}; leave it out")
        option.read(name, task.options)
    known = known_options(benchmark, task.config)
    for name in task.options:
        if name not in known:
            raise unknown_name(f"option of {task.benchmark}", name, known)
    return {name: value for name, value in task.options.items() if known[name]}


def known_options(benchmark: Benchmark, config: str) -> dict[str, bool]:
    """Return the names of a config's options, and whether the dataset script alone takes each."""
    own = (*benchmark.options, *(benchmark.corpus.options if benchmark.corpus else ()))
    return dict.fromkeys(options_of(catalogue.config(benchmark.name, config)), True) | dict.fromkeys(own, False)


def load_questions(task: Task, benchmark: Benchmark) -> tuple[list[Question], Source]:
    """Load a task's questions, and say where they come from and whose they are."""
    if benchmark.corpus and task.retriever == NONE:
        for name in benchmark.corpus.options:
            if task.options.get(name) is not None:
                raise QuadragError(f"option {name} is of the corpus, and --retriever none searches none; leave it out")
    if benchmark.corpus and task.config not in benchmark.configs:
        asked = ", ".join(benchmark.configs)
        raise QuadragError(f"{task.benchmark} {task.config} holds no questions; expected one of {asked}")
    split = task.split or benchmark.default_split
    options = script_options(task, benchmark)
    builder, source = open_builder(task.benchmark, task.config, task.data_dir, options, split)
    chosen = [check_split(builder, split)] if split else splits(builder)
    questions: list[Question] = []
    known: list[Source] = []
    for name in chosen:
        part = list(benchmark.questions(builder, name, task.options))
        ids = {question.id for question in part}
        if len(ids) != len(part):
            raise QuadragError(f"{task.config} {name}: {len(part)} questions but {len(ids)} ids; expected one id each")
        known.append(know_rows(source, builder.config, name, part))
        questions += part[: task.limit] if task.limit else part
    if not questions:
        raise QuadragError(f"{task.config} holds no questions in {source.text}")
    whose = join(one.provenance for one in known)
    held = dict.fromkeys(part for one in known for part in one.held) if whose.theirs else ()
    read = {file for name in chosen for file in builder.config.files_of(name)}
    other = {file: share for file, share in source.other.items() if file in read}
    return questions, replace(source, provenance=whose, other=other, held=[*held])


def cut_splits(questions: Sequence[Question], limit: int) -> list[Question]:
    """Return the first questions of every split."""
    splits = itertools.groupby(questions, key=lambda question: question.split)
    return [question for _, part in splits for question in itertools.islice(part, limit)]


def load_rows(
    benchmark: str, config: str, data_dir: str | None, options: Mapping[str, Any], split: str
) -> tuple[Iterator[dict[str, Any]], Source, int | None]:
    """Open a split's rows as they are in the data, one at a time in memory.

    Returns:
        The rows, where they come from, and how many there are, where that is known.
    """
    builder, source = open_builder(benchmark, config, data_dir, options, split)
    if source.other and config in (record := load(benchmark)).configs:  # only their questions tell whose they are
        source = load_questions(Task(benchmark, config, split, data_dir, options=options), record)[1]
    known = builder.info.splits[split].num_examples if builder.info.splits and split in builder.info.splits else None
    return rows(builder, check_split(builder, split)), source, known


def open_whole_corpus(benchmark: Benchmark, data_dir: str | None, options: Mapping[str, Any]) -> Corpus:
    """Open the corpus of a benchmark that has one, whatever searches it; raises as `open_corpus` does."""
    name = next(name for name, retriever in benchmark.retrievers.items() if retriever.searches)
    task = Task(benchmark.name, benchmark.configs[0], data_dir=data_dir, retriever=name, options=options)
    opened = open_corpus(task, benchmark)
    assert opened is not None  # the retriever searches
    return opened


def open_corpus(task: Task, benchmark: Benchmark) -> Corpus | None:
    """Open the corpus that a task searches; None where it searches none."""
    spec = benchmark.corpus
    if not task.searches or spec is None:
        return None
    options = {name: task.options[name] for name in spec.options if name in task.options}
    read: Callable[[Mapping[str, Any]], Any] = spec.document
    if task.retrieval.chunk_source == FILES:
        if spec.file is None:
            raise QuadragError(f"the corpus of {task.benchmark} has no files of many documents; leave chunk_source out")
        if task.retrieval.where is not None:
            raise QuadragError("--where is of documents, not of files of them; leave chunk_source out")
        options["whole"], read = True, spec.file
    builder, source = open_builder(task.benchmark, spec.config, task.data_dir, options)
    return Corpus(fingerprint(builder), source, builder, read)

"""What to run, the questions it means, and the corpus that passages are found in."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.benchmark import Benchmark, load
from quadrag.data.authors import know_rows
from quadrag.data.builders import fingerprint, open_builder, options_of, rows, splits
from quadrag.errors import QuadragError, unknown_name
from quadrag.provenance import Source, join
from quadrag.records import Question
from quadrag.spec import FILES, NONE, RunSpec


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
        counts: dict[str, int] = self.builder.counts
        return counts.get(splits(self.builder)[0]) or sum(1 for _ in self._rows())

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        return rows(self.builder, splits(self.builder)[0])


def script_options(spec: RunSpec, benchmark: Benchmark) -> dict[str, Any]:
    """Return the options that the dataset script of the questions takes, less the baseline's and the corpus's own."""
    known = known_options(benchmark, spec.config)
    idle = {name: option.find_idle(spec.config, spec.retriever) for name, option in benchmark.options.items()}
    if benchmark.corpus and spec.retriever == NONE:
        idle |= dict.fromkeys(benchmark.corpus.options, f"--retriever {NONE}")
    for name, value in spec.options.items():
        if name not in known:
            raise unknown_name(f"option of {spec.benchmark}", name, known)
        if value is not None and idle.get(name):
            raise QuadragError(f"{idle[name]} does not use the option {name}; leave it out")
    for name, option in benchmark.options.items():
        option.read(name, spec.options)
    return {name: value for name, value in spec.options.items() if known[name]}


def known_options(benchmark: Benchmark, config: str) -> dict[str, bool]:
    """Return the names of a config's options, and whether the dataset script alone takes each."""
    own = (*benchmark.options, *(benchmark.corpus.options if benchmark.corpus else ()))
    return dict.fromkeys(options_of(catalogue.config(benchmark.name, config)), True) | dict.fromkeys(own, False)


def load_questions(spec: RunSpec, benchmark: Benchmark) -> tuple[list[Question], Source]:
    if benchmark.corpus and spec.config not in benchmark.configs:
        asked = ", ".join(benchmark.configs)
        raise QuadragError(f"{spec.benchmark} {spec.config} holds no questions; expected one of {asked}")
    split = spec.split or benchmark.default_split
    options = script_options(spec, benchmark)
    builder, source = open_builder(spec.benchmark, spec.config, spec.data_dir, options, split)
    chosen = [split] if split else splits(builder)
    questions: list[Question] = []
    known: list[Source] = []
    for name in chosen:
        part = list(benchmark.questions(builder, name, spec.options))
        ids = {question.id for question in part}
        if len(ids) != len(part):
            raise QuadragError(f"{spec.config} {name}: {len(part)} questions but {len(ids)} ids; expected one id each")
        known.append(know_rows(source, builder.config, name, part))
        questions += part[: spec.limit] if spec.limit else part
    if not questions:
        raise QuadragError(f"{spec.config} holds no questions in {source.text}")
    whose = join(one.provenance for one in known)
    held = dict.fromkeys(part for one in known for part in one.held) if whose.theirs else ()
    read = {file for name in chosen for file in builder.config.files_of(name)}
    other = {file: share for file, share in source.other.items() if file in read}
    return questions, replace(source, provenance=whose, other=other, held=[*held])


def cut_splits(questions: Sequence[Question], limit: int) -> list[Question]:
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
        source = load_questions(
            RunSpec(benchmark=benchmark, config=config, split=split, data_dir=data_dir, options=dict(options)), record
        )[1]
    return rows(builder, split), source, builder.counts.get(split)


def open_whole_corpus(benchmark: Benchmark, data_dir: str | None, options: Mapping[str, Any]) -> Corpus:
    name = next(name for name, retriever in benchmark.retrievers.items() if retriever.searches)
    config = benchmark.configs[0]
    spec = RunSpec(benchmark=benchmark.name, config=config, data_dir=data_dir, retriever=name, options=dict(options))
    opened = open_corpus(spec, benchmark)
    assert opened is not None  # the retriever searches
    return opened


def open_corpus(spec: RunSpec, benchmark: Benchmark) -> Corpus | None:
    corpus = benchmark.corpus
    if not spec.searches or corpus is None:
        return None
    options = {name: spec.options[name] for name in corpus.options if name in spec.options}
    read: Callable[[Mapping[str, Any]], Any] = corpus.document
    if spec.retrieval.chunk_source == FILES:
        if corpus.file is None:
            raise QuadragError(f"the corpus of {spec.benchmark} has no files of many documents; leave chunk_source out")
        options["whole"], read = True, corpus.file
    builder, source = open_builder(spec.benchmark, corpus.config, spec.data_dir, options)
    return Corpus(fingerprint(builder), source, builder, read)

"""The data that are looked through: the splits that a folder can give, with their questions, and what it lacks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.benchmark import Benchmark, load
from quadrag.data import files
from quadrag.data.builders import SAMPLE
from quadrag.data.prepare import find_prepared
from quadrag.errors import QuadragError, unknown_name
from quadrag.loading import load_questions, load_rows
from quadrag.provenance import Source
from quadrag.records import Question
from quadrag.spec import RunSpec

from .finding import Finding, count_off, merge_faults, shorten


class Part(NamedTuple):
    """A split of a config, with the questions as a run asks them."""

    config: str
    split: str
    questions: Sequence[Question]


@dataclass(slots=True)
class Audited:
    """What is looked through of a benchmark, to audit or to count it."""

    benchmark: Benchmark  # its record
    configs: Sequence[str]  # those that were asked for
    data_dir: str | None = None  # the folder of the files; None for what is prepared. Nothing is fetched
    parts: list[Part] = field(default_factory=list)  # the splits that are there
    sources: dict[str, Source] = field(default_factory=dict)  # where the rows of each config come from
    # of what is not there, config and split, what it would need
    lacking: dict[tuple[str, str], str] = field(default_factory=dict)

    def load(self) -> None:
        """Load the questions of every split that is there."""
        for config in self.configs:
            for split in self.find_splits(config):
                task = RunSpec(benchmark=self.benchmark.name, config=config, split=split, data_dir=self.data_dir)
                questions, self.sources[config] = load_questions(task, self.benchmark)
                self.parts.append(Part(config, split, questions))

    def find_splits(self, config: str) -> list[str]:
        """Return the splits of a config that are there; of the others it is noted what they lack."""
        name, known = self.benchmark.name, catalogue.config(self.benchmark.name, config)
        if self.data_dir is None:
            needed = [f"`quadrag prepare {name}`, or a folder by --data-dir"]
            lacking = {split: [] if find_prepared(name, config, split) else needed for split in known.splits}
        else:
            folder = files.sample_dir(name) if self.data_dir == SAMPLE else self.data_dir
            _, lacking = files.locate_files(name, known, folder)
        self.lacking |= {(config, split): ", ".join(reasons) for split, reasons in lacking.items() if reasons}
        return [split for split, reasons in lacking.items() if not reasons]

    def rows(self, config: str, split: str) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of a split that is there, as they are in the data, one at a time in memory."""
        found, self.sources[config], _ = load_rows(self.benchmark.name, config, self.data_dir, {}, split)
        yield from found

    def check_found(self) -> None:
        """Hold against what was read that something was."""
        if not self.sources:
            one = self.configs[0] if len(self.configs) == 1 else ""
            what = " ".join(filter(None, (self.benchmark.name, one)))
            lacking = count_off(list(dict.fromkeys(self.lacking.values())))
            raise QuadragError(f"nothing of {what} is in {self.data_dir or 'the cache'}; it needs {lacking}")

    def tell(self, done: str) -> Iterator[str]:
        """Yield a line for each config that was read, and for what is not there; `done` is what was done."""
        for config, source in self.sources.items():
            yield f"{done}: {config}, {source.text}"
        lacking: dict[tuple[str, str], list[str]] = {}
        for (config, split), reason in self.lacking.items():
            lacking.setdefault((config, reason), []).append(split)
        for (config, reason), splits in lacking.items():
            yield f"not there: {config} ({', '.join(splits)}) needs {reason}"


def audit(benchmark: str, config: str | None = None, data_dir: str | None = None) -> tuple[list[Finding], Audited]:
    """Audit a benchmark by the checks of its own room: the findings, and what was there.

    `config`: one that holds questions; all of them when None.
    `data_dir`: folder of upstream files, ``sample``, or None for what is prepared.
    """
    record = load(benchmark)
    known = [name for name in catalogue.configs(record.name) if not record.corpus or name in record.configs]
    if config is not None and config not in known:
        raise unknown_name(f"config of {record.name} with questions", config, known)
    checks = catalogue.module_beside(record.name, "audit")
    if checks is None:
        raise QuadragError(f"{record.name} has no checks of its data here")
    audited = Audited(record, [config] if config else known, data_dir)
    audited.load()
    asked = {question.key: shorten(question.query) for part in audited.parts for question in part.questions}
    found = merge_faults(record.name, checks.audit(audited), asked)
    audited.check_found()
    return found, audited

"""What each judge said of the answers, to be looked at by `results.judges`.

Nobody is asked here, but where several judges on a panel are to be told apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from quadrag.records import Answer, Key, Question

from ..core.benchmark import Benchmark, MetricUse
from ..core.result import PROFILES
from ..core.task import Task
from ..results.judges import Said, check_judges, read_verdict, read_verdicts
from ..results.note import Note
from .modules import Judge, ScoringInputs, compute
from .score import known_conditions


class Judged(NamedTuple):
    """Answers that were judged: what was asked of whom, and the items that came of it."""

    benchmark: Benchmark
    questions: Mapping[Key, Question]
    answers: Sequence[Answer]
    lines: Sequence[Mapping[str, Any]]
    task: Task
    given: ScoringInputs

    def ask(self, judge: Judge) -> "Judged":
        """Return the same with one judge alone."""
        return self._replace(given=replace(self.given, judges=[judge]))

    def compute(
        self, metric: MetricUse, answers: Sequence[Answer], profile: str = PROFILES[-1]
    ) -> Sequence[Mapping[str, Any]]:
        """Return a metric's row of each of some answers, by one profile."""
        found = compute(self.benchmark, metric, self.questions, answers, profile, self.task.conditions, self.given)
        rows: Sequence[Mapping[str, Any]] = found["per_item"]
        return rows


def find_oddities(judged: Judged) -> list[Note]:
    """Note what is odd of the verdicts on answers."""
    return check_judges([*_collect(judged)], judged.lines)


def _collect(judged: Judged) -> Iterator[Said]:
    """Yield what each judge said; of several on a panel the items hold the mean alone, so each is read by itself."""
    lines, task, given = judged.lines, judged.task, judged.given
    metrics = judged.benchmark.metrics(task.config, known_conditions(task.conditions, given))
    several = len(given.judges) > 1
    for place, judge in enumerate(given.judges):
        for metric in (one for one in metrics if one.asks(place, len(given.judges))):
            name = str(getattr(judge, "model", None))
            rows: Sequence[Mapping[str, Any]] = []
            if metric.panel and several:
                rows = judged.ask(judge).compute(metric, judged.answers)
            for key in metric.judged:
                named = f"{metric.module}.{key}"
                verdicts = [_read_row(row, named) for row in rows] if rows else read_verdicts(lines, named)
                yield Said(name, metric, named, verdicts)


def _read_row(row: Mapping[str, Any], name: str) -> float | str | None:
    key = name.partition(".")[2]
    return None if row.get("ruled") else read_verdict(name, row["reasons"].get(key, row.get(key)))

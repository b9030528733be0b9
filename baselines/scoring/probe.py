"""What of a judge's verdicts is not to be believed: none of the first can be read, or all of them are one and the same.

A judge whose first verdicts cannot be read is asked no further: what cannot be read costs as much. One whose verdicts
are the same, however it words them, may be right each time, or may say so of any answer, which is told.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quadrag.chat.keys import known_keys
from quadrag.chat.reply import Failure
from quadrag.metric_record import metric_record, show_key
from quadrag.records import Answer, Key, Question
from quadrag.stats import NOT_APPLICABLE

from ..core.benchmark import Benchmark, MetricUse
from ..core.task import Task
from .modules import Judge, ScoringInputs, compute
from .score import known_conditions

FIRST = 12  # verdicts
AMONG = 20 * FIRST  # the first answers, among which there are so many to judge
_SHOWN = 120  # characters of a verdict
_FEW = 5  # verdicts: below, that all are the same is nothing to tell of
_NOT_ASKED = Failure("api_error", "not asked yet")


class _Few:
    """A judge that is asked a few times; what is beyond fails."""

    def __init__(self, judge: Judge, most: int) -> None:
        self.model = getattr(judge, "model", None)
        self.said: list[Any] = []
        self.held_back = 0
        self._judge, self._most = judge, most

    def __call__(self, batch: list[list[dict[str, str]]]) -> list[Any]:
        now = batch[: self._most - len(self.said)]
        replies = self._judge(now) if now else []
        self.said += replies
        self.held_back += len(batch) - len(now)
        return [*replies, *[_NOT_ASKED] * (len(batch) - len(now))]


class Unread(NamedTuple):
    """A judge of whose first verdicts none can be read: its name, and one of them as a line."""

    judge: str
    said: str


def find_unread(
    benchmark: Benchmark, questions: Mapping[Key, Question], answers: Sequence[Answer], task: Task, given: ScoringInputs
) -> Unread | None:
    """Ask every judge for its first verdicts, of the first metric that asks it.

    Returns:
        The judge none of whose first can be read, where there are more to ask for.
    """
    if len(answers) <= FIRST:
        return None
    answers = answers[:AMONG]
    for place, judge in enumerate(given.judges):
        for metric in _list_asking(benchmark, task, given, place)[:1]:
            few = _Few(judge, FIRST)
            read = _read_asked(benchmark, metric, questions, answers, task, given, few)
            found = {reading for column in read.values() for reading in column}
            if few.held_back and "unparsable" in found and found <= {"unparsable", _NOT_ASKED.reason}:
                said = known_keys().line(next(reply for reply in few.said if isinstance(reply, str)), _SHOWN)
                return Unread(str(few.model), said)
    return None


def tell_constant(
    benchmark: Benchmark, questions: Mapping[Key, Question], answers: Sequence[Answer], task: Task, given: ScoringInputs
) -> dict[str, list[str]]:
    """Say of judges of whose verdicts one and the same is read, whatever the answer, that it is.

    Returns:
        A line for each judge, with the values that it decides so, as ``truthfulness.accuracy``.
    """
    if len(answers) < _FEW:
        return {}
    told = {}
    for place, judge in enumerate(given.judges):
        count = 0
        same: dict[str, float | str] = {}
        for metric in _list_asking(benchmark, task, given, place):
            read = _read_asked(benchmark, metric, questions, answers, task, given, judge)
            verdicts = {key: [one for one in column if _is_verdict(metric, key, one)] for key, column in read.items()}
            alike = {key: said for key, said in verdicts.items() if len(said) >= _FEW and len(set(said)) == 1}
            count += max(map(len, alike.values()), default=0)
            same |= {f"{metric.module}.{key}": said[0] for key, said in alike.items()}
        if same:
            values = ", ".join(f"{show_key(*name.split('.'))} {_write(value)}" for name, value in same.items())
            line = f"All {count} verdicts of the judge {getattr(judge, 'model', None)} are the same, {values}"
            told[f"{line}: all answers may be so, or it says so of any"] = [*same]
    return told


def _is_verdict(metric: MetricUse, key: str, reading: float | str) -> bool:
    """Whether a judge said this: a value or, where it may say that a key does not apply, that."""
    grades = metric_record(metric.module).key(key).grades
    return not isinstance(reading, str) or (reading == NOT_APPLICABLE and None in grades.values())


def _write(verdict: float | str) -> str:
    return verdict.replace("_", " ") if isinstance(verdict, str) else f"{verdict:g}"


def _list_asking(benchmark: Benchmark, task: Task, given: ScoringInputs, place: int) -> list[MetricUse]:
    """List the metrics that ask the judge at a place."""
    last = len(given.judges) - 1
    metrics = benchmark.metrics(task.config, known_conditions(task.conditions, given))
    return [one for one in metrics if one.judged and (one.panel or min(one.judge, last) == place)]


def _read_asked(
    benchmark: Benchmark,
    metric: MetricUse,
    questions: Mapping[Key, Question],
    answers: Sequence[Answer],
    task: Task,
    given: ScoringInputs,
    judge: Judge,
) -> dict[str, list[float | str]]:
    """Return by key what is read of a judge of each answer that it is asked about: a value, or the reason for none."""
    unasked, asked = (
        compute(
            benchmark,
            metric,
            questions,
            answers,
            "corrected",
            task.conditions,
            ScoringInputs([one], given.embed, given.passages),
        )["per_item"]
        for one in (_Few(judge, 0), judge)
    )
    pairs = [*zip(unasked, asked, strict=True)]
    return {
        key: [
            after["reasons"].get(key, after.get(key))
            for before, after in pairs
            if before["reasons"].get(key) == _NOT_ASKED.reason
        ]
        for key in metric.judged
    }

"""A judge whose first verdicts cannot be read is asked no further: what cannot be read costs as much."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quadrag.chat.keys import known_keys
from quadrag.chat.reply import Failure
from quadrag.records import Answer, Key, Question

from ..core.benchmark import Benchmark
from ..core.task import Task
from .modules import Judge, ScoringInputs, compute

FIRST = 12  # verdicts
AMONG = 20 * FIRST  # the first answers, among which there are so many to judge
_SHOWN = 120  # characters of a verdict
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
        for metric in benchmark.metrics(task.config, task.conditions):
            if not metric.judged or not (metric.panel or min(metric.judge, len(given.judges) - 1) == place):
                continue
            none, few = _Few(judge, 0), _Few(judge, FIRST)
            unasked, asked = (
                compute(benchmark, metric, questions, answers, "corrected", task.conditions, _with_judge(given, one))[
                    "per_item"
                ]
                for one in (none, few)
            )
            reasons = [
                after["reasons"].get(key)
                for before, after in zip(unasked, asked, strict=True)
                for key in metric.judged
                if before["reasons"].get(key) == _NOT_ASKED.reason
            ]
            if few.held_back and "unparsable" in reasons and set(reasons) <= {"unparsable", _NOT_ASKED.reason}:
                said = known_keys().line(next(reply for reply in few.said if isinstance(reply, str)), _SHOWN)
                return Unread(str(few.model), said)
            break
    return None


def _with_judge(given: ScoringInputs, judge: Judge) -> ScoringInputs:
    return ScoringInputs([judge], given.embed, given.passages)

"""Whether a judge's first verdicts can be read: one of whose none can is asked no further, which would cost as much."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from quadrag.chat.keys import known_keys
from quadrag.chat.reply import Failure
from quadrag.records import Answer, Key, Question

from ..core.benchmark import Benchmark
from ..core.task import Task
from .modules import Judge, ScoringInputs, compute
from .score import known_conditions

FIRST = 12  # verdicts
AMONG = 20 * FIRST  # the first answers, among which there are so many to judge
_SHOWN = 120  # characters of a verdict
_JSON = "try --judge-format json, or another judge"
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


def explain_unread(said: str, form: str) -> str:
    """Say what a judge said in place of a verdict, how one looks, and what to do."""
    cure = _JSON if form.startswith("{") else "name another judge"
    return f"; it said {said!r}, where a verdict is like {form!r}: {cure}; --fresh asks this one anew"


def quote_reply(replies: Iterable[Any]) -> str:
    """Return the first reply that is a text as a short line without keys."""
    return known_keys().line(next(reply for reply in replies if isinstance(reply, str)), _SHOWN)


def find_unread(
    benchmark: Benchmark, questions: Mapping[Key, Question], answers: Sequence[Answer], task: Task, given: ScoringInputs
) -> Unread | None:
    """Ask every judge for its first verdicts, of the first metric that asks it.

    Returns:
        The judge none of whose first can be read, where there are more to ask for.
    """
    answered = [answer for answer in answers if answer.answer is not None][:AMONG]
    if len(answered) <= FIRST:
        return None
    metrics = benchmark.metrics(task.config, known_conditions(task.conditions, given))
    for place, judge in enumerate(given.judges):
        for metric in [one for one in metrics if one.asks(place, len(given.judges))][:1]:
            few = _Few(judge, FIRST)
            own = replace(given, judges=[few])
            rows = compute(benchmark, metric, questions, answered, "corrected", task.conditions, own)["per_item"]
            asked = [row for row in rows if not row.get("ruled")]
            found = {row["reasons"].get(key) for row in asked for key in metric.judged}
            if few.held_back and "unparsable" in found and found <= {"unparsable", _NOT_ASKED.reason}:
                return Unread(str(few.model), quote_reply(few.said))
    return None

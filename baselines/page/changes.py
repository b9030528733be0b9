"""The questions on which the second of two runs is better or worse than the first, for links into the answers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .answers import Answers

MOST = 10  # questions listed of each kind


class Change(NamedTuple):
    """A question whose answers differ in value: where it stands on the page, how it begins, both values as shown.

    `split` is the one that it is of; "" where all are of one.
    """

    place: str
    question: str
    split: str
    before: float
    after: float


class Changes(NamedTuple):
    """The questions won and lost by a metric, the greatest difference first, and how many there are of each.

    `spread` says of each how many questions they are, where these stand in several splits.
    """

    metric: str
    won: Sequence[Change]
    lost: Sequence[Change]
    counts: tuple[int, int]
    spread: Sequence[str]


def list_changes(answers: Answers) -> Changes | None:
    """List the questions that two runs answer differently well, by the metric that decides (`report/questions.py`).

    Args:
        answers: of the page.

    Returns:
        None where there are not two runs, or no question has another value.
    """
    index = answers.index
    if len(index["runs"]) != 2 or not index["metrics"]:
        return None
    won, lost = ([], []) if index["metrics"][0]["unfit"] else _split(index, 0)
    if not (won or lost):
        return None
    spread = [_tell_spread(index, side) for side in (won, lost)]
    return Changes(index["metrics"][0]["label"], won[:MOST], lost[:MOST], (len(won), len(lost)), spread)


def _tell_spread(index: Mapping[str, Any], found: Sequence[Change]) -> str:
    """Say how many questions stand in how many splits each; "" where each stands once."""
    known = {item["place"]: (item["id"], item["question"]) for item in index["items"]}
    times = Counter(known[one.place] for one in found)
    most = max(times.values(), default=1)
    upto = "up to " * (len(found) < most * len(times))
    few, each = ("question", "") if len(times) == 1 else ("questions", " each")
    return f"{len(times)} {few}, {upto}{most} splits{each}" if most > 1 and found[0].split else ""


def _split(index: Mapping[str, Any], at: int) -> tuple[list[Change], list[Change]]:
    """Return the questions won and those lost by a metric, the greatest difference first."""
    found: tuple[list[tuple[float, Change]], ...] = ([], [])
    many = len({item["groups"]["split"] for item in index["items"]}) > 1
    for item in index["items"]:
        before, after = (values[at] for values in item["values"])
        if before is not None and after is not None and before != after:
            gain = (after - before) * index["metrics"][at]["sign"]
            split = item["groups"]["split"] * many
            scale = index["metrics"][at]["scale"]
            change = Change(item["place"], item["question"], split, before * scale, after * scale)
            found[gain < 0].append((-abs(gain), change))
    won, lost = ([one for _, one in sorted(side, key=lambda pair: pair[0])] for side in found)
    return won, lost

"""The questions on which the second of two runs is better or worse than the first, for links into the answers."""

from collections.abc import Sequence
from typing import NamedTuple

from .answers import Answers

MOST = 10  # questions listed of each kind


class Change(NamedTuple):
    """A question whose answers differ in value: where it stands on the page, how it begins, both values."""

    place: str
    question: str
    before: float
    after: float


class Changes(NamedTuple):
    """The questions won and lost by a metric, the greatest difference first, and how many there are of each."""

    metric: str
    won: Sequence[Change]
    lost: Sequence[Change]
    counts: tuple[int, int]


def list_changes(answers: Answers) -> Changes | None:
    """List the questions that two runs answer differently well, by the first metric of which more is better or worse.

    Args:
        answers: of the page.

    Returns:
        None where there are not two runs, or no question has another value.
    """
    index = answers.index
    if len(index["runs"]) != 2:
        return None
    for at, metric in enumerate(index["metrics"]):
        found: dict[bool, list[tuple[float, Change]]] = {True: [], False: []}
        for item in index["items"] if metric["sign"] else ():
            before, after = (values[at] for values in item["values"])
            if before is not None and after is not None and before != after:
                gain = (after - before) * metric["sign"]
                found[gain > 0].append((-abs(gain), Change(item["place"], item["question"], before, after)))
        if any(found.values()):
            won, lost = ([one for _, one in sorted(found[kind], key=lambda pair: pair[0])] for kind in (True, False))
            return Changes(metric["label"], won[:MOST], lost[:MOST], (len(won), len(lost)))
    return None

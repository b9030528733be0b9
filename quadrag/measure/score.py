"""One metric's score in Python, and the names by which it is found."""

from collections.abc import Mapping
from typing import NamedTuple

from quadrag.errors import unknown_name
from quadrag.measure.words import in_python


class Score(NamedTuple):
    """One metric over all questions of a split.

    Attributes:
        value: in the metric's own unit, mostly 0 to 1; None where it could not be computed, or is not valid.
        interval: its 95% interval; None where there is none, as of fewer than 5 questions.
        n: the questions that have a value; of a score that is not valid, those that could be read.
        n_total: all questions.
        unscored: how many have none, by reason.
        metric: the evaluate module.
        key: of its result.
        split: of the questions.
        signature: how it was computed.
        valid: False where more than a fifth of the items failed, by no fault of the system's answers.
        reason: why there is no value, as "the judge does not answer"; "" where there is one.
    """

    value: float | None
    interval: tuple[float, float] | None
    n: int
    n_total: int
    unscored: dict[str, int]
    metric: str
    key: str
    split: str
    signature: str
    valid: bool = True
    reason: str = ""


def find_name(name: str, scores: Mapping[str, Score]) -> str:
    """Return the name of the one score that is called so, with its split and its metric or without.

    Raises:
        KeyError: there is none, or more than one.
    """
    if name in scores:
        return name
    found = [
        known
        for known, one in scores.items()
        if str(name).removeprefix(f"{one.split}/") in (one.key, f"{one.metric}.{one.key}")
    ]
    if len(found) > 1:
        what = "splits" if len({scores[known].split for known in found}) > 1 else "metrics"
        uses = ", ".join(f"result[{known!r}]" for known in found)
        raise KeyError(in_python(f"{name} stands for several {what}: use {uses}"))
    if not found:
        known = dict.fromkeys([*scores, *(one.key for one in scores.values())])
        raise KeyError(in_python(str(unknown_name("score", name, known))))
    return found[0]

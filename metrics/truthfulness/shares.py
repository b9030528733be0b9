# SPDX-License-Identifier: Apache-2.0
"""From the items' outcomes to the shares: the rows, their means, and what became of items without a verdict.

It decides no outcome. Truthfulness is accuracy minus hallucination; by hand, perfect plus half of acceptable minus
hallucination (Yang et al., NeurIPS 2024, arXiv:2406.04744, section 4).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .panel import NO_JUDGE
from .rules import CORRECT, INCORRECT, MISSING
from .tally import NOT_APPLICABLE, UNSCORED, result, strings
from .weights import Weighing

KEYS = ("truthfulness", "accuracy", "hallucination", "missing")
RATED = ("perfect", "acceptable")
FAILURES = ("hallucination", "excluded")
UNRATED = "unrated"
Cell = dict[str, "float | str"]

_VALUES = {CORRECT: (1.0, 1.0, 0.0, 0.0), INCORRECT: (-1.0, 0.0, 1.0, 0.0), MISSING: (0.0, 0.0, 0.0, 1.0)}
_RATINGS = {
    "perfect": (1.0, CORRECT),
    "acceptable": (0.5, CORRECT),
    "missing": (0.0, MISSING),
    "incorrect": (-1.0, INCORRECT),
}


def average(outcomes: Sequence[str]) -> Cell:
    """Average what one or several judges make of an item: an outcome each, or a reason for none.

    With any reason there is no value, since a mean over the other judges would be another quantity. Without a judge
    an item is known not to be missing, and no more.
    """
    reasons = [outcome for outcome in outcomes if outcome not in _VALUES]
    if reasons:
        why = next((reason for reason in UNSCORED if reason in reasons), reasons[0])
        return dict.fromkeys(KEYS, why) | ({"missing": 0.0} if why == NO_JUDGE else {})
    columns = zip(*(_VALUES[outcome] for outcome in outcomes), strict=True)
    return {key: sum(column) / len(outcomes) for key, column in zip(KEYS, columns, strict=True)}


def rate(rating: str) -> Cell:
    """Return the values of a human rating, or its reason; what is acceptable is accurate too."""
    if rating not in _RATINGS:
        return dict.fromkeys((*KEYS, *RATED), rating)
    worth, outcome = _RATINGS[rating]
    return average([outcome]) | {"truthfulness": worth} | {key: float(rating == key) for key in RATED}


def read_ratings(ratings: Any, n: int | None = None) -> list[str]:
    """Return n ratings, "unrated" for None.

    Raises:
        ValueError: there are not n of them, or one is unknown.
    """
    given = [None if text is None else text.strip().lower() for text in strings(ratings, "ratings", n, null=True)]
    for i, rating in enumerate(given):
        if rating is not None and rating not in _RATINGS:
            raise ValueError(f"ratings[{i}] is {rating[:60]!r}; expected None or one of {', '.join(_RATINGS)}")
    return [rating or UNRATED for rating in given]


def report(
    cells: Sequence[Cell],
    keys: Sequence[str],
    profile: str,
    failures: str,
    signature: str,
    weighing: Weighing | None,
    ruled: Sequence[bool] = (),
) -> dict[str, Any]:
    """Put the result together.

    Args:
        cells: per item and key its value, or the reason why there is none.
        keys: the names of the values.
        profile: "corrected" keeps unscored items as a share of their own, which adds to no other.
        failures: "hallucination" counts an item without an answer or a verdict as one; its row keeps the reason.
        signature: as made by `tally.fingerprint`.
        weighing: the weights, or None.
        ruled: as `tally.result` takes it.

    Returns:
        What `tally.result` returns, with `unscored_share` for "corrected" and, with weights, `<key>_weighted`.
    """
    whys = [str(cell["truthfulness"]) if isinstance(cell["truthfulness"], str) else "" for cell in cells]
    counted = [failures == "hallucination" and why in UNSCORED for why in whys]
    rows = [average([INCORRECT]) if wrong else cell for cell, wrong in zip(cells, counted, strict=True)]
    got = result(keys, rows, profile, signature, ruled)
    for row, why, wrong in zip(got["per_item"], whys, counted, strict=True):
        if wrong:
            row["reasons"] = dict.fromkeys(keys, why)
    unscored = Counter(why for why in whys if why not in ("", NOT_APPLICABLE))
    got |= {"n_scored": len(cells) - unscored.total(), "unscored": dict(unscored)}
    if profile == "corrected":
        applicable = len(cells) - whys.count(NOT_APPLICABLE)
        got["unscored_share"] = unscored.total() / applicable if applicable else None
    for key in keys if weighing else ():
        values = [None if isinstance(row[key], str) else row[key] for row in rows]
        got[f"{key}_weighted"] = weighing.mean(values)
        if profile == "corrected":
            got[f"{key}_weighted_over_scored"] = weighing.mean(values)
            whole = [
                0.0 if row[key] not in (NOT_APPLICABLE, value) else value
                for row, value in zip(rows, values, strict=True)
            ]
            got[f"{key}_weighted"] = weighing.mean(whole)
    if NO_JUDGE in unscored:
        # The rules alone decide some items only, and not a fair sample of them.
        got |= {name: None for name in got if name.startswith(("truthfulness", "accuracy", "hallucination"))}
    return got

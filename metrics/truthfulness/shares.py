# SPDX-License-Identifier: Apache-2.0
"""From an item's outcomes to its values, and the weighted means of these.

Truthfulness is accuracy minus hallucination; by hand, perfect plus half of acceptable minus hallucination (Yang et
al., NeurIPS 2024, arXiv:2406.04744, section 4).
"""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from .rules import CORRECT, INCORRECT, MISSING
from .tally import UNSCORED, strings

KEYS = ("truthfulness", "accuracy", "hallucination", "missing")
RATED = ("perfect", "acceptable")
FAILURES = ("hallucination", "excluded")
UNRATED, NO_JUDGE = "unrated", "no_judge"
Cell = dict[str, "float | str"]

_VALUES = {CORRECT: (1.0, 1.0, 0.0, 0.0), INCORRECT: (-1.0, 0.0, 1.0, 0.0), MISSING: (0.0, 0.0, 0.0, 1.0)}
_RATINGS = {
    "perfect": (1.0, CORRECT),
    "acceptable": (0.5, CORRECT),
    "missing": (0.0, MISSING),
    "incorrect": (-1.0, INCORRECT),
}


class Weighing:
    """The weights of n items by their domain and question type: CRAG's "traffic" weighting.

    CRAG's own are not published. A type's weight is its share of the domain's questions in some traffic, so it
    multiplies the mean of the type's items, however many of them there are.
    """

    def __init__(self, weights: Any, items: Sequence[tuple[str, str]]) -> None:
        """Take weights as `check_weights` wants them; ValueError where an item's domain and type have none."""
        self.items = items
        self.of = {item: _weight(weights, *item) for item in dict.fromkeys(items)}
        text = json.dumps(sorted([*pair, float(weight)] for pair, weight in self.of.items()))
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:8]

    def mean(self, values: Sequence[float | None]) -> float | None:
        """Average n values by type within each domain, then over the domains; None where nothing is left.

        The weights of others grow in proportion where a type, or a domain, has no value or no weight left.
        """
        groups: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for (domain, kind), value in zip(self.items, values, strict=True):
            if value is not None:
                groups[domain][kind].append(value)
        means: list[float] = []
        for domain, kinds in groups.items():
            total = sum(self.of[domain, kind] for kind in kinds)
            if total:
                parts = (self.of[domain, kind] * sum(found) / len(found) for kind, found in kinds.items())
                means.append(sum(parts) / total)
        return sum(means) / len(means) if means else None


def check_weights(weights: Any) -> None:
    """Raise ValueError unless weights are of one of the two shapes."""
    if not isinstance(weights, Mapping) or not weights:
        shown = "empty" if isinstance(weights, Mapping) else type(weights).__name__
        raise ValueError(f"weights is {shown}; expected a mapping from question types to numbers, or one per domain")
    by_domain = {isinstance(value, Mapping) for value in weights.values()}
    if len(by_domain) > 1:
        raise ValueError("weights mixes numbers and mappings; expected one mapping, or one per domain")
    tables = weights.items() if True in by_domain else [("", weights)]
    for domain, table in tables:
        for kind, weight in table.items():
            number = isinstance(weight, Real) and not isinstance(weight, bool)
            if not number or not math.isfinite(weight) or weight < 0:
                where = f"[{domain!r}]" if domain else ""
                raise ValueError(f"weights{where}[{kind!r}] is {weight!r}; expected a number of at least 0")


def _weight(weights: Mapping[str, Any], domain: str, kind: str) -> float:
    by_domain = any(isinstance(value, Mapping) for value in weights.values())
    table = weights.get(domain, {}) if by_domain else weights
    if kind not in table:
        where = f" in domain {domain[:60]!r}" if by_domain else ""
        raise ValueError(f"weights has none for question type {kind[:60]!r}{where}; give every type of the items one")
    return float(table[kind])


def average(outcomes: Sequence[str]) -> Cell:
    """Average what one or several judges make of an item: an outcome each, or a reason for none.

    With any reason there is no value, since a mean over the other judges would be another quantity.
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


def read_ratings(ratings: Any, name: str = "ratings", n: int | None = None) -> list[str]:
    """Return n ratings, "unrated" for None; ValueError where one is unknown."""
    given = [None if text is None else text.strip().lower() for text in strings(ratings, name, n, null=True)]
    for i, rating in enumerate(given):
        if rating is not None and rating not in _RATINGS:
            raise ValueError(f"{name}[{i}] is {rating[:60]!r}; expected None or one of {', '.join(_RATINGS)}")
    return [rating or UNRATED for rating in given]

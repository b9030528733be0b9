# SPDX-License-Identifier: Apache-2.0
"""From the items' outcomes to the shares: rows, means, weighted means, and what became of items without a verdict.

Truthfulness is accuracy minus hallucination; by hand, perfect plus half of acceptable minus hallucination (Yang et
al., NeurIPS 2024, arXiv:2406.04744, section 4).
"""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from .judging import NO_JUDGE
from .rules import CORRECT, INCORRECT, MISSING
from .tally import NOT_APPLICABLE, UNSCORED, result, strings

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


class Weighing:
    """The weights of n items by their domain and question type: CRAG's "traffic" weighting.

    CRAG's own are not published. A type's weight is its share of the domain's questions in some traffic, so it
    multiplies the mean of the type's items, however many of them there are.
    """

    def __init__(self, weights: Any, domains: Any, question_types: Any, n: int) -> None:
        """Read weights as `check_weights` takes them; ValueError where one of the n items has none."""
        check_weights(weights, domains, question_types)
        types = strings(question_types, "question_types", n)
        self.items = list(zip(strings(domains, "domains", n), types, strict=True))
        self.of = {item: _weight(weights, *item) for item in dict.fromkeys(self.items)}
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


def check_weights(weights: Any, domains: Any, question_types: Any) -> None:
    """Raise ValueError unless weights are of one of the two shapes, and come with what they weigh."""
    if not isinstance(weights, Mapping) or not weights:
        shown = "empty" if isinstance(weights, Mapping) else type(weights).__name__
        raise ValueError(f"weights is {shown}; expected a mapping from question types to numbers, or one per domain")
    for name, column in (("domains", domains), ("question_types", question_types)):
        if column is None:
            raise ValueError(f"weights was given without {name}; pass {name}=[...], one per prediction")
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


def read_ratings(ratings: Any, n: int | None = None) -> list[str]:
    """Return n ratings, "unrated" for None; ValueError where one is unknown."""
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
    """Put the result together; of items without an outcome, `failures` says whether they count as hallucinations.

    It is `tally.result`'s, with `unscored_share` for "corrected" and, with weights, `<key>_weighted`.
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

# SPDX-License-Identifier: Apache-2.0
"""Means weighted by question type within a domain, then averaged over the domains (CRAG's "traffic" weighting).

The weights are an input: CRAG's are not published. A type's weight is its share of the domain's questions in some
traffic, so it multiplies the mean of the type's items, however many of them there are.
"""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from .tally import strings


class Weighing:
    """The weights of n items by their domain and question type."""

    def __init__(self, weights: Any, domains: Any, question_types: Any, n: int) -> None:
        """Read the weights.

        Args:
            weights: a mapping from question types to numbers of at least 0; or one such mapping per domain.
            domains: n names.
            question_types: n names.
            n: the number of items.

        Raises:
            ValueError: they are of another shape, or an item has no weight.
        """
        check_weights(weights, domains, question_types)
        types = strings(question_types, "question_types", n)
        self.items = list(zip(strings(domains, "domains", n), types, strict=True))
        self.of = {item: _weight(weights, *item) for item in dict.fromkeys(self.items)}
        text = json.dumps(sorted([*pair, float(weight)] for pair, weight in self.of.items()))
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:8]

    def mean(self, values: Sequence[float | None]) -> float | None:
        """Average n values, those that are None left out.

        Types without a value leave their domain's mean, and the others' weights grow in proportion; a domain whose
        types have no weight left leaves the average over domains. None where nothing is left.
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

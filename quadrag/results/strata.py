"""Items in the strata of a weighted mean, as CRAG weighs its types of questions within a domain."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from quadrag.benchmark import Stratum
from quadrag.stats import NOT_APPLICABLE, Item


def counts(item: Item, profile: str) -> bool:
    """Whether an item has a say in a mean."""
    return item.value is not None or (profile == "corrected" and item.reason != NOT_APPLICABLE)


def stratify(
    items: Sequence[Item], strata: Mapping[Any, Stratum], profile: str
) -> tuple[list[list[Item]], list[float]]:
    """Put items into the strata of their questions, with each stratum's weight in the mean.

    That is the mean over domains of the weighted mean over a domain's types, of those in which an item counts.
    """
    groups: dict[Stratum, list[Item]] = defaultdict(list)
    for item in items:
        groups[strata[item.question]].append(item)
    there = [stratum for stratum in sorted(groups) if any(counts(item, profile) for item in groups[stratum])]
    totals: dict[str, float] = defaultdict(float)
    for stratum in there:
        totals[stratum.domain] += stratum.weight
    domains = sum(1 for total in totals.values() if total)
    weights = [
        stratum.weight / totals[stratum.domain] / domains if totals[stratum.domain] else 0.0 for stratum in there
    ]
    return [groups[stratum] for stratum in there], weights

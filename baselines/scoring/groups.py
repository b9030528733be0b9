"""Which questions belong together: those that are not independent, and the strata of a weighted mean."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from quadrag.records import Key, Question
from quadrag.stats import NOT_APPLICABLE, Item

from ..core.result import Stratum


def find_units(questions: Sequence[Question]) -> dict[Key, str]:
    """Return the unit of every question that shares a conversation or a gold document with others of its split.

    A unit is all that hangs together, and has the name of its first question's id.
    """
    above: dict[Hashable, Hashable] = {}

    def root(thing: Hashable) -> Hashable:
        while (higher := above.setdefault(thing, thing)) != thing:
            above[thing] = above[higher]
            thing = higher
        return thing

    for question in questions:
        split = question.key[:2]
        shared = [(*split, "document", document) for document in question.relevant]
        shared += [(*split, "talk", question.talk)] if question.talk else []
        for thing in shared:
            above[root(thing)] = root(question.key)
    units: dict[Hashable, list[Question]] = defaultdict(list)
    for question in questions:
        units[root(question.key)].append(question)
    return {one.key: members[0].id for members in units.values() if len(members) > 1 for one in members}


def counts(item: Item, profile: str) -> bool:
    """Whether an item has a say in a mean."""
    return item.value is not None or (profile == "corrected" and item.reason != NOT_APPLICABLE)


def stratify(
    items: Sequence[Item], strata: Mapping[Any, Stratum], profile: str
) -> tuple[list[list[Item]], list[float]]:
    """Put items into their strata, with each stratum's weight in the mean.

    That is the mean over domains of the weighted mean over a domain's types, of those in which an item counts.

    Args:
        items: of one metric, each of a question that has a stratum.
        strata: of each question.
        profile: ``official`` or ``corrected``.
    """
    groups: dict[Stratum, list[Item]] = defaultdict(list)
    for item in items:
        groups[strata[item.question]].append(item)
    there = [one for one in sorted(groups) if any(counts(item, profile) for item in groups[one])]
    totals: dict[str, float] = defaultdict(float)
    for stratum in there:
        totals[stratum.domain] += stratum.weight
    domains = sum(1 for total in totals.values() if total)
    weights = [one.weight / totals[one.domain] / domains if totals[one.domain] else 0.0 for one in there]
    return [groups[stratum] for stratum in there], weights

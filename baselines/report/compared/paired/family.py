"""Differences that are looked at together: which of them are one, and their p, adjusted for all by Holm's rule."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from quadrag.stats import Pair, holm

from ....tables.cells import FEW

Where = TypeVar("Where")


def adjust(
    pairs: Mapping[Where, Pair | None], shape_of: Callable[[Where], Hashable]
) -> tuple[dict[Where, Pair | None], int]:
    """Adjust p of differences by Holm's rule, and count for how many.

    By it alone all that is told of differences goes: signs, marks, verdicts and sentences. Those of one shape ask one
    question, as accuracy and hallucination where every answer is one or the other: they count once, and have one p,
    adjusted from the largest of theirs. What cannot be decided is not counted (Tarone 1990): one of few questions, or
    without a gain or loss on any.

    A metric that is made of two others, as truthfulness is accuracy less hallucination, counts like them where it has
    a shape of its own: of the three some difference is found by chance more often than of two.

    Args:
        pairs: the differences.
        shape_of: says of one which shape it has (`shape`); None where no verdict is asked for, which is not counted.
    """
    told = {where: pair for where, pair in pairs.items() if pair and (pair.difference or pair.spread)}
    known = [where for where, pair in told.items() if pair.n >= FEW]
    shapes = {where: found for where in known if (found := shape_of(where)) is not None}
    largest: dict[Hashable, float] = {}
    for where, found in shapes.items():
        largest[found] = max(told[where].p, largest.get(found, 0.0))
    adjusted = dict(zip(largest, holm(list(largest.values())), strict=True))
    return {
        where: pair and replace(pair, p_holm=adjusted[shapes[where]] if where in shapes else None)
        for where, pair in pairs.items()
    }, len(adjusted)


def shape(gains: Mapping[Any, float]) -> Hashable:
    """Return what each question gained, in proportion to the first that is not 0.

    It is the same of two metrics whose gains are equal, opposite or multiples, question by question.
    """
    changed = {question: gain for question, gain in gains.items() if abs(gain) > 1e-9}
    unit = next(iter(changed.values()), 1.0)
    return frozenset((question, round(gain / unit, 6)) for question, gain in changed.items())

"""Tests of two runs, or of two judges, over the same questions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .intervals import percentiles
from .items import LEVEL, Item, Pair, choose_fill, number_questions, sum_items
from .resampling import RESAMPLES, SEED, resample_means


class McNemar(NamedTuple):
    """The p values of McNemar's test: `mid_p`, and `exact`, which is the larger and rejects too seldom."""

    mid_p: float
    exact: float


def mcnemar(first_only: int, second_only: int) -> McNemar:
    """Test whether two are right equally often on the same items (McNemar 1947; mid-p: Fagerland et al. 2013).

    Args:
        first_only: on how many items the first alone is right, at least 0.
        second_only: on how many the second alone is; items on which both are right, or both wrong, do not count.

    Returns:
        Two-sided p values; both are 1 where no item tells the two apart.

    Raises:
        ValueError: a number is below 0.
    """
    if min(first_only, second_only) < 0:
        raise ValueError(f"{first_only} and {second_only}; expected two numbers of items, at least 0")
    from scipy.special import bdtr

    few, n = min(first_only, second_only), first_only + second_only
    below, upto = float(bdtr(few - 1, n, 0.5)) if few else 0.0, float(bdtr(few, n, 0.5))
    return McNemar(below + upto, min(1.0, 2 * upto))


def paired_difference(
    first: Sequence[Item],
    second: Sequence[Item],
    *,
    profile: str = "official",
    worst: float = 0.0,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Pair | None:
    """Difference second - first of one metric on the questions scored in both, with its paired bootstrap interval.

    Args:
        first: items of one run.
        second: items of another run over the same questions, in any order.
        profile: as in `summarise_all`.
        worst: as in `summarise_all`.
        level: of the interval.
        resamples: number of bootstrap resamples.
        seed: of the resampling.

    Returns:
        The difference, or None where the runs do not cover the same questions or nothing counts.

    Raises:
        ValueError: the profile is neither.
    """
    fill = choose_fill(profile, worst)
    questions = number_questions(first)
    if {item.question for item in second} != set(questions):
        return None
    both = np.stack([sum_items(items, questions, fill) for items in (first, second)])
    # A question that only one side could score would make the difference one of questions, not of runs.
    shared = (both[:, 1] > 0).all(axis=0)
    both *= shared
    values, counts = both.sum(axis=2).T
    if not counts.all():
        return None
    means = resample_means(both, resamples, seed)
    interval = percentiles(means[1] - means[0], level)
    points = values / counts
    return Pair(float(points[1] - points[0]), interval, int(shared.sum())) if interval else None

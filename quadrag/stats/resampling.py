"""Units drawn anew, with replacement (Efron & Tibshirani 1993, ch. 13), and the means over what was drawn.

Every value of a unit comes along; a rate over part of the items is a ratio of sums in every resample.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .items import LEVEL

SEED = 2333
RESAMPLES = 2000

_KEPT = 255  # units of which draws are kept, at a byte each: at most 0.5 MB then


class Draws(NamedTuple):
    """How an interval is found where it is drawn."""

    level: float = LEVEL  # of the interval, in (0, 1)
    resamples: int = RESAMPLES  # how many
    seed: int = SEED  # of the first group, and of a test; the other groups count on from it


DRAWS = Draws()


def sort_units(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring n units, the last axis, into the order of their values, so that what is drawn depends on these alone."""
    *leading, n = sums.shape
    return np.asarray(sums[..., np.lexsort(sums.reshape(prod(leading), n))])


def _draw(rng: np.random.RandomState, n: int) -> NDArray[np.int64]:
    drawn = rng.randint(0, n, n, dtype=np.min_scalar_type(n))
    return np.asarray(np.bincount(drawn, minlength=n))


@lru_cache(maxsize=256)
def _draws(n: int, resamples: int, seed: int) -> NDArray[np.uint8]:
    rng = np.random.RandomState(seed)
    return np.stack([_draw(rng, n) for _ in range(resamples)], axis=1).astype(np.uint8)


def resample_means(sums: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    """Means over resamples of n units: from sums (k x 2 x n) of values and counts to k x resamples means.

    RandomState, because its stream is frozen for good; one resample after the other, so that memory stays with n.
    """
    n = sums.shape[-1]
    if n <= _KEPT:
        drawn = sums @ _draws(n, resamples, seed).astype(np.float64)
    else:
        rng = np.random.RandomState(seed)
        drawn = np.empty((*sums.shape[:-1], resamples))
        for column in range(resamples):
            drawn[..., column] = sums @ _draw(rng, n)
    with np.errstate(invalid="ignore"):
        return np.asarray(drawn[:, 0] / drawn[:, 1])


def resample_groups(
    sums: Sequence[NDArray[np.float64]], weights: NDArray[np.float64], draws: Draws
) -> NDArray[np.float64]:
    """Weighted means over groups in resamples, k x resamples, of sums (k x 2 x units) and weights (groups x k)."""
    total = np.zeros((weights.shape[1], draws.resamples))
    present = np.zeros_like(total)
    for at, (group, weight) in enumerate(zip(sums, weights, strict=True)):
        means = resample_means(group, draws.resamples, draws.seed + at)
        # A group that a resample has no value of is left out of that mean.
        there = np.isfinite(means)
        total += weight[:, None] * np.where(there, means, 0.0)
        present += weight[:, None] * there
    with np.errstate(invalid="ignore"):
        return np.asarray(total / present)

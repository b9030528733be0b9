"""Tests whether two differ on the same items, what several tests at once ask for, and what a test can see."""

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from .intervals import SEED, Z

FLIPS = 10_000
POWER = 0.8
_EXACT = 13  # units whose 8,192 swaps are all tried
_BLOCK = 2_000_000  # swaps held at once


def mcnemar(first_only: int, second_only: int) -> float:
    """Test whether two are right equally often on the same items (McNemar 1947; mid-p: Fagerland et al. 2013).

    Returns the two-sided mid-p; 1 where no item tells the two apart.
    """
    from scipy.special import bdtr

    few, n = min(first_only, second_only), first_only + second_only
    return float(bdtr(few, n, 0.5)) + (float(bdtr(few - 1, n, 0.5)) if few else 0.0)


def sign_flips(
    first: Sequence[NDArray[np.float64]],
    second: Sequence[NDArray[np.float64]],
    weights: Sequence[float],
    flips: int = FLIPS,
) -> float:
    """Test whether two have the same mean by swapping them, unit by unit, at random (Fisher 1935, ch. 21).

    `first`, `second`: of each group of items, sums and numbers of the values by unit, 2 x n, over the same units.
    `flips`: how many times all are swapped or not; of up to 13 units that differ, all ways are tried instead.

    The p value is two-sided and above 0: what was measured is one of the ways.
    """
    moved = [there - here for here, there in zip(first, second, strict=True)]
    moved = [move[:, move.any(axis=0)].T for move in moved]
    ends = np.cumsum([len(move) for move in moved])
    n = int(ends[-1])
    totals = [(here.sum(axis=1), there.sum(axis=1)) for here, there in zip(first, second, strict=True)]
    shares = np.asarray(weights, dtype=float) / sum(weights)

    def differ(swaps: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.zeros(len(swaps))
        parts = np.split(swaps, ends[:-1], axis=1)
        for part, move, (here, there), share in zip(parts, moved, totals, shares, strict=True):
            changed = part @ move
            one, other = here + changed, there - changed
            with np.errstate(invalid="ignore", divide="ignore"):
                found += share * (other[:, 0] / other[:, 1] - one[:, 0] / one[:, 1])
        return found

    measured = abs(differ(np.zeros((1, n)))[0])
    reached = sum(int((np.abs(differ(swaps)) >= measured - 1e-12).sum()) for swaps in _swaps(n, flips))
    return reached / 2**n if n <= _EXACT else (reached + 1) / (flips + 1)


def _swaps(n: int, flips: int) -> Iterator[NDArray[np.float64]]:
    if n <= _EXACT:
        yield ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
        return
    rng = np.random.RandomState(SEED)
    block, width = max(1, _BLOCK // n), -(-n // 8)
    for start in range(0, flips, block):
        rows = min(block, flips - start)
        drawn = np.frombuffer(rng.bytes(rows * width), np.uint8).reshape(rows, width)
        yield np.unpackbits(drawn, axis=1, count=n).astype(float)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values of several tests, in their order, so that false positives are as rare as of one (Holm 1979).

    Adjusted values below 0.05 hold together at 5%.
    """
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = reached
    return adjusted


def detectable(spread: float, n: float, power: float = POWER) -> float:
    """Return the smallest true difference that a test of n items at 5% finds with a power (Cohen 1988, ch. 2).

    By the normal distribution, of a mean difference whose standard deviation is `spread`.
    """
    return (Z + NormalDist().inv_cdf(power)) * spread / math.sqrt(n)

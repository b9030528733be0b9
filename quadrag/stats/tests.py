"""Tests whether two differ on the same items, and what several tests at once ask for."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .resampling import SEED

FLIPS = 10_000
_EXACT = 13  # units whose 8,192 swaps are all tried
_BLOCK = 2_000_000  # swaps held at once


class McNemar(NamedTuple):
    """The p values of McNemar's test: `mid_p`, and `exact`, which is the larger and rejects too seldom."""

    mid_p: float
    exact: float


def mcnemar(first_only: int, second_only: int) -> McNemar:
    """Test whether two are right equally often on the same items (McNemar 1947; mid-p: Fagerland et al. 2013).

    Two-sided; both p values are 1 where no item tells the two apart. Raises ValueError for a number below 0.
    """
    if min(first_only, second_only) < 0:
        raise ValueError(f"{first_only} and {second_only}; expected two numbers of items, at least 0")
    from scipy.special import bdtr

    few, n = min(first_only, second_only), first_only + second_only
    below, upto = float(bdtr(few - 1, n, 0.5)) if few else 0.0, float(bdtr(few, n, 0.5))
    return McNemar(below + upto, min(1.0, 2 * upto))


def sign_flips(
    first: Sequence[NDArray[np.float64]],
    second: Sequence[NDArray[np.float64]],
    weights: Sequence[float],
    *,
    flips: int = FLIPS,
    seed: int = SEED,
) -> float:
    """Test whether two have the same mean by swapping them, unit by unit, at random (Fisher 1935, ch. 21).

    `first`, `second`: of each group of items, sums and numbers of the values by unit, 2 x n, over the same units.
    `flips`: how many times all are swapped or not; of up to 13 units that differ, all ways are tried instead.

    The p value is two-sided and above 0: what was measured is one of the ways.
    """
    moved = [there - here for here, there in zip(first, second, strict=True)]
    units = [move.any(axis=0) for move in moved]
    ends = np.cumsum([int(one.sum()) for one in units])
    n = int(ends[-1])
    totals = [(here.sum(axis=1), there.sum(axis=1)) for here, there in zip(first, second, strict=True)]
    shares = np.asarray(weights, dtype=float) / sum(weights)

    def differ(swaps: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.zeros(len(swaps))
        for part, (here, there), move, unit, share in zip(
            np.split(swaps, ends[:-1], axis=1), totals, moved, units, shares, strict=True
        ):
            changed = part @ move[:, unit].T
            one, other = here + changed, there - changed
            with np.errstate(invalid="ignore", divide="ignore"):
                found += share * (other[:, 0] / other[:, 1] - one[:, 0] / one[:, 1])
        return found

    measured = abs(differ(np.zeros((1, n)))[0])
    exact = n <= _EXACT
    reached = sum(int((np.abs(differ(swaps)) >= measured - 1e-12).sum()) for swaps in _swaps(n, exact, flips, seed))
    return reached / 2**n if exact else (reached + 1) / (flips + 1)


def _swaps(n: int, exact: bool, flips: int, seed: int) -> Iterator[NDArray[np.float64]]:
    if exact:
        yield ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
        return
    rng = np.random.RandomState(seed)
    block = max(1, _BLOCK // n)
    width = -(-n // 8)
    for start in range(0, flips, block):
        rows = min(block, flips - start)
        drawn = np.frombuffer(rng.bytes(rows * width), np.uint8).reshape(rows, width)
        yield np.unpackbits(drawn, axis=1, count=n).astype(float)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values of several tests, in their order, so that false positives are as rare as of one (Holm 1979).

    Adjusted values below 0.05 hold together at 5%. Raises ValueError for one that is not in [0, 1].
    """
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f"{p} among p values; expected 0 to 1")
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = reached
    return adjusted

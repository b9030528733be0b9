"""Intervals: Wilson's for shares, percentiles of a bootstrap."""

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from .items import LEVEL, Interval


def wilson(successes: float, n: float, level: float = LEVEL) -> Interval:
    """Return the score interval of a share (Wilson 1927), in [0, 1].

    Args:
        successes: how many of n, from 0 to n; a fraction where n is an effective number.
        n: of how many, above 0.
        level: in (0, 1).

    Raises:
        ValueError: there are no trials, or more successes than trials.
    """
    if not 0 <= successes <= n or n <= 0:
        raise ValueError(f"{successes} of {n}; expected a number above 0, and from 0 to so many successes")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    # At the ends the bound is the end itself, but for the last digit.
    return Interval(0.0 if share == 0 else middle - half, 1.0 if share == 1 else middle + half)


def percentiles(values: NDArray[np.float64], level: float) -> Interval | None:
    """Return the middle of resampled values, as wide as the level says; None where none is finite."""
    values = values[np.isfinite(values)]
    if not values.size:
        return None
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    # Rounded, since the last digits of a matrix product depend on the machine.
    return Interval(round(float(low), 12), round(float(high), 12))

"""How small a difference a test can see, and how many items it takes to see one.

By the normal distribution, of a mean difference of n > 0 items whose standard deviation is `spread` > 0; two-sided.
`level` is 1 less the share of false positives, `wanted` the power, both in (0, 1).
"""

import math
from statistics import NormalDist

from .intervals import normal_quantile
from .items import LEVEL

POWER = 0.8


def power_of(difference: float, spread: float, n: float, level: float = LEVEL) -> float:
    """Return how often a test finds a difference that is there (Cohen 1988, ch. 2), in [0, 1]."""
    shift, z = abs(difference) * math.sqrt(_positive(n)) / _positive(spread), normal_quantile(level)
    normal = NormalDist()
    return normal.cdf(shift - z) + normal.cdf(-shift - z)


def detectable(spread: float, n: float, level: float = LEVEL, wanted: float = POWER) -> float:
    """Return the smallest true difference that a test of n items finds with the power that is wanted, above 0."""
    return _reach(level, wanted) * _positive(spread) / math.sqrt(_positive(n))


def items_needed(difference: float, spread: float, level: float = LEVEL, wanted: float = POWER) -> int | None:
    """Return how many items it takes to find a difference with the power that is wanted; None where there is none."""
    return math.ceil((_reach(level, wanted) * _positive(spread) / difference) ** 2) if difference else None


def _reach(level: float, wanted: float) -> float:
    """How many standard errors from zero a difference is found so often, but for what falls on the far side."""
    return normal_quantile(level) + NormalDist().inv_cdf(wanted)


def _positive(number: float) -> float:
    if not number > 0:
        raise ValueError(f"{number}; expected a number above 0")
    return number

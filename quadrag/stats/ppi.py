"""A rate corrected for its judge, with labels of a part of its items.

Prediction-powered inference with its tuning constant (PPI++: Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453):
people's mean over the labelled items, moved by how far the judge's verdicts on them are from its verdicts on the rest.
Where items were drawn by the judge's verdicts, these have said all they can, and the labels are weighted by stratum.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .means import Interval, Z, wilson

Values = NDArray[np.float64]


class Estimate(NamedTuple):
    """A corrected rate."""

    value: float
    variance: float
    interval: Interval  # Wilson's at the effective number of labels for a rate of 0 and 1, else the normal one
    tuning: float  # how much of the judge was used: 0 is none, 1 is all
    n: int  # labels


def ppi_mean(labels: Sequence[float], verdicts: Sequence[float], others: Sequence[float]) -> Estimate:
    """Estimate a mean from labels of n > 0 items, the verdicts of the same, and those of others."""
    mine, theirs, rest = (np.asarray(column, dtype=np.float64) for column in (labels, verdicts, others))
    used = _best_tuning(mine, theirs, rest)
    surplus = mine - used * theirs
    value, variance = surplus.mean(), surplus.var() / len(surplus)
    if used:
        value += used * rest.mean()
        variance += used**2 * rest.var() / len(rest)
    return _estimate(float(value), float(variance), used, mine)


def stratified_mean(labels: Sequence[float], strata: Sequence[str], sizes: Mapping[str, int]) -> Estimate:
    """Estimate a mean from labels of items that were drawn by strata of so many items, each with one at least."""
    mine, total = np.asarray(labels, dtype=np.float64), sum(sizes.values())
    parts = []
    for name, size in sizes.items():
        here = mine[[stratum == name for stratum in strata]]
        variance = here.var() / here.size
        if _is_rate(mine):  # with half a label of each kind, since labels that are alike had none
            share = (here.sum() + 0.5) / (here.size + 1)
            variance = share * (1 - share) / (here.size + 1)
        parts.append((size / total, here.mean(), variance))
    weights, values, variances = np.array(parts).T
    value = float(weights @ values)
    variance = float(weights**2 @ variances) + float(weights @ (values - value) ** 2) / total
    return _estimate(value, variance, 0.0, mine)


def _is_rate(labels: Values) -> bool:
    return bool(np.isin(labels, (0, 1)).all())


def _best_tuning(labels: Values, verdicts: Values, others: Values) -> float:
    variance = np.concatenate([verdicts, others]).var(ddof=1) if len(others) else 0.0
    if not variance:
        return 0.0
    together = np.mean((labels - labels.mean()) * (verdicts - verdicts.mean()))
    return float(np.clip(together / ((1 + len(labels) / len(others)) * variance), 0, 1))


def _estimate(value: float, variance: float, tuning: float, labels: Values) -> Estimate:
    n = len(labels)
    if not _is_rate(labels):
        half = Z * variance**0.5
        return Estimate(value, variance, Interval(value - half, value + half), tuning, n)
    share = min(max(value, 0.0), 1.0)
    effective = share * (1 - share) / variance if variance and 0 < share < 1 else n
    return Estimate(value, variance, wilson(share * effective, effective), tuning, n)

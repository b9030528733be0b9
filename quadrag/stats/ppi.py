"""A rate corrected for its judge, with labels of a part of its items or with a judge's known rates of error.

Prediction-powered inference with its tuning constant (PPI++: Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453):
people's mean over the labelled items, moved by how far the judge's verdicts on them are from its verdicts on the rest.
Rogan & Gladen (1978) have no labels of these items, and believe a certificate instead.
"""

from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .intervals import wilson
from .items import LEVEL, Interval

Values = NDArray[np.float64]


class Estimate(NamedTuple):
    """A corrected rate."""

    value: float  # the estimate
    variance: float  # of the estimate
    interval: Interval  # Wilson's at the effective number of labels for a rate of 0 and 1, else the normal one
    tuning: float  # how much of the judge was used: 0 is none, 1 is all; the mean over strata where there are several
    n: int  # labels


class Rates(NamedTuple):
    """What a judge says of items that people call right (sensitivity) and wrong (specificity), each of how many."""

    sensitivity: float
    positives: int
    specificity: float
    negatives: int


class _Stratum(NamedTuple):
    value: float
    variance: float
    tuning: float
    n: int


def tuning_constant(labels: Values, verdicts: Values, others: Values) -> float:
    """Return the share of the judge that makes the variance least, from 0 to 1."""
    if not len(others):
        return 0.0
    pooled = np.concatenate([verdicts, others])
    variance = pooled.var(ddof=1) if len(pooled) > 1 else 0.0
    if not variance:
        return 0.0
    together = np.mean((labels - labels.mean()) * (verdicts - verdicts.mean()))
    return float(np.clip(together / ((1 + len(labels) / len(others)) * variance), 0, 1))


def ppi_mean(
    labels: Sequence[float],
    verdicts: Sequence[float],
    others: Sequence[float],
    *,
    tuning: float | None = None,
    level: float = LEVEL,
) -> Estimate:
    """Estimate a mean from labels of n > 0 items, the verdicts of the same, and those of others.

    `tuning`: how much of the judge is used; the best by `tuning_constant` when None.
    """
    one = _stratum(_values(labels), _values(verdicts), _values(others), tuning)
    return _estimate([one], [1.0], _is_rate(labels), level)


def ppi_stratified(
    labels: Sequence[float],
    verdicts: Sequence[float],
    others: Sequence[float],
    strata: Sequence[Hashable],
    others_strata: Sequence[Hashable],
    *,
    level: float = LEVEL,
) -> Estimate:
    """Estimate a mean as `ppi_mean`, where labelled items were drawn by strata; ValueError where one has no label."""
    found, shares = [], []
    mine, theirs, numbers = _values(labels), _values(verdicts), _values(others)
    names = {name: at for at, name in enumerate(dict.fromkeys([*strata, *others_strata]))}
    here, there = (np.array([names[one] for one in column], dtype=np.int64) for column in (strata, others_strata))
    total = len(here) + len(there)
    for name, at in names.items():
        chosen, rest = here == at, numbers[there == at]
        if not chosen.any():
            raise ValueError(f"stratum {name!r} has no label; expected one at least")
        one = _stratum(mine[chosen], theirs[chosen], rest)
        found.append(_smooth(mine[chosen], one) if _is_rate(labels) else one)
        shares.append((int(chosen.sum()) + len(rest)) / total)
    return _estimate(found, shares, _is_rate(labels), level, total)


def rogan_gladen(
    rate: float, n: int, rates: Rates, *, known: Sequence[float] = (), level: float = LEVEL
) -> Estimate | None:
    """Correct a judge's rate by its rates of error elsewhere, by the delta method: over all items, in [0, 1].

    `known`: values, 1 or 0, of more items, which the judge was not asked about.

    None of a judge that says right no more often where people do, and where no share of right items explains the
    verdicts: the estimate over the n lies outside [0, 1], and so does its interval.
    """
    youden = rates.sensitivity + rates.specificity - 1
    if youden <= 0:
        return None
    right = (rate + rates.specificity - 1) / youden
    spread = _spread(rate, n)
    doubt = right**2 * _spread(rates.sensitivity, rates.positives)
    doubt += (1 - right) ** 2 * _spread(rates.specificity, rates.negatives)
    low, high = _normal(right, (spread + doubt) / youden**2, level)
    if high < 0 or low > 1:
        return None
    total = n + len(known)
    share, others = n / total, sum(known) / total
    value = share * right + others
    squares = share * (right**2 + n * spread / youden**2) + others  # mean of one item's square
    variance = (squares - value**2) / total + share**2 * doubt / youden**2
    low, high = (float(np.clip(one, 0, 1)) for one in _normal(value, variance, level))
    return Estimate(float(np.clip(value, 0, 1)), variance, Interval(low, high), 1.0, 0)


def _spread(rate: float, n: int) -> float:
    """Return the variance of a rate over n items; one of 0 or 1 gets half an item of each kind, or would have none."""
    if not 0 < rate < 1:
        rate, n = (rate * n + 0.5) / (n + 1), n + 1
    return rate * (1 - rate) / n


def _values(given: Sequence[float]) -> Values:
    return np.asarray(given, dtype=np.float64)


def _is_rate(labels: Sequence[float]) -> bool:
    return set(labels) <= {0, 1}


def _stratum(labels: Values, verdicts: Values, others: Values, tuning: float | None = None) -> _Stratum:
    constant = tuning_constant(labels, verdicts, others) if tuning is None else tuning
    rest = labels - constant * verdicts
    value, variance = rest.mean(), rest.var() / len(rest)
    if constant:
        value += constant * others.mean()
        variance += constant**2 * others.var() / len(others)
    return _Stratum(float(value), float(variance), constant, len(labels))


def _smooth(labels: Values, one: _Stratum) -> _Stratum:
    """Give a stratum without a judge the variance of its labels and half a label of each kind: alike they had none."""
    if one.tuning:
        return one
    n = len(labels) + 1
    share = (labels.sum() + 0.5) / n
    return one._replace(variance=float(share * (1 - share) / n))


def _estimate(
    strata: Sequence[_Stratum],
    shares: Sequence[float],
    is_rate: bool,
    level: float,
    total: int | None = None,
) -> Estimate:
    values, variances, constants, counts = (np.array(column, dtype=np.float64) for column in zip(*strata, strict=True))
    weights = np.array(shares)
    value, variance = float(weights @ values), float(weights**2 @ variances)
    if total:
        variance += float(weights @ (values - value) ** 2) / total
    n = int(counts.sum())
    interval = _wilson(value, variance, n, level) if is_rate else _normal(value, variance, level)
    return Estimate(value, variance, interval, float(weights @ constants), n)


def _normal(value: float, variance: float, level: float) -> Interval:
    half = NormalDist().inv_cdf((1 + level) / 2) * variance**0.5
    return Interval(value - half, value + half)


def _wilson(value: float, variance: float, n: int, level: float) -> Interval:
    """Return Wilson's interval for a rate whose variance is that of so many labels; at an end, or without one, of n."""
    share = min(max(value, 0.0), 1.0)
    effective = share * (1 - share) / variance if variance and 0 < share < 1 else n
    return wilson(share * effective, effective, level)

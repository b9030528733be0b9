"""How well verdicts agree with labels, all of one table of counts, labels by verdicts (Cohen 1960; Gwet 2008)."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .means import SEED, UPPER, Interval, Z, wilson

Intervals = tuple[Interval | None, Interval | None, Interval | None]  # of accuracy, kappa and AC1
_DRAWS = (10_000, 100_000)  # of all groups: the fewer, the more groups there are
_MOST = 20_000_000  # groups drawn in all
_BLOCK = 250  # draws that are made at once


class Agreement(NamedTuple):
    """Agreement of labels and verdicts; kappa and AC1 are None where one class is all there is."""

    n: int  # items
    accuracy: float  # the share of items whose verdict is the label
    kappa: float | None  # Cohen's, 1 at best; 0 is what chance gives by how often each side says a class
    ac1: float | None  # Gwet's first coefficient, which holds where one class is rare


def count_pairs(labels: Sequence[Any], verdicts: Sequence[Any], classes: Sequence[Any]) -> NDArray[np.int64]:
    """Return the table of counts: a row for each class of the labels, a column for each of the verdicts."""
    at = {name: place for place, name in enumerate(classes)}
    table = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(table, ([at[label] for label in labels], [at[verdict] for verdict in verdicts]), 1)
    return table


def agreement(table: NDArray[Any]) -> Agreement:
    accuracy, kappa, ac1 = (float(value) for value in _coefficients(np.asarray(table, dtype=np.float64)))
    return Agreement(int(table.sum()), accuracy, *(value if np.isfinite(value) else None for value in (kappa, ac1)))


def agreement_intervals(
    labels: Sequence[Any], verdicts: Sequence[Any], groups: Sequence[Hashable], classes: Sequence[Any]
) -> Intervals:
    """Return the percentile intervals of accuracy, kappa and AC1, with whole groups drawn with replacement."""
    numbers = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    at = {name: place for place, name in enumerate(classes)}
    n, k = len(numbers), len(classes)
    counts = np.zeros((n, k * k))
    cells = [at[label] * k + at[verdict] for label, verdict in zip(labels, verdicts, strict=True)]
    np.add.at(counts, ([numbers[group] for group in groups], cells), 1)
    rng = np.random.RandomState(SEED)
    tables = np.empty((int(np.clip(_MOST // n, *_DRAWS)), k * k))
    for start in range(0, len(tables), _BLOCK):
        block = tables[start : start + _BLOCK]
        drawn = rng.randint(0, n, (len(block), n)) + n * np.arange(len(block))[:, None]
        block[:] = np.bincount(drawn.ravel(), minlength=len(block) * n).reshape(len(block), n) @ counts
    accuracy, kappa, ac1 = map(_middle, _coefficients(tables.reshape(-1, k, k)))
    return accuracy, kappa, ac1


def class_figures(table: NDArray[Any]) -> list[dict[str, float | None]]:
    """Return the figures of every class against all others, in the order of the table; None where nothing divides.

    `labels` and `verdicts` are items that people, and the judge, put into the class.
    """
    figures: list[dict[str, float | None]] = []
    for hit, labels, verdicts in zip(*map(list, (table.diagonal(), table.sum(1), table.sum(0))), strict=True):
        shares = {"accuracy": (table.sum() - labels - verdicts + 2 * hit, table.sum())}
        shares |= {"precision": (hit, verdicts), "recall": (hit, labels), "f1": (2 * hit, labels + verdicts)}
        parts = {name: float(part / whole) if whole else None for name, (part, whole) in shares.items()}
        figures.append({"labels": int(labels), "verdicts": int(verdicts), **parts})
    return figures


def _middle(values: NDArray[np.float64]) -> Interval | None:
    values = values[np.isfinite(values)]
    return Interval(*map(float, np.quantile(values, [1 - UPPER, UPPER]))) if values.size else None


def _coefficients(tables: NDArray[np.float64]) -> tuple[Any, Any, Any]:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = tables / tables.sum(axis=(-2, -1), keepdims=True)
        accuracy = np.trace(shares, axis1=-2, axis2=-1)
        said, given = shares.sum(axis=-1), shares.sum(axis=-2)
        by_chance = (said * given).sum(axis=-1)
        kappa = (accuracy - by_chance) / (1 - by_chance)
        mean = (said + given) / 2
        by_chance = (mean * (1 - mean)).sum(axis=-1) / (tables.shape[-1] - 1)
        return accuracy, kappa, (accuracy - by_chance) / (1 - by_chance)


Values = NDArray[np.float64]


class Estimate(NamedTuple):
    value: float
    variance: float
    interval: Interval  # Wilson's at the effective number of labels for a rate of 0 and 1, else the normal one
    tuning: float  # how much of the judge was used: 0 is none, 1 is all
    n: int  # labels


def ppi_mean(labels: Sequence[float], verdicts: Sequence[float], others: Sequence[float]) -> Estimate:
    """Estimate a mean from labels of n > 0 items, the verdicts of the same, and those of others.

    Prediction-powered inference with its tuning constant (PPI++: Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453).
    """
    mine, theirs, rest = (np.asarray(column, dtype=np.float64) for column in (labels, verdicts, others))
    used = _best_tuning(mine, theirs, rest)
    surplus = mine - used * theirs
    value, variance = surplus.mean(), surplus.var() / len(surplus)
    if used:
        value += used * rest.mean()
        variance += used**2 * rest.var() / len(rest)
    return _estimate(float(value), float(variance), used, mine)


def _best_tuning(labels: Values, verdicts: Values, others: Values) -> float:
    variance = np.concatenate([verdicts, others]).var(ddof=1) if len(others) else 0.0
    if not variance:
        return 0.0
    together = np.mean((labels - labels.mean()) * (verdicts - verdicts.mean()))
    return float(np.clip(together / ((1 + len(labels) / len(others)) * variance), 0, 1))


def _estimate(value: float, variance: float, tuning: float, labels: Values) -> Estimate:
    n = len(labels)
    if not np.isin(labels, (0, 1)).all():
        half = Z * variance**0.5
        return Estimate(value, variance, Interval(value - half, value + half), tuning, n)
    share = min(max(value, 0.0), 1.0)
    effective = share * (1 - share) / variance if variance and 0 < share < 1 else n
    return Estimate(value, variance, wilson(share * effective, effective), tuning, n)

"""How alike two rankings of the same things are: of systems under two profiles, by two judges, on two benchmarks."""

from collections.abc import Mapping
from typing import NamedTuple


class Agreement(NamedTuple):
    """Rank correlations of two rankings, in [-1, 1], and over how many things."""

    spearman: float | None  # Spearman's rho, ties at their mean rank; None where it is not defined
    kendall: float | None  # Kendall's tau-b; None where it is not defined
    n: int  # things that both rank


def rank_agreement(first: Mapping[str, float], second: Mapping[str, float]) -> Agreement:
    """Compare two rankings by the scores behind them, of what both have (SciPy's `spearmanr` and `kendalltau`).

    Args:
        first: scores by name.
        second: scores by name; where for one of the two less is better, give its values negated.

    Returns:
        The correlations; None for both where fewer than two are ranked, or one ranks all alike.
    """
    names = sorted(first.keys() & second.keys())
    one, other = ([scores[name] for name in names] for scores in (first, second))
    if len(set(one)) < 2 or len(set(other)) < 2:
        return Agreement(None, None, len(names))
    from scipy.stats import kendalltau, spearmanr

    return Agreement(float(spearmanr(one, other).statistic), float(kendalltau(one, other).statistic), len(names))

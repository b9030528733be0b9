"""Means with their intervals, and tests of two runs over the same questions.

`items` says what a value is, `summaries` are means with intervals, `intervals` how an interval is found, `resampling`
draws questions anew, `tests` says whether two differ.
"""

from .intervals import wilson
from .items import LEVEL, NOT_APPLICABLE, Interval, Item, Pair, Summary
from .resampling import RESAMPLES, SEED
from .summaries import macro, spread, summarise, summarise_all
from .tests import McNemar, mcnemar, paired_difference

__all__ = [
    "LEVEL",
    "NOT_APPLICABLE",
    "RESAMPLES",
    "SEED",
    "Interval",
    "Item",
    "McNemar",
    "Pair",
    "Summary",
    "macro",
    "mcnemar",
    "paired_difference",
    "spread",
    "summarise",
    "summarise_all",
    "wilson",
]

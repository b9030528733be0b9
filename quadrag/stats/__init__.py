"""Means with their intervals, and tests of two runs over the same questions."""

from .intervals import SEED, share_difference, wilson
from .items import NOT_APPLICABLE, Interval, Item
from .means import Mean, macro, spread, summarise, summarise_all
from .paired import Pair, paired_difference
from .tests import holm, mcnemar

__all__ = [
    "NOT_APPLICABLE",
    "SEED",
    "Interval",
    "Item",
    "Mean",
    "Pair",
    "holm",
    "macro",
    "mcnemar",
    "paired_difference",
    "share_difference",
    "spread",
    "summarise",
    "summarise_all",
    "wilson",
]

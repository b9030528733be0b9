"""Means with their intervals, and tests of two runs over the same questions."""

from .intervals import SEED, bca, share_difference, wilson
from .items import NOT_APPLICABLE, Interval, Item
from .means import Mean, Summary, macro, spread, summarise, summarise_all
from .paired import Pair, paired_difference, paired_macro
from .tests import detectable, holm, items_needed, mcnemar, power_of, sign_flips

__all__ = [
    "NOT_APPLICABLE",
    "SEED",
    "Interval",
    "Item",
    "Mean",
    "Pair",
    "Summary",
    "bca",
    "detectable",
    "holm",
    "items_needed",
    "macro",
    "mcnemar",
    "paired_difference",
    "paired_macro",
    "power_of",
    "share_difference",
    "sign_flips",
    "spread",
    "summarise",
    "summarise_all",
    "wilson",
]

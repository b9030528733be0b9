"""Means with their intervals, and tests of two runs over the same questions."""

from .intervals import bca, logit_interval, percentile, share_difference, wilson
from .items import LEVEL, NOT_APPLICABLE, Interval, Item
from .means import Mean, Summary, macro, spread, summarise, summarise_all
from .paired import Pair, paired_difference, paired_macro
from .power import detectable, items_needed, power_of
from .resampling import SEED, Draws
from .tests import McNemar, holm, mcnemar, sign_flips

__all__ = [
    "LEVEL",
    "NOT_APPLICABLE",
    "SEED",
    "Draws",
    "Interval",
    "Item",
    "McNemar",
    "Mean",
    "Pair",
    "Summary",
    "bca",
    "detectable",
    "holm",
    "items_needed",
    "logit_interval",
    "macro",
    "mcnemar",
    "paired_difference",
    "paired_macro",
    "percentile",
    "power_of",
    "share_difference",
    "sign_flips",
    "spread",
    "summarise",
    "summarise_all",
    "wilson",
]

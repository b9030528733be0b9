# SPDX-License-Identifier: Apache-2.0
"""OmniEval's rule metrics, of an answer and its accepted answers."""

from functools import cache
from typing import Any

import jieba

from .fold import fold
from .overlap import KEYS, corrected, official
from .scoring import Cells, Item, Scorer
from .tally import NOT_APPLICABLE, read_accepted
from .words import cut


class OmnievalOverlap(Scorer):
    NAME, VERSION = "omnieval_overlap", "1.1.0"
    KEYS = KEYS

    def __init__(self, **common: Any) -> None:
        super().__init__(**common)
        self._tokens = cache(cut)

    @staticmethod
    def reference(value: Any, name: str) -> list[str] | None:
        return read_accepted(value, name) or None

    def cells(self, item: Item, profile: str) -> Cells:
        answer, golds = item["prediction"], item["reference"]
        if profile == "corrected":
            golds = [gold for gold in golds or [] if fold(gold)]
        if not golds or answer is None:
            return dict.fromkeys(KEYS, item["state"] if golds else NOT_APPLICABLE)
        return (corrected if profile == "corrected" else official)(answer, golds, self._tokens)

    def conditions(self, profile: str) -> dict[str, str]:
        return {"tokenizer": f"jieba-{jieba.__version__}"}


SCORER = OmnievalOverlap

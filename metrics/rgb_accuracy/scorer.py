# SPDX-License-Identifier: Apache-2.0
"""RGB's accuracy, of an answer alone."""

from .phrases import LanguageScorer, bounded, correct, label
from .scoring import Cells, Item


class RgbAccuracy(LanguageScorer):
    NAME, VERSION = "rgb_accuracy", "1.1.0"
    KEYS = ("accuracy", "accuracy_bounded")

    def cells(self, item: Item, profile: str) -> Cells:
        answer, gold = item["prediction"], item["reference"]
        if answer is None:
            return dict.fromkeys(self.KEYS, item["state"])
        right = correct(label(answer, gold, self.language, profile))
        return {"accuracy": float(right), "accuracy_bounded": float(bounded(answer, gold, self.language, profile))}


SCORER = RgbAccuracy

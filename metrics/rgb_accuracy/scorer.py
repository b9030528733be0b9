# SPDX-License-Identifier: Apache-2.0
"""RGB's accuracy, of an answer alone."""

from typing import Any

from .rgb_labels import bounded, correct, label, parts
from .scoring import Cells, Item, Scorer


class RgbAccuracy(Scorer):
    """Whether the gold answer is in the answer."""

    NAME, VERSION = "rgb_accuracy", "1.1.0"
    KEYS = ("accuracy", "accuracy_bounded")
    reference = staticmethod(parts)

    def __init__(self, *, language: str = "en", **common: Any) -> None:
        """Take the language of the answers."""
        super().__init__(**common)
        self.language = language

    def cells(self, item: Item, profile: str) -> Cells:
        answer, gold = item["prediction"], item["reference"]
        if answer is None:
            return dict.fromkeys(self.KEYS, item["state"])
        found = correct(label(answer, gold, self.language, profile))
        return {"accuracy": float(found), "accuracy_bounded": float(bounded(answer, gold, self.language, profile))}

    def conditions(self, items: Any, profile: str) -> dict[str, str]:
        return {"language": self.language}


SCORER = RgbAccuracy

# SPDX-License-Identifier: Apache-2.0
"""RGB's error detection and correction: by phrase and, with a judge, by its verdict."""

from .phrases import FACTUAL_ERROR, JudgedScorer, correct, label, says
from .plain import YES_NO, PlainReader
from .prompts import PLAIN_PROMPTS, PROMPTS, READER
from .scoring import NOT_APPLICABLE, Item, Rounds, row


class ErrorDetection(JudgedScorer):
    NAME = "error_detection"
    KEYS = ("error_detection", "error_detection_judged", "error_correction")
    PROMPTS = PROMPTS
    READER = READER
    PLAIN = PLAIN_PROMPTS, PlainReader(YES_NO)

    def mark(self, item: Item, profile: str) -> Rounds:
        answer, gold = item["prediction"], item["reference"]
        phrase = item["state"] if answer is None else float(says(answer, FACTUAL_ERROR, self.language, profile))
        cells: dict[str, float | str] = {"error_detection": phrase}
        detected = phrase
        if self.judges:
            cells["error_detection_judged"] = detected = yield from self.ask(item, profile)
        cells["error_correction"] = detected if isinstance(detected, str) else NOT_APPLICABLE
        if detected == 1.0 and answer is not None:
            labels = label(answer, gold, self.language, profile)
            rejection_passes = profile == "official" and not self.judges and 0 not in labels
            cells["error_correction"] = float(correct(labels) or rejection_passes)
        return row(cells)


SCORER = ErrorDetection

# SPDX-License-Identifier: Apache-2.0
"""RGB's rejection rate: by phrase and, with a judge, by its verdict."""

from collections.abc import Sequence
from typing import Any

from .phrases import REJECTION, JudgedScorer, correct, label, parts, says
from .plain import YES_NO, PlainReader
from .prompts import PLAIN_PROMPTS, PROMPTS, READER
from .scoring import Item, Rounds, row, strings


class RejectionRate(JudgedScorer):
    NAME = "rejection_rate"
    KEYS = ("rejection_rate", "rejection_rate_judged", "unsupported_correct")
    PROMPTS = PROMPTS
    READER = READER
    PLAIN = PLAIN_PROMPTS, PlainReader({word: 1 - answers for word, answers in YES_NO.items()})

    @staticmethod
    def reference(value: Any, name: str) -> list[list[str]] | None:
        return None if value is None else parts(value, name)

    @classmethod
    def columns(cls, predictions: Any, references: Any) -> dict[str, list[Any]]:
        answers = strings(predictions, "predictions", null=True)
        return super().columns(answers, [None] * len(answers) if references is None else references)

    def items(self, predictions: Sequence[Any], references: Sequence[Any], **columns: Any) -> list[Item]:
        there, n = sum(gold is not None for gold in references), len(references)
        if 0 < there < n:
            raise ValueError(f"references has {there} entries for {n} predictions; give all or none")
        self.referenced = there == n
        self.keys = [key for key in self.keys if self.referenced or key != "unsupported_correct"]
        return super().items(predictions, references, **columns)

    def mark(self, item: Item, profile: str) -> Rounds:
        answer, gold = item["prediction"], item["reference"]
        cells: dict[str, float | str] = dict.fromkeys(self.keys, item["state"])
        if answer is not None:
            leak = gold is not None and correct(label(answer, gold, self.language, profile))
            rejected = says(answer, REJECTION, self.language, profile) or (leak and profile == "official")
            cells |= {"rejection_rate": float(rejected)}
            cells |= {"unsupported_correct": float(leak)} if gold is not None else {}
        if self.judges:
            cells["rejection_rate_judged"] = yield from self.ask(item, profile)
        return row(cells)

    def conditions(self, profile: str) -> dict[str, str]:
        return {"language": self.language, "references": "yes" if self.referenced else "no"}


SCORER = RejectionRate

# SPDX-License-Identifier: Apache-2.0
"""RGB's rejection rate: by phrase and, with a judge, by its verdict."""

from collections.abc import Sequence
from typing import Any

from .prompts import PROMPTS, read
from .rgb_judge import JudgedScorer
from .rgb_labels import REJECTION, correct, label, says
from .scoring import Item, Rounds, row


class RejectionRate(JudgedScorer):
    """Whether an answer declines; with references also whether it is correct all the same."""

    NAME = "rejection_rate"
    OPTIONAL = True
    PROMPTS = PROMPTS
    read = staticmethod(read)

    def items(self, predictions: Sequence[Any], references: Sequence[Any], **columns: Any) -> list[Item]:
        given, n = sum(gold is not None for gold in references), len(references)
        if 0 < given < n:
            raise ValueError(f"references has {given} entries for {n} predictions; give all or none")
        return super().items(predictions, references, **columns)

    def mark(self, item: Item, profile: str) -> Rounds:
        answer, gold, why = item["prediction"], item["reference"], item["state"]
        cells: dict[str, float | str] = dict.fromkeys(self.list_keys([item]), why)
        if answer is not None:
            leak = gold is not None and correct(label(answer, gold, self.language, profile))
            rejected = says(answer, REJECTION, self.language, profile) or (leak and profile == "official")
            cells |= {"rejection_rate": float(rejected)}
            cells |= {"unsupported_correct": float(leak)} if gold is not None else {}
        if self.judges:
            cells["rejection_rate_judged"] = yield from self.ask(item, profile)
        return row(cells)

    def list_keys(self, items: Sequence[Item]) -> list[str]:
        judged = ["rejection_rate_judged"] if self.judges else []
        # With no items at all every key is there, and None.
        return ["rejection_rate", *judged, *(["unsupported_correct"] if _referenced(items) else [])]

    def conditions(self, items: Sequence[Item], profile: str) -> dict[str, str]:
        return {"language": self.language, "references": "yes" if _referenced(items) else "no"}


def _referenced(items: Sequence[Item]) -> bool:
    return all(item["reference"] is not None for item in items)


SCORER = RejectionRate

# SPDX-License-Identifier: Apache-2.0
"""How well each of several rankings of ids has the relevant ones at its top."""

from collections.abc import Sequence
from typing import Any

from .ranking import check_k, columns, keys, measures, places
from .scoring import Cells, Item, Scorer
from .tally import NOT_APPLICABLE


class RetrievalRanking(Scorer):
    """Predictions are rankings, references relevant ids."""

    NAME, VERSION = "retrieval_ranking", "1.0.0"
    columns = staticmethod(columns)

    def __init__(self, *, k: Any = (1, 5, 10), **common: Any) -> None:
        """Take the cut-offs."""
        super().__init__(**common)
        self.k = check_k(k)
        self.keys = keys(self.k)

    def cells(self, item: Item, profile: str) -> Cells:
        ranking, gold = item["prediction"], item["reference"]
        if not gold or ranking is None:
            return dict.fromkeys(self.keys, item["state"] if gold else NOT_APPLICABLE)
        return measures(places(ranking, gold), len(set(gold)), self.k, profile)

    def list_keys(self, items: Sequence[Item]) -> Sequence[str]:
        return self.keys

    def conditions(self, items: Sequence[Item], profile: str) -> dict[str, str]:
        return {"k": ",".join(map(str, self.k))}


SCORER = RetrievalRanking

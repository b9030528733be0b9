# SPDX-License-Identifier: Apache-2.0
"""What a ranked list of ids is worth, given the relevant ones.

The definitions are the textbook's with binary relevance, as trec_eval has them, beside CRUD-RAG's mean over gold
documents (Lyu et al., 2024) and OmniEval's average precision over the hits found (Wang et al., 2024).
"""

from collections.abc import Iterable, Sequence
from math import log2
from numbers import Integral
from typing import Any

from .scoring import NOT_APPLICABLE, Cells, Item, Scorer, column, is_list, strings

_DIGITS = 300  # of an id that is a number: Python itself writes no more than 4,300


def read_ids(value: Any, name: str) -> list[str] | None:
    """Return a list of ids, strings or integers of up to 300 digits, as strings; None for None."""
    if value is None:
        return None
    ids = []
    for i, entry in enumerate(column(value, name, entries=" of ids")):
        is_number = isinstance(entry, Integral) and not isinstance(entry, bool) and abs(int(entry)) < 10**_DIGITS
        if not is_number and not isinstance(entry, str):
            kind = type(entry).__name__
            raise ValueError(f"{name}[{i}] is {kind}; expected an id, a string or an integer of up to {_DIGITS} digits")
        ids.append(str(int(entry)) if is_number else entry)
    return strings(ids, name)


class RetrievalRanking(Scorer):
    NAME, VERSION = "retrieval_ranking", "1.0.0"
    prediction = reference = staticmethod(read_ids)

    def __init__(self, *, k: Any = (1, 5, 10), **common: Any) -> None:
        super().__init__(**common)
        cuts = list(k) if is_list(k) else []
        whole = all(isinstance(cut, Integral) and not isinstance(cut, bool) and int(cut) > 0 for cut in cuts)
        if not cuts or not whole or len({*cuts}) < len(cuts):
            raise ValueError(f"k is {k!r}; expected a list of different positive integers such as [1, 5, 10]")
        self.k = tuple(map(int, cuts))
        cut = [f"{name}@{cut}" for name in ("recall", "ndcg", "hit") for cut in self.k]
        self.keys = ["map", "mrr", "mrr_per_gold", *cut]

    def cells(self, item: Item, profile: str) -> Cells:
        ranking, gold = item["prediction"], item["reference"]
        if not gold or ranking is None:
            return dict.fromkeys(self.keys, item["state"] if gold else NOT_APPLICABLE)
        place = {name: rank for rank, name in reversed([*enumerate(ranking, 1)])}  # an id counts at its first
        ranks = sorted(place[name] for name in set(gold) if name in place)
        return _measure(ranks, len(set(gold)), self.k, profile)

    def conditions(self, profile: str) -> dict[str, str]:
        return {"k": ",".join(map(str, self.k))}


def _measure(ranks: Sequence[int], n: int, k: Sequence[int], profile: str) -> dict[str, float]:
    """Compute all values of one ranking, each in [0, 1], of the ranks at which some of n relevant ids stand.

    "official" divides the sum of precisions by the hits found, as OmniEval's code does; "corrected" by n.
    """
    precisions = sum(hits / rank for hits, rank in enumerate(ranks, 1))
    over = n if profile == "corrected" else max(len(ranks), 1)
    values = {
        "map": precisions / over,
        "mrr": 1 / ranks[0] if ranks else 0.0,
        "mrr_per_gold": sum(1 / rank for rank in ranks) / n,
    }
    for cut in k:
        top = [rank for rank in ranks if rank <= cut]
        values[f"recall@{cut}"] = len(top) / n
        values[f"ndcg@{cut}"] = _gain(top) / _gain(range(1, min(n, cut) + 1))
        values[f"hit@{cut}"] = float(bool(top))
    return values


def _gain(ranks: Iterable[int]) -> float:
    return sum(1 / log2(rank + 1) for rank in ranks)


SCORER = RetrievalRanking

# SPDX-License-Identifier: Apache-2.0
"""What a ranked list of ids is worth, given the relevant ones: the places they stand at, and measures over these.

The definitions are the textbook's with binary relevance, as trec_eval has them, beside CRUD-RAG's mean over gold
documents (Lyu et al., 2024) and OmniEval's average precision over the hits found (Wang et al., 2024).
"""

from collections.abc import Iterable, Sequence
from math import log2
from numbers import Integral
from typing import Any

from .tally import column, is_list, strings

_DIGITS = 300  # of an id that is a number: Python itself writes no more than 4,300


def check_k(k: Any) -> tuple[int, ...]:
    """Return the cut-offs; ValueError unless they are different positive integers."""
    if not is_list(k):
        raise ValueError(f"k is {k!r}; expected a list of positive integers such as [1, 5, 10]")
    given = list(k)
    if not given:
        raise ValueError("k is empty; expected a list of positive integers such as [1, 5, 10]")
    for i, cut in enumerate(given):
        if not isinstance(cut, Integral) or isinstance(cut, bool) or cut < 1:
            raise ValueError(f"k[{i}] is {cut!r}; expected a positive integer")
        if cut in given[:i]:
            raise ValueError(f"k[{i}] is {cut} for the second time; expected different integers")
    return tuple(map(int, given))


def keys(k: Sequence[int]) -> list[str]:
    """Return the names of the values, in order."""
    return ["map", "mrr", "mrr_per_gold", *(f"{name}@{cut}" for name in ("recall", "ndcg", "hit") for cut in k)]


def ids(values: Any, name: str) -> list[str | None]:
    """Return a list of ids, strings or integers of up to 300 digits, as strings."""
    if not is_list(values):
        raise ValueError(f"{name} is {type(values).__name__}; expected a list of ids")
    texts = []
    for i, value in enumerate(values):
        number = isinstance(value, Integral) and not isinstance(value, bool)
        if not number and not isinstance(value, str):
            raise ValueError(f"{name}[{i}] is {type(value).__name__}; expected an id, a string or an integer")
        if number and abs(int(value)) >= 10**_DIGITS:
            raise ValueError(f"{name}[{i}] is an integer of more than {_DIGITS} digits; give the id as a string")
        texts.append(str(int(value)) if number else value)
    return strings(texts, name)


def columns(predictions: Any, references: Any) -> dict[str, list[list[str | None] | None]]:
    """Bring a batch to two columns of id lists; None stays None."""
    given: dict[str, list[list[str | None] | None]] = {}
    for name, lists in (("predictions", predictions), ("references", references)):
        entries = enumerate(column(lists, name, entries=" of id lists"))
        given[name] = [None if entry is None else ids(entry, f"{name}[{i}]") for i, entry in entries]
    ranked, golds = map(len, given.values())
    if ranked != golds:
        raise ValueError(f"{ranked} predictions but {golds} references; give one per prediction")
    return given


def places(ranking: Iterable[str], relevant: Iterable[str]) -> list[int]:
    """Return the ranks, from 1 and ascending, at which relevant ids stand for the first time."""
    left, found = set(relevant), []
    for rank, name in enumerate(ranking, 1):
        if name in left:
            left.remove(name)
            found.append(rank)
    return found


def measures(ranks: Sequence[int], n: int, k: Sequence[int], profile: str) -> dict[str, float]:
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
        values[f"ndcg@{cut}"] = gain(top) / gain(range(1, min(n, cut) + 1))
        values[f"hit@{cut}"] = float(bool(top))
    return values


def gain(ranks: Iterable[int]) -> float:
    """Return the discounted cumulative gain of hits at these ranks."""
    return sum(1 / log2(rank + 1) for rank in ranks)

"""Several rankings into one: reciprocal rank fusion, and the plain union that a reranker is given.

Rankings name rows of one passage store, so that a passage is the same in all; texts are not compared. The algorithm is
that of Cormack, Clarke and Buettcher (SIGIR 2009), with a weight, as CRUD-RAG's code has it.
"""

import math
from collections.abc import Iterable, Sequence

from quadrag.errors import QuadragError

from .passages import Hits

WEIGHT = 0.5  # of each ranking, and with the constant what CRUD-RAG's authors ran
CONSTANT = 60


def fuse(
    rankings: Sequence[Sequence[tuple[int, float]]], k: int, *, weight: float = WEIGHT, constant: float = CONSTANT
) -> Hits:
    """Return the k best rows by the sum over rankings of ``weight / (rank + constant)``, the rank from 1.

    Each ranking is best first, no row twice; its scores are not looked at. Equal sums go by their rank in the first
    ranking, then in the second and so on, one that a ranking lacks after those it has.
    """
    if k < 1:
        raise QuadragError(f"top-k {k} is too small; expected at least 1")
    ranks: dict[int, list[float]] = {}
    for number, ranking in enumerate(rankings):
        for rank, (row, _) in enumerate(ranking, 1):
            ranks.setdefault(row, [math.inf] * len(rankings))[number] = rank
    # fsum: with three rankings or more, equal sums must not differ by the order they were added in.
    scored = [(math.fsum(weight / (rank + constant) for rank in found), found, row) for row, found in ranks.items()]
    scored.sort(key=lambda item: (-item[0], item[1]))
    return [(row, score) for score, _, row in scored[:k]]


def union(rankings: Iterable[Sequence[tuple[int, float]]]) -> list[int]:
    """Return every row of the rankings once: those of the first in their order, then what each further one adds."""
    return list(dict.fromkeys(row for ranking in rankings for row, _ in ranking))

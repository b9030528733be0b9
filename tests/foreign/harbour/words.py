"""A retriever: passages by the number of words that they share with the query."""

import re
from collections.abc import Sequence
from typing import Any

from quadrag.retrieval.search import Indexes, Ranker, Retriever


class Words(Retriever):
    """Words of the query that a passage holds, equal numbers in the corpus's order."""

    def describe(self) -> dict[str, Any]:
        """Return what decides the hits."""
        return {"words": 1}

    def open(self, indexes: Indexes) -> Ranker:
        """Read all passages; nothing is kept."""
        passages = [_words(text) for block in indexes.passages.blocks() for text in block]

        def rank(queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
            words = [_words(query) for query in queries]
            shared = [[(row, float(len(asked & held))) for row, held in enumerate(passages)] for asked in words]
            return [sorted((hit for hit in hits if hit[1]), key=lambda hit: -hit[1])[:k] for hits in shared]

        return rank


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))

"""Several rankings into one: reciprocal rank fusion, and the plain union that a reranker is given.

Rankings name rows of one passage store, so that a passage is the same in all; texts are not compared. The algorithm is
that of Cormack, Clarke and Buettcher (SIGIR 2009), with a weight, as CRUD-RAG's authors have it: each ranking is cut at
top_k, and both are fused.
"""

import math
from collections.abc import Sequence
from typing import Any

from quadrag.errors import QuadragError, clean, one_line
from quadrag.parts import Retrieval

from .bm25 import Bm25
from .encoder import Model, Preset
from .passages import Hits, PassageStore
from .search import Indexes, Ranker, Retriever
from .vectors.dense import Dense

WEIGHT = 0.5  # of each ranking, and with the constant what CRUD-RAG's authors ran
CONSTANT = 60


class Hybrid(Retriever):
    def __init__(self, settings: Retrieval) -> None:
        super().__init__(settings)
        self._parts = (Bm25(settings), Dense(settings))

    def describe(self) -> dict[str, Any]:
        return {name: value for part in self._parts for name, value in part.describe().items()}

    def open(self, indexes: Indexes) -> Ranker:
        rankers = [part.open(indexes) for part in self._parts]

        def rank(queries: Sequence[str], k: int) -> list[Hits]:
            lists = zip(*(ranker(queries, k) for ranker in rankers), strict=True)
            return [
                self.join(query, rankings, indexes.passages, k) for query, rankings in zip(queries, lists, strict=True)
            ]

        return rank

    def join(self, query: str, rankings: Sequence[Hits], passages: PassageStore, k: int) -> Hits:
        return fuse(rankings, k)


def fuse(rankings: Sequence[Sequence[tuple[int, float]]], k: int) -> Hits:
    """Return the k best rows by the sum over rankings of ``WEIGHT / (rank + CONSTANT)``, the rank from 1.

    Each ranking is best first, no row twice; its scores are not looked at. Equal sums go by their rank in the first
    ranking, then in the second and so on, one that a ranking lacks after those it has.
    """
    ranks: dict[int, list[float]] = {}
    for number, ranking in enumerate(rankings):
        for rank, (row, _) in enumerate(ranking, 1):
            ranks.setdefault(row, [math.inf] * len(rankings))[number] = rank
    scored = [(sum(WEIGHT / (rank + CONSTANT) for rank in places), places, row) for row, places in ranks.items()]
    scored.sort(key=lambda item: (-item[0], item[1]))
    return [(row, score) for score, _, row in scored[:k]]


class Reranker(Model):
    """A cross-encoder, which reads query and passage together; loaded when the first pair comes.

    Its scores are the logits, not their sigmoid, which in float32 makes all good passages equal. A pair longer than the
    model takes is cut off by its tokenizer.
    """

    kind = "reranker"
    loader = "CrossEncoder"
    presets = {"bge-rank": Preset("BAAI/bge-reranker-base")}  # noqa: RUF012

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score for each text, without bounds; the higher, the better. Equal texts get equal scores."""
        # Once each: in two places of a batch one text may get two scores that differ in the last digit.
        pairs = [(clean(query), clean(text)) for text in dict.fromkeys(texts)]
        if not pairs:
            return []
        model = self.loaded()
        from torch.nn import Identity

        try:
            scores = model.predict(pairs, batch_size=32, activation_fn=Identity(), show_progress_bar=False).tolist()
        except (RuntimeError, ValueError, IndexError) as error:  # torch's: memory, a device, more tokens than positions
            raise self.failure(f"failed on {len(pairs)} pairs ({one_line(error, 300)})") from error
        if any(score != score for score in scores):
            raise self.failure("gave NaN for a score")
        known = dict(zip(dict.fromkeys(texts), scores, strict=True))
        return [known[text] for text in texts]

    def prepare(self, model: Any) -> None:
        """Refuse a model without such a head, which gets one of random numbers."""
        heads = getattr(model.config, "architectures", None) or []
        whole = any(head.endswith(("ForSequenceClassification", "ForCausalLM")) for head in heads)
        if not whole or model.num_labels != 1:
            kinds = ", ".join(heads) or "of no known kind"
            raise QuadragError(
                f"reranker {self.place} is {kinds}, with {model.num_labels} scores a pair; expected a cross-encoder "
                "with one"
            )


class HybridRerank(Hybrid):
    """The union of BM25's ranking and that of vectors, each cut at top_k, scored again by a cross-encoder.

    Source: CRUD-RAG, whose authors have it so.
    """

    def __init__(self, settings: Retrieval) -> None:
        super().__init__(settings)
        self._reranker = Reranker(settings.reranker, settings.trust)

    def describe(self) -> dict[str, Any]:
        self._reranker.check()
        return {**super().describe(), "reranker": self._reranker.identity()}

    def join(self, query: str, rankings: Sequence[Hits], passages: PassageStore, k: int) -> Hits:
        """Return the k rows that score highest, equal ones in the order they came in."""
        rows = list(dict.fromkeys(row for ranking in rankings for row, _ in ranking))
        scores = self._reranker.scores(query, [passages[row].text for row in rows])
        return sorted(zip(rows, scores, strict=True), key=lambda hit: -hit[1])[:k]

"""Passages in a new order: a cross-encoder reads query and passage together and gives each pair a score.

The scores are the model's logits, not their sigmoid, which in float32 makes all good passages equal. A pair longer than
the model takes is cut off by its tokenizer. As CRUD-RAG's authors have it, it sorts the union of two rankings, each cut
at top_k.
"""

from collections.abc import Sequence
from typing import Any

from quadrag.errors import QuadragError, one_line
from quadrag.parts import Retrieval

from .encoder import Model, Preset
from .hybrid import Hybrid
from .passages import Hits, PassageStore
from .tokens import clean


class Reranker(Model):
    """A cross-encoder, loaded when the first pair comes."""

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
    """The union of BM25's passages and those of vectors, scored again by a cross-encoder."""

    def __init__(self, settings: Retrieval) -> None:
        super().__init__(settings)
        self._reranker = Reranker(settings.reranker, settings.trust)

    def describe(self) -> dict[str, Any]:
        """See `Retriever.describe`."""
        self._reranker.check()
        return {**super().describe(), "reranker": self._reranker.identity()}

    def join(self, query: str, rankings: Sequence[Hits], passages: PassageStore, k: int) -> Hits:
        """Return the k rows that score highest, equal ones in the order they came in."""
        rows = list(dict.fromkeys(row for ranking in rankings for row, _ in ranking))
        scores = self._reranker.scores(query, [passages[row].text for row in rows])
        return sorted(zip(rows, scores, strict=True), key=lambda hit: -hit[1])[:k]

"""Passages in a new order: a cross-encoder reads query and passage together and gives each pair a score.

The scores are the model's logits, not their sigmoid, which in float32 makes all good passages equal. A pair longer than
the model takes is cut off by its tokenizer. Which passages come in is decided elsewhere.
"""

from collections.abc import Sequence
from typing import Any

from quadrag.errors import QuadragError
from quadrag.trust import Trust

from .chunk import LONE_SURROGATE
from .weights import LazyModel, Preset, one_line

PRESETS = {"bge-rank": Preset("BAAI/bge-reranker-base")}


class Reranker(LazyModel):
    """A cross-encoder, loaded when the first pair comes."""

    kind = "reranker"
    loader = "CrossEncoder"
    expected = "a cross-encoder"

    def __init__(
        self,
        name: str,
        *,
        max_length: int | None = None,
        batch_size: int = 32,
        device: str | None = None,
        trust: Trust | None = None,
    ) -> None:
        super().__init__(name, PRESETS, device, trust, max_length=max_length)
        self.max_length, self._batch_size = max_length, batch_size

    def describe(self) -> dict[str, Any]:
        """Return what decides the scores, for the record of a run."""
        return {**self.weights.identity(), "max_length": self.max_length}

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score for each text, without bounds; the higher, the better. Equal texts get equal scores."""
        # Once each: in two places of a batch one text may get two scores that differ in the last digit.
        pairs = [(_clean(query), _clean(text)) for text in dict.fromkeys(texts)]
        if not pairs:
            return []
        model = self._loaded()
        from torch.nn import Identity

        try:
            given = model.predict(
                pairs, batch_size=self._batch_size, activation_fn=Identity(), show_progress_bar=False
            ).tolist()
        except (RuntimeError, ValueError, IndexError) as error:  # torch's: memory, a device, more tokens than positions
            raise QuadragError(
                f"reranker {self.name} failed on {len(pairs)} pairs ({one_line(error)}); another device or fewer "
                "tokens a pair may help"
            ) from error
        if any(score != score for score in given):
            raise QuadragError(f"reranker {self.name} gave NaN for a score; its weights are of no use")
        known = dict(zip(dict.fromkeys(texts), given, strict=True))
        return [known[text] for text in texts]

    def rerank(self, query: str, rows: Sequence[int], texts: Sequence[str], k: int) -> list[tuple[int, float]]:
        """Return the k rows whose texts score highest, best first, equal ones in the order they came in."""
        if k < 1:
            raise QuadragError(f"top-k {k} is too small; expected at least 1")
        scored = list(zip(rows, self.scores(query, texts), strict=True))
        return sorted(scored, key=lambda pair: -pair[1])[:k]

    def _adjust(self, model: Any) -> None:
        heads = getattr(model.config, "architectures", None) or []
        # A model without such a head gets one of random numbers.
        if not any(head.endswith(("ForSequenceClassification", "ForCausalLM")) for head in heads):
            found = ", ".join(heads) or "of no known kind"
            raise QuadragError(f"reranker {self.weights.place} is {found}; expected {self.expected}")
        if model.num_labels != 1:
            raise QuadragError(f"reranker {self.weights.place} gives {model.num_labels} scores a pair; expected one")


def _clean(text: str) -> str:
    return LONE_SURROGATE.sub("\ufffd", text)

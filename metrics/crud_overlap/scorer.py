# SPDX-License-Identifier: Apache-2.0
"""CRUD-RAG's overlap of an answer with its gold answer, over jieba's tokens: BLEU, ROUGE-L, cosine of embeddings.

BLEU is Papineni et al.'s (2002) on one pair, without smoothing, by sacrebleu's formula; its mean without the brevity
penalty is what the code of CRUD-RAG (Lyu et al., 2024) reports. ROUGE-L is Lin's (2004), as rouge_score computes it.
"""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from math import exp, log
from typing import Any

import jieba
import numpy as np
import sacrebleu
from rapidfuzz.distance import LCSseq
from sacrebleu.metrics import BLEU

from .scoring import NOT_APPLICABLE, Cells, Item, Request, Row, Scorer, fold, is_list, string
from .words import cut

ORDERS = range(1, 5)
_tokens = lru_cache(maxsize=1 << 12)(cut)


def bleu(candidate: Sequence[str], reference: Sequence[str]) -> dict[str, float]:
    """Compare two sequences, neither empty, by their n-grams of one to four tokens; all values are in [0, 1].

    bleu_1 to bleu_4 are the precisions with clipped counts, 0 where there is no n-gram so long; bleu_bp is BLEU, their
    geometric mean times the brevity penalty; bleu is that divided by the penalty again, as CRUD-RAG's code does, and 0
    where the penalty is too small for a float (a candidate 746 times too short).
    """
    correct, total = [], []
    for n in ORDERS:
        found = Counter(zip(*(candidate[i:] for i in range(n)), strict=False))
        wanted = Counter(zip(*(reference[i:] for i in range(n)), strict=False))
        correct.append(sum([min(found[gram], wanted[gram]) for gram in found.keys() & wanted.keys()]))
        total.append(max(len(candidate) - n + 1, 0))
    score = BLEU.compute_bleu(correct, total, len(candidate), len(reference), smooth_method="none")
    precisions = [percent / 100 for percent in score.precisions]
    mean = exp(sum(map(log, precisions)) / len(precisions)) if all(precisions) else 0.0
    penalised = mean * score.bp
    values = {f"bleu_{n}": precision for n, precision in zip(ORDERS, precisions, strict=True)}
    return {"bleu": penalised / score.bp if score.bp else 0.0, "bleu_bp": penalised, **values}


def rouge_l(candidate: Sequence[str], reference: Sequence[str]) -> float:
    """Return the F-measure, in [0, 1], of the longest common subsequence of two sequences, one of them not empty."""
    # Numbers, since rapidfuzz compares hashes, and a small number is its own.
    numbers: dict[str, int] = {}
    sides = [[numbers.setdefault(token, len(numbers)) for token in side] for side in (candidate, reference)]
    return 2 * LCSseq.similarity(*sides) / (len(candidate) + len(reference))


def cosines(pairs: Sequence[tuple[str, str]], embed: Callable[[list[str]], Any]) -> list[float]:
    """Return the cosine, in [-1, 1], of the embeddings of each pair of texts.

    Whitespace around a text is taken off first, and a pair with an empty text gets 0, as text2vec's Similarity does.
    `embed` takes m texts and returns an m x d array; it is called once, with each text once.
    """
    bare = [(left.strip(), right.strip()) for left, right in pairs]
    texts = list(dict.fromkeys(text for pair in bare if all(pair) for text in pair))
    if not texts:
        return [0.0] * len(pairs)
    vectors = np.asarray(embed(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise ValueError(f"embed returned shape {vectors.shape}; expected ({len(texts)}, d), all numbers finite")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    unit = dict(zip(texts, vectors, strict=True))
    return [min(1.0, max(-1.0, float(unit[left] @ unit[right]))) if left and right else 0.0 for left, right in bare]


class CrudOverlap(Scorer):
    """BLEU, ROUGE-L and length and, with an embedding, the cosine, which is of the texts as they are."""

    NAME, VERSION = "crud_overlap", "1.1.0"
    KEYS = ("bleu", "bleu_bp", "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "length")

    def __init__(self, *, embed: Any = None, **common: Any) -> None:
        super().__init__(**common)
        if embed is not None and not callable(embed):
            raise ValueError(f"embed is {type(embed).__name__}; expected a callable from a list of texts to an array")
        self.embed = embed
        self.keys = (*self.KEYS, "bertscore") if embed else self.KEYS
        self._cosines: dict[tuple[str, str], float] = {}

    @staticmethod
    def reference(value: Any, name: str) -> str | None:
        given = list(value) if is_list(value) else [value]
        if len(given) > 1:
            raise ValueError(f"{name} holds {len(given)} entries; expected one string, or a list of one")
        return string(given[0] if given else None, name, null=True)

    def score(self, items: Sequence[Item]) -> Generator[list[Request], list[Any], list[Row]]:
        if self.embed:
            pairs = [(item["prediction"], item["reference"]) for item in items]
            pairs = [pair for pair in pairs if all(pair)]
            self._cosines = dict(zip(pairs, cosines(pairs, self.embed), strict=True))
        return super().score(items)

    def cells(self, item: Item, profile: str) -> Cells:
        texts = item["prediction"], item["reference"]
        corrected = profile == "corrected"
        answer, gold = (text and fold(text) if corrected else text for text in texts)
        if corrected and not gold:
            return dict.fromkeys(self.keys, NOT_APPLICABLE)
        if answer is None:
            return dict.fromkeys(self.keys, item["state"])
        if not (answer and gold):
            reason = "empty" if gold else "no gold answer"
            return dict.fromkeys(self.keys, 0.0 if corrected else reason)
        candidate, reference = _tokens(answer), _tokens(gold)
        values = {
            **bleu(candidate, reference),
            "rouge_l": rouge_l(candidate, reference),
            "length": float(len(texts[0])),
        }
        if corrected:
            values["bleu"] = values["bleu_bp"]
        return values | ({"bertscore": self._cosines[texts]} if self.embed else {})

    def conditions(self, profile: str) -> dict[str, str]:
        model = str(getattr(self.embed, "model", None) or "unnamed") if self.embed else "none"
        tokenizer = f"jieba-{jieba.__version__}"
        return {"tokenizer": tokenizer, "bleu": f"sacrebleu-{sacrebleu.__version__}", "embed": model}


SCORER = CrudOverlap

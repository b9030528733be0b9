# SPDX-License-Identifier: Apache-2.0
"""How far two token sequences overlap: BLEU and ROUGE-L; and how near two texts' embeddings are.

BLEU is Papineni et al.'s (2002) on one pair, without smoothing, by sacrebleu's formula; its mean without the brevity
penalty is what the code of CRUD-RAG (Lyu et al., 2024) reports. ROUGE-L is Lin's (2004), as rouge_score computes it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import exp, log
from typing import Any

import numpy as np
from rapidfuzz.distance import LCSseq
from sacrebleu.metrics import BLEU

from .tally import is_list, string

ORDERS = range(1, 5)


def one_text(value: Any, name: str) -> str | None:
    """Bring a reference, a string or a list of one, to a string, or None for none."""
    given = list(value) if is_list(value) else [value]
    if len(given) > 1:
        raise ValueError(f"{name} holds {len(given)} entries; expected one string, or a list of one")
    return string(given[0] if given else None, name, null=True)


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

# SPDX-License-Identifier: Apache-2.0
"""CRUD-RAG's overlap of an answer with its gold answer, over jieba's tokens."""

from collections.abc import Generator, Sequence
from functools import cache
from typing import Any

import jieba
import sacrebleu

from .fold import fold
from .overlap import bleu, cosines, one_text, rouge_l
from .scoring import Cells, Item, Request, Row, Scorer
from .tally import NOT_APPLICABLE
from .words import cut

KEYS = ("bleu", "bleu_bp", "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "length")


class CrudOverlap(Scorer):
    """BLEU, ROUGE-L and length and, with an embedding, the cosine, which is of the texts as they are."""

    NAME, VERSION = "crud_overlap", "1.1.0"
    reference = staticmethod(one_text)

    def __init__(self, *, embed: Any = None, **common: Any) -> None:
        super().__init__(**common)
        if embed is not None and not callable(embed):
            raise ValueError(f"embed is {type(embed).__name__}; expected a callable from a list of texts to an array")
        self.embed = embed
        self.keys = (*KEYS, "bertscore") if embed else KEYS
        self._tokens = cache(cut)
        self._cosines: dict[tuple[str, str], float] = {}

    def score(self, items: Sequence[Item]) -> Generator[list[Request], list[Any], list[Row]]:
        if self.embed:
            pairs = [(item["prediction"], item["reference"]) for item in items]
            pairs = [pair for pair in pairs if all(pair)]
            self._cosines = dict(zip(pairs, cosines(pairs, self.embed), strict=True))
        return super().score(items)

    def cells(self, item: Item, profile: str) -> Cells:
        texts = item["prediction"], item["reference"]
        if profile == "corrected":
            answer, gold = (text and fold(text) for text in texts)
            nothing: float | str = 0.0
        else:
            answer, gold = texts
            nothing = "empty" if gold else "no gold answer"
        if not gold and profile == "corrected":
            return dict.fromkeys(self.keys, NOT_APPLICABLE)
        if answer is None:
            return dict.fromkeys(self.keys, item["state"])
        if not (answer and gold):
            return dict.fromkeys(self.keys, nothing)
        candidate, reference = self._tokens(answer), self._tokens(gold)
        values = {
            **bleu(candidate, reference),
            "rouge_l": rouge_l(candidate, reference),
            "length": float(len(texts[0])),
        }
        if profile == "corrected":
            values["bleu"] = values["bleu_bp"]
        return values | ({"bertscore": self._cosines[texts]} if self.embed else {})

    def conditions(self, profile: str) -> dict[str, str]:
        model = str(getattr(self.embed, "model", None) or "unnamed") if self.embed else "none"
        tokenizer = f"jieba-{jieba.__version__}"
        return {"tokenizer": tokenizer, "bleu": f"sacrebleu-{sacrebleu.__version__}", "embed": model}


SCORER = CrudOverlap

# SPDX-License-Identifier: Apache-2.0
"""Overlap of an answer with its reference, as CRUD-RAG measures it: BLEU, ROUGE-L, length, embedding cosine."""

from functools import cache
from types import SimpleNamespace as Options
from typing import Any

import evaluate
import jieba
import sacrebleu

from .fold import fold
from .module import STATES, TEXT, Option, Shared, document, info, profile
from .overlap import bleu, cosines, embedding, one_text, rouge_l
from .papers import CRUD_RAG
from .tally import NOT_APPLICABLE, missing
from .words import cut

_DESCRIPTION = """\
Overlap metrics of CRUD-RAG on Chinese text, over jieba's tokens: BLEU with and without the brevity penalty, BLEU-1
to BLEU-4, ROUGE-L, length in characters and, with an embedding function, the cosine that the paper calls bertScore.
"""

OPTIONS = {
    "profile": profile("""\
        "official" (default) scores as CRUD-RAG's code does: no brevity penalty in `bleu`, and an item with an
        empty answer, without an answer or without a gold answer is left out. "corrected" has the penalty in `bleu`,
        counts empty and missing answers as 0, and takes an item without a gold answer for not applicable."""),
    "states": STATES,
    "embed": Option(
        """callable from a list of m texts to an m x d array; its `model`, if any, enters the signature. Called
        once, with each text once.""",
        read=embedding,
    ),
}

_KWARGS_DESCRIPTION = document(
    inputs={
        "predictions": "list of n answers. None is an item without an answer; an empty string is an empty answer.",
        "references": """list of n gold answers, each a string or a list of one; None or an empty string where there is
        none.""",
    },
    options=OPTIONS,
    values={
        "bleu": "in [0, 1], or None without a value; the mean over items of the BLEU of each.",
        "bleu_bp": "the same with the brevity penalty in both profiles.",
        "bleu_1, bleu_2, bleu_3, bleu_4": "precisions of n-grams, in [0, 1].",
        "rouge_l": "F-measure, in [0, 1].",
        "length": "characters of an answer.",
        "bertscore": "with embed only; in [-1, 1].",
        "n_total, n_scored, unscored": """items, items with a value, and the others counted by reason ("empty" and
        "no gold answer" besides the states).""",
    },
    code="""
    >>> metric = evaluate.load("crud_overlap")
    >>> gold = "上海市体育局发放了500万元体育消费券。"
    >>> result = metric.compute(predictions=["上海市体育局发放了"], references=[gold])
    >>> [round(result[key], 6) for key in ("bleu", "bleu_bp", "bleu_4", "rouge_l", "length")]
    [1.0, 0.22313, 1.0, 0.571429, 9.0]
    >>> def embed(texts):
    ...     return [[text.count("万"), text.count("元")] for text in texts]
    >>> metric.compute(predictions=["三元", "五万"], references=["9元", "8元"], embed=embed)["bertscore"]
    0.5
    """,
)

KEYS = ("bleu", "bleu_bp", "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "length")


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class CrudOverlap(Shared, evaluate.Metric):
    VERSION = "1.1.0"
    OPTIONS = OPTIONS
    reference = staticmethod(one_text)

    def _info(self) -> evaluate.MetricInfo:
        code = ["https://github.com/IAAR-Shanghai/CRUD_RAG"]
        papers = ["https://arxiv.org/abs/2401.17043", "https://doi.org/10.1145/3701228"]
        return info(_DESCRIPTION, CRUD_RAG, _KWARGS_DESCRIPTION, TEXT, code, papers)

    def _compute(self, predictions: list[str | None], references: list[str | None], options: Options) -> dict[str, Any]:
        keys = [*KEYS, "bertscore"] if options.embed else [*KEYS]
        tokens, corrected = cache(cut), options.profile == "corrected"
        items: list[dict[str, float | str]] = []
        pairs: list[tuple[dict[str, float | str], tuple[str, str]]] = []
        for answer, gold, why in zip(predictions, references, missing(predictions, options.states), strict=True):
            item: dict[str, float | str]
            texts = (answer or "", gold or "")
            if corrected:
                answer, gold = answer and fold(answer), gold and fold(gold)
            if not gold and corrected:
                item = dict.fromkeys(keys, NOT_APPLICABLE)
            elif answer is None:
                item = dict.fromkeys(keys, why)
            elif answer and gold:
                candidate, reference = tokens(answer), tokens(gold)
                item = {**bleu(candidate, reference), "rouge_l": rouge_l(candidate, reference)}
                item["length"] = float(len(texts[0]))
                if corrected:
                    item["bleu"] = item["bleu_bp"]
                pairs.append((item, texts))
            else:
                item = dict.fromkeys(keys, 0.0 if corrected else "empty" if gold else "no gold answer")
            items.append(item)
        if options.embed:
            for (item, _), value in zip(pairs, cosines([pair for _, pair in pairs], options.embed), strict=True):
                item["bertscore"] = value
        model = str(getattr(options.embed, "model", None) or "unnamed") if options.embed else "none"
        used = {"tokenizer": f"jieba-{jieba.__version__}", "bleu": f"sacrebleu-{sacrebleu.__version__}"}
        return self.result(keys, items, options, **used, embed=model)

# SPDX-License-Identifier: Apache-2.0
"""Overlap of an answer with its reference, as CRUD-RAG measures it: BLEU, ROUGE-L, length, embedding cosine."""

import evaluate

from .module import CRUD_RAG, RESULT, STATES, TEXT, Shared, info
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .words import cut as cut

_DESCRIPTION = """\
Overlap metrics of CRUD-RAG on Chinese text, over jieba's tokens: BLEU with and without the brevity penalty, BLEU-1
to BLEU-4, ROUGE-L, length in characters and, with an embedding function, the cosine that the paper calls bertScore.
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers, None where there is none.
    references: list of n gold answers, each a string or a list of one; None or an empty string where there is none.
    profile: "official" (default) as CRUD-RAG's code: no brevity penalty in `bleu`, items with an empty or no
        answer or gold left out. "corrected" has the penalty, and counts empty and missing answers as 0.
    {STATES}
    embed: callable from a list of m texts to an m x d array, called once; its `model` enters the signature.
Returns:
    bleu, bleu_bp: in [0, 1], or None without a value; the mean over items, the second with the brevity penalty always.
    bleu_1, bleu_2, bleu_3, bleu_4: precisions of n-grams, in [0, 1].
    rouge_l: F-measure, in [0, 1].
    length: characters of an answer.
    bertscore: with embed only; in [-1, 1].
    {RESULT}
Examples:
    >>> metric = evaluate.load("crud_overlap")
    >>> gold = "上海市体育局发放了500万元体育消费券。"
    >>> result = metric.compute(predictions=["上海市体育局发放了"], references=[gold])
    >>> [round(result[key], 6) for key in ("bleu", "bleu_bp", "bleu_4", "rouge_l", "length")]
    [1.0, 0.22313, 1.0, 0.571429, 9.0]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class CrudOverlap(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, TEXT, CRUD_RAG)

# SPDX-License-Identifier: Apache-2.0
"""Overlap of an answer with its reference, as CRUD-RAG measures it: BLEU, ROUGE-L, length, embedding cosine."""

import evaluate

from .fold import fold as fold
from .module import RESULT, STATES, TEXT, Shared, info
from .overlap import bleu as bleu
from .papers import CRUD_RAG
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .tally import strings as strings
from .words import cut as cut

_DESCRIPTION = """\
Overlap metrics of CRUD-RAG on Chinese text, over jieba's tokens: BLEU with and without the brevity penalty, BLEU-1
to BLEU-4, ROUGE-L, length in characters and, with an embedding function, the cosine that the paper calls bertScore.
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers. None is an item without an answer; an empty string is an empty answer.
    references: list of n gold answers, each a string or a list of one; None or an empty string where there is none.
    profile: "official" (default) scores as CRUD-RAG's code does: no brevity penalty in `bleu`, and an item with an
        empty answer, without an answer or without a gold answer is left out. "corrected" has the penalty in `bleu`,
        counts empty and missing answers as 0, and takes an item without a gold answer for not applicable.
    {STATES}
    embed: callable from a list of m texts to an m x d array; its `model`, if any, enters the signature. Called once,
        with each text once.
Returns:
    bleu: in [0, 1], or None without a value; the mean over items of the BLEU of each.
    bleu_bp: the same with the brevity penalty in both profiles.
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
    >>> def embed(texts):
    ...     return [[text.count("万"), text.count("元")] for text in texts]
    >>> metric.compute(predictions=["三元", "五万"], references=["9元", "8元"], embed=embed)["bertscore"]
    0.5
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class CrudOverlap(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, TEXT, CRUD_RAG)

# SPDX-License-Identifier: Apache-2.0
"""Overlap of an answer with its accepted answers, as OmniEval measures it: exact match, F1 and ROUGE."""

import evaluate

from .module import OMNIEVAL, RESULT, STATES, TEXTS, Shared, info
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .words import cut as cut

_DESCRIPTION = """\
Rule metrics of OmniEval on Chinese answers: exact match, F1 and ROUGE-L (ROUGE-1 and ROUGE-2 beside it), over jieba's
tokens, with any number of accepted answers.
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers, None where there is none.
    references: list of n references, each an accepted answer or a list of them; with none the item is not applicable.
    profile: "official" (default) as OmniEval's code: exact match averaged over the accepted answers, F1 over characters
        and blanks, `.`, `-` and `%` deleted. "corrected" keeps the numbers, takes the best accepted answer, has F1 over
        tokens, and counts a missing answer as 0.
    {STATES}
Returns:
    em, f1, rouge_1, rouge_2, rouge_l: in [0, 1], or None without a value; means over items.
    {RESULT}
Examples:
    >>> metric = evaluate.load("omnieval_overlap")
    >>> result = metric.compute(predictions=["净利润为 3.2亿元"], references=[["3.2亿元", "净利润为3.2亿元"]])
    >>> [round(result[key], 6) for key in ("em", "f1", "rouge_l")]
    [0.0, 0.916667, 1.0]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class OmnievalOverlap(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, TEXTS, OMNIEVAL)

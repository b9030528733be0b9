# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the RGB benchmark: is the gold answer in the model's answer?"""

import datasets
import evaluate

from .module import RESULT, RGB, STATES, TEXTS, Shared, info
from .phrases import label as label
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .slots import fill as fill

_DESCRIPTION = """\
Accuracy of RGB (noise robustness, information integration, counterfactual robustness): the share of answers
that hold every needed part of the gold answer as a substring, case ignored. A rejection is a wrong answer.
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers, None where there is none.
    references: list of n gold answers, each a string; a list of strings, ALL of which are needed, as in RGB's files; or
        a list of lists: of the outer one all are needed, of an inner one any.
    profile: "official" (default) as RGB's code; "corrected" counts a missing answer as wrong, and compares as folded.
    language: "en" (default) or "zh"; "zh" compares with spaces removed.
    {STATES}
Returns:
    accuracy: in [0, 1], or None without a value.
    accuracy_bounded: the same with whole numbers and words only: 70 is not found in 170, 70.5 or 70,000.
    {RESULT}
Examples:
    >>> metric = evaluate.load("rgb_accuracy")
    >>> golds = ["70", ["3 January", "12 January"], [["NYC", "New York"]]]
    >>> result = metric.compute(predictions=["170 km.", "On 3 January.", "In New York."], references=golds)
    >>> [(row["accuracy"], row["accuracy_bounded"]) for row in result["per_item"]]
    [(1.0, 0.0), (0.0, 0.0), (1.0, 1.0)]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RgbAccuracy(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, datasets.Sequence(TEXTS), RGB)

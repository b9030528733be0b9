# SPDX-License-Identifier: Apache-2.0
"""Rejection rate of the RGB benchmark: does the model decline when no document holds the answer?"""

import datasets
import evaluate

from .module import JUDGE, JUDGED, QUESTIONS, RGB, STATES, TEXTS, Shared, info
from .phrases import label as label
from .plain import PlainReader as PlainReader
from .prompts import PROMPTS as PROMPTS
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .slots import fill as fill

_DESCRIPTION = """\
Rejection rate of RGB (negative rejection): given documents without the answer, the share of answers that
decline, known by a fixed phrase (Rej in the paper) and, with a judge, by the judge's verdict (Rej*).
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers, None where there is none.
    references: optional list of n gold answers, in the forms that rgb_accuracy takes.
    profile: "official" (default) as RGB's code: with references a correct answer counts as a rejection, and a verdict
        without "not addressed" as none. "corrected" counts phrases alone, folded, and reads verdicts with care.
    language: "en" (default) or "zh"; "zh" compares with spaces removed.
    {STATES}
    {JUDGE}
    {QUESTIONS}
    prompt: the judge's instructions, a text with {{answer}} and {{question}}; default this module's own; "plain" is
        one for small judges.
Returns:
    rejection_rate, rejection_rate_judged: in [0, 1], or None without a value; the second with a judge.
    unsupported_correct: with references; the share of all answers that are correct all the same.
    {JUDGED}
Examples:
    >>> metric = evaluate.load("rejection_rate")
    >>> answers, asked = ["It is not stated.", "Lisbon."], ["Where was it held?"] * 2
    >>> def judge(requests):
    ...     return ["No, it is not addressed.", "Yes, it is addressed."]
    >>> result = metric.compute(predictions=answers, references=["Oslo", "Lisbon"], judge=judge, questions=asked)
    >>> [[row[key] for key in list(row)[:3]] for row in result["per_item"]]
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RejectionRate(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, datasets.Sequence(TEXTS), RGB)

# SPDX-License-Identifier: Apache-2.0
"""Rejection rate of the RGB benchmark: does the model decline when no document holds the answer?"""

import datasets
import evaluate

from .fold import fold as fold
from .module import JUDGE, JUDGED, QUESTIONS, STATES, TEXTS, Shared, info
from .papers import RGB
from .prompts import PROMPTS as PROMPTS
from .rgb import label as label
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .slots import fill as fill
from .tally import strings as strings

_DESCRIPTION = """\
Rejection rate of RGB (negative rejection): given documents without the answer, the share of answers that
decline, known by a fixed phrase (Rej in the paper) and, with a judge, by the judge's verdict (Rej*).
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers. None is an item without an answer, an empty string an answer that declines nothing.
    references: optional list of n gold answers, in the forms that rgb_accuracy takes.
    profile: "official" (default) scores as RGB's code does: with references, a correct answer counts as a rejection,
        and a verdict without "not addressed" as none. "corrected" counts phrases alone, as folded and in any case,
        reads verdicts so, leaves unreadable ones unscored, and counts unscored items as not rejected.
    language: "en" (default) or "zh"; "zh" compares with spaces removed.
    {STATES}
    {JUDGE}
    {QUESTIONS}
    prompt: the judge's instructions, a text with {{answer}} and {{question}}; default this module's own.
Returns:
    rejection_rate: in [0, 1], or None without a value.
    rejection_rate_judged: with a judge; in [0, 1] or None.
    unsupported_correct: with references; the share of all answers that are correct all the same.
    {JUDGED}
Examples:
    >>> metric = evaluate.load("rejection_rate")
    >>> refusal = "I can not answer the question because of the insufficient information in documents."
    >>> answers = [refusal, "It is not stated.", "Lisbon."]
    >>> result = metric.compute(predictions=answers, references=["Madrid", "Oslo", "Lisbon"])
    >>> [(row["rejection_rate"], row["unsupported_correct"]) for row in result["per_item"]]
    [(1.0, 0.0), (0.0, 0.0), (1.0, 1.0)]
    >>> def judge(requests):
    ...     return ["No, it is not addressed.", "No, it is not addressed.", "Yes, it is addressed."]
    >>> asked = ["Where was it held?"] * 3
    >>> result = metric.compute(predictions=answers, judge=judge, questions=asked, profile="corrected")
    >>> [row["rejection_rate_judged"] for row in result["per_item"]]
    [1.0, 1.0, 0.0]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RejectionRate(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, datasets.Sequence(TEXTS), RGB)

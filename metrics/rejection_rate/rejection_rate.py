# SPDX-License-Identifier: Apache-2.0
"""Rejection rate of the RGB benchmark: does the model decline when no document holds the answer?"""

import evaluate

from .fold import fold as fold
from .module import Shared, document, profile
from .prompts import PROMPTS as PROMPTS
from .rgb_docs import COMMON, GOLDS, JUDGED, rgb_info
from .rgb_judge import JudgedScorer as JudgedScorer
from .rgb_labels import label as label
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .slots import fill as fill
from .tally import strings as strings

_DESCRIPTION = """\
Rejection rate of RGB (negative rejection): given documents without the answer, the share of answers that
decline, known by a fixed phrase (Rej in the paper) and, with a judge, by the judge's verdict (Rej*).
"""

OPTIONS = {
    "profile": profile("""\
        "official" (default) scores as RGB's code does: with references, a correct answer counts as a
        rejection, and a verdict without "not addressed" as none. "corrected" counts phrases alone, in any
        case and as folded, reads verdicts so, leaves unreadable ones unscored, and counts unscored items as not
        rejected."""),
    **COMMON,
    **JUDGED,
}

_KWARGS_DESCRIPTION = document(
    inputs={
        "predictions": """list of n answers. None is an item without an answer, an empty string an answer that declines
        nothing.""",
        "references": f"optional list of n gold answers, each{GOLDS}",
    },
    options=OPTIONS,
    values={
        "rejection_rate": "in [0, 1], or None without a value.",
        "rejection_rate_judged": "with judge only; in [0, 1] or None.",
        "unsupported_correct": """with references only; the share of all answers that lack the phrase and are correct
        all the same.""",
    },
    code="""
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
    """,
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RejectionRate(Shared, evaluate.Metric):
    SCORER = SCORER
    OPTIONS = OPTIONS

    def _info(self) -> evaluate.MetricInfo:
        return rgb_info(_DESCRIPTION, _KWARGS_DESCRIPTION)

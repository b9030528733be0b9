# SPDX-License-Identifier: Apache-2.0
"""Error detection and correction of the RGB benchmark: does the model notice that the documents are wrong?"""

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
Error detection and correction of RGB (counterfactual robustness): given documents with planted errors, the
share of answers that point them out, known by a fixed phrase (ED in the paper) and, with a judge, by its
verdict (ED*); and of the answers that do, the share that are correct (CR).
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers. None is an item without an answer, an empty string an answer that detects nothing.
    references: list of n gold answers (the true ones, not the planted), in the forms that rgb_accuracy takes.
    profile: "official" (default) scores as RGB's code does: without a judge a detected item also passes as corrected
        when the answer is a rejection, and a verdict detects if it holds "has identified" or "Yes". "corrected" asks
        for a correct answer, compares texts as folded, understands negated verdicts, leaves unreadable ones unscored,
        and counts unscored items as not detected.
    language: "en" (default) or "zh"; "zh" compares with spaces removed.
    {STATES}
    {JUDGE}
    {QUESTIONS}
    prompt: the judge's instructions, a text with {{answer}} and {{question}}; default this module's own.
Returns:
    error_detection: in [0, 1], or None without a value.
    error_detection_judged: with a judge; in [0, 1] or None.
    error_correction: in [0, 1], over the items that the judge, or without one the phrase, finds detected; None if none
        is. An item not detected is not_applicable.
    {JUDGED}
Examples:
    >>> metric = evaluate.load("error_detection")
    >>> answers = ["There are factual errors. It was Oslo.", "They are mistaken, it was Lisbon.", "Paris."]
    >>> def judge(requests):
    ...     return ["Yes, it has identified them.", "Yes, it has identified them.", "No, it has not identified them."]
    >>> asked = {{"references": ["Oslo", "Lisbon", "Rome"], "judge": judge, "questions": ["Where was it held?"] * 3}}
    >>> for row in metric.compute(predictions=answers, **asked)["per_item"]:
    ...     row["error_detection"], row["error_detection_judged"], row["error_correction"]
    (1.0, 1.0, 1.0)
    (0.0, 1.0, 1.0)
    (0.0, 0.0, None)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ErrorDetection(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, datasets.Sequence(TEXTS), RGB)

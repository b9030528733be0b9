# SPDX-License-Identifier: Apache-2.0
"""Error detection and correction of the RGB benchmark: does the model notice that the documents are wrong?"""

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
Error detection and correction of RGB (counterfactual robustness): given documents with planted errors, the
share of answers that point them out, known by a fixed phrase (ED in the paper) and, with a judge, by its
verdict (ED*); and of the answers that do, the share that are correct (CR).
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers, None where there is none.
    references: list of n gold answers (the true ones, not the planted), in the forms that rgb_accuracy takes.
    profile: "official" (default) as RGB's code: without a judge a rejection passes as corrected, and a verdict detects
        if it holds "has identified" or "Yes". "corrected" asks for a correct answer and reads verdicts with care.
    language: "en" (default) or "zh"; "zh" compares with spaces removed.
    {STATES}
    {JUDGE}
    {QUESTIONS}
    prompt: the judge's instructions, a text with {{answer}} and {{question}}; default this module's own; "plain" is
        one for small judges.
Returns:
    error_detection, error_detection_judged: in [0, 1], or None without a value; the second with a judge.
    error_correction: in [0, 1], over the items that the judge, or without one the phrase, finds detected; else None.
    {JUDGED}
Examples:
    >>> metric = evaluate.load("error_detection")
    >>> answers, asked = ["There are factual errors. It was Oslo.", "Mistaken, it was Lisbon."], ["Where was it?"] * 2
    >>> def judge(requests):
    ...     return ["Yes, it has identified them."] * 2
    >>> result = metric.compute(predictions=answers, references=["Oslo", "Lisbon"], judge=judge, questions=asked)
    >>> result["error_detection"], result["error_detection_judged"], result["error_correction"]
    (0.5, 1.0, 1.0)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ErrorDetection(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, datasets.Sequence(TEXTS), RGB)

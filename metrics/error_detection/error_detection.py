# SPDX-License-Identifier: Apache-2.0
"""Error detection and correction of the RGB benchmark: does the model notice that the documents are wrong?"""

from types import SimpleNamespace as Options
from typing import Any

import evaluate

from .fold import fold as fold
from .module import document, profile
from .prompts import PROMPTS, read
from .rgb_judge import JUDGED, Judged
from .rgb_labels import COMMON, FACTUAL_ERROR, GOLDS, correct, label, rgb_info, says
from .slots import fill as fill
from .tally import NOT_APPLICABLE, missing

_DESCRIPTION = """\
Error detection and correction of RGB (counterfactual robustness): given documents with planted errors, the
share of answers that point them out, known by a fixed phrase (ED in the paper) and, with a judge, by its
verdict (ED*); and of the answers that do, the share that are correct (CR).
"""

OPTIONS = {
    "profile": profile("""\
        "official" (default) scores as RGB's code does: without a judge a detected item also passes as
        corrected when the answer is a rejection, and a verdict detects if it holds "has identified" or "Yes".
        "corrected" asks for a correct answer, compares texts as folded, understands negated verdicts, leaves unreadable
        ones unscored,
        and counts unscored items as not detected."""),
    **COMMON,
    **JUDGED,
}

_KWARGS_DESCRIPTION = document(
    inputs={
        "predictions": """list of n answers. None is an item without an answer, an empty string an answer that detects
        nothing.""",
        "references": f"list of n gold answers (the true ones, not the planted), each{GOLDS}",
    },
    options=OPTIONS,
    values={
        "error_detection": "in [0, 1], or None without a value.",
        "error_detection_judged": "with judge only; in [0, 1] or None.",
        "error_correction": """in [0, 1], over the items that the judge, or without one the phrase, finds detected;
        None if none is. An item not detected is not_applicable.""",
    },
    code="""
    >>> metric = evaluate.load("error_detection")
    >>> answers = ["There are factual errors. It was Oslo.", "They are mistaken, it was Lisbon.", "Paris."]
    >>> def judge(requests):
    ...     return ["Yes, it has identified them.", "Yes, it has identified them.", "No, it has not identified them."]
    >>> asked = {"references": ["Oslo", "Lisbon", "Rome"], "judge": judge, "questions": ["Where was it held?"] * 3}
    >>> for row in metric.compute(predictions=answers, **asked)["per_item"]:
    ...     row["error_detection"], row["error_detection_judged"], row["error_correction"]
    (1.0, 1.0, 1.0)
    (0.0, 1.0, 1.0)
    (0.0, 0.0, None)
    """,
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ErrorDetection(Judged, evaluate.Metric):
    OPTIONS = OPTIONS
    PROMPTS = PROMPTS
    read = staticmethod(read)

    def _info(self) -> evaluate.MetricInfo:
        return rgb_info(_DESCRIPTION, _KWARGS_DESCRIPTION)

    def _compute(
        self, predictions: list[str | None], references: list[list[list[str]]], options: Options
    ) -> dict[str, Any]:
        reasons = missing(predictions, options.states)
        keys = ["error_detection", "error_correction"]
        phrase = [
            why if answer is None else float(says(answer, FACTUAL_ERROR, options.language, options.profile))
            for answer, why in zip(predictions, reasons, strict=True)
        ]
        items: list[dict[str, float | str]] = [{"error_detection": value} for value in phrase]
        detected = phrase
        if options.judge:
            keys.insert(1, "error_detection_judged")
            detected = self.verdicts(predictions, reasons, options)
        rejection_passes = options.profile == "official" and not options.judge
        for item, value, answer, gold in zip(items, detected, predictions, references, strict=True):
            item["error_detection_judged"] = value
            item["error_correction"] = value if isinstance(value, str) else NOT_APPLICABLE
            if value == 1.0 and answer is not None:
                labels = label(answer, gold, options.language, options.profile)
                item["error_correction"] = float(correct(labels) or (rejection_passes and 0 not in labels))
        return self.result(keys, items, options, options.prompt, options.judge, language=options.language)

# SPDX-License-Identifier: Apache-2.0
"""Rejection rate of the RGB benchmark: does the model decline when no document holds the answer?"""

from types import SimpleNamespace as Options
from typing import Any

import evaluate

from .fold import fold as fold
from .module import document, profile
from .prompts import PROMPTS, read
from .rgb_judge import JUDGED, Judged
from .rgb_labels import COMMON, GOLDS, REJECTION, correct, label, rgb_info, says
from .slots import fill as fill
from .tally import missing

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
class RejectionRate(Judged, evaluate.Metric):
    OPTIONS = OPTIONS
    OPTIONAL = True
    PROMPTS = PROMPTS
    read = staticmethod(read)

    def _info(self) -> evaluate.MetricInfo:
        return rgb_info(_DESCRIPTION, _KWARGS_DESCRIPTION)

    def _compute(
        self, predictions: list[str | None], references: list[list[list[str]] | None], options: Options
    ) -> dict[str, Any]:
        given, n = sum(gold is not None for gold in references), len(references)
        if 0 < given < n:
            raise ValueError(f"references has {given} entries for {n} predictions; give all or none")
        with_references = given == n  # also with no items at all: every key is there, and None
        reasons = missing(predictions, options.states)
        items: list[dict[str, float | str]] = []
        for answer, gold, why in zip(predictions, references, reasons, strict=True):
            item: dict[str, float | str] = {"rejection_rate": why, "unsupported_correct": why}
            if answer is not None:
                leak = gold is not None and correct(label(answer, gold, options.language, options.profile))
                says_so = says(answer, REJECTION, options.language, options.profile)
                rejected = says_so or (leak and options.profile == "official")
                item = {"rejection_rate": float(rejected), "unsupported_correct": float(leak)}
            items.append(item)
        keys = ["rejection_rate", "unsupported_correct"] if with_references else ["rejection_rate"]
        if options.judge:
            keys.insert(1, "rejection_rate_judged")
            for item, verdict in zip(items, self.verdicts(predictions, reasons, options), strict=True):
                item["rejection_rate_judged"] = verdict
        used = {"language": options.language, "references": "yes" if with_references else "no"}
        return self.result(keys, items, options, options.prompt, options.judge, **used)

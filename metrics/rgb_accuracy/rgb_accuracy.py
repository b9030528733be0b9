# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the RGB benchmark: is the gold answer in the model's answer?"""

import evaluate

from .fold import fold as fold
from .module import Shared, document, profile
from .rgb_docs import COMMON, GOLDS, rgb_info
from .rgb_labels import label as label
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .tally import strings as strings

_DESCRIPTION = """\
Accuracy of RGB (noise robustness, information integration, counterfactual robustness): the share of answers
that hold every needed part of the gold answer as a substring, case ignored. A rejection is a wrong answer.
"""

OPTIONS = {
    "profile": profile("""\
        "official" (default) scores as RGB's code does; "corrected" counts items without an answer as
        wrong, and compares texts as folded: blanks, hyphens, apostrophes, width and grouped digits alike."""),
    **COMMON,
}

_KWARGS_DESCRIPTION = document(
    inputs={
        "predictions": "list of n answers. None is an item without an answer, an empty string a wrong answer.",
        "references": f"""list of n gold answers, each{GOLDS}
        So two accepted strings for one part are [["70 km", "seventy km"]]. The last two may be mixed.""",
    },
    options=OPTIONS,
    values={
        "accuracy": "in [0, 1], or None without a value.",
        "accuracy_bounded": "the same with whole numbers and words only: 70 is not found in 170, 70.5 or 70,000.",
    },
    code="""
    >>> metric = evaluate.load("rgb_accuracy")
    >>> golds = ["70", ["3 January", "12 January"], [["NYC", "New York"]]]
    >>> answers = ["About 170 km.", "On 3 January.", "It was held in New York."]
    >>> result = metric.compute(predictions=answers, references=golds)
    >>> [(row["accuracy"], row["accuracy_bounded"]) for row in result["per_item"]]
    [(1.0, 0.0), (0.0, 0.0), (1.0, 1.0)]
    >>> print(result["signature"])
    rgb_accuracy|version:1.1.0|profile:official|language:en|tokenizer:none|prompt:none|judge:none
    """,
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RgbAccuracy(Shared, evaluate.Metric):
    SCORER = SCORER
    OPTIONS = OPTIONS

    def _info(self) -> evaluate.MetricInfo:
        return rgb_info(_DESCRIPTION, _KWARGS_DESCRIPTION)

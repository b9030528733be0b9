# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the RGB benchmark: is the gold answer in the model's answer?"""

from typing import Any

import datasets
import evaluate

from .rgb_labels import (
    bounded,
    check_options,
    columns,
    correct,
    label,
    sign,
)
from .tally import (
    Tallied,
    missing,
    result,
)

_CITATION = """\
@inproceedings{chen2024benchmarking,
  title     = {Benchmarking Large Language Models in Retrieval-Augmented Generation},
  author    = {Chen, Jiawei and Lin, Hongyu and Han, Xianpei and Sun, Le},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume    = {38},
  number    = {16},
  pages     = {17754--17762},
  year      = {2024}
}
"""

_DESCRIPTION = """\
Accuracy of RGB (noise robustness, information integration, counterfactual robustness): the share of answers
that hold every needed part of the gold answer as a substring, case ignored. A rejection is a wrong answer.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: list of n answers. None is an item without an answer, an empty string a wrong answer.
    references: list of n gold answers, each
        a string;
        a list of strings, ALL of which are needed, as in RGB's files;
        a list of lists of strings: of the outer list all are needed, of an inner list any one.
        So two accepted strings for one part are [["70 km", "seventy km"]]. The last two may be mixed.
    profile: "official" (default) scores as RGB's code does; "corrected" counts items without an answer as
        wrong and, in Chinese, removes spaces from golds and phrases too, not from answers alone.
    language: "en" (default) or "zh"; "zh" compares with spaces removed.
    states: list of n reasons, read where a prediction is None: "api_error", "unparsable", "truncated" or None
        for "api_error".
Returns:
    accuracy: in [0, 1], or None without a value.
    accuracy_bounded: the same with whole numbers and words only: 70 is not found in 170, 70.5 or 70,000.
    accuracy_over_scored, accuracy_bounded_over_scored: with "corrected" only; over the items with an answer.
    n_total, n_scored, unscored: items, items with an answer, and the others counted by reason.
    per_item: one row per item, in order: its values, and the reasons where there is none.
    signature: what the values depend on.
Examples:
    >>> metric = evaluate.load("rgb_accuracy")
    >>> golds = ["70", ["3 January", "12 January"], [["NYC", "New York"]]]
    >>> answers = ["About 170 km.", "On 3 January.", "It was held in New York."]
    >>> result = metric.compute(predictions=answers, references=golds)
    >>> [row["accuracy"] for row in result["per_item"]]
    [1.0, 0.0, 1.0]
    >>> [row["accuracy_bounded"] for row in result["per_item"]]
    [0.0, 0.0, 1.0]
    >>> print(result["signature"])
    rgb_accuracy|version:1.0.0|profile:official|language:en|tokenizer:none|prompt:none|judge:none
    >>> metric.compute(predictions=["新款 iPhone SE 3"], references=["SE 3"], language="zh")["accuracy"]
    0.0
    >>> fixed = dict(language="zh", profile="corrected")
    >>> metric.compute(predictions=["新款 iPhone SE 3"], references=["SE 3"], **fixed)["accuracy"]
    1.0
"""

KEYS = ("accuracy", "accuracy_bounded")


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RgbAccuracy(Tallied, evaluate.Metric):
    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.Sequence(datasets.Sequence(datasets.Value("string"))),
                }
            ),
            codebase_urls=["https://github.com/chen700564/RGB"],
            reference_urls=["https://arxiv.org/abs/2309.01431"],
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add n answers and gold answers in any documented shape."""
        super().add_batch(**columns(predictions, references))

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        profile: str = "official",
        language: str = "en",
        states: Any = None,
    ) -> dict[str, Any] | None:
        """Score what was added and what is given here."""
        check_options(profile, language)
        return self.tally(predictions, references, profile=profile, language=language, states=states)

    def _compute(
        self,
        predictions: list[str | None],
        references: list[list[list[str]]],
        profile: str = "official",
        language: str = "en",
        states: Any = None,
    ) -> dict[str, Any]:
        items: list[dict[str, float | str]] = []
        for answer, gold, why in zip(predictions, references, missing(predictions, states), strict=True):
            if answer is None:
                items.append(dict.fromkeys(KEYS, why))
                continue
            found = correct(label(answer, gold, language, profile))
            whole = bounded(answer, gold, language, profile)
            items.append({"accuracy": float(found), "accuracy_bounded": float(whole)})
        return result(KEYS, items, profile, sign("rgb_accuracy", profile, language))

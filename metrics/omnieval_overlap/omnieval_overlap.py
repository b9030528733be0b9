# SPDX-License-Identifier: Apache-2.0
"""Overlap of an answer with its accepted answers, as OmniEval measures it: exact match, F1 and ROUGE."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import datasets
import evaluate
import jieba

from .normalise import (
    normalise,  # noqa: F401  # evaluate fetches only the files that this one imports from
)
from .overlap import (
    KEYS,
    columns,
    corrected,
    official,
)
from .tally import (
    NOT_APPLICABLE,
    Tallied,
    check_profile,
    fingerprint,
    missing,
    result,
)
from .words import (
    cut,
)

_CITATION = """\
@article{wang2024omnieval,
  title   = {{OmniEval}: An Omnidirectional and Automatic {RAG} Evaluation Benchmark in Financial Domain},
  author  = {Wang, Shuting and Tan, Jiejun and Dou, Zhicheng and Wen, Ji-Rong},
  journal = {arXiv preprint arXiv:2412.13018},
  year    = {2024}
}
"""

_DESCRIPTION = """\
Rule metrics of OmniEval on Chinese answers: exact match, F1 and ROUGE-L (ROUGE-1 and ROUGE-2 beside it), over jieba's
tokens, with any number of accepted answers.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: list of n answers. None is an item without an answer; an empty string is an empty answer.
    references: list of n references, each an accepted answer or a list of them; None or an empty list where there is
        none: the item is not applicable.
    profile: "official" (default) scores as OmniEval's code does: exact match averaged over the accepted answers, F1
        over characters and blanks, `.`, `-` and `%` deleted, ROUGE of rouge-chinese; an item without an answer is left
        out. "corrected" keeps the numbers, takes the best accepted answer, has F1 and ROUGE over tokens, and counts an
        item without an answer as 0.
    states: list of n reasons, read where a prediction is None: "api_error", "unparsable", "truncated" or None
        for "api_error".
Returns:
    em: exact match, in [0, 1], or None without a value; the mean over items, as all.
    f1: in [0, 1].
    rouge_1, rouge_2, rouge_l: F-measures, in [0, 1].
    <key>_over_scored: with "corrected" only; over the items with an answer.
    n_total, n_scored, unscored: items, items without an unscored value, and the others counted by reason.
    per_item: one row per item, in order: its values, and the reasons where there is none.
    signature: what the values depend on.
Examples:
    >>> metric = evaluate.load("omnieval_overlap")
    >>> result = metric.compute(predictions=["净利润为 3.2亿元"], references=[["3.2亿元", "净利润为3.2亿元"]])
    >>> [round(result[key], 6) for key in ("em", "f1", "rouge_l")]
    [0.0, 0.916667, 1.0]
    >>> answers, golds = ["32亿元", None], ["3.2亿元", "5.1%"]
    >>> for profile in ("official", "corrected"):
    ...     result = metric.compute(predictions=answers, references=golds, profile=profile)
    ...     print([round(result[key], 6) for key in ("em", "f1", "rouge_l")], result["unscored"])
    [1.0, 1.0, 0.5] {'api_error': 1}
    [0.0, 0.25, 0.25] {'api_error': 1}
"""

VERSION = "1.0.0"


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class OmnievalOverlap(Tallied, evaluate.Metric):
    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.Sequence(datasets.Value("string")),
                }
            ),
            codebase_urls=["https://github.com/RUC-NLPIR/OmniEval"],
            reference_urls=["https://arxiv.org/abs/2412.13018"],
        )

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one answer and its accepted answers; None is a value of either."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add n answers and references in any documented shape."""
        super().add_batch(**columns(predictions, references))

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        profile: str = "official",
        states: Any = None,
    ) -> dict[str, Any] | None:
        """Score what was added and what is given here."""
        check_profile(profile)
        return self.tally(predictions, references, profile=profile, states=states)

    def _compute(
        self,
        predictions: list[str | None],
        references: list[list[str] | None],
        profile: str = "official",
        states: Any = None,
    ) -> dict[str, Any]:
        tokens = cache(cut)  # for this call alone
        items: list[dict[str, float | str]] = []
        for answer, accepted, why in zip(predictions, references, missing(predictions, states), strict=True):
            golds: Sequence[str] = accepted or []
            if profile == "corrected":
                golds = [gold for gold in golds if gold.strip()]
            item: dict[str, float | str] = dict.fromkeys(KEYS, why if golds else NOT_APPLICABLE)
            if golds and answer is not None:
                score = corrected if profile == "corrected" else official
                item = {**score(answer, golds, tokens)}
            items.append(item)
        signature = fingerprint("omnieval_overlap", VERSION, profile, tokenizer=f"jieba-{jieba.__version__}")
        return result(KEYS, items, profile, signature)

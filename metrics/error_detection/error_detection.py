# SPDX-License-Identifier: Apache-2.0
"""Error detection and correction of the RGB benchmark: does the model notice that the documents are wrong?"""

from collections.abc import Callable
from functools import partial
from typing import Any

import datasets
import evaluate

from .prompts import (
    messages,
    read,
    template,
)
from .rgb_labels import (
    FACTUAL_ERROR,
    check_options,
    columns,
    correct,
    label,
    says,
    sign,
    verdicts,
)
from .tally import (
    NOT_APPLICABLE,
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
Error detection and correction of RGB (counterfactual robustness): given documents with planted errors, the
share of answers that point them out, known by a fixed phrase (ED in the paper) and, with a judge, by its
verdict (ED*); and of the answers that do, the share that are correct (CR).
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: list of n answers. None is an item without an answer, an empty string an answer that detects
        nothing.
    references: list of n gold answers (the true ones, not the planted), each
        a string;
        a list of strings, ALL of which are needed, as in RGB's files;
        a list of lists of strings: of the outer list all are needed, of an inner list any one.
    profile: "official" (default) scores as RGB's code does: without a judge a detected item also passes as
        corrected when the answer is a rejection, and a verdict detects if it holds "has identified" or "Yes".
        "corrected" asks for a correct answer, understands negated verdicts, leaves unreadable ones unscored,
        and counts unscored items as not detected.
    language: "en" (default) or "zh"; "zh" compares with spaces removed.
    states: list of n reasons, read where a prediction is None: "api_error", "unparsable", "truncated" or None
        for "api_error".
    judge: callable from a list of chat-message lists to a list of replies, each a text or, for a failed call,
        an object with a `reason`; its `model`, if any, enters the signature. Called once, for the items with
        an answer.
    questions: list of n questions; required with judge.
    prompt: the judge's instructions, a text with {answer} and {question}; default this module's own.
Returns:
    error_detection: in [0, 1], or None without a value.
    error_detection_judged: with judge only; in [0, 1] or None.
    error_correction: in [0, 1], over the items that the judge, or without one the phrase, finds detected;
        None if none is. An item not detected is not_applicable.
    <key>_over_scored: with "corrected" only; over the items with a value.
    n_total, n_scored, unscored: items, items without an unscored value, and the others counted by reason.
    per_item: one row per item, in order: its values, and the reasons where there is none.
    signature: what the values depend on.
Examples:
    >>> metric = evaluate.load("error_detection")
    >>> found = "There are factual errors in the provided documents. The answer should be Oslo."
    >>> answers = [found, "The documents are mistaken, it was Lisbon.", "Paris."]
    >>> golds = ["Oslo", "Lisbon", "Rome"]
    >>> result = metric.compute(predictions=answers, references=golds)
    >>> [row["error_detection"] for row in result["per_item"]]
    [1.0, 0.0, 0.0]
    >>> result["error_correction"]
    1.0
    >>> def judge(requests):
    ...     yes, no = "Yes, the model has identified the factual errors.", "No, it has not identified them."
    ...     return [yes, yes, no]
    >>> asked = ["Where was it held?"] * 3
    >>> result = metric.compute(predictions=answers, references=golds, judge=judge, questions=asked)
    >>> [row["error_detection_judged"] for row in result["per_item"]]
    [1.0, 1.0, 0.0]
    >>> [row["error_correction"] for row in result["per_item"]]
    [1.0, 1.0, None]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ErrorDetection(Tallied, evaluate.Metric):
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
        judge: Callable[[list[Any]], Any] | None = None,
        questions: Any = None,
        prompt: str | None = None,
    ) -> dict[str, Any] | None:
        """Score what was added and what is given here."""
        check_options(profile, language)
        template(prompt, language)
        options = {"states": states, "judge": judge, "questions": questions, "prompt": prompt}
        return self.tally(predictions, references, profile=profile, language=language, **options)

    def _compute(
        self,
        predictions: list[str | None],
        references: list[list[list[str]]],
        profile: str = "official",
        language: str = "en",
        states: Any = None,
        judge: Callable[[list[Any]], Any] | None = None,
        questions: Any = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        reasons = missing(predictions, states)
        keys = ["error_detection", "error_correction"]
        phrase = [
            why if answer is None else float(says(answer, FACTUAL_ERROR, language, profile))
            for answer, why in zip(predictions, reasons, strict=True)
        ]
        items: list[dict[str, float | str]] = [{"error_detection": value} for value in phrase]
        instructions = template(prompt, language) if judge else None
        detected = phrase
        if judge and instructions:
            keys.insert(1, "error_detection_judged")
            parse, build = partial(read, profile=profile), partial(messages, instructions)
            detected = verdicts(judge, build, parse, predictions, questions, reasons)
        rejection_passes = profile == "official" and not judge
        for item, value, answer, gold in zip(items, detected, predictions, references, strict=True):
            item["error_detection_judged"] = value
            item["error_correction"] = value if isinstance(value, str) else NOT_APPLICABLE
            if value == 1.0 and answer is not None:
                labels = label(answer, gold, language, profile)
                item["error_correction"] = float(correct(labels) or (rejection_passes and 0 not in labels))
        signature = sign("error_detection", profile, language, instructions, judge)
        return result(keys, items, profile, signature)

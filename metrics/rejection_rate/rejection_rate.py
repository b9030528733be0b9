# SPDX-License-Identifier: Apache-2.0
"""Rejection rate of the RGB benchmark: does the model decline when no document holds the answer?"""

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
    REJECTION,
    check_options,
    columns,
    correct,
    label,
    says,
    sign,
    verdicts,
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
Rejection rate of RGB (negative rejection): given documents without the answer, the share of answers that
decline, known by a fixed phrase (Rej in the paper) and, with a judge, by the judge's verdict (Rej*).
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: list of n answers. None is an item without an answer, an empty string an answer that declines
        nothing.
    references: optional list of n gold answers, each
        a string;
        a list of strings, ALL of which are needed, as in RGB's files;
        a list of lists of strings: of the outer list all are needed, of an inner list any one.
    profile: "official" (default) scores as RGB's code does: with references, a correct answer counts as a
        rejection, and a verdict without "not addressed" as none. "corrected" counts phrases alone, reads
        verdicts in any case, leaves unreadable ones unscored, and counts unscored items as not rejected.
    language: "en" (default) or "zh"; "zh" compares with spaces removed.
    states: list of n reasons, read where a prediction is None: "api_error", "unparsable", "truncated" or None
        for "api_error".
    judge: callable from a list of chat-message lists to a list of replies, each a text or, for a failed call,
        an object with a `reason`; its `model`, if any, enters the signature. Called once, for the items with
        an answer.
    questions: list of n questions; required with judge.
    prompt: the judge's instructions, a text with {answer} and {question}; default this module's own.
Returns:
    rejection_rate: in [0, 1], or None without a value.
    rejection_rate_judged: with judge only; in [0, 1] or None.
    unsupported_correct: with references only; the share of all answers that lack the phrase and are correct all
        the same.
    <key>_over_scored: with "corrected" only; over the items with a value.
    n_total, n_scored, unscored: items, items without an unscored value, and the others counted by reason.
    per_item: one row per item, in order: its values, and the reasons where there is none.
    signature: what the values depend on.
Examples:
    >>> metric = evaluate.load("rejection_rate")
    >>> refusal = "I can not answer the question because of the insufficient information in documents."
    >>> answers = [refusal, "It is not stated.", "Lisbon."]
    >>> metric.compute(predictions=answers)["rejection_rate"] == 1 / 3
    True
    >>> golds = ["Madrid", "Oslo", "Lisbon"]
    >>> result = metric.compute(predictions=answers, references=golds)
    >>> [row["rejection_rate"] for row in result["per_item"]]
    [1.0, 0.0, 1.0]
    >>> [row["unsupported_correct"] for row in result["per_item"]]
    [0.0, 0.0, 1.0]
    >>> def judge(requests):
    ...     return ["No, it is not addressed.", "No, it is not addressed.", "Yes, it is addressed."]
    >>> asked = ["Where was it held?"] * 3
    >>> result = metric.compute(predictions=answers, judge=judge, questions=asked, profile="corrected")
    >>> [row["rejection_rate_judged"] for row in result["per_item"]]
    [1.0, 1.0, 0.0]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RejectionRate(Tallied, evaluate.Metric):
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
        super().add_batch(**columns(predictions, references, optional=True))

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
        references: list[list[list[str]] | None],
        profile: str = "official",
        language: str = "en",
        states: Any = None,
        judge: Callable[[list[Any]], Any] | None = None,
        questions: Any = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        given = sum(gold is not None for gold in references)
        if 0 < given < len(references):
            n = len(references)
            raise ValueError(f"references has {given} entries for {n} predictions; give all or none")
        with_references = given == len(references)  # also with no items at all: every key is there, and None
        reasons = missing(predictions, states)
        items: list[dict[str, float | str]] = []
        for answer, gold, why in zip(predictions, references, reasons, strict=True):
            item: dict[str, float | str] = {"rejection_rate": why, "unsupported_correct": why}
            if answer is not None:
                leak = gold is not None and correct(label(answer, gold, language, profile))
                rejected = says(answer, REJECTION, language, profile) or (leak and profile == "official")
                item = {"rejection_rate": float(rejected), "unsupported_correct": float(leak)}
            items.append(item)
        keys = ["rejection_rate", "unsupported_correct"] if with_references else ["rejection_rate"]
        instructions = template(prompt, language) if judge else None
        if judge and instructions:
            keys.insert(1, "rejection_rate_judged")
            parse, build = partial(read, profile=profile), partial(messages, instructions)
            judged = verdicts(judge, build, parse, predictions, questions, reasons)
            for item, verdict in zip(items, judged, strict=True):
                item["rejection_rate_judged"] = verdict
        used = "yes" if with_references else "no"
        signature = sign("rejection_rate", profile, language, instructions, judge, references=used)
        return result(keys, items, profile, signature)

# SPDX-License-Identifier: Apache-2.0
"""Truthfulness of the CRAG benchmark: is an answer correct, missing, or a hallucination?"""

from collections.abc import Callable
from typing import Any

import datasets
import evaluate

from .panel import (
    outcomes,
    panel,
    signed,
)
from .prompts import (
    messages,
    template,
)
from .rules import (
    Ruling,
    accepted,
    settle,
    tokenizer_name,
    trimmer,
)
from .shares import (
    FAILURES,
    KEYS,
    RATED,
    judged,
    rated,
    read_ratings,
    report,
)
from .tally import (
    NOT_APPLICABLE,
    Tallied,
    check_profile,
    fingerprint,
    is_list,
    missing,
    strings,
)
from .verdict import (
    READERS,
)
from .weights import (
    Weighing,
    check_weights,
)

VERSION = "1.0.0"

_CITATION = """\
@inproceedings{yang2024crag,
  title     = {{CRAG} -- Comprehensive {RAG} Benchmark},
  author    = {Yang, Xiao and Sun, Kai and Xin, Hao and Sun, Yushi and Bhalla, Nikita and Chen, Xiangsen and Choudhary,
               Sajal and Gui, Rongze Daniel and Jiang, Ziran Will and Jiang, Ziyu and Kong, Lingkun and Moran, Brian and
               Wang, Jiaqi and Xu, Yifan Ethan and Yan, An and Yang, Chenyu and Yuan, Eting and Zha, Hanwen and Tang,
               Nan and Chen, Lei and Scheffer, Nicolas and Liu, Yue and Shah, Nirav and Wanga, Rakesh and Kumar, Anuj
               and Yih, Wen-tau and Dong, Xin Luna},
  booktitle = {Advances in Neural Information Processing Systems 37, Datasets and Benchmarks Track},
  year      = {2024},
  url       = {https://arxiv.org/abs/2406.04744}
}
"""

_DESCRIPTION = """\
Truthfulness of CRAG: the share of correct answers minus the share of hallucinated ones. An answer that says "I don't
know" is missing and costs nothing. Rules decide what they can, judge models or human ratings the rest.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: list of n answers. None is an item without one; "official" has an empty answer judged, "corrected"
        takes it for missing.
    references: list of n accepted answers, each a string or a list of strings any one of which suffices. None, or
        none that is not blank: the item is not applicable.
    questions: list of n questions; required with a judge.
    judge: callable from a list of chat-message lists to a list of replies, each a text or, for a failed call, an
        object with a `reason`; its `model`, if any, enters the signature. Called once, with a request for every
        answer and accepted answer that the rules do not settle. Without it, only `missing` has a value where the
        rules leave an item open.
    judges: list of such callables in place of `judge`; every one is asked the same, and the values are averaged.
    ratings: list of n human ratings in place of a judge: "perfect", "acceptable", "missing", "incorrect", or None for
        an item not rated. predictions and references may then be left out.
    weights: mapping from question types to numbers, or from domains to such mappings: adds means weighted by question
        type within each domain, averaged over the domains.
    domains: list of n names; required with weights.
    question_types: list of n names; required with weights.
    tokenizer: object with `encode` and `decode`, or function from a text to its first 75 tokens: answers are cut
        to 75 tokens first.
    profile: "official" (default) scores as CRAG's code was meant to: only a straight apostrophe says "I don't know",
        a verdict is read by pattern, and an item without one is a hallucination. "corrected" reads any apostrophe,
        repairs JSON, and keeps items without a verdict as a share of their own.
    states: list of n reasons, read where a prediction is None: "api_error", "unparsable", "truncated" or None
        for "api_error".
    prompt: the judge's instructions, a text with {reference}, {answer} and {question}, each replaced by a JSON string;
        default this module's own.
    judge_failure: what "official" makes of an item without an answer or a verdict: "hallucination" (default), or
        "excluded" from the means.
Returns:
    truthfulness: in [-1, 1], or None without a value.
    accuracy: in [0, 1], or None without a value.
    hallucination: in [0, 1], or None without a value.
    missing: in [0, 1], or None without a value.
    perfect: with ratings only; in [0, 1] or None.
    acceptable: with ratings only; in [0, 1] or None.
    <key>_weighted: with weights only.
    unscored_share: with "corrected" only; with accuracy, hallucination and missing it makes 1.
    <key>_over_scored: with "corrected" only; over the items with a value.
    n_total, n_scored, unscored: items, items without an unscored value, and the others counted by reason.
    per_item: one row per item, in order: its values, and the reasons where there is none, or where there was none and
        the item counts as a hallucination.
    signature: what the values depend on.
Examples:
    >>> metric = evaluate.load("truthfulness")
    >>> answers = ["Paris", "I don't know", "invalid question", "It was in 1990."]
    >>> golds = ["paris", "1912", "invalid question", ["1989", "nineteen eighty-nine"]]
    >>> def judge(requests):
    ...     return ['{"score": 0, "explanation": "another year"}' for request in requests]
    >>> asked = {"judge": judge, "questions": ["Capital of France?", "When?", "Who won in 2030?", "When was it?"]}
    >>> result = metric.compute(predictions=answers, references=golds, **asked)
    >>> [result[key] for key in ("truthfulness", "accuracy", "hallucination", "missing")]
    [0.25, 0.5, 0.25, 0.25]
    >>> [row["truthfulness"] for row in result["per_item"]]
    [1.0, 0.0, 1.0, -1.0]
    >>> metric.compute(ratings=["perfect", "acceptable", "missing", "incorrect"])["truthfulness"]
    0.125
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Truthfulness(Tallied, evaluate.Metric):
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
            codebase_urls=["https://github.com/facebookresearch/CRAG"],
            reference_urls=["https://arxiv.org/abs/2406.04744"],
        )

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one answer and what is accepted, which may be None."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add n answers and what is accepted of each."""
        answers = strings(predictions, "predictions", null=True)
        if not is_list(references):
            raise ValueError(f"references is {type(references).__name__}; expected a list, one per prediction")
        golds = [accepted(reference, f"references[{i}]") for i, reference in enumerate(references)]
        if len(golds) != len(answers):
            raise ValueError(f"{len(answers)} predictions but {len(golds)} references; give one per prediction")
        super().add_batch(predictions=answers, references=golds)

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        questions: Any = None,
        judge: Callable[[list[Any]], Any] | None = None,
        judges: Any = None,
        ratings: Any = None,
        weights: Any = None,
        domains: Any = None,
        question_types: Any = None,
        tokenizer: Any = None,
        profile: str = "official",
        states: Any = None,
        prompt: str | None = None,
        judge_failure: str = "hallucination",
    ) -> dict[str, Any] | None:
        """Score what was added and what is given here."""
        check_profile(profile)
        template(prompt)
        trimmer(tokenizer)
        bench = panel(judge, judges)
        if judge_failure not in FAILURES:
            raise ValueError(f"judge_failure is {judge_failure!r}; expected 'hallucination' or 'excluded'")
        if bench and questions is None:
            raise ValueError("judge was given without questions; pass questions=[...], one per prediction")
        if weights is not None:
            check_weights(weights, domains, question_types)
        if ratings is not None:
            if bench:
                raise ValueError("both ratings and a judge were given; expected one of them")
            given = read_ratings(ratings)
            if predictions is None and references is None and self.writer is None:
                predictions = [None] * len(given)
            if predictions is not None and references is None:
                references = [None] * len(strings(predictions, "predictions", null=True))
        return self.tally(
            predictions,
            references,
            questions=questions,
            judges=bench or None,
            ratings=ratings,
            weights=weights,
            domains=domains,
            question_types=question_types,
            tokenizer=tokenizer,
            profile=profile,
            states=states,
            prompt=prompt,
            judge_failure=judge_failure,
        )

    def _compute(
        self,
        predictions: list[str | None],
        references: list[list[str]],
        questions: Any = None,
        judge: Callable[[list[Any]], Any] | None = None,
        judges: Any = None,
        ratings: Any = None,
        weights: Any = None,
        domains: Any = None,
        question_types: Any = None,
        tokenizer: Any = None,
        profile: str = "official",
        states: Any = None,
        prompt: str | None = None,
        judge_failure: str = "hallucination",
    ) -> dict[str, Any]:
        n, bench = len(predictions), panel(judge, judges)
        reasons = missing(predictions, states)
        weighing = None if weights is None else Weighing(weights, domains, question_types, n)
        keys, instructions = KEYS, template(prompt) if bench else None
        if ratings is not None:
            keys = (*KEYS, *RATED)
            cells = [rated(rating) for rating in read_ratings(ratings, n)]
        else:
            cut = trimmer(tokenizer)
            answers = ["" if text is None else cut(text).strip() for text in predictions]
            rulings = [
                Ruling(NOT_APPLICABLE) if not golds else Ruling(why) if why else settle(answer, golds, profile)
                for answer, golds, why in zip(answers, references, reasons, strict=True)
            ]
            asked = [""] * n if questions is None else strings(questions, "questions", n)
            requests = [
                messages(instructions, str(question), gold, answer)
                for question, answer, ruling in zip(asked, answers, rulings, strict=True)
                for gold in ruling.open
                if instructions
            ]
            cells = [judged(found) for found in outcomes(rulings, bench, requests, READERS[profile])]
        failures = judge_failure if profile == "official" else "unscored"
        more = {"failures": failures, "tokenizer": tokenizer_name(tokenizer)}
        if weighing:
            more["weights"] = weighing.digest
        signature = fingerprint("truthfulness", VERSION, profile, instructions, signed(bench, ratings), **more)
        return report(cells, keys, profile, failures, signature, weighing)

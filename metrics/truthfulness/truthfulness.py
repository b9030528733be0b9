# SPDX-License-Identifier: Apache-2.0
"""Truthfulness of the CRAG benchmark: is an answer correct, missing, or a hallucination?"""

from typing import Any

import evaluate

from .fold import fold as fold
from .judging import PROMPT as PROMPT
from .module import JUDGE, JUDGED, QUESTIONS, STATES, TEXTS, Shared, info
from .papers import CRAG
from .refusals import declines as declines
from .rules import settle as settle
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .slots import fill as fill
from .tally import column
from .verdict_reader import VerdictReader as VerdictReader

_DESCRIPTION = """\
Truthfulness of CRAG: the share of correct answers minus the share of hallucinated ones. An answer that says "I don't
know" is missing and costs nothing. Rules decide what they can, judge models or human ratings the rest.
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers. None is an item without one; "official" has an empty answer judged, "corrected"
        takes it for missing.
    references: list of n accepted answers, each a string or a list of strings any one of which suffices. None, or none
        that is not blank: the item is not applicable.
    {QUESTIONS}
    {JUDGE}
        Called once, with a request for every answer and accepted answer that the rules do not settle. Without it, only
        `missing` has a value where the rules leave an item open.
    judges: list of such callables in place of `judge`; every one is asked the same, and the values are averaged.
    ratings: list of n human ratings in place of a judge: "perfect", "acceptable", "missing", "incorrect", or None for
        an item not rated. predictions and references may then be left out.
    weights: mapping from question types to numbers, or from domains to such mappings: adds means weighted by question
        type within each domain, averaged over the domains.
    domains: list of n names; required with weights.
    question_types: list of n names; required with weights.
    tokenizer: object with `encode` and `decode`: answers are cut to 75 tokens first.
    profile: "official" (default) scores as CRAG's code was meant to: only a straight apostrophe says "I don't know", a
        verdict is read by pattern, and an item without one is a hallucination. "corrected" compares texts as folded,
        takes for missing whatever only declines to answer, repairs JSON, and has items without a verdict unscored.
    {STATES}
    prompt: the judge's instructions, a text with {{reference}}, {{answer}} and {{question}}, each replaced by a JSON
        string; or without the first two, as the paper prints one (A.2.2): then question, all accepted answers and
        answer follow it, in one request. Verdicts are read as `"score": 1` or `"Accuracy": "True"`. Default this
        module's own.
Returns:
    truthfulness: in [-1, 1], or None without a value.
    accuracy, hallucination, missing: in [0, 1], or None without a value.
    perfect, acceptable: with ratings only; in [0, 1] or None.
    <key>_weighted: with weights only.
    unscored_share: with "corrected" only; with accuracy, hallucination and missing it makes 1.
    {JUDGED}
Examples:
    >>> metric = evaluate.load("truthfulness")
    >>> answers = ["Paris", "I don't know", "invalid question", "It was in 1990."]
    >>> golds = ["paris", "1912", "invalid question", ["1989", "nineteen eighty-nine"]]
    >>> def judge(requests):
    ...     return ['{{"score": 0, "explanation": "another year"}}' for request in requests]
    >>> asked = {{"judge": judge, "questions": ["Capital of France?", "When?", "Who won in 2030?", "When was it?"]}}
    >>> result = metric.compute(predictions=answers, references=golds, **asked)
    >>> [result[key] for key in ("truthfulness", "accuracy", "hallucination", "missing")]
    [0.25, 0.5, 0.25, 0.25]
    >>> [row["truthfulness"] for row in result["per_item"]]
    [1.0, 0.0, 1.0, -1.0]
    >>> metric.compute(ratings=["perfect", "acceptable", "missing", "incorrect"])["truthfulness"]
    0.125
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Truthfulness(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, TEXTS, CRAG)

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:
        """Score as every metric does; with ratings, predictions and references may be left out."""
        if options.get("ratings") is not None and self.writer is None:
            nothing = [None] * len(column(options["ratings"], "ratings"))
            predictions = nothing if predictions is None else predictions
            references = nothing if references is None else references
        return super().compute(predictions=predictions, references=references, **options)

# SPDX-License-Identifier: Apache-2.0
"""Truthfulness of the CRAG benchmark: is an answer correct, missing, or a hallucination?"""

from typing import Any

import evaluate

from .judging import PROMPT as PROMPT
from .module import CRAG, JUDGE, JUDGED, QUESTIONS, STATES, TEXTS, Shared, info
from .plain import PlainReader as PlainReader
from .rules import declines as declines
from .scorer import SCORER
from .scoring import column
from .slots import fill as fill
from .verdict_reader import VerdictReader as VerdictReader

_DESCRIPTION = """\
Truthfulness of CRAG: the share of correct answers minus the share of hallucinated ones. An answer that says "I don't
know" is missing and costs nothing. Rules decide what they can, judge models or human ratings the rest.
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers, None where there is none.
    references: list of n accepted answers, each a string or a list of strings; with none the item is not applicable.
    {QUESTIONS}
    {JUDGE}
        Called once, for every answer and accepted answer that the rules do not settle; without it such an item has a
        value for `missing` alone.
    judges: list of such callables in place of `judge`; every one is asked the same, and the values are averaged.
    ratings: list of n human ratings in place of a judge: "perfect", "acceptable", "missing", "incorrect", or None.
        predictions and references may then be left out.
    weights: mapping from question types to numbers, or from domains to such mappings: adds means weighted by question
        type within each domain, averaged over the domains.
    domains: list of n names; required with weights.
    question_types: list of n names; required with weights.
    tokenizer: object with `encode` and `decode`: answers are cut to 75 tokens first.
    profile: "official" (default) as CRAG's code was meant: an empty answer is judged, an item without a verdict is a
        hallucination. "corrected" compares as folded, takes for missing whatever only declines, reads verdicts with
        care, and has items without one unscored.
    {STATES}
    prompt: the judge's instructions, a text with {{reference}}, {{answer}} and {{question}}, or without slots, as the
        paper prints one (A.2.2): question, accepted answers and answer then follow it. Default this module's own;
        "plain" is one for small judges.
Returns:
    truthfulness: in [-1, 1], or None without a value.
    accuracy, hallucination, missing: in [0, 1] or None; `unscored_share`, with "corrected", makes them 1.
    perfect, acceptable: with ratings only; in [0, 1] or None. With weights each has a <key>_weighted.
    {JUDGED}
Examples:
    >>> metric = evaluate.load("truthfulness")
    >>> answers, golds = ["Paris", "I don't know", "It was in 1990."], ["paris", "1912", ["1989", "in 1989"]]
    >>> def judge(requests):
    ...     return ['{{"score": 0}}' for request in requests]
    >>> result = metric.compute(predictions=answers, references=golds, questions=["?"] * 3, judge=judge)
    >>> [row["truthfulness"] for row in result["per_item"]]
    [1.0, 0.0, -1.0]
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

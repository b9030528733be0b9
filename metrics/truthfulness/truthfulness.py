# SPDX-License-Identifier: Apache-2.0
"""Truthfulness of the CRAG benchmark: is an answer correct, missing, or a hallucination?"""

from types import SimpleNamespace as Options
from typing import Any

import evaluate

from .fold import fold as fold
from .judging import PROMPT, name_judges, official, official_either, outcomes, panel, requests, template
from .module import JUDGE, STATES, TEXTS, Option, Shared, document, info, profile
from .refusals import declines as declines
from .rules import Ruling, distinct, settle, tokenizer_name, trimmer
from .shares import FAILURES, KEYS, RATED, Weighing, average, check_weights, rate, read_ratings, report
from .slots import fill as fill
from .tally import NOT_APPLICABLE, missing, read_accepted, strings
from .verdict_reader import VerdictReader

READERS = {"official": official, "corrected": VerdictReader("score", (0, 1)).read}
# Of other instructions than ours: the form of the paper's printed ones too, `"Accuracy": "True"`.
OWN_READERS = {"official": official_either, "corrected": VerdictReader("score", (0, 1), "accuracy").read}

_CITATION = """\
@inproceedings{yang2024crag,
  title     = {{CRAG} -- Comprehensive {RAG} Benchmark},
  author    = {Yang, Xiao and Sun, Kai and Xin, Hao and Sun, Yushi and Bhalla, Nikita and Chen, Xiangsen and others},
  booktitle = {Advances in Neural Information Processing Systems 37, Datasets and Benchmarks Track},
  year      = {2024},
  url       = {https://arxiv.org/abs/2406.04744}
}
"""

_DESCRIPTION = """\
Truthfulness of CRAG: the share of correct answers minus the share of hallucinated ones. An answer that says "I don't
know" is missing and costs nothing. Rules decide what they can, judge models or human ratings the rest.
"""

OPTIONS = {
    "questions": Option("list of n questions; required with a judge."),
    "judge": Option(f"""{JUDGE} Called once, with a request for every
        answer and accepted answer that the rules do not settle. Without it, only `missing` has a value where the
        rules leave an item open."""),
    "judges": Option(
        "list of such callables in place of `judge`; every one is asked the same, and the values are averaged."
    ),
    "ratings": Option("""list of n human ratings in place of a judge: "perfect", "acceptable", "missing", "incorrect",
        or None for an item not rated. predictions and references may then be left out."""),
    "weights": Option("""mapping from question types to numbers, or from domains to such mappings: adds means weighted
        by question type within each domain, averaged over the domains."""),
    "domains": Option("list of n names; required with weights."),
    "question_types": Option("list of n names; required with weights."),
    "tokenizer": Option("""object with `encode` and `decode`, or function from a text to its first 75 tokens: answers
        are cut to 75 tokens first."""),
    "profile": profile("""\
        "official" (default) scores as CRAG's code was meant to: only a straight apostrophe says "I don't know",
        a verdict is read by pattern, and an item without one is a hallucination. "corrected" compares texts as folded,
        takes for missing whatever only declines to answer, repairs JSON, and keeps items without a verdict as a share
        of their own."""),
    "states": STATES,
    "prompt": Option(
        """the judge's instructions, a text with {reference}, {answer} and {question}, each replaced by a JSON string;
        or without the first two, as the paper prints one (A.2.2): then question, all accepted answers and answer
        follow it, in one request. Verdicts are read as `"score": 1` or `"Accuracy": "True"`. Default this module's
        own.""",
        read=template,
    ),
    "judge_failure": Option(
        """what "official" makes of an item without an answer or a verdict: "hallucination" (default), or
        "excluded" from the means.""",
        FAILURES[0],
        FAILURES,
    ),
}

_KWARGS_DESCRIPTION = document(
    inputs={
        "predictions": """list of n answers. None is an item without one; "official" has an empty answer judged,
        "corrected" takes it for missing.""",
        "references": """list of n accepted answers, each a string or a list of strings any one of which suffices. None,
        or none that is not blank: the item is not applicable.""",
    },
    options=OPTIONS,
    values={
        "truthfulness": "in [-1, 1], or None without a value.",
        "accuracy, hallucination, missing": "in [0, 1], or None without a value.",
        "perfect, acceptable": "with ratings only; in [0, 1] or None.",
        "<key>_weighted": "with weights only.",
        "unscored_share": 'with "corrected" only; with accuracy, hallucination and missing it makes 1.',
        "per_item": """one row per item, in order: its values, and the reasons where there is none, or where there was
        none and the item counts as a hallucination; and, with a judge, `ruled` where the rules decide and it was not
        asked.""",
    },
    code="""
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
    """,
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Truthfulness(Shared, evaluate.Metric):
    VERSION = "1.3.0"
    OPTIONS = OPTIONS
    SETTLED = ("missing",)

    def _info(self) -> evaluate.MetricInfo:
        code, papers = ["https://github.com/facebookresearch/CRAG"], ["https://arxiv.org/abs/2406.04744"]
        return info(_DESCRIPTION, _CITATION, _KWARGS_DESCRIPTION, TEXTS, code, papers)

    @staticmethod
    def reference(value: Any, name: str) -> list[str]:
        return distinct(read_accepted(value, name))

    def complete(self, options: Options) -> None:
        options.cut = trimmer(options.tokenizer)
        options.judges = panel(options.judge, options.judges)
        if options.judges and options.questions is None:
            raise ValueError("judge was given without questions; pass questions=[...], one per prediction")
        if options.weights is not None:
            check_weights(options.weights, options.domains, options.question_types)
        if options.ratings is not None and options.judges:
            raise ValueError("both ratings and a judge were given; expected one of them")

    def tally(self, predictions: Any, references: Any, options: Options) -> dict[str, Any] | None:
        if options.ratings is not None:
            given = read_ratings(options.ratings)
            if predictions is None and references is None and self.writer is None:
                predictions = [None] * len(given)
            if predictions is not None and references is None:
                references = [None] * len(strings(predictions, "predictions", null=True))
        return super().tally(predictions, references, options)

    def _compute(self, predictions: list[str | None], references: list[list[str]], options: Options) -> dict[str, Any]:
        n, bench = len(predictions), options.judges
        reasons = missing(predictions, options.states)
        weighing = None
        if options.weights is not None:
            weighing = Weighing(options.weights, options.domains, options.question_types, n)
        keys, prompt = KEYS, options.prompt if bench else None
        ruled: list[bool] = []
        if options.ratings is not None:
            keys = (*KEYS, *RATED)
            cells = [rate(rating) for rating in read_ratings(options.ratings, n)]
        else:
            answers = ["" if text is None else options.cut(text).strip() for text in predictions]
            rulings = [
                Ruling(NOT_APPLICABLE) if not golds else Ruling(why) if why else settle(answer, golds, options.profile)
                for answer, golds, why in zip(answers, references, reasons, strict=True)
            ]
            asked = [""] * n if options.questions is None else strings(options.questions, "questions", n)
            items = zip(asked, rulings, answers, strict=True)
            batch = [
                requests(prompt, question, ruling.open, answer) if bench else [] for question, ruling, answer in items
            ]
            ruled = [bool(bench) and not (own or why) for own, why in zip(batch, reasons, strict=True)]
            read = (READERS if prompt == PROMPT else OWN_READERS)[options.profile]
            cells = [average(found) for found in outcomes(rulings, bench, batch, read, options.profile, prompt)]
        failures = options.judge_failure if options.profile == "official" else "unscored"
        more = {"failures": failures, "tokenizer": tokenizer_name(options.tokenizer)}
        if weighing:
            more["weights"] = weighing.digest
        signature = self.sign(options, prompt, name_judges(bench, options.ratings), **more)
        return report(cells, keys, options.profile, failures, signature, weighing, ruled)

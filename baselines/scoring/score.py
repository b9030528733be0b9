"""The score stage: answers to items by the evaluate modules, and items to the rows of ``scores.json``.

Values come from the modules, intervals from `quadrag.stats`; nothing is computed here. A metric that needs a judge or
an embedding and has none is reported as not run. Both profiles are computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from quadrag import parallel
from quadrag.metric_record import metric_record
from quadrag.records import Answer, Key, Question, dumps
from quadrag.stats import NOT_APPLICABLE

from ..core.benchmark import Benchmark, MetricUse, load
from ..core.parts import Conditions
from ..core.result import PROFILES
from .modules import CachedJudge, ScoringInputs, compute
from .rows import Measured, rows_of

Place = tuple[str, str]  # config and split


def known_conditions(conditions: Conditions, given: ScoringInputs) -> Conditions:
    """Return the conditions as metrics are to see them: a file of answers has no passages, wherever it is from."""
    return conditions if given.passages is not None else replace(conditions, top_k=0)


def score(
    benchmark: Benchmark,
    questions: Mapping[Key, Question],
    answers: Sequence[Answer],
    conditions: Conditions,
    given: ScoringInputs | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Score answers.

    Args:
        benchmark: whose metrics apply.
        questions: every question by its key.
        answers: in input order; each key is among the questions.
        conditions: as they were when the answers were made; without documents, say, fewer metrics apply.
        given: the judge is asked at most once per distinct chat; without passages ranks are not measured.

    Returns:
        The lines of ``items.jsonl``, in the order of the answers, and the rows of ``scores.json``: per config, split,
        metric, profile, slice and key.
    """
    given = given or ScoringInputs()
    given = replace(given, judges=[CachedJudge(judge) for judge in given.judges])
    conditions = known_conditions(conditions, given)
    lines: list[dict[str, Any]] = [
        {"benchmark": a.benchmark, "config": a.config, "split": a.split, "id": a.id, "sample": a.sample}
        for a in answers
    ]
    scores: list[dict[str, Any]] = []
    for (config, split), places in _by_place((answer.config, answer.split) for answer in answers).items():
        here = [answers[at] for at in places]
        measured = []
        metrics = _metrics(benchmark, config, conditions, given)
        results = _compute_each(benchmark, config, metrics, questions, here, conditions, given)
        for number, metric in enumerate(metrics):
            lacking = {key: given.find_lacking(metric, key) for key in metric.keys}
            for profile in PROFILES:
                result = results[number, profile]
                for at, row in zip(places, result["per_item"], strict=True):
                    _enter(lines[at], metric, profile, row, lacking)
                values = {key: result[key] for key in metric.keys if key in result and not lacking[key]}
                measured.append(Measured(metric, profile, result["signature"], lacking, values))
        asked = [questions[answer.key] for answer in here]
        strata = benchmark.strata(asked, conditions)
        scores += rows_of(benchmark, config, split, [lines[at] for at in places], asked, measured, strata)
    return lines, scores


def _metrics(benchmark: Benchmark, config: str, conditions: Conditions, given: ScoringInputs) -> list[MetricUse]:
    return [one for one in benchmark.metrics(config, conditions) if given.passages is not None or not one.ranks]


def _compute_each(
    benchmark: Benchmark,
    config: str,
    metrics: Sequence[MetricUse],
    questions: Mapping[Key, Question],
    answers: Sequence[Answer],
    conditions: Conditions,
    given: ScoringInputs,
) -> dict[tuple[int, str], Any]:
    """Return what each metric makes of the answers of a config and split, by its number and the profile.

    Those that need neither a judge nor an embedding, which stay here, are computed wherever work is done.
    """
    both = [(number, profile) for number in range(len(metrics)) for profile in PROFILES]
    travels = benchmark is load(benchmark.name)  # by its name; one that a system made its own stays
    alone = [(n, profile) for n, profile in both if travels and not (metrics[n].judged or metrics[n].embedded)]
    asked = {answer.key: questions[answer.key] for answer in answers}
    passages = given.passages if given.passages is None else {key: given.passages[key] for key in asked}
    task = partial(_compute_alone, benchmark.name, config, asked, answers, conditions, passages)
    made = dict(zip(alone, parallel.each(task, alone), strict=True))
    for number, profile in both:
        if (number, profile) not in made:
            result = compute(benchmark, metrics[number], questions, answers, profile, conditions, given)
            made[number, profile] = result
    return made


def _compute_alone(
    name: str,
    config: str,
    questions: Mapping[Key, Question],
    answers: Sequence[Answer],
    conditions: Conditions,
    passages: Any,
    which: tuple[int, str],
) -> Any:
    benchmark, given = load(name), ScoringInputs(passages=passages)
    metric = _metrics(benchmark, config, conditions, given)[which[0]]
    return compute(benchmark, metric, questions, answers, which[1], conditions, given)


def count_verdicts(answers: Sequence[Answer], items: Sequence[Mapping[str, Any]], reason: str) -> int:
    """Count the answers that a judge was asked about in vain, for one reason; a later run may ask again."""
    return sum(
        answer.state == "ok"
        and any(
            reason in value.get("reason", {}).values()
            for name, value in line.items()
            if isinstance(value, dict) and metric_record(name.partition(".")[0]).verdict
        )
        for answer, line in zip(answers, items, strict=True)
    )


def score_text(scores: Sequence[dict[str, Any]]) -> str:
    """Return the text of ``scores.json``: a JSON list, a row a line."""
    return "[\n" + ",\n".join(dumps(row) for row in scores) + "\n]\n"


def _by_place(places: Any) -> dict[Place, list[int]]:
    found: dict[Place, list[int]] = {}
    for at, place in enumerate(places):
        found.setdefault(place, []).append(at)
    return found


def _enter(
    line: dict[str, Any], metric: MetricUse, profile: str, row: Mapping[str, Any], lacking: Mapping[str, str | None]
) -> None:
    """Enter one item's values of one metric and profile into its line, and whether a rule decided, not the judge."""
    for key in metric.keys:
        if key not in row or lacking[key]:
            continue
        entry = line.setdefault(f"{metric.module}.{key}", {})
        entry[profile] = row[key]
        if key in row["reasons"]:
            entry.setdefault("reason", {})[profile] = row["reasons"][key]
        if row.get("ruled") and row["reasons"].get(key, NOT_APPLICABLE) == NOT_APPLICABLE:
            entry.setdefault("ruled", []).append(profile)

"""The score stage: answers against references, and ranks against relevant documents, through the evaluate modules.

Values come from the modules, intervals from `quadrag.stats`; nothing is computed here. A metric that needs a judge or
an embedding and has none is reported as not run. Both profiles are computed.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quadrag.catalogue import metric_folder
from quadrag.errors import QuadragError
from quadrag.records import Answer, Key, Passage, Question, document_id, dumps
from quadrag.stats import Item, Summary, summarise

from .benchmark import Benchmark, Conditions, Metric

PROFILES = ("official", "corrected")
ALL = "all"  # the slice that holds every item
Judge = Callable[[list[list[dict[str, str]]]], list[Any]]
Embed = Callable[[list[str]], Any]  # n texts to an n x d array


@dataclass(frozen=True, slots=True)
class Aids:
    """What metrics may need beside answers and references; each may be lacking."""

    judge: Judge | None = None
    embed: Embed | None = None
    passages: Mapping[Key, Sequence[Passage]] | None = None


class Once:
    """A judge that is asked every question once, so that both profiles read one and the same verdict."""

    def __init__(self, judge: Judge) -> None:
        """Wrap a judge; its `model` is kept for the signature."""
        self._judge = judge
        self._verdicts: dict[str, Any] = {}
        self.model = getattr(judge, "model", None)

    def __call__(self, batch: list[list[dict[str, str]]]) -> list[Any]:
        """Answer from what was asked before, and ask the rest in one batch."""
        keys = [dumps(chat) for chat in batch]
        new = {key: chat for key, chat in zip(keys, batch, strict=True) if key not in self._verdicts}
        if new:
            self._verdicts.update(zip(new, self._judge(list(new.values())), strict=True))
        return [self._verdicts[key] for key in keys]


def score(
    benchmark: Benchmark,
    questions: Mapping[Key, Question],
    answers: Sequence[Answer],
    conditions: Conditions,
    aids: Aids = Aids(),
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Score answers.

    Args:
        benchmark: whose metrics apply.
        questions: every question by its key.
        answers: in input order; each key is among the questions.
        conditions: as they were when the answers were made; without documents, say, fewer metrics apply.
        aids: the judge is asked at most once per distinct chat; without passages ranks are not measured.

    Returns:
        The lines of ``items.jsonl``, in the order of the answers, and the rows of ``scores.json``: per config, split,
        metric, key and profile.
    """
    if aids.judge:
        aids = replace(aids, judge=Once(aids.judge))
    items: dict[int, dict[str, Any]] = {index: {} for index in range(len(answers))}
    scores: list[dict[str, Any]] = []
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, answer in enumerate(answers):
        groups[(answer.config, answer.split)].append(index)
    for (config, split), indices in groups.items():
        place = {"benchmark": benchmark.NAME, "config": config, "split": split, "slice": ALL}
        for metric in benchmark.metrics(config, conditions):
            if metric.ranks and aids.passages is None:
                continue
            for profile in PROFILES:
                here = [answers[i] for i in indices]
                result = _compute(benchmark, metric, questions, here, profile, conditions, aids)
                for index, row in zip(indices, result["per_item"], strict=True):
                    _note(items[index], metric, profile, row)
                rows = [(answers[i].id, row) for i, row in zip(indices, result["per_item"], strict=True)]
                scores += [place | _row(metric, key, profile, result, rows, aids) for key in metric.keys]
    lines = [
        {"benchmark": a.benchmark, "config": a.config, "split": a.split, "id": a.id, "sample": a.sample} | items[i]
        for i, a in enumerate(answers)
    ]
    return lines, scores


def items_of(lines: Sequence[Mapping[str, Any]], metric: str, profile: str) -> list[Item]:
    """Read one metric's items back from lines of ``items.jsonl``; `metric` is ``module.key``."""
    return [
        Item((line["config"], line["split"], line["id"]), line[metric][profile], _reason(line[metric], profile))
        for line in lines
        if metric in line
    ]


def scores_of(benchmark: Benchmark, lines: Sequence[Mapping[str, Any]], conditions: Conditions) -> list[dict[str, Any]]:
    """Make the rows of ``scores.json`` from lines of ``items.jsonl`` alone, where the user put in a file of his own."""
    scores = []
    for config, split in dict.fromkeys((line["config"], line["split"]) for line in lines):
        here = [line for line in lines if (line["config"], line["split"]) == (config, split)]
        place = {"benchmark": benchmark.NAME, "config": config, "split": split, "slice": ALL}
        for metric in benchmark.metrics(config, conditions):
            for profile in PROFILES:
                for key in metric.keys:
                    items = items_of(here, f"{metric.module}.{key}", profile)
                    signature = f"{metric.module}|profile:{profile}|items:given"
                    head = place | {"metric": metric.module, "key": key, "profile": profile}
                    nothing = _not_run("no values given", len(here))
                    scores.append(head | (_summary(items, profile) if items else nothing))
                    scores[-1]["signature"] = signature
    return scores


def given_scores(
    path: Path,
    benchmark: Benchmark,
    items: Sequence[Mapping[str, Any]],
    questions: Sequence[Question],
    conditions: Conditions,
) -> list[dict[str, Any]]:
    """Aggregate the user's own ``items.jsonl``.

    Raises:
        QuadragError: a line is not of its form, or questions are missing or unknown.
    """
    wanted = {question.key for question in questions}
    try:
        found = {(line["config"], line["split"], line["id"]) for line in items}
        if found == wanted:
            return scores_of(benchmark, items, conditions)
    except (KeyError, TypeError, AttributeError) as error:
        raise QuadragError(f"{path} is not of the form of items.jsonl ({error!r}); remove it to score again") from None
    raise QuadragError(
        f"{path} holds {len(found)} questions of which {len(found & wanted)} are among the {len(wanted)} asked; "
        "remove it to score again"
    )


def failed_verdicts(answers: Sequence[Answer], items: Sequence[Mapping[str, Any]]) -> int:
    """Count the answers that a judge was asked about in vain; a later run may ask again."""
    return sum(
        answer.state == "ok"
        and any("api_error" in value.get("reason", {}).values() for value in line.values() if isinstance(value, dict))
        for answer, line in zip(answers, items, strict=True)
    )


def score_text(scores: Sequence[dict[str, Any]]) -> str:
    """Return the text of ``scores.json``: a JSON list, a row a line."""
    return "[\n" + ",\n".join(dumps(row) for row in scores) + "\n]\n"


def _not_run(why: str, n: int) -> dict[str, Any]:
    return {"value": None, "interval": None, "not_run": why, "n_total": n}


def _reason(entry: Mapping[str, Any], profile: str) -> str | None:
    reasons = entry.get("reason") or {}
    return reasons.get(profile) if isinstance(reasons, Mapping) else reasons


def _summary(items: Sequence[Item], profile: str) -> dict[str, Any]:
    summary: Summary = summarise(items, profile=profile)
    return {
        "value": summary.value,
        "interval": list(summary.interval) if summary.interval else None,
        "over_scored": summary.over_scored,
        "n_total": summary.n_total,
        "n_scored": summary.n_scored,
        "n_not_applicable": summary.n_not_applicable,
        "unscored": summary.unscored,
    }


def _compute(
    benchmark: Benchmark,
    metric: Metric,
    questions: Mapping[Key, Question],
    answers: Sequence[Answer],
    profile: str,
    conditions: Conditions,
    aids: Aids,
) -> Any:
    if all(metric.lacks(key, bool(aids.judge), bool(aids.embed)) for key in metric.keys):
        nothing: dict[str, Any] = {"reasons": {}}
        signature = f"{metric.module}|profile:{profile}"
        return {"n_total": len(answers), "per_item": [nothing] * len(answers), "signature": signature}
    asked = [questions[answer.key] for answer in answers]
    keywords: dict[str, Any] = {"profile": profile}
    predictions: list[Any]
    if metric.ranks:
        passages = aids.passages or {}
        predictions = [[document_id(passage) for passage in passages[answer.key]] for answer in answers]
        references: list[Any] = [list(question.relevant) for question in asked]
    else:
        keywords["states"] = [None if answer.answer is not None else answer.state for answer in answers]
        predictions = [None if a.answer is None else benchmark.parse(a.config, a.answer) for a in answers]
        references = [question.references for question in asked]
    if metric.embedded and aids.embed:
        keywords["embed"] = aids.embed
    keywords |= benchmark.keywords(metric, asked, conditions)
    if metric.judged and aids.judge:
        keywords["judge"] = aids.judge
    with _quiet_evaluate() as evaluate:
        module = evaluate.load(str(metric_folder(metric.module)))
        return module.compute(predictions=predictions, references=references, **keywords)


@contextlib.contextmanager
def _quiet_evaluate() -> Iterator[Any]:
    """Lend `evaluate` without its progress bars and notes, which would break into ours."""
    import evaluate

    before = evaluate.logging.get_verbosity()
    bars = evaluate.utils.logging.is_progress_bar_enabled()
    evaluate.logging.set_verbosity_error()
    evaluate.disable_progress_bar()
    try:
        yield evaluate
    finally:
        if bars:
            evaluate.enable_progress_bar()
        evaluate.logging.set_verbosity(before)


def _note(line: dict[str, Any], metric: Metric, profile: str, row: Mapping[str, Any]) -> None:
    """Enter one item's values of one metric and profile into its line."""
    for key in metric.keys:
        if key not in row:
            continue
        entry = line.setdefault(f"{metric.module}.{key}", {})
        entry[profile] = row[key]
        if key in row["reasons"]:
            entry.setdefault("reason", {})[profile] = row["reasons"][key]


def _row(
    metric: Metric,
    key: str,
    profile: str,
    result: Mapping[str, Any],
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    aids: Aids,
) -> dict[str, Any]:
    """Make one row of ``scores.json``."""
    row: dict[str, Any] = {"metric": metric.module, "key": key, "profile": profile}
    signature = {"signature": result["signature"]}
    if key not in result:
        why = metric.lacks(key, bool(aids.judge), bool(aids.embed)) or "no references"
        return row | _not_run(why, result["n_total"]) | signature
    items = [Item(question, line[key], line["reasons"].get(key)) for question, line in rows]
    return row | _summary(items, profile) | {"value": result[key]} | signature

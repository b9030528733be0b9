"""The score stage: answers against references through the evaluate modules, under both profiles.

Values come from the modules, intervals from `quadrag.stats`; nothing is computed here. A metric that needs a judge and
has none is reported as not run.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.catalogue import metric_folder
from quadrag.errors import QuadragError
from quadrag.records import Answer, Key, Question, dumps
from quadrag.stats import Item, Summary, summarise

from .benchmark import Benchmark, Metric

PROFILES = ("official", "corrected")
ALL = "all"  # the slice that holds every item
Judge = Callable[[list[list[dict[str, str]]]], list[Any]]


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
    retriever: str,
    judge: Judge | None = None,
    options: Mapping[str, Any] | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Score answers.

    Args:
        benchmark: whose metrics apply.
        questions: every question by its key.
        answers: in input order; each key is among the questions.
        retriever: as it was when the answers were made; without documents fewer metrics apply.
        judge: asked at most once per distinct chat.
        options: those of the dataset script; another mix of documents may be another testbed.

    Returns:
        The lines of ``items.jsonl``, in the order of the answers, and the rows of ``scores.json``: per config, split,
        metric, key and profile.
    """
    verdicts = Once(judge) if judge else None
    items: dict[int, dict[str, Any]] = {index: {} for index in range(len(answers))}
    scores: list[dict[str, Any]] = []
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, answer in enumerate(answers):
        groups[(answer.config, answer.split)].append(index)
    for (config, split), indices in groups.items():
        place = {"benchmark": benchmark.NAME, "config": config, "split": split, "slice": ALL}
        for metric in benchmark.metrics(config, retriever, options or {}):
            for profile in PROFILES:
                result = _compute(benchmark, metric, questions, [answers[i] for i in indices], profile, verdicts)
                for index, row in zip(indices, result["per_item"], strict=True):
                    _note(items[index], metric, profile, row)
                rows = [(answers[i].id, row) for i, row in zip(indices, result["per_item"], strict=True)]
                scores += [place | _row(metric, key, profile, result, rows) for key in metric.keys]
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


def scores_of(benchmark: Benchmark, lines: Sequence[Mapping[str, Any]], retriever: str) -> list[dict[str, Any]]:
    """Make the rows of ``scores.json`` from lines of ``items.jsonl`` alone, where the user put in a file of his own."""
    scores = []
    for config, split in dict.fromkeys((line["config"], line["split"]) for line in lines):
        here = [line for line in lines if (line["config"], line["split"]) == (config, split)]
        place = {"benchmark": benchmark.NAME, "config": config, "split": split, "slice": ALL}
        for metric in benchmark.metrics(config, retriever, {}):
            for profile in PROFILES:
                for key in metric.keys:
                    items = items_of(here, f"{metric.module}.{key}", profile)
                    signature = f"{metric.module}|profile:{profile}|items:given"
                    head = place | {"metric": metric.module, "key": key, "profile": profile}
                    scores.append(head | (_summary(items, profile) if items else _NOT_RUN | {"n_total": len(here)}))
                    scores[-1]["signature"] = signature
    return scores


def given_scores(
    path: Path, benchmark: Benchmark, items: Sequence[Mapping[str, Any]], questions: Sequence[Question], retriever: str
) -> list[dict[str, Any]]:
    """Aggregate the user's own ``items.jsonl``.

    Raises:
        QuadragError: a line is not of its form, or questions are missing or unknown.
    """
    wanted = {question.key for question in questions}
    try:
        found = {(line["config"], line["split"], line["id"]) for line in items}
        if found == wanted:
            return scores_of(benchmark, items, retriever)
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


_NOT_RUN: dict[str, Any] = {"value": None, "interval": None, "not_run": "no judge"}


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
    judge: Judge | None,
) -> Any:
    asked = [questions[answer.key] for answer in answers]
    keywords = dict(benchmark.keywords(asked[0].config), profile=profile)
    keywords["states"] = [None if answer.answer is not None else answer.state for answer in answers]
    if metric.judged and judge:
        keywords.update(judge=judge, questions=[question.query for question in asked])
    with _quiet_evaluate() as evaluate:
        module = evaluate.load(str(metric_folder(metric.module)))
        return module.compute(
            predictions=[answer.answer for answer in answers],
            references=[question.references for question in asked],
            **keywords,
        )


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
    metric: Metric, key: str, profile: str, result: Mapping[str, Any], rows: Sequence[tuple[str, Mapping[str, Any]]]
) -> dict[str, Any]:
    """Make one row of ``scores.json``."""
    row: dict[str, Any] = {"metric": metric.module, "key": key, "profile": profile}
    signature = {"signature": result["signature"]}
    if key not in result:
        return row | _NOT_RUN | {"n_total": result["n_total"]} | signature
    items = [Item(question, line[key], line["reasons"].get(key)) for question, line in rows]
    return row | _summary(items, profile) | {"value": result[key]} | signature

"""The score stage: answers against references through the evaluate modules, under both profiles.

Values come from the modules, intervals from `quadrag.stats`; nothing is computed here. A metric that needs a judge and
has none is reported as not run.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from quadrag.catalogue import metric_folder
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
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Score answers.

    Args:
        benchmark: whose metrics apply.
        questions: every question by its key.
        answers: in input order; each key is among the questions.
        retriever: as it was when the answers were made; without documents fewer metrics apply.
        judge: asked at most once per distinct chat.

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
        for metric in benchmark.metrics(config, retriever):
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
        Item((line["config"], line["split"], line["id"]), line[metric][profile], line[metric].get("reason"))
        for line in lines
        if metric in line
    ]


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
    evaluate.logging.set_verbosity_error()
    evaluate.disable_progress_bar()
    try:
        yield evaluate
    finally:
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
            entry["reason"] = row["reasons"][key]


def _row(
    metric: Metric, key: str, profile: str, result: Mapping[str, Any], rows: Sequence[tuple[str, Mapping[str, Any]]]
) -> dict[str, Any]:
    """Make one row of ``scores.json``."""
    row: dict[str, Any] = {"metric": metric.module, "key": key, "profile": profile, "value": None, "interval": None}
    if key not in result:
        return row | {"not_run": "no judge", "n_total": result["n_total"], "signature": result["signature"]}
    items = [Item(question, line[key], line["reasons"].get(key)) for question, line in rows]
    summary: Summary = summarise(items, profile=profile)
    return row | {
        "value": result[key],
        "interval": list(summary.interval) if summary.interval else None,
        "over_scored": summary.over_scored,
        "n_total": summary.n_total,
        "n_scored": summary.n_scored,
        "n_not_applicable": summary.n_not_applicable,
        "unscored": summary.unscored,
        "signature": result["signature"],
    }

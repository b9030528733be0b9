"""How a judge's replies are read: by the metric that asks for them, as its `corrected` reads them, and by nothing else.

So a verdict that lacks its last brace is one, wherever it comes from: of a live judge, or of a file.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quadrag.metric_record import metric_record
from quadrag.stats import NOT_APPLICABLE

from ..core.result import PROFILES
from ..scoring.modules import load_module
from .grades import Graded
from .labels import Item, LabelSet

PROFILE = PROFILES[-1]
_BY_PASSAGES = ("hal", "utl")  # judged by the passages, with an accepted answer beside them where there is one
_NO_GOLD = "(none is given; go by the passages)"
_CHINESE = re.compile("[\u4e00-\u9fff]")

Judge = Callable[[list[Any]], Sequence[Any]]


def read_replies(graded: Graded, replies: Sequence[str]) -> list[str | None]:
    """Return the grade that each reply says of some answer, None of one in which none can be read."""
    item = Item("", "", "question", "answer", golds=("gold",), passages=("passage",))
    rows, _ = judge_items(LabelSet("", graded, [item] * len(replies), {}), lambda batch: replies)
    return [read_grade(graded.grades, graded.key, row) for row in rows]


def read_grade(grades: Mapping[str, float | None], key: str, row: Mapping[str, Any]) -> str | None:
    """Return the grade that a metric's row of an item stands for; a value that stands for a failure is none."""
    why = row["reasons"].get(key)
    if why is not None and why != NOT_APPLICABLE:
        return None
    value = None if why else row[key]
    return next((grade for grade, worth in grades.items() if worth == value), None)


def judge_items(labels: LabelSet, judge: Judge) -> tuple[list[Mapping[str, Any]], str]:
    """Return the row of each item as the metric judges it, of pairs of both answers, and the signature."""
    graded, items = labels.graded, labels.items
    shown = [(item, item.answer) for item in items]
    shown += [(item, item.other or "") for item in items if labels.pairs]
    module = load_module(graded.metric, graded.key if graded.key in metric_record(graded.metric).configs else None)
    keywords: dict[str, Any] = {
        "questions": [item.question for item, _ in shown],
        "contexts": [list(item.passages) for item, _ in shown],
        "language": "zh" if any(_CHINESE.search(item.question) for item in items) else "en",
    }
    result = module.compute_quietly(
        predictions=[answer for _, answer in shown],
        references=[_shape(graded, item) for item, _ in shown],
        judge=judge,
        profile=PROFILE,
        **{name: value for name, value in keywords.items() if name in module.OPTIONS},
    )
    rows, n = result["per_item"], len(items)
    if labels.pairs:
        rows = [_better(graded.key, *both) for both in zip(rows[:n], rows[n:], strict=True)]
    return rows, result["signature"]


def is_by_passages(graded: Graded) -> bool:
    """Whether an answer is judged by the passages that it was made from, and not by accepted answers."""
    return graded.key in _BY_PASSAGES


def _better(key: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a pair: the sign of the second less the first."""
    reasons = {**first["reasons"], **second["reasons"]}
    if key in reasons:
        return {key: None, "reasons": reasons}
    return {key: float((second[key] > first[key]) - (second[key] < first[key])), "reasons": {}}


def _shape(graded: Graded, item: Item) -> Any:
    """Return accepted answers as the metric takes them: RGB's want any one of a list of lists."""
    if not item.golds and is_by_passages(graded):
        return [_NO_GOLD]
    return [list(item.golds)] if graded.metric in ("rejection_rate", "error_detection") else list(item.golds)

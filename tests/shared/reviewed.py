"""Datasets under review: the command, and grades of their first items."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from quadrag import cli
from quadrag.baselines.construct.review.grades import give_grade
from quadrag.baselines.construct.review.items import Item, load

Made = Callable[[str], Path]
# Of each recipe a config and the column of its question, where the human split is.
HUMAN = {
    "crag": ("task_1_2", "validation", "query", "human"),
    "rgb": ("noise_robustness_zh", "noise_0", "query", "human"),
    "crud_rag": ("qa_1doc", "test", "query", "human"),
    "omnieval": ("extractive_qa", "human", "question", "."),
}


def review(*arguments: Any) -> int:
    return cli.main(["construct", "review", *map(str, arguments)])


def grade(dataset: Path, who: str, grades: Iterable[int], texts: dict[str, str] | None = None) -> None:
    """Grade the first items of a dataset; of grade 3 with corrections."""
    how, items = load(dataset)
    for item, given in zip(items.values(), grades, strict=False):
        assert give_grade(dataset, how, item, who, given, (texts or {}) if given == 3 else {}) is None


def lines_of(dataset: Path, who: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (dataset / "reviews" / f"{who}.jsonl").read_bytes().splitlines()]


def first(dataset: Path) -> tuple[Any, Item]:
    how, items = load(dataset)
    return how, next(iter(items.values()))

"""omnieval as it is published: its documented arguments and keys, and the numbers on its card."""

from __future__ import annotations

import csv
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omnieval_judges import (
    GOOD,
    KEYS,
)

ROOT = Path(__file__).parents[3]


def test_documented_keywords_and_keys(load: Callable[..., Any]) -> None:
    metric = load("all")
    asked = set(inspect.signature(metric.compute).parameters)
    arguments, returned = metric.inputs_description.split("Returns:")
    assert all(f"    {keyword}: " in arguments for keyword in asked)
    for key in metric.compute(**GOOD, profile="corrected"):
        assert ("<key>_over_scored" if key.endswith("_over_scored") else key) in returned, key
    module = sys.modules[type(metric).__module__]
    card = (ROOT / "metrics" / "omnieval" / "README.md").read_text(encoding="utf-8")
    assert module._CITATION.strip() in card and all(f"**{keyword}**" in card for keyword in asked)


def test_the_card_s_tables_are_the_published_ones(metrics_root: Path) -> None:
    card = (metrics_root / "omnieval" / "README.md").read_text(encoding="utf-8")
    printed: dict[tuple[str, str, str, str], str] = {}
    for table, first in (("4", "| retriever |"), ("5", "| generator, retriever |")):
        header, _, *rows = card[card.index(first) :].partition("\n\n")[0].splitlines()
        splits = header.strip("| ").split(" | ")[1:]
        for row in rows:
            name, *cells = row.strip("| ").split(" | ")
            for split, cell in zip(splits, cells, strict=True):
                for key, value in zip(KEYS, cell.split(" / "), strict=True):
                    printed |= {(table, name, split, key): value} if value != "-" else {}
    published = {}
    with (ROOT / "baselines" / "omnieval" / "published.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] in ("4", "5") and row["metric"] in KEYS:
                setting = dict(pair.split("=", 1) for pair in row["setting"].split(";"))
                name = [setting["retriever"]] if row["table"] == "4" else [setting["generator"], setting["retriever"]]
                published[row["table"], ", ".join(name), row["split"], row["metric"]] = row["value"]
    assert len(printed) == 4 * 2 * 5 + 8 * 2 * 5 - 4 * 2 * 2 and printed == published

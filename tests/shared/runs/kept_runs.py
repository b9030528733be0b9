"""A run of four questions whose replies are kept, and what its folder says."""

import json
from pathlib import Path
from typing import Any

from quadrag.records import read_jsonl

ONE = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--limit", 4, "--ledger", "L")


def answers(folder: str | Path) -> list[Any]:
    return [row["answer"] for _, row in read_jsonl(Path(folder, "answers.jsonl"))]


def record(folder: str | Path) -> Any:
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))

"""Short runs for a judge to be asked in, and the command that makes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.cli import main

CRAG = ("run", "crag", "task_1_2", "--split", "public", "--data-dir", "sample", "--limit", "10")
REJECTION = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample")
REJECTION_FILE = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")


def run(tmp_path: Path, place: Sequence[Any], *more: Any) -> int | None:
    """Make a run in `tmp_path`, with a ledger beside it."""
    return main([*place, "--ledger", str(tmp_path / "ledger"), "--out", str(tmp_path / "run"), *map(str, more)])

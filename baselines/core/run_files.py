"""The files of a finished run read back, each held against the sum that `run.json` has of it; nothing is written."""

import hashlib
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.records import read_jsonl

from .run_record import RunRecord


def sha256(path: Path) -> str:
    """Return the sha256 of a file of a run, as `run.json` has it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_stage(folder: Path, run: RunRecord, stage: str) -> None:
    """Hold a stage's file against its sum.

    Raises:
        QuadragError: the file is not as the run left it, or not there.
    """
    path, known = folder / stage, {**run.partial, **run.files}
    if not path.is_file():
        raise QuadragError(f"{folder} has no {stage}; run it to its end first")
    if known.get(stage) != sha256(path):
        # What `quadrag score` wrote, which retrieves nothing, is made as a whole.
        made = "retrieved.jsonl" in known or run.state == "stopped"
        again = "remove it and run again, which makes it anew" if made else "remove the folder and score again"
        raise QuadragError(f"{path} is not as the run wrote it; {again}")


def read_scores(folder: Path, run: RunRecord) -> list[dict[str, Any]]:
    """Read the rows of ``scores.json``; raises as `check_stage` does."""
    check_stage(folder, run, "scores.json")
    rows: list[dict[str, Any]] = parse_json((folder / "scores.json").read_bytes(), folder / "scores.json")
    return rows


def read_items(folder: Path, run: RunRecord) -> list[dict[str, Any]]:
    """Read the lines of ``items.jsonl``; raises as `check_stage` does."""
    check_stage(folder, run, "items.jsonl")
    return [row for _, row in read_jsonl(folder / "items.jsonl")]

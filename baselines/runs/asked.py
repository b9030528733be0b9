"""What is kept of each question of a run, in a file of its folder: `questions.jsonl`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.records import Key, read_jsonl, write_jsonl
from quadrag.run_files import sha256

from ..core.result import Asked, Stratum

QUESTIONS = "questions.jsonl"


def write_asked(folder: Path, asked: Mapping[Key, Asked]) -> str:
    """Write what is kept of the questions into a folder; returns the file's sha256."""
    names = ("config", "split", "id")
    kept = {key: {name: value for name, value in one._asdict().items() if value} for key, one in asked.items()}
    write_jsonl(folder / QUESTIONS, [dict(zip(names, key, strict=True)) | one for key, one in kept.items()])
    return sha256(folder / QUESTIONS)


def read_asked(folder: Path, known: str | None) -> dict[Key, Asked]:
    """Read what is kept of the questions; nothing of a folder that has none."""
    path = folder / QUESTIONS
    if not path.exists():
        return {}
    if known != sha256(path):
        raise QuadragError(f"{path} is not as the run wrote it; remove the file, and runs pair by their ids")
    return {(row["config"], row["split"], row["id"]): _read_asked(row) for _, row in read_jsonl(path)}


def _read_asked(row: Mapping[str, Any]) -> Asked:
    stratum = Stratum(*row["stratum"]) if "stratum" in row else None
    return Asked(row["sha256"], row.get("unit"), row.get("slices", {}), stratum)

"""The files of a finished run read back, each held against the sum that `run.json` has of it.

What nobody has a sum of (`quadrag score` once kept none) is held against its form alone. Nothing is written here.
"""

import hashlib
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.reading import is_finite, parse_json
from quadrag.records import read_jsonl
from quadrag.run_record import RunRecord

SCORES = "scores.json"
_NAMES = ("benchmark", "config", "split", "slice", "metric", "key", "profile", "signature")


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
    if known and known.get(stage) != sha256(path):
        # What `quadrag score` wrote, which retrieves nothing, is made as a whole.
        made = stage == "retrieved.jsonl" or "retrieved.jsonl" in known or run.state == "stopped"
        again = "remove it and run again, which makes it anew" if made else "remove the folder and score again"
        raise QuadragError(f"{path} is not as the run wrote it; {again}")


def read_scores(folder: Path, run: RunRecord) -> list[dict[str, Any]]:
    """Read the rows of ``scores.json``.

    Raises:
        QuadragError: the file is not as the run left it, not there, or not of its form.
    """
    check_stage(folder, run, SCORES)
    try:
        rows = parse_json((folder / SCORES).read_bytes(), folder / SCORES)
        if not (isinstance(rows, list) and all(map(_is_score, rows))):
            raise TypeError
    except (KeyError, TypeError, QuadragError):
        raise QuadragError(f"{folder} has no readable {SCORES}; remove it and run again") from None
    return rows


def read_items(path: Path) -> list[dict[str, Any]]:
    """Read ``items.jsonl``, a run's or the user's own.

    Raises:
        QuadragError: it cannot be read, or a line is not of its form.
    """
    rows = []
    for number, row in read_jsonl(path):
        try:
            good = all(type(row[name]) is str for name in ("config", "split", "id"))
            good = good and all(_is_item(entry) for name, entry in row.items() if "." in name)
        except KeyError:
            good = False
        if not good:
            raise QuadragError(f"{path}:{number} is not of the form of items.jsonl; remove it to score again")
        rows.append(row)
    return rows


def _is_item(entry: Any) -> bool:
    """Whether an entry holds a metric's values, a number or null by profile, reasons for null, and what is ruled."""
    if not isinstance(entry, dict):
        return False
    reasons, ruled = entry.get("reason") or {}, entry.get("ruled", [])
    told = list(reasons.values()) if isinstance(reasons, dict) else [reasons]
    told += ruled if isinstance(ruled, list) else [ruled]
    values = [value for name, value in entry.items() if name not in ("reason", "ruled")]
    return all(type(one) is str for one in told) and all(one is None or is_finite(one) for one in values)


def _is_score(row: Any) -> bool:
    """Whether a row is one of ``scores.json``, as far as whoever shows it depends on it."""
    numbers = [row["value"], *(row.get("interval") or ()), row["n_total"], row.get("n_scored", 0)]
    counts = row.get("unscored", {})
    return (
        all(type(row[name]) is str for name in _NAMES)
        and isinstance(counts, dict)
        and len(numbers) in (3, 5)
        and all(one is None or is_finite(one) for one in numbers)
        and all(type(one) is int for one in (*numbers[-2:], *counts.values()))
    )

"""What a folder of `quadrag export` says of itself: the digest of its inputs, and the files of each split.

It stands in a hidden file, which `datasets` takes for no data. An unfinished folder has one too, so that it can be
gone on with.
"""

from __future__ import annotations

import json
from pathlib import Path

from quadrag.export_parquet import Written
from quadrag.records import write_text

RECORD = ".quadrag.json"


def broken(folder: Path, written: Written) -> str | None:
    """Return what a split's first shard that is missing or cut short should be; None where all are whole."""
    for name, size in written.files.items():
        if not (folder / name).is_file() or (folder / name).stat().st_size != size:
            return f"{folder.name}/{name} with {size} bytes"
    return None


def held_by(folder: Path) -> tuple[str, dict[str, dict[str, Written]]] | None:
    """Read the record of a folder: the digest of its inputs, and its splits by config; None without a readable one."""
    try:
        read = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        splits = {
            config: {split: Written(one["rows"], one["bytes"], dict(one["files"])) for split, one in splits.items()}
            for config, splits in read["splits"].items()
        }
        return str(read["inputs"]), splits
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def record(folder: Path, inputs: str, splits: dict[str, dict[str, Written]]) -> None:
    """Write the record of a folder, which is made where it is not there."""
    plain = {config: {split: one._asdict() for split, one in each.items()} for config, each in splits.items()}
    write_text(folder / RECORD, json.dumps({"inputs": inputs, "splits": plain}, indent=1) + "\n")

"""What a folder of `quadrag export` says of itself: the digest of its inputs, and the files of each split.

It stands in a hidden file, which `datasets` takes for no data. An unfinished folder has one too, so that it can be
gone on with.
"""

import json
from pathlib import Path
from typing import NamedTuple

from quadrag.errors import QuadragError
from quadrag.hub.export.parquet import Written
from quadrag.reading import parse_json
from quadrag.records import write_text
from quadrag.sums import sum_file

MANIFEST = ".quadrag.json"


class Manifest(NamedTuple):
    """The digest of all that decides a folder's content, and its splits by config."""

    inputs: str
    splits: dict[str, dict[str, Written]]

    def find_fault(self, folder: Path) -> str | None:
        """Return what is missing or altered in a folder that should be whole; None where nothing is."""
        for config, splits in self.splits.items():
            for written in splits.values():
                if fault := find_broken(folder / config, written):
                    return fault
        return None if (folder / "README.md").is_file() else "README.md"

    def write(self, folder: Path) -> None:
        """Write the file."""
        splits = {
            config: {split: one._asdict() for split, one in splits.items()} for config, splits in self.splits.items()
        }
        write_text(folder / MANIFEST, json.dumps({"inputs": self.inputs, "splits": splits}, indent=1) + "\n")


def read_manifest(folder: Path) -> Manifest | None:
    """Read the file; None without one that can be read."""
    try:
        read = parse_json((folder / MANIFEST).read_bytes(), MANIFEST)
        splits = {
            config: {
                split: Written(one["rows"], one["bytes"], dict(one["files"]), one.get("sums"))
                for split, one in splits.items()
            }
            for config, splits in read["splits"].items()
        }
        return Manifest(str(read["inputs"]), splits)
    except (OSError, QuadragError, ValueError, KeyError, TypeError, AttributeError):
        return None


def find_broken(folder: Path, written: Written) -> str | None:
    """Return what a split's first shard that is missing or altered should be; None where all are whole."""
    for name, size in written.files.items():
        if not (folder / name).is_file() or (folder / name).stat().st_size != size:
            return f"{folder.name}/{name} with {size} bytes"
        if written.sums and sum_file(folder / name)[1] != written.sums[name]:
            return f"{folder.name}/{name} as it was written"
    return None

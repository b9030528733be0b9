"""The upstream files that are no pickles: JSON objects, bz2 JSON Lines, CSV, and their digests."""

import bz2
import csv
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError

_LONGEST = 256 * 2**20  # of one entity, far above the real ones; damage must not fill the memory


def digest(path: Path) -> str:
    """Return the sha256 of a file, as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(path: Path) -> None:
    """Refuse a file that Git LFS left a pointer for."""
    with path.open("rb") as stream:
        if stream.read(40).startswith(b"version https://git-lfs.github.com/spec"):
            raise QuadragError(
                f"{path} is a Git LFS pointer, not the file; run `git lfs pull` in the upstream checkout"
            )


def members(path: Path) -> Iterator[tuple[str, Any]]:
    """Read a JSON file that is one object, member by member in its order; QuadragError where it is anything else."""
    try:
        whole = json.loads(path.read_bytes().decode("utf-8-sig"))
        if type(whole) is not dict:
            raise ValueError(f"a {type(whole).__name__} in place of an object")
    except (ValueError, RecursionError) as error:
        raise QuadragError(f"{path} is damaged: {' '.join(str(error).split())}; get it again from upstream") from None
    yield from whole.items()


def entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Read titles and entities of a bz2 file of JSON Lines, ``[title, entity]``; QuadragError names a bad line."""
    number = 0
    try:
        with bz2.open(path, "rb") as stream:
            while line := stream.readline(_LONGEST):
                number += 1
                if line.isspace():
                    continue
                title, entity = json.loads(line)
                if type(title) is not str:
                    raise ValueError("the title is no text")
                yield title, entity
    except (OSError, EOFError, ValueError, TypeError, RecursionError) as error:
        where = f"line {number + 1 if isinstance(error, (OSError, EOFError)) else number}"
        raise QuadragError(
            f"{path}, {where}: {' '.join(str(error).split())}; expected bz2 with lines of [title, entity]: "
            "get it again from upstream"
        ) from None


def companies(path: Path) -> Iterator[tuple[str, str | None]]:
    """Read names and tickers as they stand in a CSV (``NA`` is a ticker), an empty ticker as None."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.DictReader(stream)
            if not {"Name", "Symbol"} <= set(rows.fieldnames or ()):
                raise ValueError(f"the columns are {rows.fieldnames}")
            for row in rows:
                if row["Name"] is not None:
                    yield row["Name"], row["Symbol"] or None
    except (ValueError, csv.Error) as error:
        raise QuadragError(
            f"{path}: {' '.join(str(error).split())}; expected CSV with the columns Name and Symbol"
        ) from None

"""Sizes and CRC-32 of files that are kept, by which one that was altered is known; some 2 GB of them a second.

They find damage, not malice: what comes from elsewhere is held against a sha256 (`quadrag.data.download`).
"""

import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_CHUNK = 1 << 22
Sums = dict[str, list[int]]  # size and CRC-32 by path


def sum_files(folder: Path, but: str) -> Sums:
    """Return size and CRC-32 of every file in a folder, below it too, but for those of one name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != but)
    return {path.relative_to(folder).as_posix(): sum_file(path) for path in files}


def sum_file(path: Path) -> list[int]:
    """Return size and CRC-32 of a file."""
    size, total, buffer = 0, 0, memoryview(bytearray(_CHUNK))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            size, total = size + count, zlib.crc32(buffer[:count], total)
    return [size, total]


def find_altered(folder: Path, names: Iterable[str], sums: Mapping[str, Any]) -> str | None:
    """Return the first of some files that is gone or not as its sum says; None where all are."""
    for name in names:
        try:
            if sum_file(folder / name) != sums.get(name):
                return name
        except OSError:
            return name
    return None

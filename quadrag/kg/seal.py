"""The sum of a knowledge graph's file, at its very end, where SQLite does not look: a mark and a CRC-32, 12 bytes.

Older graphs have none, and are believed. Looking takes half a second for each GB, so it is done once for a run or a
server, and not whenever a graph is opened.
"""

import functools
from pathlib import Path

from quadrag.errors import QuadragError
from quadrag.progress import announce
from quadrag.sums import sum_file

_MARK = b"QRKG-sum"
_LENGTH = len(_MARK) + 4


def seal(path: Path) -> None:
    """Put the sum at the end of a file that is whole."""
    _, total = sum_file(path)
    with path.open("ab") as file:
        file.write(_MARK + total.to_bytes(4, "little"))


def is_intact(path: Path) -> bool:
    """Tell whether a file is as it was built."""
    state = path.stat()
    return _is_intact(path, state.st_size, state.st_mtime_ns)


@functools.lru_cache(maxsize=16)  # a run asks for it twice
def _is_intact(path: Path, whole: int, moment: int) -> bool:
    size = max(whole - _LENGTH, 0)
    with path.open("rb") as file:
        file.seek(size)
        end = file.read(_LENGTH)
    if not end.startswith(_MARK):
        return True
    with announce(f"looking whether {path} is as it was built"):
        return sum_file(path, size)[1] == int.from_bytes(end[len(_MARK) :], "little")


def check(path: Path) -> None:
    """Hold a graph's file against its sum.

    Raises:
        QuadragError: it is not as it was built.
    """
    if not is_intact(path):
        raise QuadragError(f"{path} is damaged; build it again: quadrag kg build SRC {path}")

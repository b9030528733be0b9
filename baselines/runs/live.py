"""How far a run at work is, in a file of its folder, so that another process can show it; it goes when the run ends."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.progress import listening
from quadrag.records import dumps, write_text

from .folder import LOCK

PROGRESS = "progress.json"
_EVERY = 1.0  # seconds between two writings
_QUIET = 10.0  # seconds without a writing, after which it is asked whether the run still lives


class Live(NamedTuple):
    """How far a run is.

    Attributes:
        step: what it does.
        done: how much of it.
        total: of how much.
        calls: made so far to models.
        cost: of these; None where prices are not known.
        at: Unix time.
    """

    step: str
    done: int
    total: int
    calls: int
    cost: float | None
    at: float


@contextmanager
def publish(folder: Path, spent: Callable[[], Mapping[str, Mapping[str, Any]]]) -> Iterator[None]:
    """Write how far what is done meanwhile is.

    Args:
        folder: of the run, or of several.
        spent: returns the counters of the models in use, by role.
    """
    path = folder / PROGRESS
    last = 0.0

    def write(step: str, done: int, total: int) -> None:
        nonlocal last
        if folder.is_dir() and time.time() - last >= _EVERY:
            last = time.time()
            counters = list(spent().values())
            costs = [one["cost"] for one in counters if one.get("cost") is not None]
            calls = sum(one.get("calls", 0) for one in counters)
            live = Live(step, done, total, calls, sum(costs) if costs else None, last)
            write_text(path, dumps(live._asdict()))

    try:
        with listening(write):
            yield
    finally:
        path.unlink(missing_ok=True)


def read_live(folder: Path) -> Live | None:
    """Read how far the runs in a folder are; None where none is at work."""
    for path in (folder / PROGRESS, *sorted(folder.glob(f"*/{PROGRESS}"))):
        try:
            live = Live(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):  # it ended between two looks
            continue
        if time.time() - live.at < _QUIET or any(map(_is_held, (path.parent, *path.parent.glob("*/")))):
            return live
    return None


def _is_held(folder: Path) -> bool:
    """Whether a run is at work in a folder."""
    from filelock import FileLock, Timeout

    if not (folder / LOCK).exists():
        return False
    try:
        with FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True

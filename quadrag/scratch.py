"""What is not whole yet stands beside its place, and is moved there by whoever made it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock, Timeout

_LOCK = "lock"  # held as long as the process lives


@contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """Yield a path for a file or folder that is to be moved to `place`; nothing stands there yet.

    What killed processes left for the same place is removed, and at the end what was not moved.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    sweep(place)
    beside = TemporaryDirectory(prefix=f".{place.name}.", suffix=".part", dir=place.parent, ignore_cleanup_errors=True)
    with beside as folder, FileLock(Path(folder, _LOCK)):
        yield Path(folder, place.name)


def sweep(place: Path) -> None:
    """Remove what killed processes left beside a place."""
    for part in place.parent.glob(f".{escape(place.name)}.*.part"):
        with suppress(Timeout, OSError), FileLock(part / _LOCK, timeout=0):
            shutil.rmtree(part, ignore_errors=True)

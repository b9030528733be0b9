"""What is not whole yet stands beside its place under another name, with a lock that lives as long as its process.

So what a killed process left is known from what another one is writing, and is removed by the next that starts on the
same place. What is whole is moved by whoever made it.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from glob import escape
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory, TemporaryFile

from filelock import FileLock, Timeout

_AGE = 3600.0  # seconds without a change after which what nobody holds is nobody's


@contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """Yield a path for a file or folder that is to be moved to `place`; nothing stands there yet.

    Its folder is made, and what killed processes left for the same place is removed. At the end the path is removed
    where it was not moved.

    Raises:
        OSError: the folder cannot be written.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    sweep(place)
    part = place.with_name(f".{place.name}.{token_hex(4)}.part")
    with hold(part.with_suffix(".lock")):
        try:
            yield part
        finally:
            _remove(part)


def sweep(place: Path) -> None:
    """Remove what killed processes left beside a place."""
    for part in place.parent.glob(f".{escape(place.name)}.*.part"):
        lock = part.with_suffix(".lock")
        if not is_held(lock) if lock.exists() else _is_old(part):
            _remove(part)
            lock.unlink(missing_ok=True)
    for lock in place.parent.glob(f".{escape(place.name)}.*.lock"):
        # Of a process that was killed before it wrote anything; a new one may be about to take it.
        if _is_old(lock) and not is_held(lock):
            lock.unlink(missing_ok=True)


@contextmanager
def hold(lock: Path) -> Iterator[None]:
    """Hold a lock file, which goes at the end or with the process; OSError where no file can be made."""
    lock.touch()  # where no file can be made, the library would wait for ever
    with FileLock(lock):
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def is_held(lock: Path) -> bool:
    """Tell whether a living process holds a lock file."""
    try:
        with FileLock(lock, timeout=0):
            return False
    except (Timeout, OSError):  # of another user, whose it then is
        return True


def process_folder() -> Path:
    """Return a folder of this process, removed at its end: for what libraries write into caches as they read."""
    return Path(_process_folder(os.getpid()).name)


@cache
def _process_folder(process: int) -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix=f"quadrag-{process}-")


def check_writable(place: Path) -> None:
    """Find out, before any work, whether a file or a folder can be made at a place; OSError where not."""
    whole = place.absolute()
    folder = next(above for above in (whole, *whole.parents) if above.is_dir())
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(place)) from None


def _is_old(path: Path) -> bool:
    with suppress(OSError):
        return time.time() - path.stat().st_mtime > _AGE
    return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)

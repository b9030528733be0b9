"""Progress that suits where it is shown: a bar in a terminal or a notebook, now and then a plain line in a log.

It writes to stderr, so that tables on stdout can be piped.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quadrag.errors import one_line, short_line
from quadrag.printing import fit_encoding, is_terminal, write

_LOG_EVERY = 10.0  # seconds
_LONG = 2.0  # seconds, from which a step is worth a word


class Progress:
    """Shows how many of `total` steps of `label` are done; use as a context manager, then call `update(done)`."""

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total = label, total
        self._bar: Any = None
        self._next = time.monotonic() + _LOG_EVERY
        self._line = self._printed = ""  # of a log, as it is now, and as it was printed last

    def __enter__(self) -> Progress:
        if is_terminal(sys.stderr) or _in_notebook():
            from tqdm import tqdm

            wait = 0 if is_terminal(sys.stderr) else _LONG  # what a notebook was sent once stays in its file
            label = fit_encoding(self._label, sys.stderr)
            self._bar = tqdm(total=self._total, desc=label, leave=False, dynamic_ncols=True, delay=wait)
        return self

    def update(self, done: int, total: int | None = None) -> None:
        """Show that `done` steps are done, of `total` where it differs from the total at first."""
        total = total or self._total
        done = min(done, total)
        if self._bar is not None:
            self._bar.total = total
            self._bar.update(done - self._bar.n)
            return
        self._line = f"{self._label}: {done} of {total}"
        if time.monotonic() >= self._next:
            self._print()

    def _print(self) -> None:
        remark(self._line)
        self._printed, self._next = self._line, time.monotonic() + _LOG_EVERY

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()
        elif kind is None and self._printed not in ("", self._line):
            self._print()


def _in_notebook() -> bool:
    """Whether stderr goes below a cell of a notebook, which redraws a line as a terminal does."""
    return type(sys.stderr).__module__.partition(".")[0] == "ipykernel"


def say(what: str) -> None:
    """Say on stderr, as one line, what a user should know beside what was asked for."""
    write(f"quadrag: {short_line(one_line(what))}", file=sys.stderr)


def remark(*lines: str) -> None:
    """Print lines on stderr."""
    write(*lines, file=sys.stderr)


@contextmanager
def announce(what: str) -> Iterator[None]:
    """Say on stderr what takes long, and then how long it took; what is done at once goes without a word."""
    started = time.monotonic()
    word = threading.Timer(_LONG, remark, (f"{what} ...",))
    word.daemon = True
    word.start()
    try:
        yield
    finally:
        word.cancel()
    if (seconds := time.monotonic() - started) > _LONG:
        remark(f"{what}: {seconds:.1f} s, kept for later runs")

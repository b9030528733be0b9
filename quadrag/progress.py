"""Progress that suits where it is shown: a bar in a terminal or a notebook, now and then a plain line in a log.

It writes to stderr, so that tables on stdout can be piped.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from quadrag.errors import one_line
from quadrag.printing import is_terminal, write

_LOG_EVERY = 10.0  # seconds


class Progress:
    """Shows how many of `total` steps of `label` are done; use as a context manager, then call `update(done)`."""

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total = label, total
        self._bar: Any = None
        self._next = time.monotonic() + _LOG_EVERY

    def __enter__(self) -> Progress:
        notebook = type(sys.stderr).__module__.startswith("ipykernel")
        if notebook or is_terminal(sys.stderr):
            from tqdm import tqdm

            wait = 2 if notebook else 0  # seconds: what a notebook was sent once stays in its file
            self._bar = tqdm(total=self._total, desc=self._label, leave=False, dynamic_ncols=True, delay=wait)
        return self

    def update(self, done: int, total: int | None = None) -> None:
        """Show that `done` steps are done, of `total` where it differs from the total at first."""
        total = total or self._total
        if self._bar is not None:
            self._bar.total = total
            self._bar.update(min(done, total) - self._bar.n)
        elif time.monotonic() >= self._next:
            remark(f"{self._label}: {min(done, total)} of {total}")
            self._next = time.monotonic() + _LOG_EVERY

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()


def say(what: str) -> None:
    """Say on stderr, as one line, what a user should know beside what was asked for."""
    line = one_line(what)
    # Of a very long one, as with a hostile id in it, the middle is left out.
    write(f"quadrag: {line if len(line) <= 650 else f'{line[:400]} … {line[-240:]}'}", file=sys.stderr)


def remark(*lines: str) -> None:
    """Print lines on stderr."""
    write(*lines, file=sys.stderr)

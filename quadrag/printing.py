"""What is printed: every text goes out by `write`, which raises at nothing that a text holds or a stream lacks."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import sys
import time
from datetime import timedelta
from typing import IO, Any

from quadrag.errors import clean, one_line

_LOG_EVERY, _LOG_SHARE = 10.0, 0.1  # seconds, and the share of the time so far, between two lines of a log
GLANCE = 160  # characters of a long text that a person is shown first
_ALIKE = str.maketrans("─–−×…", "---x.")  # where an encoding lacks signs, lines stay lines, and ranges ranges
_WIDE = "\u2e80-\uffef"  # Chinese and its marks: two columns wide, with no blanks to break at
# A word or a wide sign, with the marks that may not begin a line, or end it; `p < 0.05` stays together.
_PIECE = re.compile(rf"[^\S\xa0]*[（“]?(?:\bp (?:< )?[\d.]+|(?:[^\s{_WIDE}]|\xa0)+|[{_WIDE}])[，。；：？！、）”]*")


def write(*lines: object, file: IO[str] | None = None, end: str = "\n") -> None:
    """Print lines at once, to stdout when `file` is None; nothing into one that is closed or that nobody reads.

    What the stream cannot show is a question mark there, half of a surrogate pair U+FFFD.
    """
    stream = sys.stdout if file is None else file
    if stream is None or getattr(stream, "closed", False):
        return
    text = clean("\n".join(map(str, lines)) + end)
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = getattr(stream, "encoding", None) or "ascii"
            stream.write(text.translate(_ALIKE).encode(encoding, "replace").decode(encoding))
        getattr(stream, "flush", str)()
    except BrokenPipeError:
        # The reader of a pipe (head, less) has seen enough; what is to be done beside is done.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


codecs.lookup("utf-16-le")  # loaded while there are descriptors: that there are none is printed too


def is_terminal(stream: Any) -> bool:
    return not getattr(stream, "closed", False) and getattr(stream, "isatty", bool)()


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of so many columns at most; a wider word stays whole."""
    lines: list[str] = []
    for piece in _PIECE.findall(text):
        line = lines[-1] + piece if lines else ""
        if line and len(line) + len(re.findall(f"[{_WIDE}]", line)) <= width:
            lines[-1] = line
        else:
            lines.append(piece.lstrip())
    return lines


class Progress:
    """Shows how many of `total` steps of `label` are done; use as a context manager, then call `update(done)`.

    The time left is reckoned at each step, from those after the first update: what that finds done took none.
    """

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total = label, total
        self._bar: Any = None
        self._first, self._done, self._began = 0, -1, time.monotonic()
        self._arrived = self._began
        self._next = self._began + _LOG_EVERY

    def __enter__(self) -> Progress:
        notebook = type(sys.stderr).__module__.startswith("ipykernel")
        if notebook or is_terminal(sys.stderr):
            from tqdm import tqdm

            wait = 2 if notebook else 0  # seconds: what a notebook was sent once stays in its file
            form = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
            shown: dict[str, Any] = {"desc": self._label, "leave": False, "dynamic_ncols": True, "delay": wait}
            self._bar = tqdm(total=self._total, miniters=0, smoothing=0, bar_format=form, **shown)
        return self

    def update(self, done: int, total: int | None = None) -> None:
        """Take note of what is done; where that is no more than before, it is shown that time passes."""
        total = total or self._total
        done, now = min(done, total), time.monotonic()
        if done < self._done or self._done < 0:  # the first steps, or those of a judge's next round
            self._first, self._began = done, now
            if self._bar is not None:
                self._bar.n = self._bar.last_print_n = self._bar.initial = done
                self._bar.start_t = time.time()
        if done != self._done:
            self._done, self._arrived = done, now
        seconds, steps = now - self._began, done - self._first
        reckoned = (self._arrived - self._began) * (total - done) / max(1, steps) - (now - self._arrived)
        left = f", {timedelta(seconds=max(0, round(reckoned)))} left" if steps else ""
        if self._bar is not None:
            self._bar.total = total
            self._bar.set_postfix_str(left[2:], refresh=False)
            self._bar.update(done - self._bar.n)
        elif now >= self._next:
            remark(f"{self._label}: {done} of {total}{left or f' after {timedelta(seconds=round(seconds))}'}")
            self._next = now + max(_LOG_EVERY, _LOG_SHARE * seconds)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()


def say(what: str) -> None:
    """Say on stderr, as one line, what a user should know beside what was asked for."""
    line = one_line(what)
    # Of a very long one, as with a hostile id in it, the middle is left out.
    write(f"quadrag: {line if len(line) <= 650 else f'{line[:400]} … {line[-240:]}'}", file=sys.stderr)


def remark(*lines: str) -> None:
    write(*lines, file=sys.stderr)

"""What is printed: every text goes out by `write`, which raises at nothing that a text holds or a stream lacks."""

import codecs
import contextlib
import os
import re
import sys
from typing import IO, Any, TypeVar, cast

GLANCE = 160  # characters of a long text that a person is shown first
_Value = TypeVar("_Value")
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
    """Whether a stream is a terminal, as stdout and stderr may be."""
    return not getattr(stream, "closed", False) and getattr(stream, "isatty", bool)()


def clean(value: _Value) -> _Value:
    """Return a text, or the texts of lists and mappings, as UTF-8 can hold it: half of a surrogate pair is U+FFFD."""
    if isinstance(value, str):
        return cast(_Value, value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    if isinstance(value, list):
        return cast(_Value, [clean(part) for part in value])
    return cast(_Value, {name: clean(part) for name, part in value.items()}) if isinstance(value, dict) else value


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

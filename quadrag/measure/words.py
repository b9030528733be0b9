"""Messages as Python says them: they name options of the command line, and here these are arguments.

They are in the language of the result, or of the call, that says them.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

from quadrag.baselines.tables.grid import Grid
from quadrag.baselines.tables.language import speak_grid, speak_line
from quadrag.chat.reply import RETRIED
from quadrag.errors import QuadragError
from quadrag.labels import VARIABLE, check_labels, usual_labels
from quadrag.measure.calls import CALLS
from quadrag.paths import cache_setting
from quadrag.printing import clean

_SWITCHES = ("fresh", "unscored", "verbose", "wrong")
_ARGUMENTS = {"concurrency", "data_dir", "judge", "limit", "out", "profile", "split", *CALLS, *_SWITCHES}
_VALUE = rf"json|sample|NAME|'[^']*'|[\d.]*\d|(?:{'|'.join(RETRIED)})(?:,(?:{'|'.join(RETRIED)}))*"
_OPTION = re.compile(rf"`quadrag [^`]*`|--([a-z]+(?:-[a-z]+)*)(?: ({_VALUE})(?!\w))?")
_labels: ContextVar[str | None] = ContextVar("labels", default=None)


def labels_in_use() -> str:
    """Return the language of what is said here."""
    return _labels.get() or usual_labels()


def in_python(text: str, names: Sequence[str] = ()) -> str:
    """Return a message, or a note on runs of these names, with the arguments of Python in the place of options.

    As ``judge_format="json"`` for ``--judge-format json``.

    Options that Python has no argument for stay as they are.
    """
    return _OPTION.sub(_spell, clean(speak_line(text, labels_in_use(), names)).replace("--option ", ""))


def _spell(option: re.Match[str]) -> str:
    if option[1] is None:  # a command
        return option[0]
    name, value = option[1].replace("-", "_"), option[2] or ""
    if name not in _ARGUMENTS:
        return option[0]
    if name in _SWITCHES:
        return f"{name}=True"
    words = [f'"{word}"' for word in value.split(",")] if value[:1].isalpha() else [value]
    return f"{name}=" + (words[0] if len(words) == 1 else f"[{', '.join(words)}]")


def spell_notes(grid: Grid) -> Grid:
    """Return a table whose notes are such messages; what shows more of it is a call of `show`."""
    spoken = speak_grid(replace(grid, notes=[]), labels_in_use())
    said = [in_python(note, grid.names).replace("verbose=True", "show(verbose=True)") for note in grid.notes]
    return replace(spoken, notes=[type(note)(one) for note, one in zip(grid.notes, said, strict=True)])


@contextmanager
def speaking_python(labels: str | None = None) -> Iterator[None]:
    """Have every QuadragError that is raised inside say its message so, and a file's error be one; also a decorator.

    Args:
        labels: the language of what is said inside; the one that is in use when None, at first that of QUADRAG_LABELS.
    """
    before = _labels.set(labels or _labels.get())
    try:
        check_labels(labels_in_use(), "labels" if labels else VARIABLE)
        yield
    except QuadragError as error:
        error.args = (in_python(str(error)),)
        raise
    except OSError as error:  # of our files: what the user's function raises is a failure of its question
        if error.filename is None:
            raise
        place = cache_setting(Path(error.filename)) or "another place"
        raise QuadragError(in_python(f"cannot use {error.filename} ({error.strerror}); name {place}")) from error
    finally:
        _labels.reset(before)

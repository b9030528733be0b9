"""What the functions of the Python entrance share: misspelt arguments are refused, and errors name arguments."""

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from typing import ParamSpec, TypeVar

from quadrag.baselines.tables.grid import Grid
from quadrag.baselines.tables.language import MARKS, speak_grid
from quadrag.chat.reply import RETRIED
from quadrag.errors import QuadragError, UnknownScore, unknown_name
from quadrag.measure.calls import CALLS
from quadrag.printing import clean

_P = ParamSpec("_P")
_T = TypeVar("_T")
_NO_MARKS = str.maketrans("", "", MARKS)
_SWITCHES = ("fresh", "unscored", "verbose", "wrong")
_ARGUMENTS = {"concurrency", "data_dir", "judge", "limit", "out", "profile", "split", *CALLS, *_SWITCHES}
_VALUE = rf"json|sample|NAME|'[^']*'|[\d.]*\d|(?:{'|'.join(RETRIED)})(?:,(?:{'|'.join(RETRIED)}))*"
_OPTION = re.compile(rf"`quadrag [^`]*`|--([a-z]+(?:-[a-z]+)*)(?: ({_VALUE})(?!\w))?")


def in_python(text: str) -> str:
    """Return a message or a note with arguments of Python for the command line's options, where there are such.

    As ``judge_format="json"`` for ``--judge-format json``.
    """
    plain = clean(text).translate(_NO_MARKS).replace("--option ", "")
    return _OPTION.sub(_name_argument, plain)


def _name_argument(option: re.Match[str]) -> str:
    name, value = (option[1] or "").replace("-", "_"), option[2] or ""
    if name not in _ARGUMENTS:  # or a command
        return option[0]
    if name in _SWITCHES:
        return f"{name}=True"
    words = [f'"{word}"' for word in value.split(",")] if value[:1].isalpha() else [value]
    return f"{name}=" + (words[0] if len(words) == 1 else f"[{', '.join(words)}]")


def speak_python(grid: Grid, labels: str) -> Grid:
    """Return a table in a language, whose notes name arguments; what shows more of it is a call of `show`."""
    spoken = speak_grid(grid, labels, python=True)
    notes = [type(note)(in_python(note).replace("verbose=True", "show(verbose=True)")) for note in spoken.notes]
    return replace(spoken, notes=notes)


def entrance(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Have a function of the Python entrance refuse misspelt arguments, and its errors name arguments of Python.

    An error that the user can mend comes without the way that it took in here: its message says all. An `OSError` of
    one of our files is one; what the user's function raises is a failure of its question. A function that takes options
    of a benchmark calls `refuse_unknown` itself, since its arguments say which these are.
    """
    takes_options = any(one.kind is one.VAR_KEYWORD for one in inspect.signature(function).parameters.values())

    @wraps(function)
    def call(*given: _P.args, **named: _P.kwargs) -> _T:
        try:
            if not takes_options:
                refuse_unknown(function, named)
            return function(*given, **named)
        except UnknownScore as error:
            raise error.with_traceback(None) from None
        except QuadragError as error:
            error.args = (in_python(str(error)),)
            raise error.with_traceback(None) from None
        except OSError as error:
            if error.filename is None:
                raise
            place = f"cannot use {error.filename} ({error.strerror}); make room, or name another place"
            raise QuadragError(in_python(place)) from error

    return call


def check_names(*, split: object = None, **named: object) -> None:
    """Refuse what is no text where a name is expected; a split that is None stands for all.

    Raises:
        QuadragError: it is none.
    """
    for name, value in {**named, "split": "" if split is None else split}.items():
        if not isinstance(value, str):
            none = ", or None for all splits" * (name == "split")
            raise QuadragError(f"{name} is {value!r}, a {type(value).__name__}; expected one name as a text{none}")


def check_count(name: str, value: object, *, may_lack: bool = False) -> None:
    """Refuse what is no whole number from 1 where one is expected; None is one that is lacking.

    Raises:
        QuadragError: it is none.
    """
    if not (may_lack and value is None) and (type(value) is not int or value < 1):
        raise QuadragError(f"{name} is {value!r}; expected a whole number from 1{', or None' * may_lack}")


def refuse_unknown(function: Callable[..., object], named: Iterable[str], options: Iterable[str] = ()) -> None:
    """Refuse arguments that a function does not take, but for options that it takes besides.

    Raises:
        QuadragError: it takes no argument of such a name.
    """
    taken = [name for name in inspect.signature(function).parameters if name not in ("self", "options")]
    taken += options
    for name in named:
        if name == "api_key" and name not in taken:
            raise QuadragError(f"unknown argument of {function.__name__} {name!r}; set QUADRAG_API_KEY to the key")
        if name not in taken:
            raise unknown_name(f"argument of {function.__name__}", name, taken)

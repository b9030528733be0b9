"""Arguments of the Python entrance: a misspelt one is refused with the name that is nearest, by one rule for all."""

import inspect
import sysconfig
from collections.abc import Callable, Iterable
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from quadrag.errors import QuadragError, UnknownScore, unknown_name
from quadrag.measure.words import in_python, speaking_python
from quadrag.progress import spelled_by

_P = ParamSpec("_P")
_T = TypeVar("_T")
_LIBRARIES = ("<frozen ", "site-packages", "dist-packages", sysconfig.get_path("stdlib"))


def entrance(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Have a function of the Python entrance refuse misspelt arguments, and its errors name arguments of Python.

    An error that the user can mend comes without the way that it took in here: its message says all. An interrupt has
    the lines of the user's function that it stopped.
    They are in the language that its argument `labels` names, else the result that it is a method of, or is given.
    One that takes options of a benchmark calls `refuse_unknown` itself, since its arguments say which these are.
    """
    taken = inspect.signature(function).parameters
    takes_options = any(one.kind is one.VAR_KEYWORD for one in taken.values())

    @wraps(function)
    def call(*given: _P.args, **named: _P.kwargs) -> _T:
        own: Any = named.get("labels") if "labels" in taken else None
        labels = own or next(filter(None, map(_labels_of, given)), None)
        try:
            with speaking_python(labels), spelled_by(in_python):
                if not takes_options:
                    refuse_unknown(function, named)
                return function(*given, **named)
        except (QuadragError, UnknownScore) as error:
            raise error.with_traceback(None) from None
        except KeyboardInterrupt as stop:
            raise stop.with_traceback(_leave_out(stop.__traceback__)) from None

    return call


def _leave_out(trace: TracebackType | None) -> TracebackType | None:
    """Return what a traceback has below the last line of this package, where that is the user's."""
    below = trace
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] == "quadrag":
            below = trace.tb_next
        trace = trace.tb_next
    file = below.tb_frame.f_code.co_filename if below else ""
    return None if any(part in file for part in _LIBRARIES) else below


def _labels_of(given: Any) -> str | None:
    """Return the language of what is given, or of the first of a list; None where it has none."""
    labels = getattr(given, "labels", None)
    if labels is None and isinstance(given, list | tuple) and given:
        return _labels_of(given[0])
    return labels if isinstance(labels, str) else None


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


def check_one(**named: bool) -> None:
    """Refuse several arguments each of which says which questions are shown.

    Raises:
        QuadragError: more than one is True.
    """
    if all(named.values()):
        raise QuadragError(f"{' and '.join(named)} each say which questions are shown; leave one out")


def refuse_metric(metric: str | None, *ways: str) -> None:
    """Refuse a metric where no question is shown by it.

    Raises:
        QuadragError: one is named.
    """
    if metric is not None:
        raise QuadragError(f"metric={metric!r} says which questions are shown; give {' or '.join(ways)} with it")


def refuse_unknown(function: Callable[..., object], named: Iterable[str], options: Iterable[str] = ()) -> None:
    """Refuse arguments that a function does not take.

    Args:
        function: it says which it takes.
        named: the names that were given.
        options: what it takes besides.

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

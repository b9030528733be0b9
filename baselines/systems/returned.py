"""What came of one call of the user's function: an answer, maybe with passages, or a failure that says what it was."""

import inspect
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.chat.reply import Failure, Reply
from quadrag.errors import QuadragError, causes, one_line
from quadrag.records import Passage

from .rag.reply import Served, find_textless, find_unread, read_found, says_nothing

_OURS = str(Path(__file__).parent)
_LONGEST = 100  # characters of the keys that are shown
# What asyncio and clients say of what another loop made.
_OTHER_LOOP = ("attached to a different loop", "bound to a different event loop", "Event loop is closed")
_EXPECTED = "expected an answer as a text, (answer, passages), or a dictionary with answer and, if any, passages"


def check_signature(function: Any, name: str, taken: str) -> None:
    """Refuse a function that cannot be called with one argument; one whose signature cannot be read may be.

    Args:
        function: the user's.
        name: what messages call it.
        taken: what it is to be called with.

    Raises:
        QuadragError: it cannot.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(None)
    except TypeError:
        raise QuadragError(f"{name}{signature} cannot be called with {taken} alone; expected one argument") from None


class WrongBatch(QuadragError):
    """What came back for a list of questions is no list of as many results: whose they are, nobody knows."""


def check_batch(given: Any, questions: int) -> None:
    """Refuse to go on where the results of a list of questions are not as many; raises `WrongBatch`."""
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__len__") or len(given) != questions:
        many = f" of {len(given)} results" if hasattr(given, "__len__") else ""
        raise WrongBatch(
            f"the function returned {name_given(given)}{many}; expected a list of {questions}, a result for each "
            "question; no more are asked, and earlier answers are kept; correct the function and run again"
        )


def refuse_failing(replies: Sequence[Reply | Failure], calls: int) -> None:
    """Refuse to go on where all that came of the first calls is failures.

    Raises:
        QuadragError: it is; the message has the first one.
    """
    failures = [one for one in replies if isinstance(one, Failure)]
    if len(failures) == len(replies):
        raise QuadragError(
            f"the first {calls} calls of the function all failed, and no more are made; the first: "
            f"{failures[0].detail}; correct the function and run again"
        )


def read_failure(error: BaseException, batch: Sequence[Any]) -> Failure:
    """Read an exception, with the last line of the user's own file that led to it, and what the questions have.

    Args:
        error: what the function raised.
        batch: the questions asked.
    """
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith(_OURS)]
    own = [one for one in frames if one.filename == frames[0].filename]
    place = f" ({own[-1].name}, {_place_line(own[-1])})" if own else ""
    said = ": ".join(filter(None, (type(error).__name__, str(error))))
    return Failure("raised", one_line(f"{said}{place}{_hint(error, batch)}"))


def _place_line(frame: traceback.FrameSummary) -> str:
    """Name the line of a frame; the file of a notebook's cell is one that nobody knows."""
    file = Path(frame.filename)
    cell = file.parent.name.startswith("ipykernel_")
    return f"line {frame.lineno} of its cell" if cell else f"{file.name}:{frame.lineno}"


def _hint(error: BaseException, batch: Sequence[Any]) -> str:
    """Say what a function gets where it took it for something else, or that its client is of another event loop."""
    if any(words in str(one) for one in causes(error) for words in _OTHER_LOOP):
        return "; the client was made in another event loop; make it inside the function, at the first call"
    if getattr(error, "obj", None) is batch:
        return "; with batch_size the function gets a list of questions"
    kind = type(batch[0]).__name__
    if isinstance(error, (AttributeError, TypeError)) and str(error).startswith(f"{kind!r} object "):
        return "; a question has id, query, history, passages"
    if str(error) == "tuple index out of range" and not any(one.passages for one in batch):
        return "; no passages are handed out here: the function searches itself (`quadrag.corpus`)"
    return ""


def read_result(given: Any, seconds: float) -> Reply | Failure:
    """Read an answer, or an answer with its passages; anything else is a failure that says what it was."""
    answer, found = given, None
    unread: tuple[str, ...] = ()
    if isinstance(given, tuple) and len(given) == 2:
        answer, found = given
    elif isinstance(given, Mapping) and "answer" in given:
        answer, found = given["answer"], given.get("passages")
        unread = () if found else find_unread(given)
    if not isinstance(answer, str):
        whose = "" if answer is given else f" whose answer is {name_given(answer)}"
        if answer is given and isinstance(given, Mapping):
            whose = _name_keys(given)
        return Failure("unparsable", f"returned {name_given(given)}{whose}; {_EXPECTED}")
    if found is None or unread:
        return take_reply(answer, None, seconds, unread)
    if isinstance(found, (str, bytes, Mapping)) or not hasattr(found, "__iter__"):
        return Failure("unparsable", f"returned passages as {name_given(found)}; expected a list")
    found = list(found)
    if (strange := next(filter(says_nothing, found), None)) is not None:
        return Failure("unparsable", f"returned a passage{_name_keys(strange)}; expected an id, a text, or both")
    read = tuple(read_found(place, one) for place, one in enumerate(found))
    return take_reply(answer, read, seconds, find_textless(found))


def _name_keys(given: Mapping[Any, Any]) -> str:
    return f" with the keys {one_line(', '.join(map(str, given)), _LONGEST)}" if given else " without keys"


def name_given(given: Any) -> str:
    """Name what is no text by its type, and a number as well by its value."""
    if given is None:
        return "None"
    kind = type(given).__name__
    value = f" ({given})" if isinstance(given, (int, float)) else ""
    return f"a{'n' * (kind[0] in 'aeiou')} {kind}{value}"


def take_reply(text: str, passages: tuple[Passage, ...] | None, seconds: float, unread: tuple[str, ...] = ()) -> Served:
    """Take an answer that was read, with its passages or None, how long the call took, and the keys not read."""
    return Served(text, None, None, None, False, seconds, None, passages, unread)

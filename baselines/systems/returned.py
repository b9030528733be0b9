"""What came of one call of the user's function: an answer, maybe with passages, or a failure that says what it was."""

import inspect
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag import passages
from quadrag.chat.reply import REASONINGS, Failure, Reply, find_reasoning
from quadrag.errors import QuadragError, one_line
from quadrag.passages import PLACES, Found, find_passages, list_rows, name_keys, read_parts, read_passages
from quadrag.reading import Unreadable, name_kind, plain
from quadrag.records import Passage

from .rag.reply import Served

_OURS = str(Path(__file__).parent), passages.__file__
_ANSWERS = ("answer", "result", "response")  # where a result has its answer: ours, LangChain's, LlamaIndex's
_PARTS = (*_ANSWERS, *PLACES, *REASONINGS)
_EXPECTED = "expected an answer as a text, (answer, passages), or a dictionary with answer and, if any, passages"


def check_signature(function: Any, name: str, taken: str) -> None:
    """Refuse a function that cannot be called with one argument; one whose signature cannot be read may be."""
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


def take_batch(given: Any, questions: int) -> list[Any]:
    """Return the results of a list of questions; raises `WrongBatch` where they are not as many."""
    rows = list_rows(given) if hasattr(given, "__len__") else None
    if rows is None or len(rows) != questions:
        many = f" of {len(given)} results" if hasattr(given, "__len__") else ""
        raise WrongBatch(
            f"the function returned {name_kind(given)}{many}; expected a list of {questions}, a result for each "
            "question; no more are asked, and earlier answers are kept; correct the function and run again"
        )
    return rows


def refuse_failing(replies: Sequence[Reply | Failure], calls: int) -> None:
    """Refuse to go on where all that came of the first calls is failures."""
    failures = [one for one in replies if isinstance(one, Failure)]
    if len(failures) == len(replies):
        raise QuadragError(
            f"the first {calls} calls of the function all failed, and no more are made; the first: "
            f"{failures[0].detail}; correct the function and run again"
        )


def read_failure(error: BaseException) -> Failure:
    """Read an exception that the function raised, with the last line of the user's own file that led to it."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith(_OURS)]
    own = [one for one in frames if one.filename == frames[0].filename]
    place = f" ({own[-1].name}, {_place_line(own[-1])})" if own else ""
    said = ": ".join(filter(None, (type(error).__name__, str(error))))
    return Failure("raised", one_line(f"{said}{place}"))


def _place_line(frame: traceback.FrameSummary) -> str:
    """Name the line of a frame; the file of a notebook's cell is one that nobody knows."""
    file = Path(frame.filename)
    cell = file.parent.name.startswith("ipykernel_")
    return f"line {frame.lineno} of its cell" if cell else f"{file.name}:{frame.lineno}"


def read_result(given: Any, seconds: float) -> Reply | Failure:
    """Read an answer, or an answer with its passages; anything else is a failure that says what it was."""
    parts = given if isinstance(given, Mapping) else read_parts(given, _PARTS)
    under = next((name for name in _ANSWERS if name in parts), None)
    answer = given if under is None else parts[under]
    try:
        if under is None and isinstance(given, tuple) and len(given) == 2:
            answer = given[0]
            found = Found(None) if given[1] is None else read_passages(given[1])
        else:
            found = find_passages(parts)
    except Unreadable as error:
        return Failure("unparsable", str(error))
    if not isinstance(text := plain(answer), str):
        whose = "" if answer is given else f" whose answer is {name_kind(answer)}"
        if answer is given and isinstance(given, Mapping):
            whose = f" with the keys {name_keys(given)}" if given else " without keys"
        return Failure("unparsable", f"returned {name_kind(given)}{whose}; {_EXPECTED}")
    return take_reply(text, find_reasoning(parts), seconds, *found)


def take_reply(
    text: str,
    reasoning: str | None,
    seconds: float,
    passages: tuple[Passage, ...] | None = None,
    unread: tuple[str, ...] = (),
) -> Served:
    """Take an answer that was read, how long the call took, and its passages as of `quadrag.passages.Found`."""
    return Served(text, None, None, reasoning, False, seconds, None, passages, unread)

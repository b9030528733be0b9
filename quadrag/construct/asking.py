"""Questions put to a model, and what comes back read: JSON, whatever stands around it.

Models put their JSON in fences, think aloud before it, or answer in the wrong form. What cannot be read is asked for
once more; after that the row is let go. Nothing that a model says is taken as read: every field is held against its
type here, and against the source in `held`.
"""

import json
import re
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from quadrag.errors import QuadragError
from quadrag.metrics._shared.slots import fill
from quadrag.reading import parse_json, parse_yaml

from .steps import Ask, Drop

TRIES = 2
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_LONGEST = 200_000  # characters of a reply that is read
Read = TypeVar("Read")


def load_prompts(room: Path) -> dict[str, Any]:
    """Read the prompts of a recipe: ``prompts.yaml``, by step a text, or the texts in ``zh`` and ``en``."""
    path = room / "prompts.yaml"
    prompts: dict[str, Any] = parse_yaml(path.read_bytes(), path, "prompts by step and language")
    return prompts


def ask(prompt: str, slots: Mapping[str, str], read: Callable[[Any], Read]) -> Generator[Ask, str, Read]:
    """Ask a model for JSON, once more where the reply cannot be read; then the row is let go by `Drop`.

    Each ``{name}`` in the prompt is a slot. `read` makes of the JSON what is wanted; it raises `KeyError`, `TypeError`
    or `ValueError` where it is not of the form that was asked for.
    """
    chat = [{"role": "user", "content": fill(prompt, slots)}]
    for sample in range(TRIES):
        reply = yield Ask(chat, sample)
        try:
            return read(find_json(reply))
        except (KeyError, TypeError, ValueError, QuadragError):
            continue
    raise Drop("unreadable reply")


def find_json(reply: str) -> Any:
    """Return the JSON value of a reply: of its last fence that holds one, else from its first bracket on.

    Without one it raises `ValueError` or, as where it is nested too deep, `QuadragError`.
    """
    reply = reply[:_LONGEST].strip()
    for text in reversed(_FENCE.findall(reply)):
        if text.strip()[:1] in ("{", "["):
            return parse_json(text, "the reply")
    start = min((at for at in map(reply.find, "{[") if at >= 0), default=-1)
    if start < 0:
        raise ValueError("no JSON")
    try:
        _, end = json.JSONDecoder().raw_decode(reply[start:])
    except RecursionError:
        raise ValueError("nested too deep") from None
    return parse_json(reply[start : start + end], "the reply")


def text_of(value: Any) -> str:
    """Return a text, blanks around it removed; raises `TypeError` where it is none, `ValueError` where it is empty."""
    if not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__}")
    if not value.strip():
        raise ValueError("an empty text")
    return value.strip()


def texts_of(value: Any) -> list[str]:
    """Return a list of texts, at least one; a single text is a list of one. Errors as of `text_of`."""
    found = [text_of(one) for one in (value if isinstance(value, list) else [value])]
    if not found:
        raise ValueError("an empty list")
    return found

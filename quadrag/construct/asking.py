"""Questions put to a model, and what comes back read: JSON, whatever stands around it.

Models put their JSON in fences, think aloud before it, or answer in the wrong form. What cannot be read is asked for
once more; after that the row is let go. What a model says is held against its type here, and against the source in
`checks`.
"""

import json
import re
from collections import abc
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.metrics._shared.slots import fill
from quadrag.reading import parse_json, parse_yaml

from .steps import Rejected, Request

TRIES = 2
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_LONGEST = 200_000  # characters of a reply that is read


@cache
def load_prompts(path: Path) -> dict[str, Any]:
    """Read a file of a recipe: the prompts by step, as `ask` takes them, and under `asks` what a review asks."""
    prompts: dict[str, Any] = parse_yaml(path.read_bytes(), path, "prompts by step and language")
    return prompts


def ask(
    prompt: Mapping[str, Any], language: str, slots: Mapping[str, str], read: Callable[[Any], Any] | None = None
) -> abc.Generator[Request, str, Any]:
    """Ask a model for JSON, once more where the reply cannot be read; then the row is let go by `Rejected`.

    A prompt has its text by language, with slots. Its `fields` say what is wanted by name: ``text``, ``texts`` or
    ``flag``; where `unless` names one that is null or false, the row is let go for the reason `otherwise`. What is no
    fields `read` makes of the JSON; it raises `KeyError`, `TypeError` or `ValueError` for another form.
    """
    chat = [{"role": "user", "content": fill(prompt[language], slots)}]
    for sample in range(TRIES):
        reply = yield Request(chat, sample)
        try:
            found = find_json(reply)
            nothing = "unless" in prompt and found[prompt["unless"]] in (None, False)
            fields = {} if read or nothing else prompt["fields"]
            made = read(found) if read else {name: _READERS[kind](found[name]) for name, kind in fields.items()}
        except (KeyError, TypeError, ValueError, QuadragError):
            continue
        if nothing:
            raise Rejected(prompt["otherwise"])
        return made
    raise Rejected("unreadable reply")


def find_json(reply: str) -> Any:
    """Return the JSON value of a reply: of its last fence that holds one, else from its first bracket on.

    Without one it raises `ValueError` or, as where it is nested too deep, `QuadragError`.
    """
    reply = reply[:_LONGEST].strip()
    for text in reversed(_FENCE.findall(reply)):
        if text.strip()[:1] in ("{", "["):
            return parse_json(text, "the reply")
    start = re.search(r"[{\[]", reply)
    if start is None:
        raise ValueError("no JSON")
    try:
        _, end = json.JSONDecoder().raw_decode(reply, start.start())
    except RecursionError:
        raise ValueError("nested too deep") from None
    return parse_json(reply[start.start() : end], "the reply")


def text_of(value: Any) -> str:
    """Return a text, blanks around it removed; raises `TypeError` where it is none, `ValueError` where it is empty."""
    if not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__}")
    if not value.strip():
        raise ValueError("an empty text")
    return value.strip()


def texts_of(value: Any) -> list[str]:
    """Return a list of texts, at least one; a single text is a list of one. Errors as of `text_of`."""
    texts = [text_of(text) for text in (value if isinstance(value, list) else [value])]
    if not texts:
        raise ValueError("an empty list")
    return texts


def _flag_of(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"a {type(value).__name__}")
    return value


_READERS: dict[str, Callable[[Any], Any]] = {"text": text_of, "texts": texts_of, "flag": _flag_of}

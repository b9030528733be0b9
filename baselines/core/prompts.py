"""Prompts: YAML files of a benchmark's room or the user's own; their slots are filled by `metrics/_shared/slots.py`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from quadrag.errors import QuadragError
from quadrag.metrics._shared.slots import escape
from quadrag.reading import parse_yaml

Prompts = Mapping[str, Mapping[str, str]]
Message = dict[str, str]
_ROOMS = Path(__file__).parents[1]  # a folder for each benchmark


def chat_messages(history: Sequence[tuple[str, str | None]], last: str) -> list[Message]:
    """Return the turns before a question and the question itself; roles take turns, as chat templates demand.

    A turn without an answer stands in one message with the next. Turns are escaped; `last` is, where it was filled in.
    """
    found: list[Message] = []
    pending = ""
    for asked, answered in history:
        pending += escape(asked)
        if answered is None:
            pending += "\n"
            continue
        found += [{"role": "user", "content": pending}, {"role": "assistant", "content": escape(answered)}]
        pending = ""
    return [*found, {"role": "user", "content": pending + last}]


def load_prompts(benchmark: str, path: str | None = None) -> Prompts:
    """Read the prompts of a benchmark, or the user's own from a file of the same form.

    Raises:
        QuadragError: the file cannot be read, or lacks a language, a part or a slot that the bundled file has.
    """
    bundled = _ROOMS / benchmark / "prompts.yaml"
    file = Path(path) if path else bundled
    found, wanted = _read(file), _read(bundled)
    for language, parts in wanted.items():
        for part, text in parts.items():
            named = found.get(language) if isinstance(found, dict) else None
            given = named.get(part) if isinstance(named, dict) else None
            if not isinstance(given, str):
                raise QuadragError(f"{file} has no text {language}.{part}; expected the form of {bundled}")
            for slot in sorted({slot[0] for slot in re.finditer(r"\{[a-z_]+\}", text)}):
                if text.count(slot) != given.count(slot):
                    raise QuadragError(f"{file}: {language}.{part} needs {slot} {text.count(slot)} time(s)")
    return found


def load_service_prompts(benchmark: str) -> Prompts:
    """Read what RAG services are asked: by config, language or ``default``, a ``bare`` and a ``protocol`` text."""
    return _read(_ROOMS / benchmark / "rag.yaml")


def _read(file: Path) -> Prompts:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise QuadragError(f"cannot read prompts from {file} ({error.strerror})") from None
    return cast(Prompts, parse_yaml(content, file, "prompts by language and part"))

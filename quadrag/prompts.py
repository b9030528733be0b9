"""Prompts: YAML files of a benchmark's room or the user's own; their slots are filled by `metrics/_shared/slots.py`."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from quadrag import catalogue
from quadrag.errors import QuadragError, read_yaml, unknown_name
from quadrag.metrics._shared.slots import escape
from quadrag.records import digest

Prompts = Mapping[str, Mapping[str, str]]
Message = dict[str, str]
JUDGE = "judge"  # what a judge is told, where the user's own file says it
_SLOT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


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


class _Own(dict[str, Mapping[str, str]]):
    """Texts of the user's own, of which a run may use one that is not there."""

    def __init__(self, path: str, bundled: Path) -> None:
        super().__init__()
        self._path, self._bundled = path, bundled

    def __missing__(self, key: str) -> Mapping[str, str]:
        raise QuadragError(f"{self._path} has no text {key}, which this run uses; expected the form of {self._bundled}")


def load_prompts(benchmark: str, path: str | None = None) -> Prompts:
    """Read the prompts of a benchmark, or the user's own from a file of the same form.

    What the user's own may hold otherwise stands under ``own`` in the bundled file: under ``names`` what a paper calls
    the slots, under ``free`` by key the slots that may be left out, under ``ends`` the texts that may have none of
    their slots, which are then put at the end; a text there that is not bundled may be left out; under ``any`` keys of
    which one is enough, as languages are: a run that uses another one is then refused.
    """
    bundled = catalogue.plugin_folder(benchmark) / "prompts.yaml"
    wanted: dict[str, Any] = dict(_read_bundled(bundled))
    own: dict[str, Any] = {"names": {}, "free": {}, "ends": {}, "any": (), **wanted.pop("own", {})}
    own["any"] = set(own["any"])
    if path is None:
        return wanted
    content = _read(Path(path))
    found = {key: texts for key, texts in content.items() if key != "own"} if isinstance(content, dict) else {}
    wanted |= {key: {"user": ""} for key in own["ends"] if key in found and key not in wanted}
    if strange := next((key for key in found if key not in wanted), None):
        raise unknown_name(f"key of {path}", str(strange), dict.fromkeys([*wanted, *own["ends"]]))
    prompts = _Own(path, bundled)
    for key, texts in wanted.items():
        if key not in found and not own["any"].isdisjoint(found):
            continue
        given = found[key] if isinstance(found.get(key), dict) else {}
        for name in [*texts, *given]:
            if not isinstance(given.get(name), str):
                raise QuadragError(f"{path} has no text {key}.{name}; expected the form of {bundled}")
            if name not in texts:
                raise unknown_name(f"text of {path} in {key}", str(name), texts)
        prompts[key] = {
            name: _fit(given[name], text, key, own, f"{path}: {key}.{name}") for name, text in texts.items()
        }
    return prompts


def are_own(benchmark: str, prompts: str | None) -> bool:
    """Whether prompts, known by their digest in `run.json`, are the user's own."""
    return prompts not in (None, digest(load_prompts(benchmark)))


def _fit(given: str, bundled: str, key: str, own: Mapping[str, Any], what: str) -> str:
    """Return a text of the user's own with our names of its slots, which are those of the bundled one or of its end."""
    for theirs, ours in own["names"].items():
        given = given.replace(f"{{{theirs}}}", f"{{{ours}}}")
    ends, free = own["ends"].get(key, ()), own["free"].get(key, ())
    there, known = _SLOT.findall(given), [*dict.fromkeys([*_SLOT.findall(bundled), *ends, *free])]
    if strange := next((slot for slot in there if slot not in known), None):
        slots = ", ".join(f"{{{slot}}}" for slot in known) or "none"
        raise QuadragError(f"unknown slot of {what} {{{strange}}}; expected {slots}")
    lacking = next((slot for slot in known if slot not in (*there, *free)), None)
    if lacking and not (ends and not set(ends) & set(there)):
        raise QuadragError(f"{what} has no {{{lacking}}}; expected it at least once")
    return given


def load_service_prompts(benchmark: str) -> Prompts:
    """Read what RAG services are asked: by config, language or ``default``, a ``bare`` and a ``protocol`` text.

    Both are the question alone where the benchmark does not say it.
    """
    path = catalogue.plugin_folder(benchmark) / "rag.yaml"
    return _read_bundled(path) if path.is_file() else {"default": dict.fromkeys(("bare", "protocol"), "{query}")}


@cache
def _read_bundled(file: Path) -> Prompts:
    return _read(file)


def _read(file: Path) -> Prompts:
    return cast(Prompts, read_yaml(file, "prompts by language and part"))

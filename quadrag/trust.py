"""Models whose own code may run here: those that the user names, at the commits that the user names.

Some weights come with Python code, without which they cannot be loaded, or are loaded as another model and give wrong
vectors in silence. Code from the Hub runs with all rights of the user, so it runs at a named commit alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from quadrag.errors import NotReady, QuadragError

_PINNED = re.compile("(.+)=([0-9a-f]{40}),([0-9a-f]{40})", re.DOTALL)
_FLAG = "--trust-remote-code"
_COMMITS = "=REVISION,CODE_REVISION"


class Pins(NamedTuple):
    """The commits of a model's weights and of its code; None for what lies in a folder here."""

    revision: str | None = None
    code_revision: str | None = None


@dataclass(frozen=True, slots=True)
class Trust:
    """The models whose code may run, by what the user calls them; none by default."""

    pins: Mapping[str, Pins] = field(default_factory=dict)

    @classmethod
    def read(cls, named: Sequence[str]) -> Trust:
        """Read what ``--trust-remote-code`` names: ``MODEL=REVISION,CODE_REVISION``, or the folder of a model."""
        pins = {}
        for text in named:
            match = _PINNED.fullmatch(text)
            if match is None and "=" in text:
                raise QuadragError(
                    f"{_FLAG} {text!r} names no commits; expected MODEL{_COMMITS}, each 40 hexadecimal digits, or the "
                    "folder of a model that holds its code"
                )
            pins[match[1] if match else text] = Pins(match[2], match[3]) if match else Pins()
        return cls(pins)

    def find(self, name: str, folder: bool) -> Pins | None:
        """Return what the user named for a model; QuadragError for one on the Hub without commits, a folder with."""
        pins = self.pins.get(name)
        if pins is not None and folder == bool(pins.revision):
            raise refuse_code("model", name, folder)
        return pins


def refuse_code(kind: str, name: str, folder: bool) -> QuadragError:
    """Return the error of a model whose own code was not allowed, or not at commits."""
    return NotReady(
        f"{kind} {name} needs code of its own, which would run with your rights; without it the model is another one. "
        f"Read the code, then give {_FLAG} {name}{'' if folder else _COMMITS}, or name another model"
    )

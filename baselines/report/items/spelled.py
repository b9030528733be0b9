"""Gold answers and ids as a person writes them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quadrag.errors import QuadragError

_LONG = re.compile("[0-9a-fA-F-]{17,}")  # an id that nobody reads, as a sum or a UUID
_SHORT = 8  # digits of it that are shown, more where another begins alike
_CUT = "…"


def spell_gold(references: Any) -> list[str]:
    """Return a line for each part that an answer is to have, whatever the references' shape; ways to say it share one.

    A list of lists is of parts, each with the ways to say it; a flat list is of the ways to say one.
    """
    if references is None:
        return []
    if isinstance(references, Mapping):
        return [f"{name}: {' / '.join(spell_gold(value))}" for name, value in references.items()]
    if isinstance(references, str) or not isinstance(references, Sequence):
        return [str(references)]
    if any(isinstance(one, Sequence) and not isinstance(one, str) for one in references):
        return [line for one in references for line in spell_gold(one)]
    return [" / ".join(dict.fromkeys(map(str, references)))] if references else []


def write_gold(references: Any) -> str:
    """Return accepted answers as a cell of a sheet: of one answer the ways to say it as labels are read, else as shown.

    Several ways are a JSON list of texts; of several parts that an answer is to have, one text has all.
    """
    ways = references
    if isinstance(ways, list | tuple) and len(ways) == 1 and isinstance(ways[0], list | tuple):
        ways = ways[0]
    if isinstance(ways, list | tuple) and len(ways) > 1 and all(isinstance(one, str) for one in ways):
        return json.dumps(list(dict.fromkeys(ways)), ensure_ascii=False)
    return "; ".join(spell_gold(references))


def shorten_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return what ids are shown as: of a long number so many digits that no other begins with them."""
    ordered = sorted(set(ids))
    found = {}
    for before, ident, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        size = _SHORT
        while size < len(ident) and any(other.startswith(ident[:size]) for other in (before, after)):
            size += 1
        shown = ident[:size] + _CUT
        found[ident] = shown if _LONG.fullmatch(ident) and len(shown) < len(ident) else ident
    return found


def match_ids(wanted: str, ids: Iterable[str]) -> list[str]:
    """Return the ids that are meant: the one that was written, or those of long numbers that begin so."""
    known, begin = sorted(set(ids)), wanted.removesuffix(_CUT)
    if wanted in known:
        return [wanted]
    return [ident for ident in known if begin and ident.startswith(begin) and _LONG.fullmatch(ident)]


def find_id(wanted: str, called: Mapping[str, str]) -> str:
    """Find an id, or the one long id that begins so.

    Raises:
        QuadragError: there is none, or several begin so.
    """
    found = match_ids(wanted, called)
    if len(found) > 1:
        shown = ", ".join(called[ident] for ident in found[:3])
        raise QuadragError(f"{len(found)} ids of this run begin with {wanted!r} ({shown}); give more digits")
    if not found:
        raise QuadragError(f"no item of this run has the id {wanted!r}")
    return found[0]

"""What is said at a table of the items that failed: which values are invalid, and how the others count them."""

from collections.abc import Sequence

from ..results.adapter import say, shorten_list
from ..results.note import NoteCode, notes_of
from ..results.run import Result
from .grid import Alarm, Detail, Loud
from .names import name_apart

_MOST = 3  # lines of one kind that stand above a table


def note_invalid(results: Sequence[Result]) -> list[str]:
    """Say which metrics of runs are invalid, and why; and which are shown though too many items failed."""
    invalid = _note_places(results, NoteCode.INVALID, "INVALID, ")
    return [*invalid, *_note_places(results, NoteCode.UNRELIABLE, "NOT RELIABLE, ")]


def note_failed(results: Sequence[Result]) -> list[str]:
    """Say of values of which a few items failed how these count: another value than with all of them."""
    return _note_places(results, NoteCode.FAILED_COUNTED)


def _note_places(results: Sequence[Result], code: NoteCode, lead: str = "") -> list[str]:
    """Make one alarm of notes of runs that say the same of several places."""
    places: dict[str, dict[str, None]] = {}
    for name, result in zip(name_apart(results), results, strict=True):
        for note in notes_of(result.run, code):
            config, split = note.params["config"], note.params["split"]
            own = split if name and config == result.run.config else f"{config} {split}"
            places.setdefault(say(note), {})[" ".join(filter(None, (name, own)))] = None
    notes = [f"{lead}{shorten_list([*of])}: {said}." for said, of in places.items()]
    more, level = len(notes) - _MOST, Loud if lead else Alarm
    hidden = [level(f"{lead or 'Failed, '}{more} more such lines: --verbose.")] * (more > 0)
    return [*map(level, notes[:_MOST]), *hidden, *map(Detail, notes[_MOST:])]

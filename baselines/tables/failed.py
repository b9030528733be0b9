"""What is said at a table of the items that failed: which values are invalid, and how the others count them."""

from collections.abc import Callable, Iterable, Sequence

from quadrag.run_record import MOST_FAILED, RunRecord

from ..core.result import Result
from ..scoring.faults import shorten_list
from .grid import Alarm, Detail
from .names import name_apart

_MOST = 3  # lines of one kind that stand above a table


def note_invalid(results: Sequence[Result]) -> list[str]:
    """Say which metrics of runs are invalid, and why; and which are shown though too many items failed."""
    unreliable = _note_places(results, lambda run: _list_partly(run, True), "NOT RELIABLE, ")
    return [*_note_places(results, lambda run: run.invalid, "INVALID, "), *unreliable]


def note_failed(results: Sequence[Result]) -> list[str]:
    """Say of values of which a few items failed how these count: another value than with all of them."""
    return _note_places(results, lambda run: _list_partly(run, False))


def _list_partly(run: RunRecord, many: bool) -> list[str]:
    """List what is said of values that are shown though items failed, be these many or few."""
    return [line for line, share in run.partly.items() if (share > MOST_FAILED) == many]


def _note_places(
    results: Sequence[Result], lines_of: Callable[[RunRecord], Iterable[str]], lead: str = ""
) -> list[str]:
    """Make one alarm of lines of runs that are alike but for their place, with which they begin."""
    told: dict[str, list[str]] = {}
    for name, one in zip(name_apart(results), results, strict=True):
        for line in lines_of(one.run):
            place, _, rest = line.partition(": ")
            own = place.removeprefix(f"{one.run.config} ") if name else place
            told.setdefault(rest, []).append(" ".join(filter(None, (name, own))))
    notes = [f"{lead}{shorten_list(places)}: {rest}." for rest, places in told.items()]
    more = len(notes) - _MOST
    hidden = [Alarm(f"{lead or 'Failed, '}{more} more such lines: --verbose.")] * (more > 0)
    return [*map(Alarm, notes[:_MOST]), *hidden, *map(Detail, notes[_MOST:])]

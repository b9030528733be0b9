"""The notes of the runs in a table, each once: of several runs with the names of those that it is of."""

from collections.abc import Sequence

from quadrag.results.check import check_context, check_validity
from quadrag.results.note import Note, group_notes
from quadrag.results.run import PROFILES, Run
from quadrag.results.score import Score

from .names import name_apart
from .notes import INTERVALS, note_units
from .paper_notes import note_beside
from .replicas import note_recipes


def note_validity(results: Sequence[Run], names: Sequence[str] = ()) -> list[Note]:
    """Say without what the numbers of runs would mislead; `names` are theirs, told apart where there are none."""
    names = names or name_apart(results)
    checked = zip(names, map(check_validity, results), strict=True)
    return group_notes(((name, note) for name, notes in checked for note in notes), names)


def note_context(
    results: Sequence[Run],
    scores: Sequence[Sequence[Score]] = (),
    profile: str = PROFILES[0],
    names: Sequence[str] = (),
) -> list[Note]:
    """Say what the numbers of runs are; `scores` are those shown of each. See `check_context`."""
    names = names or name_apart(results)
    runs = zip(names, results, scores or [()] * len(results), strict=True)
    told = ((name, note) for name, result, own in runs for note in check_context(result, own, profile))
    return [*group_notes(told, names), *note_recipes([result.record for result in results])]


def note_ours(results: Sequence[Run], scores: Sequence[Sequence[Score]], profile: str = PROFILES[0]) -> list[Note]:
    """Say all of our values in a table of one benchmark; `scores` are those shown of each run."""
    units = note_units([score for own in scores for score in own], profile)
    beside = note_beside([result.record for result in results])
    return [*note_validity(results), units, INTERVALS, *note_context(results, scores, profile), *beside]

"""Notes on the values of a table: their units, and why they differ between the profiles."""

import math
from collections.abc import Hashable, Iterable, Sequence

from quadrag.metric_record import metric_record
from quadrag.results.note import Note, NoteCode
from quadrag.results.run import PROFILES
from quadrag.results.score import Score, Status

from .cells import CHARACTERS, FEW
from .table import Row

SHOWN = 0.0005  # a difference of rates that tables show
INTERVALS = Note(NoteCode.INTERVALS, {"least": FEW})


def note_units(scores: Iterable[Score], profile: str) -> Note:
    """Name the units of values: percent, and lengths by their keys."""
    lengths = dict.fromkeys(score.label for score in scores if score.record.unit == CHARACTERS)
    return Note(NoteCode.UNITS, {"profile": profile, **({"kind": "lengths", "keys": [*lengths]} if lengths else {})})


def note_lower(keys: Iterable[tuple[str, str]]) -> list[Note]:
    """Say of which keys, each named after its metric, a lower value is the better one."""
    lower = dict.fromkeys(key for metric, key in keys if metric_record(metric).key(key).direction == "lower")
    return [Note(NoteCode.LOWER_BETTER, {"keys": [*lower]})] if lower else []


def explain_lines(lines: Iterable[Row], scores: Iterable[Score]) -> list[Note]:
    """Say why values differ between the profiles, where a line shows the second one."""
    if not any(line.label.strip() == PROFILES[1] for line in lines):
        return []
    pairs: dict[Hashable, list[Score]] = {}
    for score in scores:
        if score.ran and score.status is not Status.INVALID:
            pairs.setdefault((score.of, score.key, score.slice), []).append(score)
    return explain_profiles(pair for pair in pairs.values() if len(pair) == len(PROFILES))


def explain_profiles(pairs: Iterable[Sequence[Score]]) -> list[Note]:
    """Say why values differ between the two profiles, each reason once; pairs are of one value by both.

    Where what both could score is worth the same, it is what failed that moved the value.
    """
    notes = []
    for pair in pairs:
        official, corrected = sorted(pair, key=lambda score: PROFILES.index(score.profile))
        low, high = official.value, corrected.value
        if low is None or high is None or abs(high - low) < SHOWN:
            continue
        record, ours, theirs = official.record, official.over_scored, corrected.over_scored
        if ours is not None and theirs is not None and math.isclose(ours, theirs, abs_tol=1e-9):
            continue
        if record.folded and (high > low or not record.differs):
            notes.append(Note(NoteCode.PROFILE_DIFFERS, {"kind": "folded"}))
        elif record.differs:
            notes.append(Note(NoteCode.PROFILE_DIFFERS, {"why": official.prose(record.differs)}))
    return [note for at, note in enumerate(notes) if note not in notes[:at]]

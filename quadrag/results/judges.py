"""What is odd of a judge's verdicts, so that the values that rest on them say less than they seem to.

Verdicts that are one and the same, however they are worded, may be right each time, or may be said of any answer.
Others are held against what words say of the same answers. Nobody is asked here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from quadrag.stats import NOT_APPLICABLE

from .items import Lines
from .note import Note, NoteCode
from .run import PROFILES
from .score import record_of

FIRST = 12  # verdicts of a judge: where none of these can be read, it is asked no further
_LEAST = 2  # verdicts that can be the same
_TO_CHECK, _OFTEN = 3, 0.5  # answers that words find right and a judge wrong, and their share: too many to be chance

Verdicts: TypeAlias = Sequence[float | str | None]  # of answers; None where nothing was said
Said: TypeAlias = Mapping[str, Verdicts]  # by one metric, by score


def read_verdicts(lines: Lines, name: str) -> list[float | str | None]:
    """Read a metric's verdicts from its items: by `corrected`, but where a rule decides by that profile alone.

    A verdict is a value or, where a judge may say so, that a key does not apply; else None.
    """
    may = None in record_of(name).grades.values()
    found: list[float | str | None] = []
    for line in lines:
        entry = line.get(name, {})
        asked = [profile for profile in PROFILES if profile in entry and profile not in entry.get("ruled", ())]
        reading = entry.get("reason", {}).get(asked[-1], entry[asked[-1]]) if asked else None
        found.append(None if isinstance(reading, str) and not (may and reading == NOT_APPLICABLE) else reading)
    return found


def check_judge(judge: str, said: Sequence[Said], lines: Lines) -> list[Note]:
    """Note what is odd of a judge's verdicts, metric by metric, on answers whose items are given."""
    notes = []
    if alike := find_alike(said):
        notes.append(note_constant(judge, alike, [name for each in alike for name in each]))
    for each in said:
        for name, verdicts in each.items():
            if doubt := _find_refused(name, verdicts, lines):
                notes.append(Note(NoteCode.JUDGE_DOUBTFUL, {"judge": judge, "score": name, **doubt, "keys": [*each]}))
    return notes


def find_alike(said: Sequence[Said]) -> list[dict[str, list[float | str]]]:
    """Return by metric and score the verdicts that are several times the same, and never another."""
    found = []
    for each in said:
        heard = {name: [verdict for verdict in verdicts if verdict is not None] for name, verdicts in each.items()}
        found.append({name: own for name, own in heard.items() if len({*own}) == 1 and len(own) >= _LEAST})
    return [alike for alike in found if alike]


def note_constant(judge: str, alike: Sequence[Said], keys: Sequence[str]) -> Note:
    """Note that all verdicts of a judge are one and the same by each of some keys."""
    counts = [max(map(len, each.values())) for each in alike]  # one verdict may have several keys
    verdicts = {name: own[0] for each in alike for name, own in each.items()}
    params = {"judge": judge, "count": sum(counts), "verdicts": verdicts}
    return Note(NoteCode.JUDGE_CONSTANT, {**params, "keys": list(keys)})


def _find_refused(name: str, verdicts: Verdicts, lines: Lines) -> dict[str, Any] | None:
    """Count the verdicts against answers that words find right; None where they may be chance."""
    record = record_of(name)
    wrong = record.range[0] or 0.0
    right = [
        verdict
        for verdict, line in zip(verdicts, lines, strict=True)
        if verdict is not None and any(line.get(words, {}).get(PROFILES[0]) == 1 for words in record.words)
    ]
    refused = right.count(wrong)
    enough = refused >= max(_LEAST if refused == len(right) else _TO_CHECK, _OFTEN * len(right))
    return {"verdict": wrong, "n": refused, "of": len(right)} if enough else None

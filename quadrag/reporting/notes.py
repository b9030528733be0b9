"""The notes under a table: what is to be known of its runs and values, and of the papers' rows beside them."""

import math
from collections.abc import Hashable, Iterable, Sequence

from quadrag.benchmark import load
from quadrag.metric_record import metric_record
from quadrag.prompts import are_own
from quadrag.results import PROFILES, Note, NoteCode, Run, RunRecord, Score, Status, group_notes
from quadrag.results.check import check_context, check_validity
from quadrag.spec import EXTRACTIVE, RAG, UNKNOWN

from .published import Published, find_beside, note_recipe
from .table import CHARACTERS, FEW, Row, load_tables, name_apart

SHOWN = 0.0005  # a difference of rates that tables show
INTERVALS = Note(NoteCode.INTERVALS, {"least": FEW})


# Of runs.


def note_validity(results: Sequence[Run], names: Sequence[str] = ()) -> list[Note]:
    """Say without what the numbers of runs would mislead; `names` are theirs, told apart where there are none."""
    names = names or name_apart(results)
    checked = zip(names, map(check_validity, results), strict=True)
    return group_notes(((name, note) for name, notes in checked for note in notes), names)


def note_ours(results: Sequence[Run], scores: Sequence[Sequence[Score]], profile: str = PROFILES[0]) -> list[Note]:
    """Say all of our values in a table of one benchmark; `scores` are those shown of each run."""
    names, runs = name_apart(results), [result.record for result in results]
    context = [
        (name, note)
        for name, result, own in zip(names, results, scores, strict=True)
        for note in (*check_context(result, own, profile), *note_recipe(result.record))
    ]
    return [
        *note_validity(results, names),
        note_units([score for own in scores for score in own], profile),
        INTERVALS,
        *group_notes(context, names),
        *note_beside(runs),
    ]


# Of values.


def note_units(scores: Iterable[Score], profile: str) -> Note:
    lengths = dict.fromkeys(score.label for score in scores if score.record.unit == CHARACTERS)
    return Note(NoteCode.UNITS, {"profile": profile, **({"kind": "lengths", "keys": [*lengths]} if lengths else {})})


def note_lower(keys: Iterable[tuple[str, str]]) -> list[Note]:
    lower = dict.fromkeys(key for metric, key in keys if metric_record(metric).key(key).direction == "lower")
    return [Note(NoteCode.LOWER_BETTER, {"keys": [*lower]})] if lower else []


def explain_profiles(lines: Iterable[Row], scores: Iterable[Score]) -> list[Note]:
    """Say why values differ between the profiles, each reason once, where a line shows the second one.

    Where what both could score is worth the same, it is what failed that moved the value.
    """
    if not any(line.label.strip() == PROFILES[1] for line in lines):
        return []
    pairs: dict[Hashable, dict[str, Score]] = {}
    for score in scores:
        if score.ran and score.status is not Status.INVALID and score.value is not None:
            pairs.setdefault((score.of, score.key, score.slice), {})[score.profile] = score
    notes = []
    for official, corrected in ([pair[one] for one in PROFILES] for pair in pairs.values() if len(pair) > 1):
        gain, record = (corrected.value or 0) - (official.value or 0), official.record
        ours, theirs = official.over_scored, corrected.over_scored
        alike = ours is not None and theirs is not None and math.isclose(ours, theirs, abs_tol=1e-9)
        if abs(gain) < SHOWN or alike:
            continue
        if record.folded and (gain > 0 or not record.differs):
            notes.append(Note(NoteCode.PROFILE_DIFFERS, {"kind": "folded"}))
        elif record.differs:
            notes.append(Note(NoteCode.PROFILE_DIFFERS, {"why": official.prose(record.differs)}))
    return [note for at, note in enumerate(notes) if note not in notes[:at]]


# Of the papers' rows: where they come from, and what sets ours apart from them.


def note_paper(benchmark: str, rows: Sequence[Published]) -> list[Note]:
    """Say where printed numbers come from, of which row if of one, under which conditions, and which are doubtful."""
    if not rows:
        return []
    tables = dict.fromkeys(row.table for row in rows)
    varies = load_tables(benchmark).varies
    named = {row.setting_of(varies[row.table]) for row in rows if row.table in varies}
    source = {"paper": load(benchmark).paper, "tables": [*tables]}
    source |= {"kind": "row", "row": named.pop()} if len(tables) == len(named) == 1 else {}
    conditions = [*dict.fromkeys(part for row in rows for part in row.conditions.split("; "))]
    doubtful = [
        Note(
            NoteCode.DOUBTFUL_PRINT,
            {"model": row.model, "what": row.language or row.key, "printed": row.printed, "why": row.doubt},
        )
        for row in rows
        if row.doubt
    ]
    return [Note(NoteCode.PUBLISHED_SOURCE, source), *doubtful, Note(NoteCode.CONDITIONS, {"conditions": conditions})]


def note_beside(runs: Sequence[RunRecord]) -> list[Note]:
    """Say why no printed row stands beside answers of which nobody said how their passages were found.

    Where one does, say whose prompts the answers are by, and of a file's that nobody knows.
    """
    real = [run for run in runs if run.provenance.comparable]  # beside the sample and own data stands none anyway
    beside = [run for run in real if find_beside(run)]
    notes = []
    if any(run.retriever == UNKNOWN and run not in beside for run in real):
        notes.append(Note(NoteCode.UNSAID, {"kind": "retriever"}))
    if any(run.command[1:2] == ["score"] and not run.log for run in beside):
        notes.append(Note(NoteCode.UNSAID, {"kind": "prompts"}))
    if any(map(_has_our_prompts, beside)):
        notes.append(Note(NoteCode.OTHER_PROMPTS))
    return notes


def _has_our_prompts(run: RunRecord) -> bool:
    """Whether a model was asked with quadrag's prompts, and not by a recipe, which says so itself."""
    by_model = run.command[1:2] == ["run"] and run.llm != EXTRACTIVE and run.retriever != RAG
    own = are_own(run.benchmark, run.prompts) or run.retriever == load(run.benchmark).handed_over
    return by_model and not (run.spec.replica or own)

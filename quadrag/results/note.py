"""What is to be known of runs and their comparisons: a code with parameters, of which a renderer makes a sentence.

The sentences stand in ``reporting/messages``, by code; nothing asks what they say. `run.json` keeps notes as
``{"code": ..., "params": ...}``. What names a score in params is ``metric.key``, in lists ``keys`` of one ``config``
and ``split``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from .record import RunRecord

_SHOWN = 3  # notes of one code that stand above a table


class Level(StrEnum):
    """Who needs a note, and where it stands."""

    HEADLINE = "headline"  # what a table comes to, above it
    WARNING = "warning"  # without it a table misleads
    INFO = "info"
    DETAIL = "detail"  # for a specialist: on the page, and where all is asked for


class NoteCode(StrEnum):
    """What may be to be known; each with the level that it has."""

    level: Level

    def __new__(cls, code: str, level: Level = Level.INFO) -> "NoteCode":
        """Make a code with its level."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.level = level
        return member

    # Of a run.
    NOT_REPLICATED = "not_replicated", Level.WARNING
    MADE_UP_DATA = "made_up_data", Level.WARNING
    PARTIAL = "partial", Level.WARNING
    STOPPED = "stopped", Level.WARNING
    """Why a run could not finish: kind ``budget`` (done of total answers, limit, currency, spent and what the next call
    may cost) or ``judge_dead`` (judge, what the fault said)."""
    INVALID = "invalid", Level.WARNING
    """Scores have no value: config, split, keys, judge (None: nobody was asked), cause (`score.Cause`), said (a reply,
    or why a call failed); of items that failed: profile ("": both), failed, total, limit (a share), reasons."""
    UNRELIABLE = "unreliable", Level.WARNING
    """More than a fifth of their items failed, which the user allows: params as of INVALID."""
    FAILED_COUNTED = "failed_counted", Level.WARNING
    """Some of their items failed: params as of INVALID."""
    MORE = "more", Level.WARNING
    """There are more notes of a code."""
    JUDGE_CONSTANT = "judge_constant", Level.WARNING
    """All verdicts of a judge are the same: judge, count, verdicts (by score), keys (which rest on them)."""
    JUDGE_DOUBTFUL = "judge_doubtful", Level.WARNING
    """Verdicts are not what words say: judge, score, doubt (``refused``, ``far``), keys (which rest on them); n of the
    answers have the verdict, with ``refused`` of those that words find right; with ``far`` right of known are so by
    words (the score that says it)."""
    JUDGE_BY_CHANCE = "judge_by_chance", Level.WARNING
    EMPTY_ANSWERS = "empty_answers", Level.WARNING
    SAME_ANSWER = "same_answer", Level.WARNING
    RETRIEVAL_UNMEASURED = "retrieval_unmeasured", Level.WARNING
    MATCHED_BY_IDS = "matched_by_ids", Level.WARNING
    OTHER_PROFILE = "other_profile"
    UNITS = "units"
    COLUMNS = "columns"
    FLAGGED = "flagged"
    MORE_TABLES = "more_tables"
    RECIPE = "recipe"
    DATA = "data"
    OWN_FILES = "own_files"
    ENTITIES = "entities"
    INDEX_RECALL = "index_recall"
    ANSWERS_HIDDEN = "answers_hidden"
    ABOUT = "about"
    NOT_RUN = "not_run"
    NO_VALUE = "no_value"
    LOWER_BETTER = "lower_better"
    PROFILE_DIFFERS = "profile_differs"
    UNSAID = "unsaid"
    """What nobody said of answers from elsewhere: how their passages were found, with which prompts."""
    OTHER_PROMPTS = "other_prompts"
    PUBLISHED_SOURCE = "published_source"
    DOUBTFUL_PRINT = "doubtful_print"
    ROW_MARK = "row_mark"
    REASON = "reason"
    """Why a score or an item has no value, or its value says nothing of the answers."""
    SPREAD = "spread"
    GOLD = "gold"
    """In which passages of a question the gold stood."""
    SHOWN = "shown"
    """Which and how many questions are shown."""
    JUDGE_AGREEMENT = "judge_agreement"
    JUDGE_UNCERTIFIED = "judge_uncertified"
    CERTIFICATE_UNUSED = "certificate_unused"
    CONDITIONS = "conditions", Level.DETAIL
    INTERVALS = "intervals", Level.DETAIL
    SETTINGS = "settings", Level.DETAIL
    KEPT = "kept", Level.WARNING
    """What is kept of an earlier run and was not asked again."""
    # Of a comparison.
    PROFILES_MIXED = "profiles_mixed", Level.WARNING
    VERDICT = "verdict", Level.HEADLINE
    """What a run is by the score that leads: kind (a verdict, ``few``), name, metric, difference, interval, p, n."""
    SAME_ANSWERS = "same_answers", Level.WARNING
    LONGER_ANSWERS = "longer_answers", Level.WARNING
    NOT_COMPARED = "not_compared"
    VALUES_APART = "values_apart"
    P_RULE = "p_rule"
    TESTS = "tests", Level.DETAIL


@dataclass(frozen=True, slots=True)
class Note:
    """A thing to be known of runs; ``kind`` in params chooses among the sentences of a code."""

    code: NoteCode
    params: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] = ()  # of which it is said; () of all

    @property
    def level(self) -> Level:
        """Who needs it."""
        return Level(self.params.get("level", self.code.level))

    def as_row(self) -> dict[str, Any]:
        """Return what `run.json` keeps of it."""
        return {"code": self.code.value, "params": dict(self.params)}


def group_notes(told: Iterable[tuple[str, Note]], names: Sequence[str]) -> list[Note]:
    """Return each note once, in the order of the codes, with the runs that it is of; () of all of several.

    What is the same in several ``places`` is said of all of them. Of one code the first three stand; what is left is
    for those who ask for all, and counted.

    Args:
        told: notes, each with the name of its run.
        names: of all runs.
    """
    found: list[tuple[Note, dict[str, None], dict[str, None]]] = []  # a note without places, its runs, its places
    for name, note in told:
        bare = replace(note, params={key: value for key, value in note.params.items() if key != "places"})
        known = next((entry for entry in found if entry[0] == bare), None)
        if known is None:
            found.append(known := (bare, {}, {}))
        known[1][name] = None
        known[2].update(dict.fromkeys(note.params.get("places", ())))
    order = list(NoteCode)
    grouped = [
        Note(note.code, {**note.params, "places": [*places]} if places else note.params, runs)
        for note, own, places in found
        for runs in [() if {*own} >= {*names} else tuple(own)]
    ]
    grouped.sort(key=lambda note: order.index(note.code))
    notes: list[Note] = []
    for code in dict.fromkeys(note.code for note in grouped):
        alike = [note for note in grouped if note.code is code]
        notes += alike[:_SHOWN]
        if (more := alike[_SHOWN:]) and code.level is not Level.DETAIL:
            notes.append(Note(NoteCode.MORE, {"count": len(more), "of": code}))
        notes += [replace(note, params={**note.params, "level": Level.DETAIL}) for note in more]
    return notes


def notes_of(run: RunRecord, *codes: NoteCode) -> list[Note]:
    """Return the notes of a run that have one of these codes, in the order of the codes."""
    return [Note(code, row["params"]) for code in codes for row in run.notes if row["code"] == code]


def keys_of(run: RunRecord, *codes: NoteCode) -> set[str]:
    """Return the scores that such notes are about."""
    return {key for note in notes_of(run, *codes) for key in note.params["keys"]}


def rename_splits(run: RunRecord, suffix: str) -> list[dict[str, Any]]:
    """Return a run's notes with a suffix at the names of splits."""
    return [
        {"code": row["code"], "params": {k: v + suffix if k == "split" else v for k, v in row["params"].items()}}
        for row in run.notes
    ]

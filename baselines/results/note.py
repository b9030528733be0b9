"""What is to be known of a run: a code with parameters, of which a renderer makes a sentence and asks nothing else.

`run.json` keeps notes as ``{"code": ..., "params": ...}``. What names a score in params is ``metric.key``, in lists
``keys`` of one ``config`` and ``split``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..core.run_record import RunRecord


class NoteCode(StrEnum):
    """What may be to be known of a run; each with its parameters."""

    INVALID = "invalid"
    """Scores have no value: config, split, keys, judge (None: nobody was asked), cause (`score.Cause`), said (a reply,
    or why a call failed). But of a judge that is unread or dead: profile ("": under both), failed of total, limit (of
    the share), reasons (how many failed, by reason)."""
    UNRELIABLE = "unreliable"
    """More than a fifth of their items failed, which the user allows: params as of INVALID."""
    FAILED_COUNTED = "failed_counted"
    """Some of their items failed: params as of INVALID."""
    JUDGE_CONSTANT = "judge_constant"
    """All verdicts of a judge are the same: judge, count, verdicts (by score), keys (which rest on them)."""
    JUDGE_DOUBTFUL = "judge_doubtful"
    """Verdicts are not what words say: judge, score, doubt (``refused``, ``far``), keys (which rest on them); n of the
    answers have the verdict, with ``refused`` of those that words find right; with ``far`` right of known are so by
    words (the score that says it)."""


@dataclass(frozen=True, slots=True)
class Note:
    """A thing to be known of runs."""

    code: NoteCode
    params: Mapping[str, Any]

    def as_row(self) -> dict[str, Any]:
        """Return what `run.json` keeps of it."""
        return {"code": self.code.value, "params": dict(self.params)}


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

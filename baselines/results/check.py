"""What is to be known of a single run: a note for all scores of a split of which the same failed for the same cause."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quadrag.metric_record import metric_record

from ..core.run_record import RunRecord
from .note import Note, NoteCode
from .score import Cause, Score, ScoreKey, Status
from .status import Failures, Found, is_unjudged

_CALLS = (Cause.API_ERROR, Cause.RAISED, Cause.UNPARSABLE)  # of which a run keeps what was said
_CODES = {
    Status.INVALID: NoteCode.INVALID,
    Status.UNRELIABLE: NoteCode.UNRELIABLE,
    Status.OK: NoteCode.FAILED_COUNTED,
}


def check_run(scores: Sequence[Score], run: RunRecord, failures: Found) -> list[Note]:
    """Make the notes on the items of a run that failed; what of the other profile has no value needs none."""
    groups: dict[tuple[Any, ...], dict[ScoreKey, Failures]] = {}
    for (key, profile), lost in failures.items():
        code, alike = _CODES[lost.status], str(replace(lost, read_by=""))
        if code is NoteCode.INVALID:
            if profile != run.profile:
                continue
            alike = str((lost.total, lost.profile, [*lost.reasons], metric_record(key.metric).verdict))
        groups.setdefault((code, key.config, key.split, alike), {})[key] = lost
    notes = []
    for (code, *_), group in groups.items():
        most = max(group.values(), key=lambda lost: lost.failed)
        counts = {name: getattr(most, name) for name in ("profile", "failed", "total", "reasons", "counted")}
        counts["at_most"] = any(lost.failed < most.failed for lost in group.values())
        cause = _find_cause(*next(iter(group.items())), run)
        notes.append(_note(code, [*group], judge=run.judge, **counts, limit=run.max_failed, **cause))

    unjudged: dict[tuple[str, str], list[ScoreKey]] = {}
    for score in scores:
        if is_unjudged(score, run):
            unjudged.setdefault((score.key.config, score.key.split), []).append(score.key)
    params = {"cause": Cause.JUDGE_UNREAD.value, "judge": run.unread_judge, "said": run.verdict}
    if run.dead_judge:
        params = {"cause": Cause.JUDGE_DEAD.value, "judge": run.judge, "said": run.stopped}
    return notes + [_note(NoteCode.INVALID, keys, **params) for keys in unjudged.values()]


def _note(code: NoteCode, keys: Sequence[ScoreKey], **params: Any) -> Note:
    names = [key.name for key in dict.fromkeys(keys)]
    return Note(code, {"config": keys[0].config, "split": keys[0].split, "keys": names, **params})


def _find_cause(key: ScoreKey, lost: Failures, run: RunRecord) -> dict[str, Any]:
    """Find out why most items failed, what was said where that is known, and which options may be raised."""
    said = next(iter(run.failures.values()), None) if lost.cause in _CALLS else None
    if lost.cause is Cause.UNPARSABLE and run.judge and metric_record(key.metric).verdict:
        said = run.verdict
    answers = not run.log and (lost.cause is Cause.CUT or not run.judge or run.count_short("cut"))
    verdicts = run.judge and lost.cause is not Cause.CUT
    raised = ["max_tokens"] * bool(answers) + ["judge_max_tokens"] * bool(verdicts)
    return {"cause": lost.cause.value, "said": said, "options": raised}

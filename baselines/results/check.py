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
    groups: dict[tuple[Any, ...], list[tuple[ScoreKey, Failures]]] = {}
    for (key, profile), lost in failures.items():
        code = _CODES[lost.status]
        if code is not NoteCode.INVALID or profile == run.profile:
            judged = code is NoteCode.INVALID and metric_record(key.metric).verdict
            groups.setdefault((code, key.config, key.split, judged, str(replace(lost, read_by=""))), []).append(
                (key, lost)
            )
    notes = []
    for (code, *_), group in groups.items():
        (first, lost), keys = group[0], [key for key, _ in group]
        counts = {name: getattr(lost, name) for name in ("profile", "failed", "total", "reasons")}
        said = next(iter(run.failures.values()), None) if lost.cause in _CALLS else None
        if lost.cause is Cause.UNPARSABLE and run.judge and metric_record(first.metric).verdict:
            said = run.verdict
        cause = {"cause": lost.cause.value, "said": said}
        notes.append(_note(code, keys, judge=run.judge, **counts, limit=run.max_failed, **cause))

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

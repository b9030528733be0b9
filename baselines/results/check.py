"""What is to be known of a single run: a note for all scores of a split of which the same failed for the same cause."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quadrag.metric_record import metric_record

from ..core.run_record import RunRecord
from ..core.spec import MOST_FAILED
from .items import CUT
from .note import Cause, Note, NoteCode
from .score import ALL, Score, ScoreKey, Status
from .status import Failures, Found, is_unjudged

_CALLS = ("api_error", "raised", "unparsable")  # of which a run keeps what was said


class _Split(NamedTuple):
    config: str
    split: str


def check_run(scores: Sequence[Score], run: RunRecord, failures: Found) -> list[Note]:
    """Make the notes on the items of a run that failed; what of the other profile has no value needs none."""
    alike: list[tuple[_Split, Failures, list[ScoreKey]]] = []  # of which equally many failed
    for (key, _), found in failures.items():
        place = _Split(key.config, key.split)
        keys = next((keys for split, other, keys in alike if (split, other) == (place, found)), None)
        if keys is None:
            alike.append((place, found, keys := []))
        if key not in keys:
            keys.append(key)
    ran = {s.key for s in scores if s.slice == ALL and s.status is not Status.NOT_RUN}
    invalid = [group for group in alike if group[1].share > run.max_failed]
    notes = _note_invalid([group for group in invalid if group[1].profile in ("", run.profile)], run)
    notes += _note_unjudged(scores, run)
    for place, found, keys in alike:
        if found.share <= run.max_failed:
            code = NoteCode.UNRELIABLE if found.share > MOST_FAILED else NoteCode.FAILED_COUNTED
            every = len(keys) == sum(_Split(key.config, key.split) == place for key in ran)
            counts = {name: getattr(found, name) for name in ("total", "lost", "as_is", "left_out", "others")}
            params = {**counts, "counted": found.counted.value, "profile": found.profile, "every": every}
            notes.append(_note(code, place, keys, run, **params))
    return notes


def _note(code: NoteCode, place: _Split, keys: Sequence[ScoreKey], run: RunRecord, **params: Any) -> Note:
    names = [key.name for key in dict.fromkeys(keys)]
    return Note(code, {**place._asdict(), "keys": names, "judge": run.judge, **params})


def _note_invalid(groups: Sequence[tuple[_Split, Failures, list[ScoreKey]]], run: RunRecord) -> list[Note]:
    """Note what failed, once for all scores of a split that failed for the same cause."""
    causes: dict[tuple[Any, ...], list[tuple[Failures, list[ScoreKey]]]] = {}
    for place, found, keys in groups:
        cause = (place, found.total, found.profile, *found.reasons, metric_record(keys[0].metric).verdict)
        causes.setdefault(cause, []).append((found, keys))
    notes = []
    for (place, *_), parts in causes.items():
        most = max((found for found, _ in parts), key=lambda found: found.failed)
        counts = {name: getattr(most, name) for name in ("profile", "failed", "total", "reasons")}
        counts |= {"at_most": any(found.failed < most.failed for found, _ in parts), "limit": run.max_failed}
        keys = [key for _, keys in parts for key in keys]
        notes.append(_note(NoteCode.INVALID, place, keys, run, **counts, **_find_cause(parts[0][0], keys[0], run)))
    return notes


def _find_cause(found: Failures, key: ScoreKey, run: RunRecord) -> Mapping[str, Any]:
    """Find out why most items failed, and what was said where that is known."""
    most = max(found.reasons, key=lambda reason: found.reasons[reason])
    cause, said = Cause(most), None
    if most == "unparsable" and run.judge and metric_record(key.metric).verdict and run.verdict is not None:
        cause, said = Cause.VERDICT_UNPARSABLE, run.verdict
    elif most in _CALLS and run.failures:
        said = next(iter(run.failures.values()))
    elif most == "truncated" and run.judge is None:
        cause = Cause.ANSWER_TRUNCATED
    elif most == "truncated" and not run.count_short("cut"):
        cause = Cause.VERDICT_TRUNCATED  # no answer was
    elif most == CUT and run.log:
        cause = Cause.CUT_IN_HARNESS
    return {"cause": cause.value, "said": said, "kept": _are_kept(run)}


def _are_kept(run: RunRecord) -> bool:
    """Whether verdicts are kept ones, which stay as they are until they are asked for again."""
    return any(used.get("earlier") for role, used in run.usage.items() if role.startswith("judge"))


def _note_unjudged(scores: Sequence[Score], run: RunRecord) -> list[Note]:
    """Note of every split which scores have no value since nothing is to be had of the judge."""
    found: dict[_Split, list[ScoreKey]] = {}
    for score in scores:
        if is_unjudged(score, run):
            found.setdefault(_Split(score.key.config, score.key.split), []).append(score.key)
    cause, judge, said = Cause.JUDGE_UNREAD, run.unread_judge, run.verdict
    if run.dead_judge:
        cause, judge, said = Cause.JUDGE_DEAD, run.judge, run.stopped
    params = {"cause": cause.value, "said": said, "kept": _are_kept(run)}
    notes = [_note(NoteCode.INVALID, place, keys, run, **params) for place, keys in found.items()]
    return [Note(note.code, {**note.params, "judge": judge}) for note in notes]

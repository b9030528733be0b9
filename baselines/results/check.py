"""What is to be known of a single run: a note for all scores of a split of which the same failed for the same cause."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from quadrag.metric_record import metric_record

from ..core.run_record import RunRecord
from ..core.spec import MOST_FAILED
from .note import Note, NoteCode
from .score import Cause, Score, ScoreKey, Status
from .status import Failures, Found, is_unjudged

_Split: TypeAlias = tuple[str, str]  # config and split
_CALLS = (Cause.API_ERROR, Cause.RAISED, Cause.UNPARSABLE)  # of which a run keeps what was said


def check_run(scores: Sequence[Score], run: RunRecord, failures: Found) -> list[Note]:
    """Make the notes on the items of a run that failed; what of the other profile has no value needs none."""
    groups: dict[tuple[Any, ...], dict[ScoreKey, Failures]] = {}
    for (key, profile), found in failures.items():
        code: Any = NoteCode.UNRELIABLE if found.share > MOST_FAILED else NoteCode.FAILED_COUNTED
        alike: tuple[Any, ...] = (str(replace(found, read_by="")),)
        if found.share > run.max_failed:
            if profile != run.profile:
                continue
            code = NoteCode.INVALID
            alike = (found.total, found.profile, *found.reasons, metric_record(key.metric).verdict)
        groups.setdefault((code, (key.config, key.split), *alike), {})[key] = found
    ran = {score.key for score in scores if score.status is not Status.NOT_RUN}
    notes = []
    for (code, place, *_), group in groups.items():
        most = max(group.values(), key=lambda failures: failures.failed)
        counts = {name: getattr(most, name) for name in ("profile", "failed", "total", "reasons", "counted")}
        counts["at_most"] = any(failures.failed < most.failed for failures in group.values())
        counts["every"] = len(group) == sum((key.config, key.split) == place for key in ran)
        cause = _find_cause(*next(iter(group.items())), run)
        notes.append(_note(code, place, [*group], run, **counts, limit=run.max_failed, **cause))
    return notes + _note_unjudged(scores, run)


def _note(code: NoteCode, place: _Split, keys: Sequence[ScoreKey], run: RunRecord, **params: Any) -> Note:
    names = [key.name for key in dict.fromkeys(keys)]
    kept = any(used.get("cached") for role, used in run.usage.items() if role.startswith("judge"))
    asked = {"judge": run.judge, "kept": kept}
    return Note(code, {"config": place[0], "split": place[1], "keys": names, **asked, **params})


def _find_cause(key: ScoreKey, found: Failures, run: RunRecord) -> Mapping[str, Any]:
    """Find out why most items failed, and what was said where that is known."""
    said = next(iter(run.failures.values()), None) if found.cause in _CALLS else None
    if found.cause is Cause.UNPARSABLE and run.judge and metric_record(key.metric).verdict:
        said = run.verdict
    answers = not run.log and (found.cause is Cause.CUT or not run.judge or run.count_short("cut"))
    verdicts = run.judge and found.cause is not Cause.CUT
    raised = ["max_tokens"] * bool(answers) + ["judge_max_tokens"] * bool(verdicts)
    return {"cause": found.cause.value, "said": said, "options": raised}


def _note_unjudged(scores: Sequence[Score], run: RunRecord) -> list[Note]:
    """Note of every split which scores have no value since nothing is to be had of the judge."""
    found: dict[_Split, list[ScoreKey]] = {}
    for score in scores:
        if is_unjudged(score, run):
            found.setdefault((score.key.config, score.key.split), []).append(score.key)
    params = {"cause": Cause.JUDGE_UNREAD.value, "judge": run.unread_judge, "said": run.verdict}
    if run.dead_judge:
        params = {"cause": Cause.JUDGE_DEAD.value, "judge": run.judge, "said": run.stopped}
    return [_note(NoteCode.INVALID, place, keys, run, **params) for place, keys in found.items()]

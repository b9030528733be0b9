"""Whether a run's scores may be used: not where too many of their items failed, or where the judge cannot be relied on.

An item has failed where a call to a model or a judge did, or where its reply was cut, empty or cannot be read. What can
be read is what `corrected` reads, whatever value a profile gives to the rest; but where more items failed under
`official`, as where `corrected` decides by rule what `official` has judged, each stands by itself. An item that a
metric does not apply to, or that a profile leaves out by a named quirk, has not failed, and neither has an empty answer
of one's own system. A judge of whose first verdicts none could be read was asked no further, and no score that asks a
judge has a value then; nor where the judge does not answer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from quadrag.benchmark import NO_JUDGE
from quadrag.metric_record import metric_record
from quadrag.spec import MOST_FAILED
from quadrag.stats import NOT_APPLICABLE

from .items import FAILED, SHORT, VERDICTS, Lines, is_by_rule, is_ruled, reason_of, short_of
from .note import Note, NoteCode, notes_of
from .record import RunRecord
from .run import PROFILES
from .score import ALL, UNJUDGED, Cause, Counts, Score, ScoreKey, Status, record_of

_CALLS = (Cause.API_ERROR, Cause.RAISED, Cause.UNPARSABLE)  # of which a run keeps what was said


@dataclass(frozen=True, slots=True)
class Failures:
    """How many items of a score failed; equal ones are told of together."""

    tried: int  # items that its metric applies to
    total: int  # those of them that could fail, since no rule decided them; of replies alone, all
    failed: int
    reasons: Mapping[str, int]
    status: Status  # INVALID where more failed than may, UNRELIABLE where they are many
    profile: str = ""  # under which they failed; "" under both alike

    @property
    def cause(self) -> Cause:
        """Why most failed."""
        return Cause(max(self.reasons, key=self.reasons.__getitem__))


Found: TypeAlias = Mapping[tuple[ScoreKey, str], Failures]  # by score and profile


def settle_scores(scores: Sequence[Score], run: RunRecord, lines: Lines) -> list[Score]:
    """Return the scores of a finished run with status and reason, and note in the run what failed of its items."""
    failures = find_failures(scores, run, lines)
    derived = NoteCode.INVALID, NoteCode.UNRELIABLE, NoteCode.FAILED_COUNTED
    kept = [row for row in run.notes if row["code"] not in derived]
    run.notes = [*(note.as_row() for note in check_run(scores, run, failures)), *kept]
    return set_status(scores, run, failures)


def find_failures(scores: Sequence[Score], run: RunRecord, lines: Lines) -> Found:
    """Find the scores of which any item failed, under both profiles or under one: what a rule decides differs."""
    by_split: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for line in lines:
        by_split.setdefault((line["config"], line["split"]), []).append(line)
    found = {}
    for key in dict.fromkeys(score.key for score in scores if run.short or {*FAILED} & {*score.counts.unscored}):
        here = by_split.get((key.config, key.split), ())
        official, corrected = (_count(key, here, profile, run) for profile in PROFILES)
        if corrected.failed > official.failed:
            official = corrected
        for profile, failures in zip(PROFILES, (official, corrected), strict=True):
            if failures.failed:
                found[key, profile] = replace(failures, profile="" if official == corrected else profile)
    return found


def _count(key: ScoreKey, lines: Lines, profile: str, run: RunRecord) -> Failures:
    name, by_answer = key.name.removesuffix("_weighted"), bool(record_of(key.name).among)
    reasons, by_rule = Counter[str](), is_by_rule(key.metric, key.key)
    tried, ruled = 0, 0
    for line in lines:
        entry = line.get(name)
        if entry is None:
            continue
        why = reason_of(entry, profile) or ("api_error" if entry.get(profile) is None else "")
        if why == NOT_APPLICABLE and not by_answer:
            continue
        tried += 1
        has_failed = why in FAILED and not (by_rule and why in VERDICTS)
        short = short_of(line, run)  # which makes its verdict what it is
        if short or has_failed:
            reasons[short or why] += 1
        else:
            ruled += is_ruled(entry, profile)
    total = tried if {*reasons} <= {*SHORT} else tried - ruled
    failed = min(reasons.total(), total)
    share = failed / total if total else 0.0
    status = Status.UNRELIABLE if share > MOST_FAILED else Status.OK
    status = Status.INVALID if share > run.max_failed else status
    return Failures(tried, total, failed, dict(reasons), status)


def set_status(scores: Sequence[Score], run: RunRecord, failures: Found) -> list[Score]:
    """Return the scores with their status and reason; without a value, and with what could be read, where invalid."""
    scores = [_settle_ruled(score) for score in scores]
    codes = (NoteCode.JUDGE_DOUBTFUL, NoteCode.JUDGE_CONSTANT)
    doubts = {key: Cause(note.code.value) for note in notes_of(run, *codes) for key in note.params["keys"]}

    def settle(score: Score) -> Score:
        lost = failures.get((score.key, score.profile))
        if lost and lost.status is Status.INVALID:
            n = min(score.counts.n_scored or 0, lost.tried - lost.failed)
            others = {why: count for why, count in score.counts.unscored.items() if why not in FAILED}
            unscored = {**others, **lost.reasons} if score.slice == ALL else score.counts.unscored
            n_ruled = min(score.counts.n_ruled, n)
            counts = replace(score.counts, n_scored=n, n_filled=0, n_ruled=n_ruled, unscored=unscored)
            return replace(score, value=None, interval=None, counts=counts, status=lost.status, reason=lost.cause)
        if is_unjudged(score, run):
            cause, n = Cause.JUDGE_DEAD if run.dead_judge else Cause.JUDGE_UNREAD, score.counts.n_total
            counts = Counts(n, n_scored=0, unscored={UNJUDGED: n})
            return replace(score, value=None, interval=None, counts=counts, status=Status.INVALID, reason=cause)
        if score.key.verdict in doubts and not score.counts.by_rule and score.status is Status.OK:
            return replace(score, status=Status.UNTRUSTED_JUDGE, reason=doubts[score.key.verdict])
        return replace(score, status=lost.status, reason=lost.cause) if lost and lost.status is not Status.OK else score

    return [settle(score) for score in scores]


def is_unjudged(score: Score, run: RunRecord) -> bool:
    """Whether a score has no value since the judge was asked no further, or does not answer.

    Without a judge `error_correction` would be another measure, of what a phrase finds.
    """
    lost = run.dead_judge or run.unread_judge is not None
    return lost and (score.reason == NO_JUDGE or score.key.verdict != "")


def _settle_ruled(score: Score) -> Score:
    """Return a score that a rule decides as if its judge's verdicts could be read: it rests on none."""
    counts = score.counts
    lost = sum(counts.unscored.get(why, 0) for why in VERDICTS)
    if not lost or not is_by_rule(score.key.metric, score.key.key):
        return score
    kept = {why: count for why, count in counts.unscored.items() if why not in VERDICTS}
    return replace(score, counts=replace(counts, unscored=kept, n_scored=(counts.n_scored or 0) + lost, n_filled=0))


def check_run(scores: Sequence[Score], run: RunRecord, failures: Found) -> list[Note]:
    """Make the notes on the items of a run that failed; what of the other profile has no value needs none."""
    groups: dict[tuple[Any, ...], list[tuple[ScoreKey, Failures]]] = {}
    for (key, profile), lost in failures.items():
        code = NoteCode.FAILED_COUNTED if lost.status is Status.OK else NoteCode(lost.status.value)
        if code is not NoteCode.INVALID or profile == run.profile:
            form = code is NoteCode.INVALID and lost.cause is Cause.UNPARSABLE and metric_record(key.metric).verdict
            alike = (code, key.config, key.split, form, str(lost))
            groups.setdefault(alike, []).append((key, lost))
    notes = []
    for (code, _, _, form, _), group in groups.items():
        lost = group[0][1]
        said = next(iter(run.failures.values()), None) if lost.cause in _CALLS else None
        params = {name: getattr(lost, name) for name in ("profile", "failed", "total", "reasons")}
        params |= {"judge": run.judge, "limit": run.max_failed, "cause": lost.cause.value}
        params["said"] = run.verdict if form and run.judge and lost.cause is Cause.UNPARSABLE else said
        notes.append(_note(code, [key for key, _ in group], **params))

    unjudged: dict[tuple[str, str], list[ScoreKey]] = {}
    for score in scores:
        if is_unjudged(score, run):
            unjudged.setdefault((score.key.config, score.key.split), []).append(score.key)
    params = {"cause": Cause.JUDGE_UNREAD.value, "judge": run.unread_judge, "said": run.verdict}
    if run.dead_judge:
        params = {
            "cause": Cause.JUDGE_DEAD.value,
            "judge": run.judge,
            "said": run.stopped and run.stopped["params"]["said"],
        }
    return notes + [_note(NoteCode.INVALID, keys, **params) for keys in unjudged.values()]


def _note(code: NoteCode, keys: Sequence[ScoreKey], **params: Any) -> Note:
    names = [key.name for key in dict.fromkeys(keys)]
    return Note(code, {"config": keys[0].config, "split": keys[0].split, "keys": names, **params})

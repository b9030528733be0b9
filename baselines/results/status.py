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
from enum import StrEnum
from typing import Any, TypeAlias

from quadrag.stats import NOT_APPLICABLE

from ..core.benchmark import NO_JUDGE
from ..core.result import PROFILES
from ..core.run_record import RunRecord
from ..core.spec import MOST_FAILED
from .items import CUT, EMPTY, FAILED, VERDICTS, Lines, is_by_rule, reason_of, short_of
from .note import NoteCode, notes_of
from .score import ALL, UNJUDGED, Counts, Reason, Score, ScoreKey, Status

OFFICIAL, CORRECTED = PROFILES


class Counted(StrEnum):
    """How items that failed count where a score has a value."""

    WRONG = "wrong"
    LEFT_OUT = "left_out"  # by official; corrected counts them as wrong
    VALUED = "valued"  # by official; corrected counts them as wrong
    PARTLY_VALUED = "partly_valued"  # by official, which leaves others out
    PARTLY_NOT_APPLICABLE = "partly_not_applicable"
    BY_ITSELF = "by_itself"  # official leaves them out, and they failed under no other


@dataclass(frozen=True, slots=True)
class Failures:
    """Of how many items of a score how many failed; equal ones are told of together.

    Attributes:
        profile: under which; "" under both alike.
        total: the items that could fail: the metric applies to them, and no rule decided; of replies alone, all.
        reasons: how many failed, by reason.
        lost: the same of those that failed by the metric's own reasons.
        as_is: those that are scored as they are: replies of a model that are empty or cut.
        counted: how the lost count where the score has a value.
        left_out: how many of them official leaves out, where not all.
        others: how many it does not.
    """

    total: int
    reasons: Mapping[str, int]
    lost: Mapping[str, int]
    as_is: Mapping[str, int]
    profile: str = ""
    counted: Counted = Counted.WRONG
    left_out: int = 0
    others: int = 0

    @property
    def failed(self) -> int:
        """How many failed."""
        return min(sum(self.reasons.values()), self.total)

    @property
    def share(self) -> float:
        """The share that failed."""
        return self.failed / self.total


Found: TypeAlias = Mapping[tuple[ScoreKey, str], Failures]  # by score and profile


def find_failures(scores: Sequence[Score], run: RunRecord, lines: Lines) -> Found:
    """Find the scores of which any item failed, under both profiles or under one: what a rule decides differs."""
    short: dict[tuple[str, str], list[tuple[str, Mapping[str, Any]]]] = {}
    for line in lines if run.short else ():
        if kind := short_of(line, run):
            short.setdefault((line["config"], line["split"]), []).append((kind, line))
    by_key: dict[ScoreKey, dict[str, Score]] = {}
    for score in map(settle_ruled, scores):
        if score.slice == ALL and score.status is not Status.NOT_RUN:
            by_key.setdefault(score.key, {})[score.profile] = score
    found = {}
    for key, scored in by_key.items():
        here = short.get((key.config, key.split), ())
        failed = {name: _count(_pick_read(score, scored.get(CORRECTED)), here) for name, score in scored.items()}
        alike = all(each == failed[next(iter(failed))] for each in failed.values())
        for profile, failures in failed.items():
            if failures.reasons and failures.total:
                found[key, profile] = _add_counted(failures, scored, "" if alike else profile)
    return found


def set_status(scores: Sequence[Score], run: RunRecord, failures: Found) -> list[Score]:
    """Return the scores with their status and reason; without a value, and with what could be read, where invalid."""
    scores = [settle_ruled(score) for score in scores]
    read = {(score.key, score.slice): score for score in scores if score.profile == CORRECTED}
    tried = {score.key: count_tried(score) for score in scores if score.slice == ALL}
    codes = (NoteCode.JUDGE_DOUBTFUL, NoteCode.JUDGE_CONSTANT)
    doubts = {key: note.code for note in notes_of(run, *codes) for key in note.params["keys"]}

    def settle(score: Score) -> Score:
        found = failures.get((score.key, score.profile))
        if found and found.share > run.max_failed:
            own = _pick_read(score, read.get((score.key, score.slice))).counts
            n = min(own.n_scored or 0, tried[score.key] - found.failed)
            unscored = own.unscored
            if score.slice == ALL:
                unscored = {why: count for why, count in unscored.items() if why not in FAILED} | dict(found.reasons)
            counts = replace(score.counts, n_scored=n, n_filled=0, n_ruled=min(own.n_ruled, n), unscored=unscored)
            return _invalidate(score, Reason.FAILED, counts)
        if is_unjudged(score, run):
            counts = Counts(score.counts.n_total, 0, 0, {UNJUDGED: score.counts.n_total})
            return _invalidate(score, Reason.JUDGE_DEAD if run.dead_judge else Reason.JUDGE_UNREAD, counts)
        if score.key.verdict in doubts and not score.counts.by_rule and score.status is Status.OK:
            return replace(score, status=Status.UNTRUSTED_JUDGE, reason=Reason(doubts[score.key.verdict].value))
        if found and found.share > MOST_FAILED:
            return replace(score, status=Status.UNRELIABLE, reason=Reason.FAILED)
        return score

    return [settle(score) for score in scores]


def is_unjudged(score: Score, run: RunRecord) -> bool:
    """Whether a score has no value since the judge was asked no further, or does not answer.

    Without a judge `error_correction` would be another measure, of what a phrase finds.
    """
    lost = run.dead_judge or run.unread_judge is not None
    return lost and (score.reason == NO_JUDGE or score.key.verdict != "")


def settle_ruled(score: Score) -> Score:
    """Return a score that a rule decides as if its judge's verdicts could be read: it rests on none."""
    counts = score.counts
    lost = sum(counts.unscored.get(why, 0) for why in VERDICTS)
    if not lost or not is_by_rule(score.key.metric, score.key.key):
        return score
    kept = {why: count for why, count in counts.unscored.items() if why not in VERDICTS}
    return replace(score, counts=replace(counts, unscored=kept, n_scored=(counts.n_scored or 0) + lost, n_filled=0))


def count_tried(score: Score) -> int:
    """Count the items that a metric was tried on: those that have no such value by their answer are among them."""
    return score.counts.n_total - (0 if score.key.record.among else score.counts.n_not_applicable)


def count_failed(unscored: Mapping[str, int]) -> int:
    """Count the unscored items that failed."""
    return sum(count for why, count in unscored.items() if why in FAILED)


def _invalidate(score: Score, reason: Reason, counts: Counts) -> Score:
    return replace(score, value=None, interval=None, counts=counts, status=Status.INVALID, reason=reason)


def _pick_read(score: Score, corrected: Score | None) -> Score:
    """Return the score that tells what failed of a score's items: itself, or `corrected` where it reads fewer."""
    fewer = corrected and count_failed(corrected.counts.unscored) > count_failed(score.counts.unscored)
    return corrected if corrected and fewer else score


def _count(score: Score, short: Sequence[tuple[str, Mapping[str, Any]]]) -> Failures:
    """Count the items that could fail, and by reason those that did, each once.

    What a reply of a model that is empty or cut makes of its verdict, is by this reply. It may be left out by the
    metric's own rules, as the authors of CRUD-RAG do with empty ones.
    """
    name, by_answer = score.key.name.removesuffix("_weighted"), bool(score.key.record.among)
    reasons = Counter({why: count for why, count in score.counts.unscored.items() if why in FAILED})
    lost, as_is, by_reply, ruled = Counter(reasons), Counter[str](), Counter[str](), score.counts.n_ruled
    for kind, line in short:
        entry = line.get(name, {})
        why = reason_of(entry, score.profile)
        if why == NOT_APPLICABLE and not by_answer:
            continue
        by_reply[kind] += 1
        if why and reasons[why]:
            reasons[why] -= 1
        else:
            (lost if entry and entry.get(OFFICIAL) is None else as_is)[kind] += 1
        ruled -= score.profile in entry.get("ruled", ())  # a rule may have called it missing
    found = {**+reasons, **by_reply}
    # What a rule decided could not fail; of replies alone all could.
    total = count_tried(score) - (0 if {*found} <= {EMPTY, CUT} else max(ruled, 0))
    return Failures(total, found, dict(lost), dict(as_is))


def _add_counted(failures: Failures, scored: Mapping[str, Score], profile: str) -> Failures:
    """Add how items that failed and are not scored as they are count: under one profile, or under both."""
    failures = replace(failures, profile=profile)
    official = scored[OFFICIAL]
    if not failures.lost or profile == CORRECTED or official.counts.n_filled:
        return failures
    if profile:
        return replace(failures, counted=Counted.BY_ITSELF)
    left = count_failed(official.counts.unscored)
    failed = count_failed(_pick_read(official, scored.get(CORRECTED)).counts.unscored)
    valued = (official.counts.n_scored or 0) > failures.total - sum(failures.lost.values())
    if 0 < left < failed:
        counted = Counted.PARTLY_VALUED if valued else Counted.PARTLY_NOT_APPLICABLE
        return replace(failures, counted=counted, left_out=left, others=failed - left)
    return replace(failures, counted=Counted.VALUED if valued else Counted.LEFT_OUT)

"""What a run came to: its record and its scores, each a number, over how many items it is, and whether to use it.

A row of ``scores.json`` is a score without its status: that follows from all rows, the items and what may fail
(`check.py`), and so is found anew whenever a run is read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import nan
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from quadrag.benchmark import Stratum
from quadrag.errors import QuadragError, parse_json
from quadrag.metric_record import KeyRecord, find_verdict, metric_record, show_key
from quadrag.records import Key
from quadrag.stats import Interval

from .record import Note, NoteCode, RunRecord, check_stage

Place: TypeAlias = tuple[str, str, str, str]  # config, split, metric and key of a row
PROFILES = ("official", "corrected")
ALL = "all"  # the slice that holds every item
UNJUDGED = "unjudged"  # why items have no value where nothing is to be had of the judge
_WRITTEN = ("n_total", "n_groups", "n_scored", "n_not_applicable", "unscored", "n_filled", "n_ruled")
_SCORED = ("n_scored", "n_not_applicable", "unscored")  # which a row has where its metric has a value for each item


class ScoreKey(NamedTuple):
    benchmark: str
    config: str
    split: str
    metric: str
    key: str

    @property
    def name(self) -> str:
        return f"{self.metric}.{self.key}"

    @property
    def verdict(self) -> str:
        """The judge's verdict that it rests on, as items name it; "" where it rests on none."""
        return find_verdict(self.metric, self.key)


class Status(StrEnum):
    OK = "ok"
    NOT_RUN = "not_run"  # what it needs was not there, as its reason says
    INVALID = "invalid"  # too many items failed, or nothing is to be had of the judge: it has no value
    UNRELIABLE = "unreliable"  # so many failed, and the user allows it
    UNTRUSTED_JUDGE = "untrusted_judge"  # it rests on verdicts that say nothing of the answers


class Cause(StrEnum):
    """Why a score may not be used: why most of its items failed, or what is wrong with the judge."""

    API_ERROR = "api_error"
    RAISED = "raised"
    UNPARSABLE = "unparsable"
    TRUNCATED = "truncated"
    MISALIGNED = "misaligned"
    NULL = "null"
    EMPTY = "empty reply"
    CUT = "cut reply"
    JUDGE_UNREAD = "judge_unread"  # none of its first verdicts could be read
    JUDGE_DEAD = "judge_dead"
    JUDGE_CONSTANT = "judge_constant"  # it says the same of all
    JUDGE_DOUBTFUL = "judge_doubtful"  # its verdicts are not what words say
    JUDGE_BY_CHANCE = "judge_by_chance"  # it agrees with people no better than chance


@dataclass(frozen=True, slots=True)
class Counts:
    """Over how many items a score is; `n_scored` is None where its metric has no value for each item."""

    n_total: int
    n_groups: int | None = None  # of a mean over groups
    n_scored: int | None = None
    n_not_applicable: int = 0
    unscored: Mapping[str, int] = field(default_factory=dict)  # by reason
    n_filled: int = 0  # of the unscored, those of which the metric makes a value
    n_ruled: int = 0  # of the scored, those that a rule decided where a judge was there to be asked
    n_answers: int = 0  # of a value over all splits of a config: answers, where `n_total` counts questions
    left_out: int = 0  # the same: answers that failed and do not count
    times: int = 0  # the same: in how many splits each question has a value, where these are as many for all

    @property
    def by_rule(self) -> bool:
        return 0 < (self.n_scored or 0) <= self.n_ruled


@dataclass(frozen=True, slots=True)
class Score:
    """A value under one profile over one slice of the items, with its interval.

    It counts as a number in calculations; as NaN where there is none, and `reason` says why.
    """

    key: ScoreKey
    profile: str
    slice: str
    value: float | None
    interval: Interval | None
    counts: Counts
    signature: str
    method: str | None = None  # how the interval was found
    over_scored: float | None = None  # the mean over the scored items alone
    status: Status = Status.OK
    of: str = ""  # what a table calls what it is of
    reason: str = ""  # a `Cause`; where it did not run, what it lacks in words

    def __float__(self) -> float:
        return nan if self.value is None else self.value

    @property
    def place(self) -> Place:
        return self.key[1:]

    @property
    def record(self) -> KeyRecord:
        return metric_record(self.key.metric).key(self.key.key)

    @property
    def label(self) -> str:
        return show_key(self.key.metric, self.key.key)

    def prose(self, text: str) -> dict[str, str]:
        return metric_record(self.key.metric).prose(text)

    @property
    def ran(self) -> bool:
        return self.status is not Status.NOT_RUN

    @property
    def n(self) -> int | None:
        """Over how many items its value is; None where the metric did not run.

        Those that failed are among them where they count. Of an invalid score: how many could be read.
        """
        counts = self.counts
        if not self.ran:
            return None
        if self.profile == "corrected" and self.status is not Status.INVALID:
            return counts.n_total - counts.n_not_applicable
        scored = counts.n_scored
        if scored is None:
            scored = 0 if self.value is None else counts.n_total
        return scored + counts.n_filled  # of an invalid one none are

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Score":
        names = ("profile", "slice", "value", "signature", "method", "over_scored")
        own: dict[str, Any] = {name: row.get(name) for name in names}
        counts = Counts(**{name: row[name] for name in _WRITTEN if name in row})
        interval = Interval(*row["interval"]) if row["interval"] else None
        key = ScoreKey(*(row[name] for name in ScoreKey._fields))
        why = row.get("not_run", "")
        status = Status.NOT_RUN if "not_run" in row else Status.OK
        return cls(key=key, interval=interval, counts=counts, status=status, reason=why, **own)

    def as_row(self) -> dict[str, Any]:
        row: dict[str, Any] = dict(zip(("benchmark", "config", "split"), self.key, strict=False))
        row |= {"slice": self.slice, "metric": self.key.metric, "key": self.key.key}
        row |= {"profile": self.profile, "value": self.value}
        row |= {"interval": [*self.interval], "method": self.method} if self.interval else {"interval": None}
        if self.status is Status.NOT_RUN:
            return {**row, "not_run": self.reason, "n_total": self.counts.n_total, "signature": self.signature}
        row |= {"over_scored": self.over_scored} if self.counts.n_groups is None else {}
        counts = {name: getattr(self.counts, name) for name in _WRITTEN}
        always = ("n_total", *_SCORED) if self.counts.n_scored is not None else ("n_total",)
        row |= {name: n for name, n in counts.items() if name in always or (name not in _SCORED and n)}
        return {**row, "signature": self.signature}


def record_of(name: str) -> KeyRecord:
    metric, _, key = name.partition(".")
    return metric_record(metric).key(key)


def find_by_phrase(scores: Sequence[Score]) -> set[Place]:
    """Return the places of values that rest on a phrase for want of the judge on whom the printed ones rest."""
    absent = {row.place for row in scores if row.status is Status.NOT_RUN}
    rests = {place: find_verdict(*place[2:]) for row in scores if (place := row.place) not in absent}
    return {at for at, verdict in rests.items() if verdict and (*at[:2], *verdict.split(".")) in absent}


SCORES = "scores.json"
PROFILES = ("official", "corrected")


class Asked(NamedTuple):
    sha256: str  # a digest of it with its gold, by which two runs know the questions that they share
    unit: str | None = None  # what hangs together with it; None where it stands alone
    # the groups of questions that it belongs to, by the name of the grouping.
    slices: Mapping[str, str] = MappingProxyType({})
    stratum: Stratum | None = None  # its part of a weighted mean; None where there is none


@dataclass(slots=True, eq=False)
class Run:
    record: RunRecord
    scores: list[Score]
    items: list[dict[str, Any]]
    reused: bool = False  # whether it was finished before
    asked: Mapping[Key, Asked] = field(default_factory=dict)  # what is kept of the questions
    folder: Path | None = None  # None where it was not kept
    texts: Mapping[tuple[Key, int], str | None] = field(default_factory=dict)  # known answers, by question and sample
    parts: Sequence[RunRecord] = ()  # of the runs that it was put together from

    @property
    def stopped(self) -> Note | None:
        """Why it could not finish; its scores are then partial."""
        row = self.record.stopped
        return Note(NoteCode.STOPPED, {"kind": row["code"], **row["params"]}) if row else None

    def whole(self, profile: str = "") -> list[Score]:
        """Return the scores over all items, under one profile or under all."""
        return [row for row in self.scores if row.slice == ALL and profile in ("", row.profile)]

    def lines(self, config: str, split: str) -> list[dict[str, Any]]:
        return [line for line in self.items if (line["config"], line["split"]) == (config, split)]


def own_profile(results: Iterable[Run]) -> str | None:
    """Return the profile that runs were made to be shown by; None where these are two."""
    found = {result.record.profile for result in results}
    return found.pop() if len(found) == 1 else None


def read_scores(folder: Path, run: RunRecord) -> list[Score]:
    """Read a run's ``scores.json``, without what follows from the run and its items; raises as `check_stage` does."""
    check_stage(folder, run, SCORES)
    try:
        return [Score.from_row(row) for row in parse_json((folder / SCORES).read_bytes(), folder / SCORES)]
    except (KeyError, TypeError, ValueError):
        raise QuadragError(f"{folder / SCORES} is of another form; make the run again, or score its answers") from None

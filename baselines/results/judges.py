"""What is odd of a judge's verdicts, so that the values that rest on them say less than they seem to.

Verdicts that are one and the same, however they are worded, may be right each time, or may be said of any answer. Those
that are so nearly always, or far from what words say on average, and those of answers that words alone find right, are
held against what words say. Nobody is asked here.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import fmean
from typing import Any, TypeAlias

from quadrag.metric_record import KeyRecord, metric_record
from quadrag.stats import NOT_APPLICABLE

from ..core.benchmark import MetricUse
from ..core.result import PROFILES
from .items import Lines
from .note import Note, NoteCode

_LEAST, _FEW, _MANY = 2, 5, 20  # verdicts: that can be the same; below, that may be chance; that can be nearly so
_SOME = 10  # verdicts, of which half or more are hardly as wrong by chance as words alone are at most
_MOSTLY = 0.95  # of the verdicts
_FAR = 0.3  # between the mean of verdicts and of what words alone say
APART = 0.5  # the same: beyond it nobody can believe both; where people labelled answers it is up to 0.23
TO_CHECK, _OFTEN = 3, 0.5  # answers that words find right and a judge wrong, and their share: too many to be chance
_ALL = 2  # the same, where words find no more of them right
_AGAINST = 0.2  # by how much less often right is said of these than of the others: good judges on 10 answers, 1 in 1000

Verdicts: TypeAlias = Sequence[float | str | None]  # of answers; None where nothing was said


class Doubt(StrEnum):
    """In what verdicts are not what words say."""

    REFUSED = "refused"  # many are against answers that words find right, as an inverted judge's are
    AGAINST = "against"  # fewer find an answer right where words do than where these do not
    FAR = "far"  # their mean is far from what words say on average


@dataclass(frozen=True)
class Said:
    """What a judge said by one key of a metric, of a run's answers or of labelled ones."""

    judge: str
    use: MetricUse
    name: str  # ``truthfulness.accuracy``
    verdicts: Verdicts = field(repr=False)

    @property
    def counts(self) -> Counter[float | str]:
        """How often it said what."""
        return Counter(verdict for verdict in self.verdicts if verdict is not None)

    @property
    def is_alike(self) -> bool:
        """Whether it said one and the same more than once, and nothing else."""
        return len(self.counts) == 1 and self.counts.total() >= _LEAST


def read_verdicts(lines: Lines, name: str) -> list[float | str | None]:
    """Read a metric's verdicts from its items: by `corrected`, but where a rule decides by that profile alone."""
    found: list[float | str | None] = []
    for line in lines:
        entry = line.get(name, {})
        asked = [profile for profile in PROFILES if profile in entry and profile not in entry.get("ruled", ())]
        reasons = entry.get("reason", {})
        found.append(read_verdict(name, reasons.get(asked[-1], entry[asked[-1]])) if asked else None)
    return found


def read_verdict(name: str, reading: float | str | None) -> float | str | None:
    """Return what a judge said: a value or, where it may say that a key does not apply, that; else None."""
    may = None in _record(name).grades.values()
    return None if isinstance(reading, str) and not (may and reading == NOT_APPLICABLE) else reading


def check_judges(said: Sequence[Said], lines: Lines) -> list[Note]:
    """Note what is odd of the verdicts on answers whose items are given."""
    notes = []
    for judge in dict.fromkeys(each.judge for each in said):
        if alike := [each for each in said if each.judge == judge and each.is_alike]:
            # Where others on its panel tell answers apart, so does the mean.
            keys = [each.name for each in alike if len({*read_verdicts(lines, each.name)} - {None}) == 1]
            notes.append(note_constant(alike, keys))
    for each in said:
        doubt = _find_against(each, lines) or _find_far(each, lines)
        if doubt:
            apart = doubt["doubt"] != Doubt.FAR or doubt["apart"]
            keys = [f"{each.use.module}.{key}" for key in each.use.judged if apart]
            notes.append(
                Note(NoteCode.JUDGE_DOUBTFUL, {"judge": each.judge, "score": each.name, **doubt, "keys": keys})
            )
    return notes


def note_constant(alike: Sequence[Said], keys: Sequence[str]) -> Note:
    """Note that all verdicts of a judge are one and the same by each of some keys."""
    asked: dict[MetricUse, int] = {}  # one verdict may have several keys
    for each in alike:
        asked[each.use] = max(asked.get(each.use, 0), each.counts.total())
    verdicts = {each.name: next(iter(each.counts)) for each in alike}
    params = {"judge": alike[0].judge, "count": sum(asked.values()), "few": max(asked.values()) < _FEW}
    return Note(NoteCode.JUDGE_CONSTANT, {**params, "verdicts": verdicts, "keys": list(keys)})


def _find_against(said: Said, lines: Lines) -> dict[str, Any] | None:
    """Find verdicts against answers that words find right: many, or more than against other answers."""
    record = _record(said.name)
    held, others = _part(said.verdicts, record, lines)
    wrong, right = record.range[0] or 0.0, record.grades.get("right", 0.0) or 1.0
    refused = held.count(wrong)
    if refused >= max(_ALL if refused == len(held) else TO_CHECK, _OFTEN * len(held)):
        return {"doubt": Doubt.REFUSED.value, "verdict": wrong, "n": refused, "of": len(held)}
    n, m = held.count(right), others.count(right)
    if "right" not in record.grades or min(len(held), len(others)) < TO_CHECK:
        return None
    counts = {"n": n, "of": len(held), "m": m, "of_others": len(others)}
    return {"doubt": Doubt.AGAINST.value, **counts} if m / len(others) - n / len(held) >= _AGAINST else None


def _part(verdicts: Verdicts, record: KeyRecord, lines: Lines) -> tuple[list[float | str], list[float | str]]:
    """Part verdicts into those of answers that words alone find right, and of others."""
    parts: tuple[list[float | str], list[float | str]] = ([], [])
    for line, verdict in zip(lines, verdicts, strict=True):
        if verdict is not None:
            held = any(line.get(name, {}).get(PROFILES[0]) == 1 for name in record.words)
            parts[not held].append(verdict)
    return parts


def _find_far(said: Said, lines: Lines) -> dict[str, Any] | None:
    """Find verdicts that are far from what words alone say on average; less far, nearly always the same too."""
    total = said.counts.total()
    ((verdict, n),) = said.counts.most_common(1) or [("", 0)]
    read = [(line, value) for line, value in zip(lines, said.verdicts, strict=True) if isinstance(value, int | float)]
    by_words: dict[str, list[float]] = {}
    for name in _record(said.name).words:
        values = [value for line, _ in read if (value := line.get(name, {}).get(PROFILES[0])) is not None]
        by_words |= {name: values} if values else {}
    if not (_SOME <= total > n and by_words):
        return None
    mean = fmean(value for _, value in read)
    name, values = min(by_words.items(), key=lambda pair: abs(mean - fmean(pair[1])))
    gap, graded = abs(mean - fmean(values)), not {*values} <= {0, 1}
    # Other words than those that are sought may mean the same: a judge sees it.
    apart = gap >= APART and not _record(name).phrase and not graded
    if not (apart or (gap >= _FAR and total >= _MANY and n >= _MOSTLY * total)):
        return None
    words = {"words": name, "right": values.count(1), "known": len(values), "share": fmean(values), "graded": graded}
    return {"doubt": Doubt.FAR.value, "verdict": verdict, "n": n, "of": total, **words, "apart": apart}


def _record(name: str) -> KeyRecord:
    metric, _, key = name.partition(".")
    return metric_record(metric).key(key)

"""What is odd of a judge's verdicts, so that the values that rest on them say less than they seem to.

Verdicts that are one and the same, however they are worded, may be right each time, or may be said of any answer. Those
that are so nearly always, or far from what words say on average, and those of answers that words alone find right, are
held against what words say. Nobody is asked here, but where several judges on a panel are to be told apart.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

from quadrag.metric_record import KeyRecord, metric_record, show_key
from quadrag.records import Answer, Key, Question
from quadrag.stats import NOT_APPLICABLE

from ..core.benchmark import Benchmark, MetricUse
from ..core.result import PROFILES
from ..core.task import Task
from .modules import Judge, ScoringInputs, compute
from .score import known_conditions

_LEAST, _FEW, _MANY = 2, 5, 20  # verdicts: that can be the same; below, that may be chance; that can be nearly so
_SOME = 10  # verdicts, of which half or more are hardly as wrong by chance as words alone are at most
_MOSTLY = 0.95  # of the verdicts
_FAR = 0.3  # between the mean of verdicts and of what words alone say
APART = 0.5  # the same: beyond it nobody can believe both; where people labelled answers it is up to 0.23
TO_CHECK, _OFTEN = 3, 0.5  # answers that words find right and a judge wrong, and their share: too many to be chance
_ALL = 2  # the same, where words find no more of them right
_AGAINST = 0.2  # by how much less often right is said of these than of the others: good judges on 10 answers, 1 in 1000
_SEE = "see who is right with `quadrag label`, then `quadrag certify-judge`"

Lines = Sequence[Mapping[str, Any]]  # of ``items.jsonl``
Verdicts = list[float | str | None]


class Judged(NamedTuple):
    """Answers that were judged: what was asked of whom, and the items that came of it."""

    benchmark: Benchmark
    questions: Mapping[Key, Question]
    answers: Sequence[Answer]
    lines: Lines
    task: Task
    given: ScoringInputs

    def ask(self, judge: Judge) -> "Judged":
        """Return the same with one judge alone."""
        return self._replace(given=replace(self.given, judges=[judge]))

    def compute(
        self, metric: MetricUse, answers: Sequence[Answer], profile: str = PROFILES[-1]
    ) -> Sequence[Mapping[str, Any]]:
        """Return a metric's row of each of some answers, by one profile."""
        found = compute(self.benchmark, metric, self.questions, answers, profile, self.task.conditions, self.given)
        rows: Sequence[Mapping[str, Any]] = found["per_item"]
        return rows


class Oddities(NamedTuple):
    """Lines about verdicts that are all the same, and about doubtful ones, each with the values that they discredit."""

    constant: dict[str, list[str]]
    doubtful: dict[str, list[str]]


class Said(NamedTuple):
    """What a judge said by one key of a metric, of a run's answers or of labelled ones; None where nothing."""

    judge: str
    use: MetricUse
    name: str  # ``truthfulness.accuracy``
    verdicts: Verdicts

    @property
    def counts(self) -> Counter[float | str]:
        """How often it said what."""
        return Counter(one for one in self.verdicts if one is not None)

    @property
    def is_alike(self) -> bool:
        """Whether it said one and the same more than once, and nothing else."""
        return len(self.counts) == 1 and self.counts.total() >= _LEAST


class _Far(NamedTuple):
    """What is told of verdicts that are far from what words say, and whether so far that nobody can believe both."""

    told: str
    apart: bool


def find_oddities(judged: Judged) -> Oddities:
    """Find what is odd of the verdicts on answers."""
    said = [*_collect(judged)]
    return Oddities(_tell_constant(said, judged.lines), dict(_tell_doubtful(said, judged.lines)))


def count_held(lines: Lines, name: str) -> tuple[int, int]:
    """Count the judged answers that words alone find right, which check a judge, and all judged; 0, 0 of others."""
    record, verdicts = _record(name), _read_lines(lines, name)
    if not record.words or _record(record.words[0]).phrase:
        return 0, 0
    held, others = _part(verdicts, record, lines)
    return len(held), len(held) + len(others)


def _collect(judged: Judged) -> Iterator[Said]:
    """Yield what each judge said; of several on a panel the items hold the mean alone, so each is read by itself."""
    lines, task, given = judged.lines, judged.task, judged.given
    metrics = judged.benchmark.metrics(task.config, known_conditions(task.conditions, given))
    several = len(given.judges) > 1
    for place, judge in enumerate(given.judges):
        for metric in (one for one in metrics if one.asks(place, len(given.judges))):
            name = str(getattr(judge, "model", None))
            rows: Sequence[Mapping[str, Any]] = []
            if metric.panel and several:
                rows = judged.ask(judge).compute(metric, judged.answers)
            for key in metric.judged:
                named = f"{metric.module}.{key}"
                verdicts = [_read_row(row, named) for row in rows] if rows else _read_lines(lines, named)
                yield Said(name, metric, named, verdicts)


def _read_lines(lines: Lines, name: str) -> Verdicts:
    """Read a metric's verdicts from its items: by `corrected`, but where a rule decides by that profile alone."""
    found = []
    for line in lines:
        entry = line.get(name, {})
        asked = [profile for profile in PROFILES if profile in entry and profile not in entry.get("ruled", ())]
        reasons = entry.get("reason", {})
        found.append(_read(name, reasons.get(asked[-1], entry[asked[-1]])) if asked else None)
    return found


def _read_row(row: Mapping[str, Any], name: str) -> float | str | None:
    key = name.partition(".")[2]
    return None if row.get("ruled") else _read(name, row["reasons"].get(key, row.get(key)))


def _read(name: str, reading: float | str | None) -> float | str | None:
    """Return what a judge said: a value or, where it may say that a key does not apply, that; else None."""
    may = None in _record(name).grades.values()
    return None if isinstance(reading, str) and not (may and reading == NOT_APPLICABLE) else reading


def _tell_constant(said: Sequence[Said], lines: Lines) -> dict[str, list[str]]:
    told = {}
    for judge in dict.fromkeys(one.judge for one in said):
        if alike := [one for one in said if one.judge == judge and one.is_alike]:
            # Where others on its panel tell answers apart, so does the mean.
            names = [one.name for one in alike if len({*_read_lines(lines, one.name)} - {None}) == 1]
            told[tell_alike(alike)] = names
    return told


def tell_alike(alike: Sequence[Said]) -> str:
    """Say of a judge how many verdicts are one and the same by each key, and what that may mean."""
    judge = alike[0].judge
    asked: dict[MetricUse, int] = {}  # one verdict may have several keys
    for one in alike:
        asked[one.use] = max(asked.get(one.use, 0), one.counts.total())
    count = sum(asked.values())
    values = ", ".join(f"{_show(one.name)} {_write(next(iter(one.counts)))}" for one in alike)
    if max(asked.values()) < _FEW:
        line = f"The {count} verdicts of the judge {judge} are the same, {values}"
        return f"{line}: too few to tell whether it says so of any answer"
    line = f"All {count} verdicts of the judge {judge} are the same, {values}"
    return f"{line}: all answers may be so, or it says so of any"


def _tell_doubtful(said: Sequence[Said], lines: Lines) -> Iterator[tuple[str, list[str]]]:
    """Say of verdicts that they are not what words alone say of the same answers, and name what they discredit."""
    for one in said:
        record, all_keys = _record(one.name), [f"{one.use.module}.{key}" for key in one.use.judged]
        if told := _tell_refused(one, record, lines) or _tell_against(one, record, lines):
            yield f"The judge {one.judge} {told}: {_SEE}", all_keys
        elif far := _find_far(one, record, lines):
            yield f"The judge {one.judge} {far.told}: {_SEE}", all_keys if far.apart else []


def _tell_refused(one: Said, record: KeyRecord, lines: Lines) -> str:
    """Say of verdicts that many are against answers that words alone find right, as an inverted judge's are."""
    wrong = record.range[0] or 0.0
    right, _ = _part(one.verdicts, record, lines)
    refused = right.count(wrong)
    if refused < max(_ALL if refused == len(right) else TO_CHECK, _OFTEN * len(right)):
        return ""
    held = "the phrase asked for" if _record(record.words[0]).phrase else "an accepted answer word for word"
    return f"gives {_show(one.name)} {_write(wrong)} to {refused} of {len(right)} answers that hold {held}"


def _tell_against(one: Said, record: KeyRecord, lines: Lines) -> str:
    """Say of verdicts that fewer find an answer right where words alone do than where these do not."""
    parts = _part(one.verdicts, record, lines)
    if "right" not in record.grades or min(map(len, parts)) < TO_CHECK:
        return ""
    (said, n), (others, m) = ((part.count(record.grades["right"] or 1.0), len(part)) for part in parts)
    if others / m - said / n < _AGAINST:
        return ""
    return f"calls {said} of {n} answers right that hold an accepted answer word for word, and {others} of {m} others"


def _part(verdicts: Verdicts, record: KeyRecord, lines: Lines) -> tuple[list[float | str], list[float | str]]:
    parts: tuple[list[float | str], list[float | str]] = ([], [])
    for line, verdict in zip(lines, verdicts, strict=True):
        if verdict is not None:
            held = any(line.get(name, {}).get(PROFILES[0]) == 1 for name in record.words)
            parts[not held].append(verdict)
    return parts


def _find_far(one: Said, record: KeyRecord, lines: Lines) -> _Far | None:
    """Find out whether verdicts are far from what words alone say on average; less far, nearly always the same too."""
    total = one.counts.total()
    ((verdict, count),) = one.counts.most_common(1) or [("", 0)]
    if not _SOME <= total > count:
        return None
    there = [(line, said) for line, said in zip(lines, one.verdicts, strict=True) if isinstance(said, int | float)]
    mean = fmean(said for _, said in there)
    found = {}
    for name in record.words:
        values = [value for line, _ in there if (value := line.get(name, {}).get(PROFILES[0])) is not None]
        if values:
            found[name] = values
    if not found:
        return None
    name, values = min(found.items(), key=lambda pair: abs(mean - fmean(pair[1])))
    gap = abs(mean - fmean(values))
    phrase, graded = _record(name).phrase, {*values} - {0, 1}
    # Other words than those that are sought may mean the same: a judge sees it.
    apart = gap >= APART and not phrase and not graded
    if not (apart or (gap >= _FAR and total >= _MANY and count >= _MOSTLY * total)):
        return None
    by_words = f"{values.count(1)} of {len(values)} are right by words alone"
    if phrase:
        by_words = f"{values.count(1)} of {len(values)} hold the phrase asked for"
    elif graded:
        by_words = f"words alone find them {fmean(values):.0%} right on average"
    said = f"gives {_show(one.name)} {_write(verdict)} to {count} of {total} answers"
    if "right" in record.grades:
        grade = next(grade for grade, value in record.grades.items() if value == verdict)
        said = f"calls {count} of {total} answers {grade}"
    return _Far(f"{said}; {by_words} ({_show(name)})", apart)


def _record(name: str) -> KeyRecord:
    metric, _, key = name.partition(".")
    return metric_record(metric).key(key)


def _show(name: str) -> str:
    return show_key(*name.split(".", 1))


def _write(verdict: float | str) -> str:
    return verdict.replace("_", " ") if isinstance(verdict, str) else f"{verdict:g}"

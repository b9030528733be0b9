"""A cascade: judges in an order, each of which decides an answer or passes it on; the last one decides what is left.

A stage decides where its verdict can be read and is of a grade that it is right about often enough, which labels say
(`certify/choose.py`). The same `decide` goes over labels with verdicts that are there, and over a run's answers, where
it asks. A call that failed passes nothing on: it is asked for again.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from quadrag.chat.reply import Failure
from quadrag.errors import QuadragError
from quadrag.metric_record import metric_record
from quadrag.records import Answer, Key, Question
from quadrag.stats import NOT_APPLICABLE

from ..core.benchmark import Benchmark, MetricUse
from ..core.task import Task
from .modules import CachedJudge, Judge, ScoringInputs, compute
from .probe import Unread, find_unread
from .rules import RULE, judge_by_rule

PROFILE = "official"  # how replies are read: what that cannot read is passed on, so that it has a value by that profile
_FAILED = ("api_error", "raised")
_OPEN = Failure("api_error", "not asked yet")
T = TypeVar("T")


class Verdict(NamedTuple):
    """What a stage says of an answer: no grade where it cannot be read, or where the call failed."""

    grade: str | None
    confidence: float = 1.0
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """A judge and the grades that it decides, each with the confidence that it takes; all others are passed on."""

    judge: str
    decides: Mapping[str, float]

    def is_sure(self, verdict: Verdict) -> bool:
        """Tell whether the stage decides where it says this."""
        return verdict.grade is not None and verdict.confidence >= self.decides.get(verdict.grade, math.inf)

    @property
    def name(self) -> str:
        """The judge with what it decides, as ``small[right]``."""
        said = ", ".join(f"{grade} from {least:g}" if least else grade for grade, least in self.decides.items())
        return f"{self.judge}[{said}]"


@dataclass(frozen=True, slots=True)
class Cascade:
    """Stages for one value of a metric; what the last decides is all that is left."""

    metric: str
    key: str
    stages: tuple[Stage, ...]

    @property
    def name(self) -> str:
        """What signatures call it, as ``cascade(rule:bounded[right] > small[wrong] > large)``, less idle stages."""
        *before, last = self.stages
        return f"cascade({' > '.join([*(stage.name for stage in before if stage.decides), last.judge])})"

    @property
    def models(self) -> list[str]:
        """The judges that are asked, in their order; rules are not."""
        return [stage.judge for stage in self.stages if not stage.judge.startswith(RULE)]

    def passing_on(self) -> "Cascade":
        """Return the same where no stage but the last is ever sure, as while what judges say is not known."""
        unsure = [replace(stage, decides=dict.fromkeys(stage.decides, math.inf)) for stage in self.stages[:-1]]
        return replace(self, stages=(*unsure, self.stages[-1]))


def decide(
    stages: Sequence[Stage], items: Sequence[T], ask: Callable[[Stage, Sequence[T]], Sequence[Verdict]]
) -> list[tuple[str, Verdict]]:
    """Take items through the stages.

    Args:
        stages: the last decides whatever reaches it.
        items: n of them.
        ask: returns what a stage says of the items that reach it.

    Returns:
        For each item the judge that decided it, and its verdict.
    """
    found: dict[int, tuple[str, Verdict]] = {}
    left = list(range(len(items)))
    for stage in stages:
        if not left or (stage is not stages[-1] and not stage.decides):
            continue
        for at, verdict in zip(left, ask(stage, [items[at] for at in left]), strict=True):
            if stage is stages[-1] or verdict.failed or stage.is_sure(verdict):
                found[at] = (stage.judge, verdict)
        left = [at for at in left if at not in found]
    return [found[at] for at in range(len(items))]


def read_grade(grades: Mapping[str, float | None], key: str, row: Mapping[str, Any]) -> str | None:
    """Return the grade that a metric's row of an item stands for; a value that stands for a failure is none."""
    why = row["reasons"].get(key)
    if why is not None and why != NOT_APPLICABLE:
        return None
    value = None if why else row[key]
    return next((grade for grade, worth in grades.items() if worth == value), None)


class Asked(NamedTuple):
    """What came of asking a run's cascades.

    Attributes:
        names: what signatures call the judge, by metric and keys.
        decided: how many answers ended at each judge, by metric and key; a failed call is none of them.
        unread: the judge that is asked no further, since none of its first verdicts can be read.
    """

    names: dict[tuple[str, tuple[str, ...]], str]
    decided: dict[str, dict[str, int]]
    unread: Unread | None = None


class _UnreadError(Exception):
    """Nobody is asked further."""


def ask_cascades(
    cascades: Sequence[Cascade],
    judges: Sequence[CachedJudge],
    benchmark: Benchmark,
    questions: Mapping[Key, Question],
    answers: Sequence[Answer],
    task: Task,
    given: ScoringInputs,
    probe: bool = True,
    estimated: bool = False,
) -> Asked:
    """Ask judges in their order about a run's answers; what each chat came to is then what the last of them says.

    Args:
        cascades: those of some metrics; of any other metric every grade that can be read is decided.
        judges: in their order.
        benchmark: of the questions.
        questions: by key.
        answers: of one task.
        task: what was run.
        given: what metrics need beside judges.
        probe: whether a judge of whose first verdicts none can be read is asked no further.
        estimated: whether nobody is asked, and every judge is taken to be needed for all.

    Raises:
        QuadragError: a judge is dead, or a rule would see other answers than judges.
    """
    asked = Asked({}, {})
    replies: dict[str, Any] = {}
    tried: set[str] = set()
    for metric in benchmark.metrics(task.config, task.conditions):
        cascade = _cascade_of(metric, cascades, judges)
        if cascade is None:
            continue
        if estimated:
            cascade = cascade.passing_on()
        run = _Run(cascade, benchmark, metric, questions, task, given)
        here = run.find_open(answers)

        def ask(stage: Stage, left: Sequence[Answer], run: _Run = run) -> list[Verdict]:
            if stage.judge.startswith(RULE):
                return run.rule(stage, left, replies)
            judge = next(one for one in judges if one.model == stage.judge)
            if probe and stage.judge not in tried:
                tried.add(stage.judge)
                if unread := run.probe(judge, left):
                    raise _UnreadError(unread)
            return run.read(judge, left, replies)

        try:
            found = decide(cascade.stages, here, ask)
        except _UnreadError as stop:
            return Asked({}, {}, *stop.args)
        counts = Counter(judge for judge, verdict in found if not verdict.failed)
        models = [stage.judge for stage in cascade.stages if stage.decides or stage is cascade.stages[-1]]
        asked.decided[f"{metric.module}.{cascade.key}"] = {judge: counts[judge] for judge in models}
        asked.names[metric.module, metric.keys] = cascade.name
    judges[-1].verdicts.update(replies)
    return asked


def _cascade_of(metric: MetricUse, cascades: Sequence[Cascade], judges: Sequence[CachedJudge]) -> Cascade | None:
    """Return a metric's cascade, else one that decides all that can be read; None where a metric has no grades."""
    for one in cascades:
        if one.metric == metric.module and one.key in metric.judged:
            return one
    record = metric_record(metric.module)
    for key in metric.judged:
        if grades := record.key(key).grades:
            names = [str(judge.model) for judge in judges]
            stages = [Stage(name, dict.fromkeys(grades, 0.0)) for name in names[:-1]]
            return Cascade(metric.module, key, (*stages, Stage(names[-1], {})))
    return None


@dataclass(frozen=True, slots=True)
class _Run:
    """One metric of a run, and its cascade."""

    cascade: Cascade
    benchmark: Benchmark
    metric: MetricUse
    questions: Mapping[Key, Question]
    task: Task
    given: ScoringInputs

    def find_open(self, answers: Sequence[Answer]) -> list[Answer]:
        """Return the answers that a judge is asked about."""
        rows = self._compute(lambda batch: [_OPEN] * len(batch), answers)
        key = self.cascade.key
        return [
            answer
            for answer, row in zip(answers, rows, strict=True)
            if answer.answer is not None and row["reasons"].get(key) == _OPEN.reason
        ]

    def probe(self, judge: CachedJudge, answers: Sequence[Answer]) -> Unread | None:
        """Return the judge, where none of its first verdicts can be read."""
        alone = replace(self.benchmark, metrics=lambda config, conditions: [self.metric])
        return find_unread(alone, self.questions, answers, self.task, self._with(judge))

    def read(self, judge: CachedJudge, answers: Sequence[Answer], replies: dict[str, Any]) -> list[Verdict]:
        """Ask a judge about answers; its replies are put among those that count."""
        own = CachedJudge(judge)
        grades, key = metric_record(self.metric.module).key(self.cascade.key).grades, self.cascade.key
        rows = self._compute(own, answers)
        replies.update(own.verdicts)
        return [Verdict(read_grade(grades, key, row), failed=row["reasons"].get(key) in _FAILED) for row in rows]

    def rule(self, stage: Stage, answers: Sequence[Answer], replies: dict[str, Any]) -> list[Verdict]:
        """Judge answers by a rule; what it decides is said in words that the metric reads so."""
        asked = [self.questions[answer.key] for answer in answers]
        if self.benchmark.keywords(self.metric, asked, self.task.conditions).get("tokenizer") is not None:
            raise QuadragError(
                f"{stage.judge} reads whole answers, and judges see them cut (--option trim); leave the option out, "
                "or certify a cascade without a rule"
            )
        said = [
            judge_by_rule(
                stage.judge,
                self.benchmark.parse(answer.config, answer.answer or ""),
                self.metric.shape(question.references),
            )
            for answer, question in zip(answers, asked, strict=True)
        ]
        for grade, reply in metric_record(self.metric.module).key(self.cascade.key).by_rule.items():
            own = CachedJudge(lambda batch, reply=reply: [reply] * len(batch))  # type: ignore[misc]
            decided = [answer for answer, one in zip(answers, said, strict=True) if one == grade]
            if grade in stage.decides and decided:
                self._compute(own, decided)
                replies.update(own.verdicts)
        return [Verdict(grade) for grade in said]

    def _compute(self, judge: Judge, answers: Sequence[Answer]) -> Sequence[Mapping[str, Any]]:
        rows: Sequence[Mapping[str, Any]] = compute(
            self.benchmark, self.metric, self.questions, answers, PROFILE, self.task.conditions, self._with(judge)
        )["per_item"]
        return rows

    def _with(self, judge: Judge) -> ScoringInputs:
        return ScoringInputs([judge], self.given.embed, self.given.passages)

"""What one answer is worth: the scorers on one question at a time, which hand out what they want a judge asked."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from quadrag.baselines.core.benchmark import MetricUse
from quadrag.baselines.core.parts import Conditions
from quadrag.baselines.scoring.drive import Request, ScoringInputs, Work
from quadrag.baselines.systems.system import make_answer
from quadrag.harnesses.examination import Examination
from quadrag.harnesses.inspect.metrics import NOT_RUN
from quadrag.records import Question
from quadrag.stats import NOT_APPLICABLE


@dataclass(frozen=True, slots=True)
class Marks:
    """The values of one module by key, NaN where one does not count; why a key has none."""

    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


class Marking:
    """An examination whose answers come one by one."""

    def __init__(self, examination: Examination) -> None:
        """Take an examination; where it shows passages that were searched for, they are judged and ranked too."""
        self.examination = examination
        self._place = {question.id: place for place, question in enumerate(examination.questions)}
        most = max(map(len, examination.passages.values()), default=0) if examination.task.searches else 0
        self._conditions: Conditions = replace(examination.task.conditions, top_k=most)
        self._passages = examination.passages if most else None
        self._keywords: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}
        self._metrics: dict[str, list[MetricUse]] = {}
        for metric in examination.benchmark.metrics(examination.task.config, self._conditions):
            self._metrics.setdefault(metric.module, []).append(metric)

    @property
    def modules(self) -> list[str]:
        """The names of the modules, in the order of `quadrag run`."""
        return list(self._metrics)

    def mark(
        self, module: str, ident: str, text: str | None, state: str, graders: int
    ) -> Generator[list[Request], list[Any], Marks]:
        """Mark a reply, None where there is none, by a module: yield what graders are to be asked, round by round."""
        question = self.examination.questions[self._place[ident]]
        answer = make_answer(question, 0, text, state=state)
        examined, metrics = self.examination, self._metrics[module]
        inputs = ScoringInputs([_silent] * graders, passages=self._passages)
        single: Any = SimpleNamespace(parse=examined.benchmark.parse, keywords=partial(self._keywords_of, question))
        asked, profiles = {question.key: question}, [examined.profile]
        marks = Marks()
        for metric in metrics:
            work = Work(single, metric, asked, [answer], self._conditions, inputs, profiles)
            (row,) = yield from work.rounds()
            self._enter(metric, row[examined.profile], bool(graders), marks)
        return marks

    def _enter(self, metric: MetricUse, row: Mapping[str, Any], judged: bool, marks: Marks) -> None:
        for key in metric.keys:
            lacks = metric.find_lacking(key, judged, False)
            if key in metric.embedded or (key not in row and not lacks):
                continue  # there is no embedding here, and means weighted by groups are none of single items
            reason = f"{NOT_RUN}: {lacks}" if lacks else row["reasons"].get(key)
            if reason:
                marks.reasons[key] = reason
            value = None if lacks else row[key]
            if value is None:
                counts = self.examination.profile == "corrected" and not lacks and reason != NOT_APPLICABLE
                value = metric.record(key).worst if counts else math.nan
            marks.values[key] = value

    def _keywords_of(self, question: Question, metric: MetricUse, *_: Any) -> dict[str, Any]:
        """Return a metric's keywords for one question; what they are read from is read once."""
        which, questions = (metric.module, metric.keys), self.examination.questions
        if which not in self._keywords:
            self._keywords[which] = self.examination.benchmark.keywords(metric, questions, self._conditions)
        place = self._place[question.id]
        found = dict(self._keywords[which])
        for name, value in found.items():
            if isinstance(value, list) and len(value) == len(questions) and not metric.ranks:
                found[name] = [value[place]]
            elif name == "question_cache" and isinstance(value, Mapping):
                # The module reads all that it is given, and signs it.
                found[name] = {question.id: value[question.id]} if question.id in value else {}
        return found


def _silent(batch: Any) -> Any:
    """Stand for a grader, which `mark` leaves to be asked by who takes its rounds."""
    raise NotImplementedError

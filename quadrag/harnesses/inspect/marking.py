"""What one answer is worth: the evaluate modules on one question at a time, and a judge who is asked in between.

The modules ask a judge in the middle of their work, and wait. Inspect's models answer only where nothing waits. So a
module is begun with what is known of the judge; where it asks for more it is stopped, the question is put to the model,
and it is begun anew. It draws nothing, so it comes by again with the same questions.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from quadrag.baselines.core.benchmark import MetricUse
from quadrag.baselines.core.parts import Conditions
from quadrag.baselines.scoring.modules import ScoringInputs, compute
from quadrag.baselines.systems.system import make_answer
from quadrag.harnesses.examination import Examination
from quadrag.harnesses.inspect.metrics import NOT_RUN
from quadrag.records import Answer, Question, dumps
from quadrag.stats import NOT_APPLICABLE

Chat = list[dict[str, str]]
# One at a time: the modules' libraries are not made for threads, and all of it is work of the processor.
_TURN = threading.Lock()


class MissingReplies(Exception):
    """A module asks its judge what nobody has asked yet."""

    def __init__(self, judge: ReplayJudge, chats: list[Chat]) -> None:
        super().__init__(f"{len(chats)} requests")
        self.judge = judge
        self.chats = chats


class ReplayJudge:
    """A judge as the modules take it, which gives the replies entered so far: texts, or what has a `reason`."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.replies: dict[str, Any] = {}

    def __call__(self, batch: list[Chat]) -> list[Any]:
        """Return the replies to a batch, or raise MissingReplies."""
        keys = [dumps(chat) for chat in batch]
        missing = {key: chat for key, chat in zip(keys, batch, strict=True) if key not in self.replies}
        if missing:
            raise MissingReplies(self, list(missing.values()))
        return [self.replies[key] for key in keys]

    def enter(self, chat: Chat, reply: Any) -> None:
        """Keep the reply to a chat."""
        self.replies[dumps(chat)] = reply


@dataclass(frozen=True, slots=True)
class Marks:
    """The values of one module by key, NaN where one does not count; why a key has none; which are computed."""

    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)


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
        self, module: str, ident: str, text: str | None, state: str, judges: Sequence[ReplayJudge], marks: Marks
    ) -> list[MissingReplies]:
        """Compute what a module says of a reply, None where there is none, as far as the judges' replies reach.

        What is in `marks` is not computed again; the rest is entered. Returned is what the judges are to be asked
        before the next call; [] where the marks are complete.
        """
        question = self.examination.questions[self._place[ident]]
        answer = make_answer(question, 0, text, state=state)
        missing = []
        with _TURN:
            for metric in self._metrics[module]:
                if marks.done.issuperset(metric.keys):
                    continue
                try:
                    self._mark(metric, question, answer, judges, marks)
                    marks.done.update(metric.keys)
                except MissingReplies as replies:
                    missing.append(replies)
        return missing

    def _mark(
        self, metric: MetricUse, question: Question, answer: Answer, judges: Sequence[ReplayJudge], marks: Marks
    ) -> None:
        inputs = ScoringInputs(judges=judges, passages=self._passages)
        examined = self.examination
        single: Any = SimpleNamespace(parse=examined.benchmark.parse, keywords=partial(self._keywords_of, question))
        result = compute(single, metric, {question.key: question}, [answer], examined.profile, self._conditions, inputs)
        (row,) = result["per_item"]
        for key in metric.keys:
            lacks = metric.find_lacking(key, bool(judges), False)
            if key in metric.embedded or (key not in row and not lacks):
                continue  # there is no embedding here, and means weighted by groups are none of single items
            reason = f"{NOT_RUN}: {lacks}" if lacks else row["reasons"].get(key)
            if reason:
                marks.reasons[key] = reason
            value = None if lacks else row[key]
            if value is None:
                counts = examined.profile == "corrected" and not lacks and reason != NOT_APPLICABLE
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

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
from typing import Any

from quadrag.baselines.benchmark import Conditions, Metric
from quadrag.baselines.judging import check_judges
from quadrag.baselines.score import Aids, compute
from quadrag.harnesses.examination import Examination
from quadrag.harnesses.inspect.metrics import NOT_APPLICABLE, NOT_RUN
from quadrag.records import Answer, Question, dumps

Chat = list[dict[str, str]]
# One at a time: the modules' libraries are not made for threads, and all of it is work of the processor.
_TURN = threading.Lock()


class Unheard(Exception):
    """A module asks what its judge has not been asked; `lacking` are the chats."""

    def __init__(self, judge: Heard, lacking: list[Chat]) -> None:
        super().__init__(f"{len(lacking)} requests")
        self.judge = judge
        self.lacking = lacking


class Heard:
    """A judge as the modules take it, which knows the replies given so far: texts, or what has a `reason`."""

    def __init__(self, model: str) -> None:
        """Start with none; `model` names the judge."""
        self.model = model
        self.replies: dict[str, Any] = {}

    def __call__(self, batch: list[Chat]) -> list[Any]:
        """Return what is known.

        Raises:
            Unheard: something is not.
        """
        keys = [dumps(chat) for chat in batch]
        lacking = {key: chat for key, chat in zip(keys, batch, strict=True) if key not in self.replies}
        if lacking:
            raise Unheard(self, list(lacking.values()))
        return [self.replies[key] for key in keys]

    def hear(self, chat: Chat, reply: Any) -> None:
        """Take what the judge replied to a chat."""
        self.replies[dumps(chat)] = reply


@dataclass(frozen=True, slots=True)
class Marks:
    """The values of one module by key, NaN where one does not count, and by key the reason where it has none.

    `done` are the keys that have been seen to, those that have neither among them.
    """

    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)


class Marking:
    """An examination whose answers come one by one."""

    def __init__(self, examination: Examination) -> None:
        """Take an examination; where it shows passages that were searched for, they are judged and ranked too."""
        self._task = examination.task
        self._profile = examination.profile
        self._benchmark = examination.benchmark
        self._questions = list(examination.questions)
        self._place = {question.id: place for place, question in enumerate(self._questions)}
        conditions = examination.task.conditions
        most = max(map(len, examination.passages.values()), default=0) if examination.task.searches else 0
        self._conditions: Conditions = replace(conditions, top_k=most)
        self._passages = examination.passages if most else None
        self._keywords: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}
        self._metrics: dict[str, list[Metric]] = {}
        for metric in self._benchmark.metrics(examination.task.config, self._conditions):
            self._metrics.setdefault(metric.module, []).append(metric)

    @property
    def modules(self) -> list[str]:
        """The names of the modules, in the order of `quadrag run`."""
        return list(self._metrics)

    def check_judges(self, judges: Sequence[Any]) -> None:
        """See to it that there are no more judges than the metrics ask.

        Raises:
            QuadragError: there are more.
        """
        check_judges(self._benchmark, self._task, judges)

    def mark(
        self, module: str, ident: str, text: str | None, state: str, judges: Sequence[Heard], marks: Marks
    ) -> list[Unheard]:
        """Compute what a module says of an answer, as far as the judges have been heard.

        Args:
            module: one of `modules`.
            ident: of the question.
            text: the model's reply, None where there is none.
            state: of the answer, as ``answers.jsonl`` has it.
            judges: as many as there are.
            marks: what is there already, and is not computed again; the rest is entered.

        Returns:
            What the judges are to be asked before the next call; [] where the marks are complete.
        """
        question = self._questions[self._place[ident]]
        answer = Answer(question.benchmark, *question.key, sample=0, answer=text, state=state)
        unheard = []
        with _TURN:
            for metric in self._metrics[module]:
                if marks.done.issuperset(metric.keys):
                    continue
                try:
                    self._mark(metric, question, answer, judges, marks)
                    marks.done.update(metric.keys)
                except Unheard as lacking:
                    unheard.append(lacking)
        return unheard

    def _mark(self, metric: Metric, question: Question, answer: Answer, judges: Sequence[Heard], marks: Marks) -> None:
        aids = Aids(judges=judges, passages=self._passages)
        single: Any = _Single(self, question)
        result = compute(single, metric, {question.key: question}, [answer], self._profile, self._conditions, aids)
        (row,) = result["per_item"]
        for key in metric.keys:
            lacks = metric.lacks(key, bool(judges), False)
            if key in metric.embedded or (key not in row and not lacks):
                continue  # there is no embedding here, and means weighted by groups are none of single items
            reason = f"{NOT_RUN}: {lacks}" if lacks else row["reasons"].get(key)
            if reason:
                marks.reasons[key] = reason
            value = None if lacks else row[key]
            if value is None:
                counts = self._profile == "corrected" and not lacks and reason != NOT_APPLICABLE
                value = metric.worst.get(key, 0.0) if counts else math.nan
            marks.values[key] = value

    def keywords(self, metric: Metric, question: Question, conditions: Conditions) -> dict[str, Any]:
        """Return a metric's keywords for one question; what they are read from is read once."""
        which = (metric.module, metric.keys)
        if which not in self._keywords:
            self._keywords[which] = self._benchmark.keywords(metric, self._questions, conditions)
        place, n = self._place[question.id], len(self._questions)
        found = dict(self._keywords[which])
        for name, value in found.items():
            if isinstance(value, list) and len(value) == n and not metric.ranks:
                found[name] = [value[place]]
            elif name == "question_cache" and isinstance(value, Mapping):
                # The module reads all that it is given, and signs it.
                found[name] = {question.id: value[question.id]} if question.id in value else {}
        return found

    def parse(self, config: str, text: str) -> str:
        """Return what is scored of a reply."""
        return str(self._benchmark.parse(config, text))


class _Single:
    """A benchmark as the scoring of one question sees it."""

    def __init__(self, marking: Marking, question: Question) -> None:
        self._marking, self._question = marking, question
        self.parse = marking.parse

    def keywords(self, metric: Metric, questions: Sequence[Question], conditions: Conditions) -> dict[str, Any]:
        return self._marking.keywords(metric, self._question, conditions)

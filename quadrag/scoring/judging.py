"""The judges of a run: how many may be named, which is asked no further, and what is told of what they said."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from quadrag.benchmark import Benchmark, MetricUse
from quadrag.catalogue import load_scorer
from quadrag.chat.reply import UNREADABLE, Failure
from quadrag.errors import QuadragError, one_line
from quadrag.metric_record import metric_record
from quadrag.parts import Conditions
from quadrag.printing import Progress
from quadrag.records import Answer, Key, Passage, Question, dumps
from quadrag.results.certificates import FIRST, check_judge, read_verdict, read_verdicts
from quadrag.results.note import Note
from quadrag.results.record import RunRecord
from quadrag.results.run import PROFILES, Score
from quadrag.spec import RunSpec

from .drive import DeadJudge, Request, Rows, ScoringInputs, Work, follow, score

if TYPE_CHECKING:
    from quadrag.run.models import Models

_AMONG = 20 * FIRST  # the first answers, among which there are so many to judge
_SHOWN = 120  # characters of a verdict
_NOT_ASKED = Failure("api_error", "not asked yet")


class Scored(NamedTuple):
    """Items and scores, what was asked and said, what stopped the run, and which judge was asked no further.

    `verdict` could not be read. `notes` are of what is odd of the others.
    `dead` tells whether it stopped since a judge does not answer: only what needs no judge is scored then.
    """

    items: Rows
    scores: list[Score]
    stopped: Mapping[str, Any] | None = None
    verdict: str | None = None
    unread: str | None = None
    dead: bool = False
    notes: Sequence[Note] = ()
    verdicts: Sequence[Mapping[str, Any]] = ()

    def tell(self, run: RunRecord) -> None:
        """Enter into a run what is known of its judges."""
        run.verdict, run.unread_judge, run.dead_judge = self.verdict, self.unread, self.dead
        run.notes = [*self.notes]


class Judged(NamedTuple):
    """Answers, of what, and who judges them."""

    benchmark: Benchmark
    questions: Mapping[Key, Question]
    answers: Sequence[Answer]
    task: RunSpec
    given: ScoringInputs

    def score(self, verdicts: Rows | None = None) -> tuple[Rows, list[Score]]:
        """Return items and scores; see `drive.score`."""
        return score(self.benchmark, self.questions, self.answers, self.task.conditions, self.given, verdicts)

    def metrics(self, place: int | None = None) -> list[MetricUse]:
        """List the metrics that ask a judge, that at a place where one is given."""
        judged = self.benchmark.metrics(self.task.config, self.given.limit(self.task.conditions))
        n = len(self.given.judges)
        return [metric for metric in judged if metric.judged and (place is None or metric.asks(place, n))]

    def hear(
        self, metric: MetricUse, answers: Sequence[Answer], place: int, most: int = sys.maxsize
    ) -> tuple[Rows, list[Any]]:
        """Ask the judge at a place alone for its verdicts on answers by one metric, by `corrected`.

        Returns a row an answer, and the replies to `most` distinct chats; the others are as failed.
        """
        said: dict[str, Any] = {}

        def ask(requests: list[Request]) -> list[Any]:
            chats = {dumps(request["messages"]): request for request in requests}
            now = [*chats][: most - len(said)]
            said.update(zip(now, self.given.ask([chats[key] for key in now]), strict=True))
            return [said.get(dumps(request["messages"]), _NOT_ASKED) for request in requests]

        conditions, profile = self.given.limit(self.task.conditions), PROFILES[-1]
        work = Work(self.benchmark, metric, self.questions, answers, conditions, self.given, [profile], place)
        return [row[profile] for row in follow(work, ask)], [*said.values()]


def score_answers(
    models: Models,
    benchmark: Benchmark,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    task: RunSpec,
    stopped: Mapping[str, Any] | None = None,
    passages: Mapping[Key, Sequence[Passage]] | None = None,
) -> Scored:
    """Score answers with the run's judges, unless it has stopped before; ranks too, where passages are given.

    A budget that ends among the verdicts leaves the rest of them unscored. Where nothing comes of a judge, or nothing
    of what it says first can be read and not all items may fail, only what needs no judge is scored.
    """
    given = ScoringInputs(models.judges, models.embed, passages)
    judged = Judged(benchmark, {question.key: question for question in questions}, answers, task, given)
    dead, unread = models.dead_judge, None
    if models.judges and not stopped and not dead:
        try:
            with Progress(f"{task.config}: verdicts", len(answers)) as progress:
                for judge in models.judges:
                    judge.on_progress = progress.update
                unread = _probe(judged) if models.policy.max_failed < 1 else None
                if unread and models.ledger and UNREADABLE in models.ledger.retry:
                    given.said.clear()
                    with models.ledger.renewing():
                        unread = _probe(judged)
                if unread is None:
                    return _judge(models, judged)
        except DeadJudge as error:
            dead = error.params
    items, scores = judged._replace(given=replace(given, judges=())).score()
    model, verdict = unread or (None, None)
    return Scored(items, scores, stopped or dead, verdict, model, dead is not None)


def _judge(models: Models, judged: Judged) -> Scored:
    """Score answers with the judges; those whose verdicts could not be read once more, where this is wanted."""
    given, ledger, verdicts = judged.given, models.ledger, Rows()
    items, scores = judged.score(verdicts)
    if ledger and UNREADABLE in ledger.retry and not given.stopped:
        for row in _list_unread(judged, items, verdicts):
            for place in range(len(given.judges)):
                given.said.pop((place, dumps(row["request"])), None)
        verdicts.clear()
        with ledger.renewing():
            items, scores = judged.score(verdicts)
    replies = (row["reply"] for row in _list_unread(judged, items, verdicts) if row["reply"])
    quoted = next(map(_quote, replies), None)
    return Scored(items, scores, given.stopped, quoted, notes=find_oddities(judged, items), verdicts=verdicts)


def _probe(judged: Judged) -> tuple[str, str] | None:
    """Ask every judge for its first verdicts, of the first metric that asks it.

    Returns:
        One none of whose first can be read, where there are more to ask for, and what it said.
    """
    answered = [answer for answer in judged.answers if answer.answer is not None][:_AMONG]
    for place, model in enumerate(judged.given.models if len(answered) > FIRST else ()):
        for metric in judged.metrics(place)[:1]:
            rows, said = judged.hear(metric, answered, place, FIRST)
            reasons = {row["reasons"].get(key) for row in rows if not row.get("ruled") for key in metric.judged}
            if len(said) == FIRST and "unparsable" in reasons <= {"unparsable", _NOT_ASKED.reason}:
                return str(model), _quote(next(reply for reply in said if isinstance(reply, str)))
    return None


def _list_unread(judged: Judged, items: Rows, verdicts: Rows) -> Iterator[Mapping[str, Any]]:
    """Yield what judges were asked, and said, about answers whose verdict could not be read."""
    place = ("config", "split", "id", "sample")
    unread = {
        (*(line[name] for name in place), metric.name)
        for line in items
        for metric in judged.metrics()
        for key in metric.judged
        if "unparsable" in line.get(f"{metric.module}.{key}", {}).get("reason", {}).values()
    }
    return (row for row in verdicts if (*(row[name] for name in place), row["metric"]) in unread)


def _quote(reply: str) -> str:
    return one_line(reply, _SHOWN)


def find_oddities(judged: Judged, items: Rows) -> list[Note]:
    """Note what is odd of the verdicts on answers; of several judges on a panel each is read by itself."""
    notes = []
    for place, model in enumerate(judged.given.models):
        said = []
        for metric in judged.metrics(place):
            names = {f"{metric.module}.{key}": key for key in metric.judged}
            if metric.panel and len(judged.given.judges) > 1:
                rows, _ = judged.hear(metric, judged.answers, place)
                said.append({name: [_read(row, name, key) for row in rows] for name, key in names.items()})
            else:
                said.append({name: read_verdicts(items, name) for name in names})
        notes += check_judge(str(model), said, items)
    return notes


def _read(row: Mapping[str, Any], name: str, key: str) -> float | str | None:
    return None if row.get("ruled") else read_verdict(name, row["reasons"].get(key, row.get(key)))


def count_verdicts(answers: Sequence[Answer], items: Sequence[Mapping[str, Any]], reason: str) -> int:
    """Count the answers that a judge was asked about in vain, for one reason; a later run may ask again."""

    def lacks(name: str, entry: Any) -> bool:
        judged = isinstance(entry, dict) and metric_record(name.partition(".")[0]).verdict
        return bool(judged) and reason in entry.get("reason", {}).values()

    pairs = zip(answers, items, strict=True)
    return sum(answer.state == "ok" and any(lacks(*entry) for entry in line.items()) for answer, line in pairs)


# Who may judge.


def list_metrics(runs: Sequence[tuple[Benchmark, RunSpec]]) -> list[MetricUse]:
    """List the metrics of runs."""
    return [metric for benchmark, task in runs for metric in benchmark.metrics(task.config, task.conditions)]


def check_models(models: Models, runs: Sequence[tuple[Benchmark, RunSpec]]) -> None:
    """Refuse judges, a sentence embedding or a model for entities that none of these runs asks, and too many judges."""
    metrics = list_metrics(runs)
    asked = {
        "--judge": (models.judges, any(metric.judged for metric in metrics)),
        "--bertscore": (models.embed, any(metric.embedded for metric in metrics)),
        "--entity-llm": (models.entity_llm, any(benchmark.asks_entities(task) for benchmark, task in runs)),
    }
    for option, (model, is_asked) in asked.items():
        if model and not is_asked:
            where = f"{runs[0][0].name} {', '.join(dict.fromkeys(task.config for _, task in runs))}"
            raise QuadragError(f"nothing in {where} asks what {option} names as it is run here; leave out {option}")
    check_judges(metrics, len(models.judges))


def check_judges(metrics: Sequence[MetricUse], judges: int) -> None:
    """Refuse more judges than any of these metrics asks."""
    asking = [metric for metric in metrics if metric.judged]
    most = max((metric.judge + 1 for metric in asking), default=1)
    if judges > most and not any(metric.panel for metric in asking):
        raise QuadragError(f"{most} judge{'s' * (most > 1)} at most can be asked here, not {judges}; give fewer")


def verdict_format(benchmark: Benchmark, shape: str, role: int = 0) -> dict[str, Any]:
    """Return the request's field that holds a judge to a form: none for ``text``, any ``json``, a metric's ``schema``.

    A judge that is asked for one config of a metric alone, by its place (`role`), has the schema of that.
    """
    if shape == "text":
        return {}
    if shape == "json":
        return {"response_format": {"type": "json_object"}}
    judged = [use for use in benchmark.metrics(benchmark.configs[0], Conditions("", top_k=1)) if use.judged]
    using = [use for use in judged if metric_record(use.module).verdict_schema]
    if not using:
        raise QuadragError(f"no metric of {benchmark.name} has a schema of its verdicts; give --judge-format json")
    alone = next((use.config for use in using if role and use.judge == role), None)
    return {"response_format": load_scorer(using[0].module)(config=alone).schema}

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
from quadrag.printing import Progress
from quadrag.records import Answer, dumps
from quadrag.results import PROFILES, Note, Score
from quadrag.results.certificates import FIRST, check_judge, read_verdict, read_verdicts
from quadrag.spec import RunSpec

from .drive import DeadJudge, Request, Rows, ScoringInputs, apply_metric, score

if TYPE_CHECKING:
    from quadrag.run.models import Models

_AMONG = 20 * FIRST  # the first answers, among which there are so many to judge
_SHOWN = 120  # characters of a verdict
_NOT_ASKED = Failure("api_error", "not asked yet")


class Scored(NamedTuple):
    """Items and scores, what was asked and said, what stopped the run, and which judge was asked no further."""

    items: Rows
    scores: list[Score]
    stopped: Mapping[str, Any] | None = None
    verdict: str | None = None  # one that could not be read
    unreadable_judge: str | None = None
    dead: bool = False  # whether a judge does not answer: only what needs no judge is scored then
    notes: Sequence[Note] = ()  # of what is odd of the verdicts
    verdicts: Sequence[Mapping[str, Any]] = ()


def score_answers(
    models: Models, inputs: ScoringInputs, answers: Sequence[Answer], stopped: Mapping[str, Any] | None = None
) -> Scored:
    """Score answers with the run's judges, unless it has stopped before.

    A budget that ends among the verdicts leaves the rest of them unscored. Where nothing comes of a judge, or nothing
    of what it says first can be read and not all items may fail, only what needs no judge is scored.
    """
    dead, unreadable = models.dead_judge, None
    if models.judges and not stopped and not dead:
        try:
            with Progress(f"{inputs.spec.config}: verdicts", len(answers)) as progress:
                for judge in models.judges:
                    judge.on_progress = progress.update
                unreadable = _probe(inputs, answers) if models.policy.max_failed < 1 else None
                if unreadable and models.ledger and UNREADABLE in models.ledger.retry:
                    inputs.replies.clear()
                    with models.ledger.renewing():
                        unreadable = _probe(inputs, answers)
                if unreadable is None:
                    return _judge(models, inputs, answers)
        except DeadJudge as error:
            dead = error.params
    items, scores = score(replace(inputs, judges=()), answers)
    model, verdict = unreadable or (None, None)
    return Scored(items, scores, stopped or dead, verdict, model, dead is not None)


def _judge(models: Models, inputs: ScoringInputs, answers: Sequence[Answer]) -> Scored:
    """Score answers with the judges; those whose verdicts could not be read once more, where this is wanted."""
    ledger, verdicts = models.ledger, Rows()
    items, scores = score(inputs, answers, verdicts)
    if ledger and UNREADABLE in ledger.retry and not inputs.stopped:
        for row in _list_unread(inputs, items, verdicts):
            for place in range(len(inputs.judges)):
                inputs.replies.pop((place, dumps(row["request"])), None)
        verdicts.clear()
        with ledger.renewing():
            items, scores = score(inputs, answers, verdicts)
    unread = next((row["reply"] for row in _list_unread(inputs, items, verdicts) if row["reply"]), None)
    unread = unread or next(filter(None, (getattr(reply, "text", "") for reply in inputs.replies.values())), None)
    notes = find_oddities(inputs, answers, items)
    return Scored(items, scores, inputs.stopped, unread and one_line(unread, _SHOWN), notes=notes, verdicts=verdicts)


def _probe(inputs: ScoringInputs, answers: Sequence[Answer]) -> tuple[str, str] | None:
    """Ask every judge for its first verdicts, of the first metric that asks it.

    Returned is one none of whose first can be read, where there are more to ask for, and what it said.
    """
    answered = [answer for answer in answers if answer.answer is not None][:_AMONG]
    for place, model in enumerate(inputs.models if len(answered) > FIRST else ()):
        for metric in inputs.list_judged(place)[:1]:
            rows, replies = _ask_alone(inputs, metric, answered, place, FIRST)
            reasons = {row["reasons"].get(key) for row in rows if not row.get("ruled") for key in metric.judged}
            if len(replies) == FIRST and "unparsable" in reasons <= {"unparsable", _NOT_ASKED.reason}:
                return str(model), one_line(next(reply for reply in replies if isinstance(reply, str)), _SHOWN)
    return None


def _ask_alone(
    inputs: ScoringInputs, metric: MetricUse, answers: Sequence[Answer], judge: int, most: int = sys.maxsize
) -> tuple[Rows, list[Any]]:
    """Ask the judge at a place alone for its verdicts on answers by one metric, by `corrected`.

    Returns a row an answer, and the replies to `most` distinct chats; the others are as failed.
    """
    replies: dict[str, Any] = {}

    def ask(requests: list[Request]) -> list[Any]:
        chats = {dumps(request["messages"]): request for request in requests}
        batch = [*chats][: most - len(replies)]
        replies.update(zip(batch, inputs.ask([chats[key] for key in batch]), strict=True))
        return [replies.get(dumps(request["messages"]), _NOT_ASKED) for request in requests]

    rows, _ = apply_metric(inputs, metric, answers, ask, PROFILES[-1:], judge)
    return [row[PROFILES[-1]] for row in rows], [*replies.values()]


def _list_unread(inputs: ScoringInputs, items: Rows, verdicts: Rows) -> Iterator[Mapping[str, Any]]:
    place = ("config", "split", "id", "sample")
    unread = {
        (*(line[name] for name in place), metric.name)
        for metric in inputs.list_judged()
        for line in items
        for key in metric.judged
        if "unparsable" in line.get(f"{metric.module}.{key}", {}).get("reason", {}).values()
    }
    return (row for row in verdicts if (*(row[name] for name in place), row["metric"]) in unread)


def find_oddities(inputs: ScoringInputs, answers: Sequence[Answer], items: Rows) -> list[Note]:
    """Note what is odd of the verdicts on answers; of several judges on a panel each is read by itself."""
    notes = []
    for place, model in enumerate(inputs.models):
        verdicts = []
        for metric in inputs.list_judged(place):
            names = {f"{metric.module}.{key}": key for key in metric.judged}
            if metric.panel and len(inputs.judges) > 1:
                rows, _ = _ask_alone(inputs, metric, answers, place)
                verdicts.append({name: [_read(row, name, key) for row in rows] for name, key in names.items()})
            else:
                verdicts.append({name: read_verdicts(items, name) for name in names})
        notes += check_judge(str(model), verdicts, items)
    return notes


def _read(row: Mapping[str, Any], name: str, key: str) -> float | str | None:
    return None if row.get("ruled") else read_verdict(name, row["reasons"].get(key, row.get(key)))


def count_verdicts(answers: Sequence[Answer], items: Sequence[Mapping[str, Any]], reason: str) -> int:
    """Count the answers that a judge was asked about in vain, for one reason; a later run may ask again."""

    def fails(name: str, entry: Any) -> bool:
        judged = isinstance(entry, dict) and metric_record(name.partition(".")[0]).verdict
        return bool(judged) and reason in entry.get("reason", {}).values()

    pairs = zip(answers, items, strict=True)
    return sum(answer.state == "ok" and any(fails(*entry) for entry in line.items()) for answer, line in pairs)


# Who may judge.


def list_judged(runs: Sequence[tuple[Benchmark, RunSpec]]) -> list[MetricUse]:
    metrics = (metric for benchmark, spec in runs for metric in benchmark.metrics(spec))
    return [metric for metric in metrics if metric.judged]


def check_judges(runs: Sequence[tuple[Benchmark, RunSpec]], judges: int) -> None:
    judged = list_judged(runs)
    most = max((metric.judge + 1 for metric in judged), default=0)
    if judges > most and not any(metric.panel for metric in judged):
        configs = ", ".join(dict.fromkeys(spec.config for _, spec in runs))
        asks = f"{runs[0][0].name} {configs} asks {most} judge{'s' * (most != 1)} at most as it is run here"
        raise QuadragError(f"{asks}, not {judges}; give fewer --judge, or none")


def verdict_format(benchmark: Benchmark, shape: str, role: int = 0) -> dict[str, Any]:
    """Return the request's field that holds a judge to a form: none for ``text``, any ``json``, a metric's ``schema``.

    A judge that is asked for one config of a metric alone, by its place (`role`), has the schema of that.
    """
    if shape == "text":
        return {}
    if shape == "json":
        return {"response_format": {"type": "json_object"}}
    retriever, retrieval = benchmark.default_retriever, benchmark.retrieval
    spec = RunSpec(benchmark=benchmark.name, config=benchmark.configs[0], retriever=retriever, retrieval=retrieval)
    judged = [use for use in benchmark.metrics(spec) if use.judged]
    using = [use for use in judged if metric_record(use.module).verdict_schema]
    if not using:
        raise QuadragError(f"no metric of {benchmark.name} has a schema of its verdicts; give --judge-format json")
    alone = next((use.config for use in using if role and use.judge == role), None)
    return {"response_format": load_scorer(using[0].module)(config=alone).schema}

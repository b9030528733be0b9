"""The judges of a run: how many may be named, which is asked no further, and what is told of what they said."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple, Protocol

from quadrag.chat.keys import known_keys
from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import UNREADABLE, Failure
from quadrag.errors import QuadragError
from quadrag.metric_record import metric_record
from quadrag.progress import Progress
from quadrag.records import Answer, Key, Passage, Question, dumps

from ..core.benchmark import Benchmark, MetricUse
from ..core.parts import Conditions
from ..core.result import PROFILES
from ..core.run_record import RunRecord
from ..core.spec import RunSpec
from ..results.judges import Said, read_verdict, read_verdicts
from ..results.judges import check_judges as note_oddities
from ..results.note import Note
from ..systems.system import Completer
from .drive import (
    Asked,
    Bench,
    DeadJudge,
    Embed,
    Rows,
    ScoringInputs,
    Verdict,
    Work,
    follow,
    known_conditions,
    load_scorer,
    score,
)
from .rules import find_refused

FIRST = 12  # verdicts of a judge: where none of these can be read, it is asked no further
_AMONG = 20 * FIRST  # the first answers, among which there are so many to judge
_ALL = sys.maxsize
_SHOWN = 120  # characters of a verdict
_NOT_ASKED = Failure("api_error", "not asked yet")


class Scored(NamedTuple):
    """Items and scores, what was asked and said, why the run stopped, and which judge was asked no further.

    `verdict` could not be read, or is what the judges said most often where all could.
    `notes` are of what is odd of their verdicts.
    `refused` counts the answers that a phrase of refusal makes wrong, and those of them that hold the gold.
    `dead` tells whether it stopped since a judge does not answer: only what needs no judge is scored then.
    """

    items: Rows
    scores: Rows
    stopped: str | None = None
    verdict: str | None = None
    unread: str | None = None
    dead: bool = False
    notes: Sequence[Note] = ()
    refused: tuple[int, int] = (0, 0)
    verdicts: Sequence[Verdict] = ()

    def tell(self, run: RunRecord) -> None:
        """Enter into a run what is known of its judges."""
        run.verdict, run.unread_judge, run.dead_judge = self.verdict, self.unread, self.dead
        run.notes = [note.as_row() for note in self.notes]
        run.refused = list(self.refused)


class Judging(Protocol):
    """What judges: of a session, the judges, the sentence embedding, how many items may fail, if judges are asked.

    `dead_judge` says why none of them is asked, where one is known not to answer.
    """

    judges: Sequence[Completer]
    entity_llm: Completer | None
    dead_judge: str | None
    embed: Embed | None
    ledger: Ledger | None

    @property
    def max_failed(self) -> float:
        """The share of a metric's items above which its value is not shown."""


class Judged(NamedTuple):
    """Answers, of what, and who judges them."""

    benchmark: Benchmark
    questions: Mapping[Key, Question]
    answers: Sequence[Answer]
    task: RunSpec
    given: ScoringInputs
    bench: Bench

    @property
    def conditions(self) -> Conditions:
        """As the metrics see them."""
        return known_conditions(self.task.conditions, self.given)

    @property
    def metrics(self) -> list[MetricUse]:
        """Those that ask a judge."""
        return [one for one in self.benchmark.metrics(self.task.config, self.conditions) if one.judged]

    def score(self, verdicts: list[Verdict] | None = None) -> tuple[Rows, Rows]:
        """Return items and scores; see `drive.score`."""
        return score(
            self.benchmark, self.questions, self.answers, self.task.conditions, self.given, self.bench, verdicts
        )

    def hear(
        self, metric: MetricUse, answers: Sequence[Answer], profile: str, place: int | None = None, most: int = _ALL
    ) -> tuple[Rows, list[Any], int]:
        """Ask what one metric wants of some answers by one profile, of the judge at a place alone where one is given.

        Returns a row an answer, the replies to `most` distinct chats, and how many others were left out, as failed.
        """
        said: list[Any] = []
        held_back = 0

        def ask(batch: list[Asked]) -> list[Any]:
            nonlocal held_back
            now = [*{dumps(one.messages): one for one in batch}.values()][: most - len(said)]
            known = dict(zip([dumps(one.messages) for one in now], self.bench.ask(now), strict=True))
            said.extend(known.values())
            replies = [known.get(dumps(one.messages), _NOT_ASKED) for one in batch]
            held_back += replies.count(_NOT_ASKED)
            return replies

        work = Work(self.benchmark, metric, self.questions, answers, self.conditions, self.given, [profile], place)
        (rows,) = follow([work], ask)
        return [row[profile] for row in rows], said, held_back


def score_answers(
    session: Judging,
    benchmark: Benchmark,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    task: RunSpec,
    stopped: str | None = None,
    passages: Mapping[Key, Sequence[Passage]] | None = None,
) -> Scored:
    """Score answers with the session's judge, unless the run has stopped before; ranks too, where passages are given.

    A budget that ends among the verdicts leaves the rest of them unscored. Where nothing comes of a judge, or nothing
    of what it says first can be read and not all items may fail, only what needs no judge is scored.
    """
    by_key = {question.key: question for question in questions}
    refused = _count_refused(benchmark, by_key, answers, task)
    given = ScoringInputs(embed=session.embed, passages=passages)
    dead = session.dead_judge
    if session.judges and not stopped and not dead:
        asked = replace(given, judges=session.judges)
        judged = Judged(benchmark, by_key, answers, task, asked, Bench(session.judges))
        try:
            return _judge(session, judged)._replace(refused=refused)
        except DeadJudge as error:
            dead = str(error)
    unjudged = score(benchmark, by_key, answers, task.conditions, given)
    return Scored(*unjudged, stopped or dead, dead=dead is not None, refused=refused)


def _count_refused(
    benchmark: Benchmark, questions: Mapping[Key, Question], answers: Sequence[Answer], task: RunSpec
) -> tuple[int, int]:
    """Count the answers that a phrase of refusal makes wrong by some metric, and those of them that hold the gold."""
    metrics = benchmark.metrics(task.config, task.conditions)
    if not any(metric.record(key).refused for metric in metrics for key in metric.keys):
        return 0, 0
    asked = ((answer.answer, questions[answer.key]) for answer in answers)
    held = [find_refused(said, question.references, question.language) for said, question in asked]
    return len(held) - held.count(None), held.count(True)


def _judge(session: Judging, judged: Judged) -> Scored:
    """Score answers with the judges of a session; DeadJudge where nothing came of one."""
    bench, ledger = judged.bench, session.ledger
    retried = ledger is not None and UNREADABLE in ledger.retry

    def again(ask: Callable[[Judged], Any]) -> Any:
        """Ask the judges anew what they are asked here."""
        fresh = judged._replace(bench=Bench(bench.judges))
        with ledger.renewing() if ledger else nullcontext():
            found = ask(fresh)
        bench.take(fresh.bench)
        return found

    with Progress(f"{judged.task.config}: verdicts", len(judged.answers)) as progress:
        for judge in session.judges:
            judge.on_progress = progress.update
        unread = _find_unread(judged) if session.max_failed < 1 else None
        if unread and retried:
            unread = again(_find_unread)
        if unread:
            bare = replace(judged.given, judges=())
            unjudged = score(judged.benchmark, judged.questions, judged.answers, judged.task.conditions, bare)
            return Scored(*unjudged, verdict=unread[1], unread=unread[0])
        verdicts: list[Verdict] = []
        items, scores = judged.score(verdicts)
        if retried and not bench.stopped:
            again(lambda fresh: _ask_unreadable(fresh, items))
            verdicts.clear()
            items, scores = judged.score(verdicts)
    said = _find_unreadable(judged, items)
    often = Counter(reply for replies in bench.said for reply in replies.values() if isinstance(reply, str))
    said = said or next((reply for reply, _ in often.most_common(1)), None)
    verdict = None if said is None else quote_reply(said)
    return Scored(items, scores, bench.stopped, verdict, notes=find_oddities(judged, items), verdicts=verdicts)


def _find_unread(judged: Judged) -> tuple[str, str] | None:
    """Ask every judge for its first verdicts, of the first metric that asks it.

    Returns:
        The judge none of whose first can be read, where there are more to ask for, and what it said.
    """
    answered = [answer for answer in judged.answers if answer.answer is not None][:_AMONG]
    if len(answered) <= FIRST:
        return None
    n = len(judged.bench.judges)
    for place, model in enumerate(judged.bench.models):
        for metric in [one for one in judged.metrics if one.asks(place, n)][:1]:
            rows, said, held_back = judged.hear(metric, answered, PROFILES[-1], place, FIRST)
            found = {row["reasons"].get(key) for row in rows if not row.get("ruled") for key in metric.judged}
            if held_back and "unparsable" in found and found <= {"unparsable", _NOT_ASKED.reason}:
                return str(model), quote_reply(next(one for one in said if isinstance(one, str)))
    return None


def _ask_unreadable(judged: Judged, lines: Rows) -> None:
    """Ask the judges about the answers whose verdict could not be read, metric by metric."""
    for metric, profile, answers in _list_unreadable(judged, lines):
        judged.hear(metric, answers, profile)


def _list_unreadable(judged: Judged, lines: Rows) -> Iterator[tuple[MetricUse, str, list[Answer]]]:
    """Yield the metrics that ask a judge with the answers whose verdict a profile could not read, where there are any.

    What a rule decides under one profile the other one may have judged.
    """
    for metric, profile in product(judged.metrics, reversed(PROFILES)):
        names = [f"{metric.module}.{key}" for key in metric.judged]
        unread = [
            answer
            for answer, line in zip(judged.answers, lines, strict=True)
            if any(line.get(name, {}).get("reason", {}).get(profile) == "unparsable" for name in names)
        ]
        if unread:
            yield metric, profile, unread


def _find_unreadable(judged: Judged, lines: Rows) -> str | None:
    """Return a judge's last reply on the first answer whose verdict could not be read; None where all could."""
    n = len(judged.bench.judges)
    for metric, profile, answers in _list_unreadable(judged, lines):
        for answer, place in product(answers, (place for place in range(n) if metric.asks(place, n))):
            (row,), said, _ = judged.hear(metric, [answer], profile, place)
            texts = [reply for reply in said if isinstance(reply, str)]
            if "unparsable" in row["reasons"].values() and texts:
                return texts[-1]
    return None


def find_oddities(judged: Judged, lines: Rows) -> list[Note]:
    """Note what is odd of the verdicts on answers; of several judges on a panel each is read by itself."""
    said: list[Said] = []
    n = len(judged.bench.judges)
    for place, model in enumerate(judged.bench.models):
        for metric in (one for one in judged.metrics if one.asks(place, n)):
            rows: Rows = []
            if metric.panel and n > 1:
                rows, _, _ = judged.hear(metric, judged.answers, PROFILES[-1], place)
            for key in metric.judged:
                name = f"{metric.module}.{key}"
                verdicts = [_read(row, name, key) for row in rows] or read_verdicts(lines, name)
                said.append(Said(str(model), metric, name, verdicts))
    return note_oddities(said, lines)


def _read(row: Mapping[str, Any], name: str, key: str) -> float | str | None:
    return None if row.get("ruled") else read_verdict(name, row["reasons"].get(key, row.get(key)))


def explain_unread(said: str, form: str) -> str:
    """Say what a judge said in place of a verdict, how one looks, and what to do."""
    cure = "try --judge-format json, or another judge" if form.startswith("{") else "name another judge"
    return f"; it said {said!r}, where a verdict is like {form!r}: {cure}; --fresh asks this one anew"


def quote_reply(reply: str) -> str:
    """Return a reply as a short line without keys."""
    return known_keys().line(reply, _SHOWN)


def count_verdicts(answers: Sequence[Answer], items: Sequence[Mapping[str, Any]], reason: str) -> int:
    """Count the answers that a judge was asked about in vain, for one reason; a later run may ask again."""
    return sum(
        answer.state == "ok"
        and any(
            reason in value.get("reason", {}).values()
            for name, value in line.items()
            if isinstance(value, dict) and metric_record(name.partition(".")[0]).verdict
        )
        for answer, line in zip(answers, items, strict=True)
    )


# Who may judge.


def asks_judge(measured: Sequence[tuple[Benchmark, RunSpec]]) -> bool:
    """Whether a metric of these tasks asks a judge."""
    return any(metric.judged for metric in _list_metrics(measured))


def _list_metrics(measured: Sequence[tuple[Benchmark, RunSpec]]) -> list[MetricUse]:
    return [metric for benchmark, task in measured for metric in benchmark.metrics(task.config, task.conditions)]


def refuse_idle_models(session: Judging, measured: Sequence[tuple[Benchmark, RunSpec]]) -> None:
    """Refuse judges, a sentence embedding or a model for entities that none of these tasks asks."""
    embedded = any(metric.embedded for metric in _list_metrics(measured))
    entities = any(benchmark.asks_entities(task) for benchmark, task in measured)
    what = f"{measured[0][0].name} {', '.join(dict.fromkeys(task.config for _, task in measured))}"
    if session.judges and not asks_judge(measured):
        raise QuadragError(f"no metric of {what} asks a judge as it is run here; leave out --judge")
    if session.embed is not None and not embedded:
        raise QuadragError(f"no metric of {what} takes an embedding; leave out --bertscore")
    if session.entity_llm is not None and not entities:
        raise QuadragError(f"{what} asks for no entities as it is run here; leave out --entity-llm")


def check_judges(benchmark: Benchmark, task: RunSpec, judges: Sequence[Completer]) -> None:
    """Refuse more judges than the metrics ask."""
    asking = [metric for metric in benchmark.metrics(task.config, task.conditions) if metric.judged]
    most = max((metric.judge + 1 for metric in asking), default=1)
    if len(judges) > most and not any(metric.panel for metric in asking):
        name = asking[0].module if asking else task.benchmark
        wanted = "one judge" if most == 1 else f"at most {most} judges"
        times = "once" if most == 1 else "less often"
        raise QuadragError(f"{name} asks {wanted}, and {len(judges)} were named; give --judge {times}")


def verdict_format(benchmark: Benchmark, shape: str, role: int = 0) -> dict[str, Any]:
    """Return the request's field that holds a judge to a form: none for ``text``, any JSON, or a metric's own schema.

    Args:
        benchmark: whose verdicts they are.
        shape: ``text``, ``json`` or ``schema``.
        role: the judge's place; OmniEval's second is asked about hallucination alone, and has its schema.
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

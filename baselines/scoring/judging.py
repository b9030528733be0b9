"""The session's judges at the score stage: how many may be named, and what remains where their budget ends."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple, Protocol

from quadrag.chat.faults import DeadServer
from quadrag.chat.keys import known_keys
from quadrag.chat.ledger import Reuse
from quadrag.chat.prices import BudgetReached
from quadrag.chat.reply import UNREADABLE
from quadrag.errors import QuadragError
from quadrag.progress import Progress
from quadrag.records import Answer, Key, Passage, Question

from ..core.benchmark import Benchmark, MetricUse
from ..core.result import PROFILES
from ..core.run_record import RunRecord
from ..core.task import Task
from ..results.note import Note
from ..systems.system import Completer
from .modules import CachedJudge, Embed, Judge, ScoringInputs
from .probe import Unread, find_unread
from .rules import find_refused
from .score import score
from .verdicts import Judged, find_oddities

_SHOWN = 120  # characters of a verdict


class Scored(NamedTuple):
    """Items and scores, why the run stopped, what a judge said, and which was asked no further.

    `verdict` could not be read, or is what the judges said most often where all could.
    `notes` are of what is odd of their verdicts.
    `refused` counts the answers that a phrase of refusal makes wrong, and those of them that hold the gold.
    `dead` tells whether it stopped since a judge does not answer: only what needs no judge is scored then.
    """

    items: list[dict[str, Any]]
    scores: list[dict[str, Any]]
    stopped: str | None = None
    verdict: str | None = None
    unread: str | None = None
    dead: bool = False
    notes: Sequence[Note] = ()
    refused: tuple[int, int] = (0, 0)

    def tell(self, run: RunRecord) -> None:
        """Enter into a run what is known of its judges."""
        run.verdict, run.unread_judge, run.dead_judge = self.verdict, self.unread, self.dead
        run.notes = [note.as_row() for note in self.notes]
        run.refused = list(self.refused)


class DeadJudge(QuadragError):
    """A judge of which nothing came but faults."""


class Judging(Protocol):
    """What judges: of a session, the judges, the sentence embedding, how many items may fail, if judges are asked.

    `dead_judge` says why none of them is asked, where one is known not to answer.
    """

    judges: Sequence[Completer]
    entity_llm: Completer | None
    dead_judge: str | None
    embed: Embed | None
    reuse: Reuse

    @property
    def max_failed(self) -> float:
        """The share of a metric's items above which its value is not shown."""

    def tell_spent(self) -> str:
        """Say what was spent so far."""


def score_answers(
    session: Judging,
    benchmark: Benchmark,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    task: Task,
    stopped: str | None = None,
    passages: Mapping[Key, Sequence[Passage]] | None = None,
) -> Scored:
    """Score answers with the session's judge, unless the run has stopped before; ranks too, where passages are given.

    A budget that ends among the verdicts leaves the rest of them unscored. Where nothing comes of a judge, or nothing
    of what it says first can be read and not all items may fail, only what needs no judge is scored.
    """
    by_key = {question.key: question for question in questions}
    scored = _score_by_key(session, benchmark, by_key, answers, task, stopped, passages)
    return scored._replace(refused=_count_refused(benchmark, by_key, answers, task))


def _count_refused(
    benchmark: Benchmark, questions: Mapping[Key, Question], answers: Sequence[Answer], task: Task
) -> tuple[int, int]:
    """Count the answers that a phrase of refusal makes wrong by some metric, and those of them that hold the gold."""
    metrics = benchmark.metrics(task.config, task.conditions)
    if not any(metric.record(key).refused for metric in metrics for key in metric.keys):
        return 0, 0
    asked = ((answer.answer, questions[answer.key]) for answer in answers)
    held = [find_refused(said, question.references, question.language) for said, question in asked]
    return len(held) - held.count(None), held.count(True)


def _score_by_key(
    session: Judging,
    benchmark: Benchmark,
    by_key: Mapping[Key, Question],
    answers: Sequence[Answer],
    task: Task,
    stopped: str | None,
    passages: Mapping[Key, Sequence[Passage]] | None,
) -> Scored:
    given = ScoringInputs(embed=session.embed, passages=passages)
    dead = session.dead_judge
    if session.judges and not stopped and not dead:
        try:
            return _judge_answers(session, benchmark, by_key, answers, task, given)
        except DeadJudge as error:
            dead = str(error)
    return Scored(*score(benchmark, by_key, answers, task.conditions, given), stopped or dead, dead=dead is not None)


def _judge_answers(
    session: Judging,
    benchmark: Benchmark,
    by_key: Mapping[Key, Question],
    answers: Sequence[Answer],
    task: Task,
    given: ScoringInputs,
) -> Scored:
    """Score answers with the judges of a session.

    Raises:
        DeadJudge: nothing came of a judge.
    """
    judges = session.judges
    ended: list[str] = []

    def stopping(judge: Completer) -> Judge:
        def verdicts(batch: list[list[dict[str, str]]]) -> list[Any]:
            try:
                return list(judge(batch))
            except BudgetReached as stop:
                ended.append(str(stop))
                return list(stop.results)
            except DeadServer as dead:
                raise DeadJudge(f"the judge {judge.model} does not answer: {dead}") from dead

        verdicts.model = judge.model  # type: ignore[attr-defined]  # the judge contract's optional attribute
        return verdicts

    asked = [CachedJudge(stopping(judge)) for judge in judges]
    given = replace(given, judges=asked)

    def ask_anew(ask: Callable[[ScoringInputs], Unread | None]) -> Unread | None:
        again = [CachedJudge(stopping(judge)) for judge in judges]
        with session.reuse.renewing():
            found = ask(replace(given, judges=again))
        for judge, anew in zip(asked, again, strict=True):
            judge.verdicts.update(anew.verdicts)
        return found

    def begin(given: ScoringInputs) -> Unread | None:
        return find_unread(benchmark, by_key, answers, task, given)

    with Progress(f"{task.config}: verdicts", len(answers), session.tell_spent) as progress:
        for judge in judges:
            judge.on_progress = progress.update
        retried = UNREADABLE in session.reuse.retry
        unread = None
        if session.max_failed < 1:
            unread = begin(given)
            if unread and retried:
                unread = ask_anew(begin)
        if unread:
            unjudged = score(benchmark, by_key, answers, task.conditions, replace(given, judges=()))
            return Scored(*unjudged, verdict=unread.said, unread=unread.judge)
        items, scores = score(benchmark, by_key, answers, task.conditions, given)
        if retried and not ended:
            judged = Judged(benchmark, by_key, answers, items, task, given)
            ask_anew(lambda given: _ask_unreadable_again(judged._replace(given=given)))
            items, scores = score(benchmark, by_key, answers, task.conditions, given)
    judged = Judged(benchmark, by_key, answers, items, task, given)
    said = _find_unreadable(judged)
    often = Counter(reply for judge in asked for reply in judge.verdicts.values() if isinstance(reply, str))
    said = said or next((reply for reply, _ in often.most_common(1)), None)
    verdict = None if said is None else known_keys().line(said, _SHOWN)
    return Scored(items, scores, ended[0] if ended else None, verdict, notes=find_oddities(judged))


def _ask_unreadable_again(judged: Judged) -> None:
    """Ask the judges anew about the answers whose verdict could not be read, metric by metric."""
    for metric, profile, answers in _list_unreadable(judged):
        judged.compute(metric, answers, profile)


def _list_unreadable(judged: Judged) -> Iterator[tuple[MetricUse, str, list[Answer]]]:
    """Yield the metrics that ask a judge with the answers whose verdict a profile could not read, where there are any.

    What a rule decides under one profile the other one may have judged.
    """
    metrics = [one for one in judged.benchmark.metrics(judged.task.config, judged.task.conditions) if one.judged]
    for metric, profile in product(metrics, reversed(PROFILES)):
        places = {
            (row["config"], row["split"], row["id"])
            for row in judged.lines
            for name, entry in row.items()
            if name.partition(".")[0] == metric.module and (entry.get("reason") or {}).get(profile) == "unparsable"
        }
        if places:
            yield metric, profile, [answer for answer in judged.answers if answer.key in places]


def _find_unreadable(judged: Judged) -> str | None:
    """Return a judge's last reply on the first answer whose verdict could not be read; None where all could."""
    judges = judged.given.judges
    for metric, profile, answers in _list_unreadable(judged):
        asking = [judge for place, judge in enumerate(judges) if metric.asks(place, len(judges))]
        for answer, judge in product(answers, asking):
            heard = CachedJudge(judge)
            (row,) = judged.ask(heard).compute(metric, [answer], profile)
            replies = [reply for reply in heard.verdicts.values() if isinstance(reply, str)]
            if "unparsable" in row["reasons"].values() and replies:
                return replies[-1]
    return None


def asks_judge(measured: Sequence[tuple[Benchmark, Task]]) -> bool:
    """Whether a metric of these tasks asks a judge."""
    return any(metric.judged for metric in _list_metrics(measured))


def _list_metrics(measured: Sequence[tuple[Benchmark, Task]]) -> list[MetricUse]:
    return [metric for benchmark, task in measured for metric in benchmark.metrics(task.config, task.conditions)]


def refuse_idle_models(session: Judging, measured: Sequence[tuple[Benchmark, Task]]) -> None:
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


def check_judges(benchmark: Benchmark, task: Task, judges: Sequence[Completer]) -> None:
    """Refuse more judges than the metrics ask."""
    asking = [metric for metric in benchmark.metrics(task.config, task.conditions) if metric.judged]
    most = max((metric.judge + 1 for metric in asking), default=1)
    if len(judges) > most and not any(metric.panel for metric in asking):
        name = asking[0].module if asking else task.benchmark
        wanted = "one judge" if most == 1 else f"at most {most} judges"
        times = "once" if most == 1 else "less often"
        raise QuadragError(f"{name} asks {wanted}, and {len(judges)} were named; give --judge {times}")

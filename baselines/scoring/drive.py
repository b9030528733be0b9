"""The score stage: scorers driven over answers, their requests asked of the judges, items and rows of what they say.

Each metric's scorer yields what it wants asked (`metrics/_shared/scoring.py`). Those of one config and split go round
by round together; a judge is asked each distinct chat once, so both profiles, and all metrics, read one and the same
verdict. A metric that needs a judge or an embedding and has none is reported as not run.
"""

import importlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from quadrag import parallel
from quadrag.chat.faults import DeadServer
from quadrag.chat.prices import BudgetReached
from quadrag.errors import QuadragError
from quadrag.records import Answer, Key, Passage, Question, document_id, dumps
from quadrag.stats import NOT_APPLICABLE

from ..core.benchmark import Benchmark, MetricUse, load
from ..core.parts import Conditions
from ..core.result import PROFILES
from .rows import Measured, rows_of

Messages = list[dict[str, str]]
Judge = Callable[[list[Messages]], list[Any]]
Embed = Callable[[list[str]], Any]  # n texts to an n x d array
Rows = list[dict[str, Any]]
Questions = Mapping[Key, Question]
Passages = Mapping[Key, Sequence[Passage]]
Means = tuple[str, dict[str, Any]]  # a signature, and values by key


@dataclass(frozen=True, slots=True)
class ScoringInputs:
    """What metrics may need beside answers and references; each may be lacking."""

    judges: Sequence[Judge] = ()
    embed: Embed | None = None
    passages: Passages | None = None

    def find_lacking(self, metric: MetricUse, key: str) -> str | None:
        """Say what a key of a metric needs and is not here; None where it can be computed."""
        return metric.find_lacking(key, bool(self.judges), bool(self.embed))


class Asked(NamedTuple):
    """What a metric wants asked: which of several works, about which answer, of which judge, and what."""

    work: int
    place: int
    judge: int
    messages: Messages
    about: str | None = None


# One metric over answers.


def load_scorer(name: str) -> Any:
    """Return the class that is a metric's pure core."""
    return importlib.import_module(f"quadrag.metrics.{name}.scorer").SCORER


class Work:
    """One metric over the answers of a config and split."""

    def __init__(
        self,
        benchmark: Benchmark,
        metric: MetricUse,
        questions: Questions,
        answers: Sequence[Answer],
        conditions: Conditions,
        given: ScoringInputs,
        profiles: Sequence[str] = PROFILES,
        judge: int | None = None,
    ) -> None:
        """Bring answers and references to the metric's form.

        Args:
            benchmark: of the questions.
            metric: which one, and how it is asked.
            questions: at least those answered.
            answers: in the order of the rows.
            conditions: under which the answers were made.
            given: judges, embedding, passages.
            profiles: those that are wanted.
            judge: the place of the one that is asked alone, where there are several.
        """
        self.metric, self.profiles, self._n = metric, profiles, len(answers)
        self.idle = all(given.find_lacking(metric, key) for key in metric.keys)
        self.judges: list[int] = []
        if self.idle:
            return
        if metric.judged and given.judges:
            every = range(len(given.judges))
            self.judges = [*every] if metric.panel else [min(metric.judge, every[-1])]
            self.judges = self.judges if judge is None else [judge]
        kind = load_scorer(metric.module)
        asked = [questions[answer.key] for answer in answers]
        predictions, references, options = _columns(benchmark, metric, asked, answers, conditions, given)
        # A scorer that knows no item without a reference is not shown any.
        self._there = [at for at, reference in enumerate(references) if reference is not None or metric.nothing]
        columns = {
            name: [options[name][at] for at in self._there] for name in ("states", *kind.COLUMNS) if name in options
        }
        options = {name: value for name, value in options.items() if name not in columns}
        shown = kind.columns([predictions[at] for at in self._there], [references[at] for at in self._there])
        self.scorer = kind(profiles=profiles, judges=len(self.judges), config=metric.config, **options)
        self.items = self.scorer.items(**shown, **columns)

    def rounds(self, number: int) -> Generator[list[Asked], list[Any], Rows]:
        """Yield what is to be asked, as that of the work of a number, and return a row an answer."""
        nothing: dict[str, Any] = {"reasons": {}}
        if self.idle:
            return [dict.fromkeys(self.profiles, nothing)] * self._n
        rounds = self.scorer.score(self.items)
        replies: Any = None
        while True:
            try:
                requests = rounds.send(replies)
            except StopIteration as done:
                found: Rows = done.value
                break
            replies = yield [
                Asked(
                    number,
                    self._there[request["item"]],
                    self.judges[request.get("judge", 0)],
                    request["messages"],
                    request.get("about"),
                )
                for request in requests
            ]
        self._found = found
        none = dict.fromkeys(self.metric.keys) | {"reasons": dict.fromkeys(self.metric.keys, NOT_APPLICABLE)}
        rows = [dict.fromkeys(self.profiles, none)] * self._n
        for at, row in zip(self._there, found, strict=True):
            rows[at] = row
        return rows

    def summarise(self, models: Sequence[Any] = ()) -> list[Means]:
        """Return by profile the signature and the values over all answers, once `rounds` is through.

        `models` are the names of all judges.
        """
        if self.idle:
            return [(f"{self.metric.module}|profile:{profile}", {}) for profile in self.profiles]
        own = [models[place] for place in self.judges]
        found = [self.scorer.summarise(self._found, profile, own) for profile in self.profiles]
        return [(one["signature"], {key: one[key] for key in self.metric.keys if key in one}) for one in found]


def _columns(
    benchmark: Benchmark,
    metric: MetricUse,
    asked: Sequence[Question],
    answers: Sequence[Answer],
    conditions: Conditions,
    given: ScoringInputs,
) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Return predictions, references, and a metric's other columns and options by their names."""
    options = benchmark.keywords(metric, asked, conditions)
    if metric.ranks:
        ranked = [given.passages[answer.key] if given.passages else () for answer in answers]
        predictions: list[Any] = [[document_id(passage) for passage in passages] for passages in ranked]
        return predictions, [list(question.relevant) for question in asked], options
    options["states"] = [None if answer.answer is not None else answer.state for answer in answers]
    if metric.embedded and given.embed:
        options["embed"] = given.embed
    if metric.contexts and given.passages is not None:
        options["contexts"] = [[passage.text for passage in given.passages[answer.key]] for answer in answers]
    predictions = [None if one.answer is None else benchmark.parse(one.config, one.answer) for one in answers]
    return predictions, [metric.shape(question.references) for question in asked], options


def together(works: Sequence[Work]) -> Generator[list[Asked], list[Any], list[Rows]]:
    """Take several works round by round, each round of all in one list; return the rows of each."""
    running = [(number, work.rounds(number)) for number, work in enumerate(works)]
    found: list[Rows] = [[] for _ in works]
    replies: list[list[Any] | None] = [None] * len(works)
    while running:
        batch: list[Asked] = []
        left, ends = [], []
        for (number, rounds), said in zip(running, replies, strict=True):
            try:
                batch += rounds.send(said)  # type: ignore[arg-type]  # None begins it
            except StopIteration as done:
                found[number] = done.value
                continue
            left.append((number, rounds))
            ends.append(len(batch))
        told = (yield batch) if batch else []
        replies = [told[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        running = left
    return found


def follow(works: Sequence[Work], ask: Callable[[list[Asked]], list[Any]]) -> list[Rows]:
    """Drive works with what asks a round of theirs."""
    rounds = together(works)
    replies: Any = None
    while True:
        try:
            replies = ask(rounds.send(replies))
        except StopIteration as done:
            rows: list[Rows] = done.value
            return rows


# Judges.


class DeadJudge(QuadragError):
    """A judge of which nothing came but faults."""


class Bench:
    """The judges of a run: what each said, by chat; a chat that it was asked is not asked again."""

    def __init__(self, judges: Sequence[Judge]) -> None:
        """Take judges; `stopped` says why a budget ended among their verdicts."""
        self.judges = judges
        self.models = [getattr(judge, "model", None) for judge in judges]
        self.said: list[dict[str, Any]] = [{} for _ in judges]
        self.stopped: str | None = None

    def ask(self, batch: Sequence[Asked]) -> list[Any]:
        """Return the replies to a round; each judge is asked all that is new to it in one call."""
        keys = [dumps(one.messages) for one in batch]
        for place, said in enumerate(self.said):
            new = {
                key: one.messages
                for key, one in zip(keys, batch, strict=True)
                if one.judge == place and key not in said
            }
            if new:
                said |= zip(new, self._call(place, [*new.values()]), strict=True)
        return [self.said[one.judge][key] for key, one in zip(keys, batch, strict=True)]

    def _call(self, place: int, chats: list[Messages]) -> list[Any]:
        try:
            return list(self.judges[place](chats))
        except BudgetReached as stop:
            self.stopped = self.stopped or str(stop)
            return list(stop.results)
        except DeadServer as dead:
            raise DeadJudge(f"the judge {self.models[place]} does not answer: {dead}") from dead

    def take(self, other: "Bench") -> None:
        """Take over what was said elsewhere, in place of what was said here."""
        for said, anew in zip(self.said, other.said, strict=True):
            said |= anew
        self.stopped = self.stopped or other.stopped


# Answers to items and rows.


class Verdict(NamedTuple):
    """What a judge said when it was asked by a metric about an answer."""

    answer: Answer
    metric: str
    asked: Asked
    reply: Any
    judge: str | None = None  # where there are several

    def as_row(self) -> dict[str, Any]:
        """Return a line of ``verdicts.jsonl``."""
        row = {**_key_of(self.answer), "metric": self.metric}
        row |= {} if self.judge is None else {"judge": self.judge}
        row |= {} if self.asked.about is None else {"about": self.asked.about}
        row["request"] = self.asked.messages
        if isinstance(self.reply, str):
            return row | {"reply": self.reply}
        return row | {"reply": None, "reason": self.reply.reason, "detail": getattr(self.reply, "detail", "")}


def _key_of(answer: Answer) -> dict[str, Any]:
    return {
        "benchmark": answer.benchmark,
        "config": answer.config,
        "split": answer.split,
        "id": answer.id,
        "sample": answer.sample,
    }


def known_conditions(conditions: Conditions, given: ScoringInputs) -> Conditions:
    """Return the conditions as metrics are to see them: a file of answers has no passages, wherever it is from."""
    return conditions if given.passages is not None else replace(conditions, top_k=0)


def score(
    benchmark: Benchmark,
    questions: Questions,
    answers: Sequence[Answer],
    conditions: Conditions,
    given: ScoringInputs | None = None,
    bench: Bench | None = None,
    verdicts: list[Verdict] | None = None,
) -> tuple[Rows, Rows]:
    """Score answers.

    Args:
        benchmark: whose metrics apply.
        questions: every question by its key.
        answers: in input order; each key is among the questions.
        conditions: as they were when the answers were made; without documents, say, fewer metrics apply.
        given: without passages ranks are not measured.
        bench: where the judges stand that are given.
        verdicts: takes what is asked and said, in input order.

    Returns:
        The lines of ``items.jsonl``, in the order of the answers, and the rows of ``scores.json``: per config, split,
        metric, profile, slice and key.
    """
    given = given or ScoringInputs()
    bench = bench or Bench(given.judges)
    conditions = known_conditions(conditions, given)
    lines = [_key_of(answer) for answer in answers]
    scores: Rows = []
    heard: dict[int, list[Verdict]] = {}
    by_place: dict[tuple[str, str], list[int]] = {}
    for at, answer in enumerate(answers):
        by_place.setdefault((answer.config, answer.split), []).append(at)
    for (config, split), places in by_place.items():
        here = [answers[at] for at in places]
        asked = {answer.key: questions[answer.key] for answer in here}
        metrics = list_metrics(benchmark, config, conditions, given)
        made = _compute_alone(benchmark, config, metrics, asked, here, conditions, given)
        rest = [number for number in range(len(metrics)) if number not in made]
        opened = [Work(benchmark, metrics[number], asked, here, conditions, given) for number in rest]

        def ask(batch: list[Asked], opened: Sequence[Work] = opened, places: Sequence[int] = places) -> list[Any]:
            replies = bench.ask(batch)
            for one, reply in zip(batch, replies, strict=True):
                at, work = places[one.place], opened[one.work]
                judge = str(bench.models[one.judge]) if len(bench.judges) > 1 else None
                heard.setdefault(at, []).append(Verdict(answers[at], work.metric.name, one, reply, judge))
            return replies

        for number, work, rows in zip(rest, opened, follow(opened, ask), strict=True):
            made[number] = rows, work.summarise(bench.models)
        measured = []
        for number, metric in enumerate(metrics):
            rows, means = made[number]
            lacking = {key: given.find_lacking(metric, key) for key in metric.keys}
            for profile, (signature, values) in zip(PROFILES, means, strict=True):
                there = {key: value for key, value in values.items() if not lacking[key]}
                measured.append(Measured(metric, profile, signature, lacking, there))
                for at, row in zip(places, rows, strict=True):
                    _enter(lines[at], measured[-1], row[profile])
        ordered = [asked[answer.key] for answer in here]
        strata = benchmark.strata(ordered, conditions)
        scores += rows_of(benchmark, config, split, [lines[at] for at in places], ordered, measured, strata)
    if verdicts is not None:
        names = [*dict.fromkeys(one.metric for own in heard.values() for one in own)]
        verdicts += (one for at in sorted(heard) for one in sorted(heard[at], key=lambda one: names.index(one.metric)))
    return lines, scores


def score_text(scores: Rows) -> str:
    """Return the text of ``scores.json``: a JSON list, a row a line."""
    return "[\n" + ",\n".join(dumps(row) for row in scores) + "\n]\n"


def list_metrics(benchmark: Benchmark, config: str, conditions: Conditions, given: ScoringInputs) -> list[MetricUse]:
    """List the metrics of a config that can be told of."""
    return [one for one in benchmark.metrics(config, conditions) if given.passages is not None or not one.ranks]


Made = tuple[Rows, list[Means]]


def _compute_alone(
    benchmark: Benchmark,
    config: str,
    metrics: Sequence[MetricUse],
    questions: Questions,
    answers: Sequence[Answer],
    conditions: Conditions,
    given: ScoringInputs,
) -> dict[int, Made]:
    """Compute the metrics that ask nobody wherever work is done; return what is made of each, by its number."""
    if benchmark is not load(benchmark.name):  # one that a system made its own does not travel by its name
        return {}
    alone = [number for number, metric in enumerate(metrics) if not (metric.judged or metric.embedded)]
    passages = given.passages if given.passages is None else {key: given.passages[key] for key in questions}
    task = partial(_compute_one, benchmark.name, config, questions, answers, conditions, passages)
    return dict(zip(alone, parallel.each(task, alone), strict=True))


def _compute_one(
    name: str,
    config: str,
    questions: Questions,
    answers: Sequence[Answer],
    conditions: Conditions,
    passages: Passages | None,
    number: int,
) -> Made:
    benchmark, given = load(name), ScoringInputs(passages=passages)
    metric = list_metrics(benchmark, config, conditions, given)[number]
    work = Work(benchmark, metric, questions, answers, conditions, given)
    (rows,) = follow([work], lambda batch: [])
    return rows, work.summarise()


def _enter(line: dict[str, Any], measured: Measured, row: Mapping[str, Any]) -> None:
    """Enter one item's values of one metric and profile into its line, and whether a rule decided, not the judge."""
    for key in measured.metric.keys:
        if key not in row or measured.lacking[key]:
            continue
        entry = line.setdefault(f"{measured.metric.module}.{key}", {})
        entry[measured.profile] = row[key]
        if key in row["reasons"]:
            entry.setdefault("reason", {})[measured.profile] = row["reasons"][key]
        if row.get("ruled") and row["reasons"].get(key, NOT_APPLICABLE) == NOT_APPLICABLE:
            entry.setdefault("ruled", []).append(measured.profile)

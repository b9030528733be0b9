"""The score stage: scorers driven over answers, their requests asked of the judges, items and rows of what they say.

Each metric's scorer yields what it wants asked (`metrics/_shared/scoring.py`). A judge is asked each distinct chat
once, so both profiles, and all metrics, read one and the same verdict. A metric that needs a judge or an embedding and
has none is reported as not run.
"""

from collections import defaultdict
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from quadrag.benchmark import Benchmark, MetricUse, Stratum
from quadrag.catalogue import load_scorer as load_scorer
from quadrag.chat.http import DeadServer
from quadrag.chat.policy import BudgetReached
from quadrag.errors import QuadragError
from quadrag.parts import Conditions
from quadrag.records import Answer, Key, Passage, Question, document_id, dumps
from quadrag.results.items import Lines, counts, is_ruled, items_of, stratify, tally
from quadrag.results.run import ALL, PROFILES, Counts, Score, ScoreKey, Status
from quadrag.stats import NOT_APPLICABLE, Item, Mean, macro, summarise_all


class Measured(NamedTuple):
    """One metric under one profile, over the items of one split."""

    metric: MetricUse
    profile: str
    signature: str
    lacking: Mapping[str, str | None]  # of each key why it could not be computed
    values: Mapping[str, Any]  # the metric's own over all items, by key

    def scale(self, key: str) -> dict[str, Any]:
        """Return how means of a key are taken: under which profile, of values in which range."""
        record = self.metric.record(key)
        return {"profile": self.profile, "worst": record.worst, "ends": record.range}


Found = dict[tuple[str, str], tuple[Mean, Counts]]  # by slice, or grouping, and key


def score_split(
    benchmark: Benchmark,
    config: str,
    split: str,
    lines: Lines,
    questions: Sequence[Question],
    measured: Sequence[Measured],
    strata: Mapping[Key, Stratum] | None = None,
) -> list[Score]:
    """Make the scores of one split, from its lines of ``items.jsonl`` and the question of each."""
    slices, units = slices_of(questions), find_units(questions)
    groupings = {
        f"macro:{name}": groups
        for name in benchmark.macro
        if (groups := [members for part, members in slices.items() if part.startswith(f"{name}=")])
    }
    scores: list[Score] = []
    for given in measured:
        found = _measure(given, lines, units, slices, groupings)
        for key in given.values.keys() - {key for _, key in found}:
            # A mean that is weighted by groups has no value an item, and is there for all items alone.
            plain = key.removesuffix("_weighted")
            counts_of_plain = found[ALL, plain][1] if (ALL, plain) in found else Counts(len(lines))
            found[ALL, key] = _weigh(given, plain, lines, units, strata or {}), counts_of_plain
        for part in (*slices, *groupings):
            for key in given.metric.keys:
                place = (ScoreKey(benchmark.name, config, split, given.metric.module, key), given.profile, part)
                if (part, key) in found:
                    mean, n = found[part, key]
                    value = given.values.get(key, mean.value) if part == ALL else mean.value
                    method, over_scored = mean.method if mean.interval else None, mean.over_scored
                    scores.append(Score(*place, value, mean.interval, n, given.signature, method, over_scored))
                elif part in slices and key not in given.values:
                    why, n = given.lacking[key] or "no references", Counts(len(slices[part]))
                    score = Score(*place, None, None, n, given.signature)
                    scores.append(replace(score, status=Status.NOT_RUN, reason=why))
    return scores


def _measure(
    given: Measured,
    lines: Lines,
    units: Mapping[Key, str],
    slices: Mapping[str, Sequence[int]],
    groupings: Mapping[str, Sequence[Sequence[int]]],
) -> Found:
    """Find the means of the keys that every item has, over slices, and over groups of items that count alike."""
    found: Found = {}
    by_scale: dict[Any, dict[str, list[Item]]] = {}  # keys of one range, whose unscored items count alike, draw as one
    for key in given.metric.keys:
        items = items_of(lines, f"{given.metric.module}.{key}", given.profile, units)
        if len(items) == len(lines):
            by_scale.setdefault(tuple(given.scale(key).items()), {})[key] = items
    for scale, columns in by_scale.items():
        for part, members in slices.items():
            picked = [[items[at] for at in members] for items in columns.values()]
            for key, own, summary in zip(columns, picked, summarise_all(picked, **dict(scale)), strict=True):
                entries = [lines[at][f"{given.metric.module}.{key}"] for at in members]
                n_ruled = sum(is_ruled(entry, given.profile) for entry in entries)
                found[part, key] = summary, replace(tally(own), n_ruled=n_ruled)
        for part, groups in groupings.items():
            grouped = [[[own[at] for at in group] for own in columns.values()] for group in groups]
            for (key, items), mean in zip(columns.items(), macro(grouped, **dict(scale)), strict=True):
                n_groups = sum(any(counts(items[at], given.profile) for at in group) for group in groups)
                whole = tally([items[at] for group in groups for at in group])
                found[part, key] = mean, replace(whole, n_filled=0, n_groups=n_groups)
    return found


def _weigh(given: Measured, key: str, lines: Lines, units: Mapping[Key, str], strata: Mapping[Key, Stratum]) -> Mean:
    """Find the interval of a weighted mean; none where the strata are not known."""
    items = items_of(lines, f"{given.metric.module}.{key}", given.profile, units)
    if not items or not strata:
        return Mean(None, None, None)
    groups, weights = stratify(items, strata, given.profile)
    means = macro([[group] for group in groups], weights=weights, **given.scale(key))
    return means[0] if means else Mean(None, None, None)


def slices_of(questions: Sequence[Question]) -> dict[str, list[int]]:
    """Return the members of every slice by their places, all of them first; ``domain=finance`` is a slice's name."""
    found: dict[str, list[int]] = {}
    for at, question in enumerate(questions):
        for name, value in question.slices.items():
            found.setdefault(f"{name}={value}", []).append(at)
    order = {name: rank for rank, name in enumerate(questions[0].slices)} if questions else {}
    names = sorted(found, key=lambda name: (order.get(name.partition("=")[0], len(order)), name))
    return {ALL: list(range(len(questions)))} | {name: found[name] for name in names}


def find_units(questions: Sequence[Question]) -> dict[Key, str]:
    """Return the unit of every question that shares a conversation or a gold document with others of its split.

    A unit is all that hangs together, and has the name of its first question's id.
    """
    above: dict[Hashable, Hashable] = {}

    def root(thing: Hashable) -> Hashable:
        while (higher := above.setdefault(thing, thing)) != thing:
            above[thing] = above[higher]
            thing = higher
        return thing

    for question in questions:
        split = question.key[:2]
        shared = [(*split, "document", document) for document in question.relevant]
        shared += [(*split, "talk", question.talk)] if question.talk else []
        for thing in shared:
            above[root(thing)] = root(question.key)
    units: dict[Hashable, list[Question]] = defaultdict(list)
    for question in questions:
        units[root(question.key)].append(question)
    return {each.key: members[0].id for members in units.values() if len(members) > 1 for each in members}


Messages = list[dict[str, str]]
Judge = Callable[[list[Messages]], list[Any]]
Embed = Callable[[list[str]], Any]  # n texts to an n x d array
Request = Mapping[str, Any]  # as a scorer yields it, with the places of its answer (`item`) and of its `judge`
Rows = list[dict[str, Any]]
Questions = Mapping[Key, Question]
Passages = Mapping[Key, Sequence[Passage]]


class DeadJudge(QuadragError):
    """A judge of which nothing came but faults; `params` are its name as ``judge``, and what the fault ``said``."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Take what is known of it."""
        line = "the judge {judge} does not answer: {said}; answers are kept: do it again with a judge that does"
        super().__init__(line.format_map(params))
        self.params = params


@dataclass(slots=True)
class ScoringInputs:
    """What metrics may need beside answers and references; each may be lacking. What judges said is kept by chat."""

    judges: Sequence[Judge] = ()
    embed: Embed | None = None
    passages: Passages | None = None
    said: dict[tuple[int, str], Any] = field(default_factory=dict, init=False)  # by judge and chat
    stopped: Mapping[str, Any] | None = field(default=None, init=False)  # the budget that ended among the verdicts

    @property
    def models(self) -> list[str | None]:
        """The names of the judges, None of a function without one."""
        return [getattr(judge, "model", None) for judge in self.judges]

    def find_lacking(self, metric: MetricUse, key: str) -> str | None:
        """Say what a key of a metric needs and is not here; None where it can be computed."""
        return metric.find_lacking(key, bool(self.judges), bool(self.embed))

    def limit(self, conditions: Conditions) -> Conditions:
        """Return conditions as metrics are to see them: a file of answers has no passages, wherever it is from."""
        return conditions if self.passages is not None else replace(conditions, top_k=0)

    def ask(self, requests: Sequence[Request]) -> list[Any]:
        """Return the replies to requests; each judge is asked all that is new to it in one call."""
        keys = [(request["judge"], dumps(request["messages"])) for request in requests]
        for place in range(len(self.judges)):
            new = {
                key: request["messages"]
                for key, request in zip(keys, requests, strict=True)
                if key[0] == place and key not in self.said
            }
            if new:
                self.said |= zip(new, self._call(place, [*new.values()]), strict=True)
        return [self.said[key] for key in keys]

    def _call(self, place: int, chats: list[Messages]) -> list[Any]:
        try:
            return list(self.judges[place](chats))
        except BudgetReached as stop:
            self.stopped = self.stopped or stop.params
            return list(stop.results)
        except DeadServer as dead:
            raise DeadJudge({"judge": self.models[place], "said": str(dead)}) from dead


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
        """Bring answers and references to the metric's form; the one judge at `judge` may be asked alone."""
        self.metric, self.profiles, self._n = metric, profiles, len(answers)
        self.idle = all(given.find_lacking(metric, key) for key in metric.keys)
        if self.idle:
            return
        places = range(len(given.judges))
        self.judges = [place for place in places if metric.asks(place, len(places)) and judge in (None, place)]
        self._models = [given.models[place] for place in self.judges]
        asked = [questions[answer.key] for answer in answers]
        predictions, references, options = _columns(benchmark, metric, asked, answers, conditions, given)
        # A scorer that knows no item without a reference is not shown any.
        self._there = [at for at, reference in enumerate(references) if reference is not None or metric.nothing]
        kind = load_scorer(metric.module)
        own = {name: options.pop(name) for name in ("states", *kind.COLUMNS) if name in options}
        columns = {name: [values[at] for at in self._there] for name, values in own.items()}
        shown = kind.columns([predictions[at] for at in self._there], [references[at] for at in self._there])
        self.scorer = kind(profiles=profiles, judges=len(self.judges), config=metric.config, **options)
        self.items = self.scorer.items(**shown, **columns)

    def rounds(self) -> Generator[list[Request], list[Any], Rows]:
        """Yield what is to be asked, round by round, and return a row an answer."""
        if self.idle:
            return [{profile: {"reasons": {}} for profile in self.profiles}] * self._n
        rounds, replies = self.scorer.score(self.items), None
        while True:
            try:
                requests = rounds.send(replies)
            except StopIteration as done:
                self._rows: Rows = done.value
                break
            replies = yield [
                {**each, "item": self._there[each["item"]], "judge": self.judges[each.get("judge", 0)]}
                for each in requests
            ]
        none = dict.fromkeys(self.metric.keys) | {"reasons": dict.fromkeys(self.metric.keys, NOT_APPLICABLE)}
        by_place = dict(zip(self._there, self._rows, strict=True))
        return [by_place.get(at) or dict.fromkeys(self.profiles, none) for at in range(self._n)]

    def summarise(self) -> list[tuple[str, dict[str, Any]]]:
        """Return by profile the signature and the values over all answers by key, once `rounds` is through."""
        if self.idle:
            return [(f"{self.metric.module}|profile:{profile}", {}) for profile in self.profiles]
        whole = [self.scorer.summarise(self._rows, profile, self._models) for profile in self.profiles]
        return [(each["signature"], {key: each[key] for key in self.metric.keys if key in each}) for each in whole]


def _columns(
    benchmark: Benchmark,
    metric: MetricUse,
    asked: Sequence[Question],
    answers: Sequence[Answer],
    conditions: Conditions,
    given: ScoringInputs,
) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Return predictions, references, and a metric's other columns and options by their names."""
    options = dict(benchmark.keywords(metric, asked, conditions))
    passages = [() if given.passages is None else given.passages.get(answer.key) for answer in answers]
    if metric.ranks:
        ranked = [None if found is None else [document_id(passage) for passage in found] for found in passages]
        options["states"] = [
            answer.state if found is None else None for answer, found in zip(answers, passages, strict=True)
        ]
        return ranked, [list(question.relevant) for question in asked], options
    options["states"] = [None if answer.answer is not None else answer.state for answer in answers]
    if metric.embedded and given.embed:
        options["embed"] = given.embed
    if metric.contexts and given.passages is not None:
        options["contexts"] = [[passage.text for passage in found or ()] for found in passages]
    predictions = [None if each.answer is None else benchmark.parse(each.config, each.answer) for each in answers]
    return predictions, [metric.shape(question.references) for question in asked], options


def follow(work: Work, ask: Callable[[list[Request]], list[Any]]) -> Rows:
    """Drive a work with what asks a round of it, and return a row an answer."""
    rounds, replies = work.rounds(), None
    while True:
        try:
            requests = rounds.send(replies)  # type: ignore[arg-type]  # None begins it
        except StopIteration as done:
            rows: Rows = done.value
            return rows
        replies = ask(requests)


def score(
    benchmark: Benchmark,
    questions: Questions,
    answers: Sequence[Answer],
    conditions: Conditions,
    given: ScoringInputs | None = None,
    verdicts: Rows | None = None,
) -> tuple[Rows, list[Score]]:
    """Score answers.

    Args:
        benchmark: whose metrics apply.
        questions: every question by its key.
        answers: in input order; each key is among the questions.
        conditions: as they were when the answers were made; without documents, say, fewer metrics apply.
        given: without passages ranks are not measured; an answer whose key has none is unscored there.
        verdicts: takes the lines of ``verdicts.jsonl``, in input order.

    Returns:
        The lines of ``items.jsonl``, in the order of the answers, and the scores: per config, split,
        metric, profile, slice and key.
    """
    given = given or ScoringInputs()
    conditions = given.limit(conditions)
    lines = [_key_of(answer) for answer in answers]
    scores: list[Score] = []
    heard: list[Rows] = [[] for _ in answers]
    by_split: dict[tuple[str, str], list[int]] = {}
    for at, answer in enumerate(answers):
        by_split.setdefault((answer.config, answer.split), []).append(at)

    for (config, split), places in by_split.items():
        here = [answers[at] for at in places]
        measured = []
        for metric in benchmark.metrics(config, conditions):
            if metric.ranks and given.passages is None:
                continue
            work = Work(benchmark, metric, questions, here, conditions, given)

            def ask(requests: list[Request], name: str = metric.name, places: Sequence[int] = places) -> list[Any]:
                replies = given.ask(requests)
                for request, reply in zip(requests, replies, strict=True):
                    at = places[request["item"]]
                    judge = given.models[request["judge"]] if len(given.judges) > 1 else None
                    heard[at].append(_verdict_of(answers[at], name, judge, request, reply))
                return replies

            rows = follow(work, ask)
            lacking = {key: given.find_lacking(metric, key) for key in metric.keys}
            for profile, (signature, values) in zip(PROFILES, work.summarise(), strict=True):
                values = {key: value for key, value in values.items() if not lacking[key]}
                measured.append(Measured(metric, profile, signature, lacking, values))
                for at, row in zip(places, rows, strict=True):
                    _enter(lines[at], measured[-1], row[profile])
        asked = [questions[answer.key] for answer in here]
        strata = benchmark.strata(asked, conditions)
        scores += score_split(benchmark, config, split, [lines[at] for at in places], asked, measured, strata)
    if verdicts is not None:
        verdicts += (verdict for own in heard for verdict in own)
    return lines, scores


def _key_of(answer: Answer) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in ("benchmark", "config", "split", "id", "sample")}


def _verdict_of(answer: Answer, metric: str, judge: str | None, request: Request, reply: Any) -> dict[str, Any]:
    """Return a line of ``verdicts.jsonl``: what was asked about an answer, of which judge of several, and the reply."""
    row = {**_key_of(answer), "metric": metric}
    row |= {} if judge is None else {"judge": judge}
    row |= {"about": request["about"]} if "about" in request else {}
    row["request"] = request["messages"]
    if isinstance(reply, str):
        return row | {"reply": reply}
    return row | {"reply": None, "reason": reply.reason, "detail": getattr(reply, "detail", "")}


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


def score_text(scores: Sequence[Score]) -> str:
    """Return the text of ``scores.json``: a JSON list, a row a line."""
    return "[\n" + ",\n".join(dumps(score.as_row()) for score in scores) + "\n]\n"

"""The score stage: scorers driven over answers, their requests asked of the judges, items and scores of what they say.

Each metric's scorer yields what it wants asked (`metrics/_shared/scoring.py`). A judge is asked each distinct chat
once, so both profiles, and all metrics, read one and the same verdict. A metric that needs a judge or an embedding and
has none is reported as not run. The value over all items of a split is the metric module's own; that of a slice, as
``domain=finance``, and every interval comes from `quadrag.stats`, by questions that belong together.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from quadrag.benchmark import Benchmark, MetricUse, Stratum
from quadrag.catalogue import load_scorer
from quadrag.chat.http import DeadServer
from quadrag.chat.policy import BudgetReached
from quadrag.errors import QuadragError
from quadrag.metric_record import metric_record
from quadrag.metrics._shared.scoring import drive_rounds
from quadrag.metrics._shared.slots import PLAIN
from quadrag.records import Answer, Key, Passage, Question, document_id, dumps
from quadrag.results import ALL, PROFILES, Counts, Score, ScoreKey, Status
from quadrag.results.items import Lines, counts, is_ruled, items_of, stratify, tally
from quadrag.spec import RunSpec
from quadrag.stats import NOT_APPLICABLE, Item, Mean, macro, summarise_all

Messages = list[dict[str, str]]
Judge = Callable[[list[Messages]], list[Any]]
Embed = Callable[[list[str]], Any]  # n texts to an n x d array
Request = dict[str, Any]  # as a scorer yields it, with the places of its answer (`item`) and of its `judge`
Ask = Callable[[list[Request]], list[Any]]
Rows = list[dict[str, Any]]
Passages = Mapping[Key, Sequence[Passage]]


class DeadJudge(QuadragError):
    """A judge of which nothing came but faults; `params` are its name as ``judge``, and what the fault ``said``."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        line = "the judge {judge} does not answer: {said}; answers are kept: do it again with a judge that does"
        super().__init__(line.format_map(params))
        self.params = params


@dataclass(slots=True)
class ScoringInputs:
    """What metrics need beside answers; judges, an embedding and passages may be lacking. Replies are kept by chat."""

    benchmark: Benchmark
    questions: Mapping[Key, Question]
    spec: RunSpec
    judges: Sequence[Judge] = ()
    embed: Embed | None = None
    passages: Passages | None = None  # without them ranks are not measured; one whose key has none is unscored there
    replies: dict[tuple[int, str], Any] = field(default_factory=dict, init=False)  # by judge and chat
    stopped: Mapping[str, Any] | None = field(default=None, init=False)  # the budget that ended among the verdicts

    def __post_init__(self) -> None:
        if self.passages is None:  # a file of answers has none, wherever it is from
            self.spec = self.spec.showing(0)

    @property
    def models(self) -> list[str | None]:
        """The names of the judges, None of a function without one."""
        return [getattr(judge, "model", None) for judge in self.judges]

    @property
    def metrics(self) -> list[MetricUse]:
        metrics = self.benchmark.metrics(self.spec)
        return [metric for metric in metrics if self.passages is not None or not metric.ranks]

    def list_judged(self, place: int | None = None) -> list[MetricUse]:
        judges = len(self.judges)
        return [each for each in self.metrics if each.judged and (place is None or each.asks(place, judges))]

    def ask(self, requests: Sequence[Request]) -> list[Any]:
        """Return the replies to requests; each judge is asked all that is new to it in one call."""
        keys = [(request["judge"], dumps(request["messages"])) for request in requests]
        for place in range(len(self.judges)):
            new = {
                key: request["messages"]
                for key, request in zip(keys, requests, strict=True)
                if key[0] == place and key not in self.replies
            }
            if new:
                self.replies |= zip(new, self._call(place, [*new.values()]), strict=True)
        return [self.replies[key] for key in keys]

    def _call(self, place: int, chats: list[Messages]) -> list[Any]:
        try:
            return list(self.judges[place](chats))
        except BudgetReached as stop:
            self.stopped = self.stopped or stop.params
            return list(stop.results)
        except DeadServer as dead:
            raise DeadJudge({"judge": self.models[place], "said": str(dead)}) from dead


class Measured(NamedTuple):
    """One metric under one profile, over the items of one split."""

    metric: MetricUse
    profile: str
    signature: str
    lacking: Mapping[str, str | None]  # of each key why it could not be computed
    values: Mapping[str, Any]  # the metric's own over all items, by key

    def scale(self, key: str) -> dict[str, Any]:
        record = metric_record(self.metric.module).key(key)
        return {"profile": self.profile, "worst": record.worst, "ends": record.range}


def score(inputs: ScoringInputs, answers: Sequence[Answer], verdicts: Rows | None = None) -> tuple[Rows, list[Score]]:
    """Score answers of one config, whose order is that of the lines of ``items.jsonl`` that are returned.

    The scores are per split, metric, profile, slice and key. `verdicts` takes the lines of ``verdicts.jsonl``.
    """
    lines = [_key_of(answer) for answer in answers]
    verdict_rows: list[Rows] = [[] for _ in answers]
    places_by_split: dict[str, list[int]] = {}
    for place, answer in enumerate(answers):
        places_by_split.setdefault(answer.split, []).append(place)

    scores: list[Score] = []
    for split, places in places_by_split.items():
        answers_of_split = [answers[place] for place in places]
        lines_of_split = [lines[place] for place in places]
        measured = _measure_split(inputs, answers_of_split, lines_of_split, [verdict_rows[place] for place in places])
        questions = [inputs.questions[answer.key] for answer in answers_of_split]
        strata = inputs.benchmark.strata(questions, inputs.spec)
        scores += score_split(inputs.benchmark, inputs.spec.config, split, lines_of_split, questions, measured, strata)
    if verdicts is not None:
        verdicts += (verdict for rows in verdict_rows for verdict in rows)
    return lines, scores


def _measure_split(
    inputs: ScoringInputs, answers: Sequence[Answer], lines: Rows, verdict_rows: Sequence[Rows]
) -> list[Measured]:
    measured = []
    for metric in inputs.metrics:

        def ask(requests: list[Request], name: str = metric.name) -> list[Any]:
            replies = inputs.ask(requests)
            for request, reply in zip(requests, replies, strict=True):
                place = request["item"]
                judge = inputs.models[request["judge"]] if len(inputs.judges) > 1 else None
                verdict_rows[place].append(_verdict_of(answers[place], name, judge, request, reply))
            return replies

        rows, by_profile = apply_metric(inputs, metric, answers, ask)
        for result in by_profile:
            for line, row in zip(lines, rows, strict=True):
                _enter(line, result, row[result.profile])
        measured += by_profile
    return measured


def apply_metric(
    inputs: ScoringInputs,
    metric: MetricUse,
    answers: Sequence[Answer],
    ask: Ask,
    profiles: Sequence[str] = PROFILES,
    judge: int | None = None,
) -> tuple[Rows, list[Measured]]:
    """Return a row an answer by one metric, and by profile what it comes to; `judge` alone is asked where it is given.

    `ask` returns replies to requests, round by round.
    """
    n_judges = len(inputs.judges)
    lacking = {key: metric.find_lacking(key, bool(n_judges), bool(inputs.embed)) for key in metric.keys}
    if all(lacking.values()):
        idle = [Measured(metric, profile, f"{metric.module}|profile:{profile}", lacking, {}) for profile in profiles]
        return [{profile: {"reasons": {}} for profile in profiles}] * len(answers), idle

    judges = [place for place in range(n_judges) if metric.asks(place, n_judges) and judge in (None, place)]
    predictions, references, options = _columns(inputs, metric, answers)
    # A scorer that knows no item without a reference is not shown any.
    places = [place for place, reference in enumerate(references) if reference is not None or metric.nothing]
    scorer_class = load_scorer(metric.module)
    own_columns = {name: options.pop(name) for name in ("states", *scorer_class.COLUMNS) if name in options}
    columns = scorer_class.columns([predictions[place] for place in places], [references[place] for place in places])
    columns |= {name: [values[place] for place in places] for name, values in own_columns.items()}
    scorer = scorer_class(profiles=profiles, judges=len(judges), config=metric.config, **options)

    def ask_placed(requests: list[Request]) -> list[Any]:
        return ask([{**r, "item": places[r["item"]], "judge": judges[r.get("judge", 0)]} for r in requests])

    rows = drive_rounds(scorer.score(scorer.items(**columns)), ask_placed)
    measured = []
    for profile in profiles:
        result = scorer.summarise(rows, profile, [inputs.models[place] for place in judges])
        values = {key: result[key] for key in metric.keys if key in result and not lacking[key]}
        measured.append(Measured(metric, profile, result["signature"], lacking, values))
    not_applicable = dict.fromkeys(metric.keys) | {"reasons": dict.fromkeys(metric.keys, NOT_APPLICABLE)}
    by_place = dict(zip(places, rows, strict=True))
    return [by_place.get(place) or dict.fromkeys(profiles, not_applicable) for place in range(len(answers))], measured


def read_keywords(
    benchmark: Benchmark, metric: MetricUse, questions: Sequence[Question], spec: RunSpec
) -> dict[str, Any]:
    """Return a metric's keywords, with the name of the `prompt` of its judges where that is not the official one."""
    keywords = dict(benchmark.keywords(metric, questions, spec))
    names = {judge.prompt for place, judge in enumerate(spec.judges) if metric.asks(place, len(spec.judges))}
    if len(names) > 1:
        raise QuadragError(f"the judges of {metric.name} are asked alike; give all of them one prompt")
    if PLAIN in names:
        if "prompt" in keywords:
            raise QuadragError("--prompts say what judges are told, and the plain prompt too; leave out one of them")
        if not metric_record(metric.module).plain:
            raise QuadragError(f"{metric.module} has no plain prompt; leave it out, or the judge")
        keywords["prompt"] = PLAIN
    return keywords


def _columns(
    inputs: ScoringInputs, metric: MetricUse, answers: Sequence[Answer]
) -> tuple[list[Any], list[Any], dict[str, Any]]:
    questions = [inputs.questions[answer.key] for answer in answers]
    options = read_keywords(inputs.benchmark, metric, questions, inputs.spec)
    passages = [() if inputs.passages is None else inputs.passages.get(answer.key) for answer in answers]
    if metric.ranks:
        ranked = [None if shown is None else [document_id(passage) for passage in shown] for shown in passages]
        options["states"] = [
            answer.state if shown is None else None for answer, shown in zip(answers, passages, strict=True)
        ]
        return ranked, [list(question.relevant) for question in questions], options
    options["states"] = [None if answer.answer is not None else answer.state for answer in answers]
    if metric.embedded and inputs.embed:
        options["embed"] = inputs.embed
    if metric.contexts and inputs.passages is not None:
        options["contexts"] = [[passage.text for passage in shown or ()] for shown in passages]
    parse = inputs.benchmark.parse
    predictions = [None if answer.answer is None else parse(answer.config, answer.answer) for answer in answers]
    return predictions, [metric.shape(question.references) for question in questions], options


def _key_of(answer: Answer) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in ("benchmark", "config", "split", "id", "sample")}


def _verdict_of(answer: Answer, metric: str, judge: str | None, request: Request, reply: Any) -> dict[str, Any]:
    row = {**_key_of(answer), "metric": metric}
    row |= {} if judge is None else {"judge": judge}
    row |= {"about": request["about"]} if "about" in request else {}
    row["request"] = request["messages"]
    if isinstance(reply, str):
        return row | {"reply": reply}
    return row | {"reply": None, "reason": reply.reason, "detail": getattr(reply, "detail", "")}


def _enter(line: dict[str, Any], measured: Measured, row: Mapping[str, Any]) -> None:
    for key in measured.metric.keys:
        if key not in row or measured.lacking[key]:
            continue
        entry = line.setdefault(f"{measured.metric.module}.{key}", {})
        entry[measured.profile] = row[key]
        if key in row["reasons"]:
            entry.setdefault("reason", {})[measured.profile] = row["reasons"][key]
        if row.get("ruled") and row["reasons"].get(key, NOT_APPLICABLE) == NOT_APPLICABLE:
            entry.setdefault("ruled", []).append(measured.profile)


# From the items of a split to its scores.

Means = dict[tuple[str, str], tuple[Mean, Counts]]  # by slice, or grouping, and key


def score_split(
    benchmark: Benchmark,
    config: str,
    split: str,
    lines: Lines,
    questions: Sequence[Question],
    measured: Sequence[Measured],
    strata: Mapping[Key, Stratum] | None = None,
) -> list[Score]:
    slices, units = _slices_of(questions), find_units(questions)
    groupings = {
        f"macro:{name}": groups
        for name in benchmark.macro
        if (groups := [members for part, members in slices.items() if part.startswith(f"{name}=")])
    }
    scores: list[Score] = []
    for each in measured:
        means = _average(each, lines, units, slices, groupings)
        for key in each.values.keys() - {key for _, key in means}:
            # A mean that is weighted by groups has no value an item, and is there for all items alone.
            plain = key.removesuffix("_weighted")
            counts_of_plain = means[ALL, plain][1] if (ALL, plain) in means else Counts(len(lines))
            means[ALL, key] = _weigh(each, plain, lines, units, strata or {}), counts_of_plain
        for part in (*slices, *groupings):
            for key in each.metric.keys:
                place = (ScoreKey(benchmark.name, config, split, each.metric.module, key), each.profile, part)
                if (part, key) in means:
                    mean, n = means[part, key]
                    value = each.values.get(key, mean.value) if part == ALL else mean.value
                    method, over_scored = mean.method if mean.interval else None, mean.over_scored
                    scores.append(Score(*place, value, mean.interval, n, each.signature, method, over_scored))
                elif part in slices and key not in each.values:
                    why, n = each.lacking[key] or "no references", Counts(len(slices[part]))
                    score = Score(*place, None, None, n, each.signature)
                    scores.append(replace(score, status=Status.NOT_RUN, reason=why))
    return scores


def _average(
    measured: Measured,
    lines: Lines,
    units: Mapping[Key, str],
    slices: Mapping[str, Sequence[int]],
    groupings: Mapping[str, Sequence[Sequence[int]]],
) -> Means:
    """Find the means of the keys that every item has, over slices, and over groups of items that count alike."""
    means: Means = {}
    by_scale: dict[Any, dict[str, list[Item]]] = {}  # keys of one range, whose unscored items count alike, draw as one
    for key in measured.metric.keys:
        items = items_of(lines, f"{measured.metric.module}.{key}", measured.profile, units)
        if len(items) == len(lines):
            by_scale.setdefault(tuple(measured.scale(key).items()), {})[key] = items
    for scale, columns in by_scale.items():
        for part, members in slices.items():
            picked = [[items[at] for at in members] for items in columns.values()]
            for key, own, summary in zip(columns, picked, summarise_all(picked, **dict(scale)), strict=True):
                entries = [lines[at][f"{measured.metric.module}.{key}"] for at in members]
                n_ruled = sum(is_ruled(entry, measured.profile) for entry in entries)
                means[part, key] = summary, replace(tally(own), n_ruled=n_ruled)
        for part, groups in groupings.items():
            grouped = [[[own[at] for at in group] for own in columns.values()] for group in groups]
            for (key, items), mean in zip(columns.items(), macro(grouped, **dict(scale)), strict=True):
                n_groups = sum(any(counts(items[at], measured.profile) for at in group) for group in groups)
                whole = tally([items[at] for group in groups for at in group])
                means[part, key] = mean, replace(whole, n_filled=0, n_groups=n_groups)
    return means


def _weigh(measured: Measured, key: str, lines: Lines, units: Mapping[Key, str], strata: Mapping[Key, Stratum]) -> Mean:
    items = items_of(lines, f"{measured.metric.module}.{key}", measured.profile, units)
    if not items or not strata:
        return Mean(None, None, None)
    groups, weights = stratify(items, strata, measured.profile)
    means = macro([[group] for group in groups], weights=weights, **measured.scale(key))
    return means[0] if means else Mean(None, None, None)


def _slices_of(questions: Sequence[Question]) -> dict[str, list[int]]:
    """Return the members of every slice by their places, all of them first; ``domain=finance`` is a slice's name."""
    members: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        for name, value in question.slices.items():
            members.setdefault(f"{name}={value}", []).append(place)
    order = {name: rank for rank, name in enumerate(questions[0].slices)} if questions else {}
    names = sorted(members, key=lambda name: (order.get(name.partition("=")[0], len(order)), name))
    return {ALL: list(range(len(questions)))} | {name: members[name] for name in names}


def find_units(questions: Sequence[Question]) -> dict[Key, str]:
    """Return the unit of every question that shares a conversation or a gold document with others of its split.

    A unit is all that hangs together, and has the name of its first question's id.
    """
    parents: dict[Hashable, Hashable] = {}

    def find_root(node: Hashable) -> Hashable:
        while (parent := parents.setdefault(node, node)) != node:
            parents[node] = parents[parent]
            node = parent
        return node

    for question in questions:
        split = question.key[:2]
        shared = [(*split, "document", document) for document in question.relevant]
        shared += [(*split, "talk", question.talk)] if question.talk else []
        for node in shared:
            parents[find_root(node)] = find_root(question.key)
    units: dict[Hashable, list[Question]] = defaultdict(list)
    for question in questions:
        units[find_root(question.key)].append(question)
    return {each.key: members[0].id for members in units.values() if len(members) > 1 for each in members}

"""The answers of one run, or of several beside each other, as the page's viewer takes them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from urllib.parse import quote

from quadrag.errors import QuadragError
from quadrag.metric_record import metric_record, name_together
from quadrag.records import Passage, Question

from ..report.comparison import name_runs
from ..report.questions import (
    QuestionInfo,
    RunReader,
    find_phrase,
    find_unfit,
    note_gold,
    order_metrics,
    place_gold,
    spell_gold,
)
from ..reporting.messages import say
from ..results.run import PROFILES, Result, own_profile
from ..tables.cells import CHARACTERS
from ..tables.language import ENGLISH, speak
from ..tables.names import name_model

MOST = 10_000  # items of a page
BEGINNING = 160  # characters of a text in the list

Place = tuple[str, str, str, str, int, int]  # benchmark, config, split, id, sample, turn
Side = Sequence[QuestionInfo | None]  # one question as every run has it


@dataclass(slots=True)
class Answers:
    """What the viewer shows.

    Attributes:
        index: the runs' names, whole and side by side, the metrics, those of each benchmark, and of every item what the
            list shows.
        items: what the list does not have of each.
        passages: the distinct ones, numbered as they come.
        told: what a reader must know of what is not here.
    """

    index: dict[str, Any] = field(default_factory=dict)
    items: list[dict[str, Any]] = field(default_factory=list)
    passages: dict[Passage, int] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


def collect_answers(
    runs: Sequence[tuple[str, Sequence[Result]]],
    most: int = MOST,
    profile: str | None = None,
    labels: str = ENGLISH,
) -> Answers:
    """Collect the answers of runs; those to the same question stand together.

    Args:
        runs: name and results of each.
        most: how many items are taken of a run, of each part alike; that others are left out is told.
        profile: whose values they are shown with; the runs' own, of runs with two ``official``, when None.
        labels: the language of why an answer is lacking.
    """
    profile = profile or own_profile(result for _, results in runs for result in results) or PROFILES[0]
    answers = Answers()
    whole = max((sum(len(result.items) for result in results) for _, results in runs), default=0)
    share = most // max(len(results) for _, results in runs) if whole > most else most
    shown: dict[Place, list[QuestionInfo | None]] = {}
    systems: dict[Place, dict[str, None]] = {}  # what answered
    read: list[list[RunReader]] = [[] for _ in runs]
    for at, (_, results) in enumerate(runs):
        turns: Counter[str] = Counter()  # a campaign may run a config several times
        for result, system in zip(results, _name_systems(results), strict=True):
            turn = turns[result.run.config]
            turns[result.run.config] += 1
            try:
                reader = _open(result)
            except QuadragError as error:
                answers.told.append(f"Single answers are not shown: {error}.")
                continue
            items = reader.select()[:share]
            for item in items:
                place = (reader.run.benchmark, *item.question.key, item.sample, turn)
                shown.setdefault(place, [None] * len(runs))[at] = item
                systems.setdefault(place, {})[speak(system, labels)] = None
            read[at].append(reader)
            if len(result.items) > share:
                answers.told.append(
                    f"The first {share} of {len(result.items)} answers stand here; `quadrag show {result.folder}` has "
                    "them all."
                )
    ordered = _order_each(read)
    names = list(dict.fromkeys(chain.from_iterable(ordered.values())))
    unfit = find_unfit(read)
    answers.index = {
        "runs": [speak(name, labels) for name, _ in runs],
        "called": [speak(name, labels) for name in name_runs([name for name, _ in runs])],
        "metrics": [one | {"unfit": one["name"] in unfit} for one in _describe_metrics(names)],
        "benchmarks": {benchmark: [names.index(name) for name in own] for benchmark, own in ordered.items()},
        "items": [
            _list_item(place, items, names, profile, labels, ", ".join(filter(None, systems[place])))
            for place, items in shown.items()
        ],
    }
    answers.items = [_whole_item(items, answers.passages, profile, labels) for items in shown.values()]
    return answers


def _name_systems(results: Sequence[Result]) -> list[str]:
    """Name what answered in each run of a folder, "" where it is one: the model, with the folder where it ran again."""
    models = [name_model(one.run) for one in results]
    inputs = [(model, one.run) for model, one in zip(models, results, strict=True)]
    asked = Counter((model, one.config, split) for model, one in inputs for split in one.splits)
    again = {model for (model, *_), times in asked.items() if times > 1}
    names = list(models)
    for model in again:
        own = [at for at, one in enumerate(models) if one == model]
        for at, folder in zip(own, name_runs([str(results[at].folder) for at in own]), strict=True):
            names[at] = f"{model} {folder}" if len({*models}) > 1 else folder
    return names if len({*names}) > 1 else [""] * len(names)


def _order_each(read: Sequence[Sequence[RunReader]]) -> dict[str, list[str]]:
    """Order the metrics of each benchmark; the first is the one that is chosen."""
    benchmarks = dict.fromkeys(reader.run.benchmark for run in read for reader in run)
    own = {name: [[one for one in run if one.run.benchmark == name] for run in read] for name in benchmarks}
    return {name: order_metrics([run for run in runs if run]) for name, runs in own.items()}


def _open(result: Result) -> RunReader:
    if result.folder is None:
        raise QuadragError("the run has no folder")
    return RunReader(result.folder, result)


def _describe_metrics(names: Sequence[str]) -> list[dict[str, Any]]:
    """Name metrics, say which end of each is better (0: neither), what the best and the worst value is.

    A value is shown in the tables' unit: so many times as large.
    """
    found = []
    for name, label in name_together(names).items():
        module, _, key = name.partition(".")
        record = metric_record(module).key(key)
        sign = {"higher": 1, "lower": -1}.get(record.direction, 0)
        worst, best = record.range[::sign] if sign else (None, None)
        scale = 1 if record.unit == CHARACTERS else 100
        found.append({"name": name, "label": label, "sign": sign, "best": best, "worst": worst, "scale": scale})
    return found


def _list_item(
    place: Place, items: Side, metrics: Sequence[str], profile: str, labels: str, system: str
) -> dict[str, Any]:
    """Return an item as the list shows it: the beginnings of its texts, its values by run and metric."""
    benchmark, config, split, ident, sample, _ = place
    question = next(item for item in items if item).question
    return {
        "place": "/".join(quote(str(part), safe="") for part in place),
        "id": ident,
        "sample": sample,
        "question": question.query[:BEGINNING],
        "answers": [None if item is None else (item.answer or "")[:BEGINNING] for item in items],
        "failed": [speak(item.failure, labels) if item else "" for item in items],
        "values": [[_value_of(item, name, profile) for name in metrics] for item in items],
        "groups": {
            "benchmark": benchmark,
            "config": config,
            "split": split,
            **({"system": system} if system else {}),
            **question.slices,
        },
    }


def _whole_item(items: Side, passages: dict[Passage, int], profile: str, labels: str) -> dict[str, Any]:
    """Return what the list does not have of an item; passages enter by their numbers."""
    question = next(item for item in items if item).question
    relevant = set(question.relevant)
    wanted = find_phrase({name for item in items if item for name in item.values}, question.language)

    def whole(item: QuestionInfo) -> dict[str, Any]:
        documents = item.documents or [None] * len(item.passages)
        return {
            "rest": (item.answer or "")[BEGINNING:],
            "passages": [
                [
                    passages.setdefault(one._replace(score=None), len(passages)),
                    one.score,
                    document in relevant,
                    _mark_gold(question, one),
                ]
                for one, document in zip(item.passages, documents, strict=True)
            ],
            "found": say(gold, labels) if (gold := note_gold(question, item.passages, item.documents)) else "",
            "scored": item.scored,
            "reasons": item.explain(labels),
            "verdicts": item.verdicts,
            "said": wanted and _value_of(item, wanted.metric, profile),
        }

    return {
        "rest": question.query[BEGINNING:],
        "history": [list(turn) for turn in question.history],
        "gold": spell_gold(question.references),
        "wanted": wanted and {"phrase": wanted.phrase, "alone": not wanted.gold},
        "runs": [item and whole(item) for item in items],
    }


def _mark_gold(question: Question, passage: Passage) -> list[list[int]]:
    """Return where gold stands in a passage, its title first, in the units that a browser counts: begins and ends."""
    text = f"{passage.title} " * bool(passage.title) + passage.text
    return [[len(text[:at].encode("utf-16-le")) // 2 for at in ends] for ends in place_gold(question, text)]


def _value_of(item: QuestionInfo | None, name: str, profile: str) -> float | None:
    """Return what an item counts as in a profile's score."""
    return (item.values.get(name) or {}).get(profile) if item else None

"""The answers of one run, or of several beside each other, as the page's script takes them: every value is text there.

What the list shows is one block, which is unpacked at once; the rest of single questions, and the distinct passages,
are in blocks that a browser unpacks when it needs them. A block is JSON, gzip, base64.
"""

import base64
import gzip
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from quadrag.errors import QuadragError
from quadrag.metric_record import metric_record, name_together
from quadrag.records import Passage, Question, dumps

from ..report.compared.names import name_columns, tell_apart
from ..report.items.chosen import find_unfit, order_metrics
from ..report.items.gold import find_phrase, place_gold, tell_gold
from ..report.items.lines import BY_RULE, is_ruled, say_by_profile
from ..report.items.reader import RunReader, ShownItem
from ..report.items.spelled import spell_gold
from ..report.items.verdicts import look_up_verdicts
from ..results.note import Note, NoteCode
from ..results.run import PROFILES, Result
from ..tables.cells import CHARACTERS, NOTHING
from ..tables.language import ENGLISH, speak

MOST = 10_000  # answers of a run on a page
BEGINNING = 160  # characters of a text in the list
ITEMS, PASSAGES = 50, 256  # in a block

Side = Sequence[ShownItem | None]  # one question as every run has it


@dataclass(slots=True)
class Answers:
    """What the page's script takes: the list, all that belongs to each of its questions, the distinct passages."""

    index: dict[str, Any] = field(default_factory=dict)
    items: list[dict[str, Any]] = field(default_factory=list)
    passages: dict[tuple[str, str], int] = field(default_factory=dict)  # title and text of each, by its number
    notes: list[Note] = field(default_factory=list)  # what a reader must know of what is not here

    def pack(self) -> list[tuple[str, str]]:
        """Return all as blocks, by name; none where there is no answer."""
        blocks = [
            *_cut("items", self.items, ITEMS),
            *_cut("passages", list(self.passages), PASSAGES),
        ]
        index = {**self.index, "sizes": {"items": ITEMS, "passages": PASSAGES}}
        return [("index", _pack(index)), *blocks] if self.items else []


def _cut(name: str, values: Sequence[Any], size: int) -> Iterator[tuple[str, str]]:
    for number, start in enumerate(range(0, len(values), size)):
        yield f"{name}-{number}", _pack(values[start : start + size])


def _pack(value: Any) -> str:
    return base64.b64encode(gzip.compress(dumps(value).encode("utf-8", "surrogatepass"), mtime=0)).decode("ascii")


def collect_answers(
    runs: Sequence[tuple[str, Sequence[Result]]],
    words: Mapping[str, str],
    profile: str = PROFILES[0],
    labels: str = ENGLISH,
    most: int = MOST,
) -> Answers:
    """Collect the answers of runs; those to the same question stand together.

    Args:
        runs: name and results of each.
        words: of the page, in its language.
        profile: whose values they are shown with.
        labels: the language of why an answer is lacking.
        most: how many are taken of a run, of each of its parts alike.
    """
    answers = Answers()
    shown: dict[tuple[str, ...], list[ShownItem | None]] = {}
    read: list[list[RunReader]] = [[] for _ in runs]
    for at, (_, results) in enumerate(runs):
        share = most if sum(len(result.items) for result in results) <= most else most // len(results)
        for result, folder in zip(results, _name_folders(results), strict=True):
            try:
                if result.folder is None:
                    raise QuadragError("the run has no folder")
                reader = RunReader(result.folder, result)
            except QuadragError as error:
                answers.notes.append(Note(NoteCode.ANSWERS_HIDDEN, {"kind": "unread", "why": str(error)}))
                continue
            items = reader.select()[:share]
            look_up_verdicts(reader, items)
            for item in items:
                place = (reader.run.benchmark, *item.question.key, str(item.sample), folder)
                shown.setdefault(place, [None] * len(runs))[at] = item
            read[at].append(reader)
            if len(result.items) > share:
                first = {"shown": share, "total": len(result.items), "folder": str(result.folder)}
                answers.notes.append(Note(NoteCode.ANSWERS_HIDDEN, {"kind": "first", **first}))
    metrics = _order_metrics(read)
    unfit = find_unfit(read)
    answers.index = {
        "runs": name_columns([name for name, _ in runs]),
        "metrics": [
            {**_describe_metric(name, label), "benchmark": benchmark, "unfit": name in unfit}
            for benchmark, names in metrics.items()
            for name, label in name_together(names).items()
        ],
        "items": [
            _list_item(place, items, metrics[place[0]], profile, labels, words) for place, items in shown.items()
        ],
    }
    answers.items = [
        _whole_item(place, items, name_together(metrics[place[0]]), answers.passages, profile, labels, words)
        for place, items in shown.items()
    ]
    return answers


def _name_folders(results: Sequence[Result]) -> list[str]:
    """Return what tells the results of a folder apart where a config's split was run several times, "" elsewhere."""
    times = Counter((result.run.config, split) for result in results for split in result.run.splits)
    again = max(times.values(), default=0) > 1
    return tell_apart([str(result.folder) for result in results]) if again else [""] * len(results)


def _order_metrics(read: Sequence[Sequence[RunReader]]) -> dict[str, list[str]]:
    """Order the metrics of each benchmark; the first is the one that is chosen."""
    benchmarks = dict.fromkeys(reader.run.benchmark for run in read for reader in run)
    own = {name: [[one for one in run if one.run.benchmark == name] for run in read] for name in benchmarks}
    return {name: order_metrics([run for run in runs if run]) for name, runs in own.items()}


def _describe_metric(name: str, label: str) -> dict[str, Any]:
    """Name a metric, and say which end of it is better (0: neither), and what the best and the worst value is."""
    module, _, key = name.partition(".")
    record = metric_record(module).key(key)
    sign = {"higher": 1, "lower": -1}.get(record.direction, 0)
    worst, best = record.range[::sign] if sign else (None, None)
    return {"label": label, "sign": sign, "best": best, "worst": worst}


def _list_item(
    place: tuple[str, ...],
    items: Side,
    metrics: Sequence[str],
    profile: str,
    labels: str,
    words: Mapping[str, str],
) -> dict[str, Any]:
    """Return an item as the list shows it: the beginnings of its texts, its values by run and metric."""
    benchmark, config, split, _, _, folder = place
    question = next(item for item in items if item).question

    def answer(item: ShownItem | None) -> str:
        if item is None:
            return words["absent"]
        failure = speak(_tell_failure(item), labels)
        text = _answer_of(item)[:BEGINNING]
        return words["colon"].join(filter(None, (failure, text))) or words["empty"]

    groups = {"benchmark": benchmark, "config": config, "split": split, "run": folder, **question.slices}
    return {
        "place": "/".join(quote(part, safe="") for part in place),
        "question": question.query[:BEGINNING],
        "answers": [answer(item) for item in items],
        "there": [item is not None for item in items],
        "failed": any(item and _tell_failure(item) for item in items),
        "values": [[_value_of(item, name, profile) for name in metrics] for item in items],
        "texts": [[_write_value(item, name, profile) for name in metrics] for item in items],
        "groups": {name: value for name, value in groups.items() if value},
    }


def _whole_item(
    place: tuple[str, ...],
    items: Side,
    metrics: Mapping[str, str],
    passages: dict[tuple[str, str], int],
    profile: str,
    labels: str,
    words: Mapping[str, str],
) -> dict[str, Any]:
    """Return all that belongs to an item; passages enter by their numbers, once where all runs have the same."""
    question = next(item for item in items if item).question
    wanted = find_phrase({name for item in items if item for name in item.values}, question.language)
    phrase = words["phrase" if wanted.gold else "refusal"].replace("{0}", wanted.phrase) if wanted else ""

    def side(item: ShownItem) -> dict[str, Any]:
        values = []
        for name, label in metrics.items():
            entry = item.values.get(name) or {}
            reason = BY_RULE if is_ruled(entry) else say_by_profile(entry.get("reason") or {})
            if reason or _value_of(item, name, profile) is not None:
                values.append([label, _write_value(item, name, profile), speak(reason, labels)])
        return {
            "answer": _answer_of(item),
            "marks": place_gold(question, _answer_of(item)),
            "failed": speak(_tell_failure(item), labels),
            "scored": item.scored,
            "values": values,
            "verdicts": [[name, reply] for name, replies in item.verdicts.items() for reply in dict.fromkeys(replies)],
            "found": speak(tell_gold(question, item.passages, item.documents), labels),
            "passages": _list_passages(item, question, passages, words),
        }

    runs = [item and side(item) for item in items]
    there = [run for run in runs if run]
    same = len(runs) > 1 and all(run["passages"] == there[0]["passages"] for run in there)
    return {
        "place": " · ".join(filter(None, (*place[:4], f"{words['sample']} {place[4]}" * (place[4] != "0"), place[5]))),
        "question": question.query,
        "history": [f"{asked} / {told or ''}" for asked, told in question.history],
        "wanted": phrase,
        "gold": spell_gold(question.references),
        "runs": [run and {**run, "passages": []} if same else run for run in runs],
        "passages": there[0]["passages"] if same else [],
    }


def _list_passages(
    item: ShownItem, question: Question, passages: dict[tuple[str, str], int], words: Mapping[str, str]
) -> list[list[Any]]:
    """Return of each passage its number on the page, its heading, and where gold stands in title and text."""
    documents = item.documents or [None] * len(item.passages)
    found = []
    for rank, (passage, document) in enumerate(zip(item.passages, documents, strict=True), 1):
        score = "" if passage.score is None else f"{words['score']} {passage.score:.4g}"
        gold = words["relevant"] if document in question.relevant else ""
        head = " · ".join(filter(None, (str(rank), passage.id, score, gold)))
        number = passages.setdefault((passage.title, passage.text), len(passages))
        found.append([number, head, place_gold(question, _text_of(passage))])
    return found


def _text_of(passage: Passage) -> str:
    return f"{passage.title} " * bool(passage.title) + passage.text


def _answer_of(item: ShownItem) -> str:
    return (item.answer and item.answer.answer) or ""


def _tell_failure(item: ShownItem) -> str:
    """Say why a run has no answer or a part of one, "" where it has a whole one or nothing is known."""
    if item.answer and item.answer.answer is not None:
        return item.failure
    return ": ".join(filter(None, (item.answer.state if item.answer else "", item.failure)))


def _value_of(item: ShownItem | None, name: str, profile: str) -> float | None:
    """Return what an item counts as in a profile's score."""
    return (item.values.get(name) or {}).get(profile) if item else None


def _write_value(item: ShownItem | None, name: str, profile: str) -> str:
    """Write a value in the unit of the tables."""
    value = _value_of(item, name, profile)
    if value is None:
        return NOTHING
    module, _, key = name.partition(".")
    scale = 1 if metric_record(module).key(key).unit == CHARACTERS else 100
    return f"{value * scale:.1f}".removesuffix(".0")

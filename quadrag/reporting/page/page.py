"""The page of one run, of several of one campaign, or of runs compared: tables, charts, facts and answers in one file.

Its own script and style alone are run, by their sums; texts of data and models only ever become text.
"""

import base64
import gzip
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from jinja2 import Environment, FileSystemLoader

from quadrag.errors import QuadragError
from quadrag.metric_record import name_together
from quadrag.records import dumps, write_text
from quadrag.results import PROFILES, Level, Note, NoteCode, Run, own_profile, record_of

from ..charts import draw_table
from ..facts import list_facts
from ..messages import ENGLISH, Sentence, join_names, read_messages, say, translate, translate_table, write_note
from ..questions import (
    QuestionInfo,
    RunReader,
    find_phrase,
    find_unfit,
    note_gold,
    order_metrics,
    place_gold,
    show_value,
    spell_gold,
)
from ..table import Table, name_model, name_runs
from ..tables import summary

HERE = Path(__file__).parent
SCRIPTS = ("parts.js", "viewer.js")  # one script, in this order
MOST = 10_000  # answers of a run on a page
BEGINNING = 160  # characters of a text in the list
ITEMS, PASSAGES = 50, 256  # in a block

Runs = Sequence[tuple[str, Sequence[Run]]]  # name of each, and what it came to: one result, or one a config
Place = tuple[str, ...]  # benchmark, config, split, id, sample, and the folder where it ran again
Side = Sequence[QuestionInfo | None]  # one question as every run has it


@dataclass(slots=True)
class Answers:
    """What the page's script takes: the list, all that belongs to each of its questions, the distinct passages."""

    index: dict[str, Any] = field(default_factory=dict)
    items: list[dict[str, Any]] = field(default_factory=list)
    passages: dict[tuple[str, str], int] = field(default_factory=dict)  # title and text of each, by its number
    notes: list[Note] = field(default_factory=list)  # what a reader must know of what is not here
    # What items are written with.
    profile: str = PROFILES[0]
    language: str = ENGLISH
    words: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # labels by name, by benchmark

    def list_item(self, place: Place, items: Side) -> dict[str, Any]:
        benchmark, config, split, _, _, folder = place
        question = next(item for item in items if item).question
        groups = {"benchmark": benchmark, "config": config, "split": split, "run": folder, **question.slices}
        values = [[self._value_of(item, name) for name in self.metrics[benchmark]] for item in items]
        return {
            "place": "/".join(quote(part, safe="") for part in place),
            "question": question.query[:BEGINNING],
            "answers": [self._begin_answer(item) for item in items],
            "there": [item is not None for item in items],
            "failed": any(item and item.failure for item in items),
            "values": values,
            "texts": [list(map(show_value, self.metrics[benchmark], run)) for run in values],
            "groups": {name: value for name, value in groups.items() if value},
        }

    def _begin_answer(self, item: QuestionInfo | None) -> str:
        if item is None:
            return self.words["absent"]
        parts = (item.failure, (item.answer or "")[:BEGINNING])
        return self.words["colon"].join(filter(None, parts)) or self.words["empty"]

    def write_item(self, place: Place, items: Side) -> dict[str, Any]:
        """Return all that belongs to an item; passages enter by their numbers, once where all runs have the same."""
        question = next(item for item in items if item).question
        wanted = find_phrase({name for item in items if item for name in item.values}, question.language)
        phrase = self.words["phrase" if wanted[1] else "refusal"].replace("{0}", wanted[0]) if wanted else ""
        sample = f"{self.words['sample']} {place[4]}" * (place[4] != "0")
        runs = [item and self._write_side(item, place[0]) for item in items]
        there = [run for run in runs if run]
        same = len(runs) > 1 and all(run["passages"] == there[0]["passages"] for run in there)
        return {
            "place": " · ".join(filter(None, (*place[:4], sample, place[5]))),
            "question": question.query,
            "history": [f"{asked} / {told or ''}" for asked, told in question.history],
            "wanted": phrase,
            "gold": spell_gold(question.references),
            "runs": [run and {**run, "passages": []} if same else run for run in runs],
            "passages": there[0]["passages"] if same else [],
        }

    def _write_side(self, item: QuestionInfo, benchmark: str) -> dict[str, Any]:
        reasons = item.explain(self.language)
        values = [
            [label, show_value(name, self._value_of(item, name)), reasons.get(name, "")]
            for name, label in self.metrics[benchmark].items()
            if name in reasons or self._value_of(item, name) is not None
        ]
        found = note_gold(item.question, item.passages, item.documents)
        return {
            "answer": item.answer or "",
            "marks": place_gold(item.question, item.answer or ""),
            "failed": item.failure,
            "scored": item.scored,
            "values": values,
            "verdicts": list(map(list, dict.fromkeys((name, said) for name, _, said in item.judged))),
            "found": say(found, self.language) if found else "",
            "passages": self._list_passages(item),
        }

    def _list_passages(self, item: QuestionInfo) -> list[list[Any]]:
        found = []
        documents = item.documents or [None] * len(item.passages)
        for rank, (passage, document) in enumerate(zip(item.passages, documents, strict=True), 1):
            score = "" if passage.score is None else f"{self.words['score']} {passage.score:.4g}"
            gold = self.words["relevant"] if document in item.question.relevant else ""
            head = " · ".join(filter(None, (str(rank), passage.id, score, gold)))
            number = self.passages.setdefault((passage.title, passage.text), len(self.passages))
            text = " ".join(filter(None, (passage.title, passage.text)))
            found.append([number, head, place_gold(item.question, text)])
        return found

    def _value_of(self, item: QuestionInfo | None, name: str) -> float | None:
        return (item.values.get(name) or {}).get(self.profile) if item else None

    def pack(self) -> list[tuple[str, str]]:
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
    runs: Runs,
    words: Mapping[str, str],
    profile: str = PROFILES[0],
    labels: str = ENGLISH,
    most: int = MOST,
) -> Answers:
    """Collect the answers of runs, `most` of each run; those to the same question stand together."""
    answers = Answers(profile=profile, language=labels, words=words)
    shown: dict[Place, list[QuestionInfo | None]] = {}
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
            for item in reader.select()[:share]:
                place = (reader.record.benchmark, *item.question.key, str(item.sample), folder)
                shown.setdefault(place, [None] * len(runs))[at] = item
            read[at].append(reader)
            if len(result.items) > share:
                first = {"shown": share, "total": len(result.items), "folder": str(result.folder)}
                answers.notes.append(Note(NoteCode.ANSWERS_HIDDEN, {"kind": "first", **first}))
    answers.metrics = _order_metrics(read)
    unfit = find_unfit(read)
    answers.index = {
        "runs": name_runs([name for name, _ in runs]),
        "metrics": [
            {**_describe_metric(name), "label": label, "benchmark": benchmark, "unfit": name in unfit}
            for benchmark, names in answers.metrics.items()
            for name, label in names.items()
        ],
        "items": [answers.list_item(place, items) for place, items in shown.items()],
    }
    answers.items = [answers.write_item(place, items) for place, items in shown.items()]
    return answers


def _name_folders(results: Sequence[Run]) -> list[str]:
    """Return what tells the results of a folder apart where a config's split was run several times, "" elsewhere."""
    times = Counter((result.record.config, split) for result in results for split in result.record.splits)
    again = max(times.values(), default=0) > 1
    return name_runs([str(result.folder) for result in results]) if again else [""] * len(results)


def _order_metrics(read: Sequence[Sequence[RunReader]]) -> dict[str, dict[str, str]]:
    benchmarks = dict.fromkeys(reader.record.benchmark for run in read for reader in run)
    own = {name: [[one for one in run if one.record.benchmark == name] for run in read] for name in benchmarks}
    return {name: name_together(order_metrics([run for run in runs if run])) for name, runs in own.items()}


def _describe_metric(name: str) -> dict[str, Any]:
    """Say which end of a metric is better (0: neither), and what its best and its worst value is."""
    record = record_of(name)
    sign = {"higher": 1, "lower": -1}.get(record.direction, 0)
    worst, best = record.range[::sign] if sign else (None, None)
    return {"sign": sign, "best": best, "worst": worst}


def write_page(
    path: Path, runs: Runs, tables: Sequence[Table], labels: str = ENGLISH, profile: str | None = None
) -> None:
    """Write the page of runs, several beside each other; single answers with a profile's values, or the runs' own."""
    results = [result for _, parts in runs for result in parts]
    shown = profile or own_profile(results) or PROFILES[0]
    columns = name_runs([name for name, _ in runs])
    words = read_words(labels, columns)
    answers = collect_answers(runs, words, shown, labels)
    head = [replace(summary(results[0], shown), title=words["headline"])] if len(results) == 1 else []
    page = render_page(
        name_page(runs, labels),
        [*head, *tables],
        facts=list_facts(results),
        lead=answers.notes,
        blocks=answers.pack(),
        labels=labels,
        names=columns,
    )
    write_text(path, page)


def render_page(
    title: str,
    tables: Sequence[Table],
    *,
    facts: Sequence[tuple[str, str]] = (),
    lead: Sequence[Note | str] = (),
    blocks: Sequence[tuple[str, str]] = (),
    labels: str = ENGLISH,
    names: Sequence[str] = (),
) -> str:
    """Render a self-contained page: alarms first, then tables with charts, facts, answers of runs by these names."""
    spoken = [translate_table(table, labels) for table in tables]
    alarms = dict.fromkeys(note for table in spoken for note in table.notes if note.level is Level.WARNING)
    shown = [replace(table, notes=[note for note in table.notes if note not in alarms]) for table in spoken]
    return fill_template(
        "page.html",
        SCRIPTS,
        title=title,
        lead=sorted([*alarms, *(write_note(note, labels) for note in lead)], key=_rank_alarm),
        tables=[(table, draw_table(table)) for table in shown],
        facts=[(translate(name, labels), translate(value, labels)) for name, value in facts],
        blocks=blocks,
        words=read_words(labels, names),
        language={"zh": "zh-CN"}.get(labels, labels),
    )


def fill_template(name: str, scripts: Sequence[str], **values: Any) -> str:
    style = (HERE / "page.css").read_text(encoding="utf-8")
    script = "\n".join((HERE / script).read_text(encoding="utf-8") for script in scripts)
    return make_environment().get_template(name).render(style=style, script=script, **values)


def _rank_alarm(note: Sentence) -> int:
    return 0 if note.loud else 1 if note.level is Level.WARNING else 2


@cache
def make_environment() -> Environment:
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["depth"] = lambda label: len(label) - len(label.lstrip(" "))
    environment.filters["sha256"] = lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return environment


def read_words(labels: str, names: Sequence[str] = ()) -> Mapping[str, str]:
    """Return what a page says beside its tables, in a language; the first two runs have these names."""
    first, second = (*names, "A", "B")[:2] if len(names) > 1 else "AB"
    return {name: entry[labels].replace("{A}", first).replace("{B}", second) for name, entry in _read_entries().items()}


@cache
def _read_entries() -> dict[str, dict[str, str]]:
    entries: dict[str, dict[str, str]] = yaml.safe_load((HERE / "words.yaml").read_text(encoding="utf-8"))
    return entries


def name_page(runs: Runs, language: str) -> str:
    """Name benchmarks, systems and date of what ran, and the config where it is one."""
    records = [result.record for _, results in runs for result in results]
    benchmarks = list(dict.fromkeys(run.benchmark for run in records))
    configs = {run.config for run in records}
    systems = dict.fromkeys(name_runs([name for name, _ in runs]) if len(runs) > 1 else map(name_model, records))
    date = max(run.started or "" for run in records)[:10]
    config = configs.pop() if len(configs) == 1 else ""
    parts = (join_names(benchmarks, language), config, join_names([*systems], language), date)
    return read_messages(language)["signs"]["comma"].join(filter(None, parts))

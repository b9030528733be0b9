"""Items of a run for people: what they read of each, a sheet of some, drawn, taken back or labelled on a page."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from quadrag.errors import QuadragError, clean
from quadrag.metric_record import metric_record
from quadrag.reporting.messages import translate
from quadrag.reporting.page.labelling import Labelling, Shown, change_row
from quadrag.reporting.questions import ItemFilter, RunReader, spell_gold
from quadrag.results.items import FAILED, reason_of
from quadrag.results.run import Run
from quadrag.sheet import read_sheet

from .labels import Graded, find_graded, graded_keys, list_lines, read_grade, read_texts

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")  # what a terminal may obey
_UNREAD = "none"  # the stratum of items without a verdict
_COLUMNS = ("id", "question", "passages", "gold", "answer", "label", "probability")


class Judged(NamedTuple):
    """An item of a run: what a person is shown, its value (None: the judge gave none), and whether a rule gave it."""

    id: str
    question: str
    gold: str
    answer: str
    value: float | None = None
    passages: Sequence[str] = ()
    ruled: bool = False
    split: str = ""
    asked: str = ""  # the id of its question, which several samples share

    @property
    def stratum(self) -> str:
        """What the judge said, as a name."""
        return _UNREAD if self.value is None else f"{self.value:g}"


class Labels(NamedTuple):
    """A sheet taken back: the grade of each item by id, whether it was drawn by strata, and rows without a label."""

    grades: Mapping[str, str]
    drawn: bool
    blank: int


def share_out(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """Return how many of n labels each stratum gets: two at least, or all that it has."""
    total = sum(sizes.values())
    wanted = {name: n / 2 * (size / total + 1 / len(sizes)) for name, size in sizes.items()}
    shares = {name: min(size, max(2, int(wanted[name]))) for name, size in sizes.items()}
    while sum(shares.values()) < min(n, total):
        name = max((each for each in sizes if shares[each] < sizes[each]), key=lambda each: wanted[each] - shares[each])
        shares[name] += 1
    return shares


def draw_sheet(items: Sequence[Judged], n: int, graded: Graded, seed: int, labels: str = "en") -> list[list[str]]:
    """Draw n items as the rows of a sheet whose `label` is to be filled in, header first."""
    strata: dict[str, list[Judged]] = {}
    for item in items:
        strata.setdefault(item.stratum, []).append(item)
    draw = Random(seed)
    shares = share_out({name: len(here) for name, here in strata.items()}, n)
    drawn = [
        (item, shares[name] / len(here)) for name, here in strata.items() for item in draw.sample(here, shares[name])
    ]
    draw.shuffle(drawn)
    grades = [
        name if graded.several else translate(name, labels) for name in graded.grades
    ]  # classes are read as named
    rows = [[*_COLUMNS, f"{graded.ask(labels)} {' / '.join(grades)}"]]
    for item, share in drawn:
        passages = "\n\n".join(item.passages)
        rows.append([item.id, item.question, passages, item.gold, item.answer, "", f"{share:.6g}", ""])
    return rows


def take_back(path: Path, items: Sequence[Judged], graded: Graded) -> Labels:
    """Read a sheet whose labels people filled in; QuadragError for what is not of these items."""
    sheet = read_sheet(path, "id", "label")
    lines = list_lines(sheet, {item.id: {"question": item.question, "answer": item.answer} for item in items})
    grades = {name: read_grade(line, "label", graded) for name, line in lines.items() if line.row["label"].strip()}
    if not grades:
        raise QuadragError(f"{path} holds no label; expected {graded.spelled} in the column label")
    return Labels(grades, "probability" in sheet.columns, len(lines) - len(grades))


def label_sheet(path: Path, graded: Graded, labels: str = "en") -> Labelling:
    """Return a page for a sheet that `quadrag label` drew; every label is in the sheet at once."""

    def read() -> dict[str, Shown]:
        items = {}
        for _, row in read_sheet(path, "id", "label").lines:
            golds = read_texts(row.get("gold", ""))
            fields = {"question": row.get("question", ""), "gold": " / ".join(golds), "answer": row.get("answer", "")}
            passages = [text for text in row.get("passages", "").split("\n\n") if text]
            fields = {name: text for name, text in fields.items() if text}
            items[row["id"]] = Shown(fields, passages, golds, choice=graded.read(row["label"]) or "")
        return items

    def save(name: str, choice: str, _: Mapping[str, str]) -> str:
        change_row(path, name, {"label": choice})
        return ""

    choices = {name: translate(name, labels) for name in graded.grades}
    return Labelling(path.name, [graded.ask(labels)], choices, read, save, labels=labels)


def list_wrong(reader: RunReader) -> list[Judged]:
    """List the answers of a run that are below the best value of its first headline."""
    return list(_show(reader.result, reader.select(ItemFilter(wrong=True)), by_passages=True))


def list_judged(reader: RunReader, metric: str | None) -> tuple[Graded, list[Judged]]:
    """Return what is graded, and the judged answers of a run with what its judge says of each.

    Raises:
        QuadragError: there is none of the metric, or no verdict that could be read.
    """
    result = reader.result
    there = [name for row in result.items[:1] for name in row if name in graded_keys()]
    if not there or result.record.judge is None:
        raise QuadragError(f"{reader.folder} has no judged score; expected a run with --judge")
    graded = find_graded(metric or there[0])
    entry = f"{graded.metric}.{graded.key}"
    if entry not in there:
        raise QuadragError(f"{reader.folder} has no judged {graded.name}; expected --metric {' or '.join(there)}")
    by_passages = "contexts" in metric_record(graded.metric).needs
    items = []
    for row, shown in zip(result.items, reader.select(), strict=True):
        value = row[entry]
        if (value.get("reason") or {}).get("official") == "not_applicable":
            continue
        # What `official` makes of a verdict that could not be read is nothing that the judge said.
        said = None if reason_of(value, "corrected") in FAILED else value["official"]
        ruled = "official" in value.get("ruled", ())
        items += [item._replace(value=said, ruled=ruled) for item in _show(result, [shown], by_passages)]
    if all(item.value is None for item in items):
        raise QuadragError(f"{reader.folder}: no verdict could be read; ask again with --retry unreadable")
    return graded, items


def _show(result: Run, shown: Iterable[Any], by_passages: bool) -> Iterator[Any]:
    """Make items of what a person reads of a run, without its keys; with passages where one has to judge by them."""
    several = len({row["id"] for row in result.items}) < len(result.items)
    for one in shown:
        if one.answer is None:
            continue
        place = one.question.split, one.question.id, str(one.sample)
        before = "".join(f"{asked}\n{said or ''}\n" for asked, said in one.question.history)
        texts = (before + one.question.query, write_gold(one.question.references), one.answer)
        passages = [passage.text for passage in one.passages] if by_passages else []
        question, gold, answer, *passages = (_CONTROL.sub("", clean(text)) for text in (*texts, *passages))
        name = "/".join(place) if several else one.question.id
        yield Judged(name, question, gold, answer, passages=passages, split=place[0], asked=place[1])


def write_gold(references: Any) -> str:
    """Write accepted answers in a cell: several ways to say one answer as a JSON list, which is read as such."""
    ways = references
    if isinstance(ways, list | tuple) and len(ways) == 1 and isinstance(ways[0], list | tuple):
        ways = ways[0]
    if isinstance(ways, list | tuple) and len(ways) > 1 and all(isinstance(way, str) for way in ways):
        return json.dumps(list(dict.fromkeys(ways)), ensure_ascii=False)
    return "; ".join(spell_gold(references))

"""A run's answers labelled by people: a sheet of some, drawn, taken back or labelled on a page; what labels come to.

Labels correct a judged score, or say what went wrong in wrong answers, in the classes into which the paper of the
benchmark sorts errors: these stand in ``errors.yaml`` beside its record, and an answer may have several.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.errors import QuadragError, clean, read_yaml
from quadrag.metric_record import metric_record
from quadrag.reporting.messages import translate
from quadrag.reporting.notes import INTERVALS
from quadrag.reporting.page.labelling import Labelling, Shown, change_row
from quadrag.reporting.questions import ItemFilter, RunReader, spell_gold
from quadrag.reporting.table import NOTHING, Cell, Row, Table, format_value, interval_cell
from quadrag.results import Run
from quadrag.results.items import FAILED, reason_of
from quadrag.sheet import read_sheet
from quadrag.stats import Item, summarise_all
from quadrag.stats.agreement import ppi_mean

from .labels import Graded, Judged, find_graded, list_graded, list_lines, read_grade, read_texts

ERRORS = "errors"  # what `--metric` calls the classes of wrong answers
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")  # what a terminal may obey


class Classes(NamedTuple):
    meanings: Mapping[str, str]  # by name of the class
    where: str  # the table of the paper, and what it prints

    @property
    def graded(self) -> Graded:
        return Graded(ERRORS, "What went wrong? Several have ; between.", dict.fromkeys(self.meanings), several=True)


def find_classes(benchmark: str, config: str) -> Classes:
    path = catalogue.plugin_folder(benchmark) / "errors.yaml"
    record = read_yaml(path, "classes of errors") if path.is_file() else {"tables": {}}
    name = next((name for name in record["tables"] if config.startswith(name)), None)
    if name is None:
        known = ", ".join(record["tables"]) or "a benchmark whose paper does"
        raise QuadragError(f"the paper sorts no errors of {config}; expected a run of {known}")
    table = record["tables"][name]
    return Classes({each: record["classes"][each] for each in table["classes"]}, table["where"])


# What a run has.


def list_wrong(reader: RunReader) -> list[Judged]:
    """List the answers of a run that are below the best value of its first headline."""
    return list(_show(reader.result, reader.select(ItemFilter(wrong=True)), by_passages=True))


def list_judged(reader: RunReader, metric: str | None) -> tuple[Graded, list[Judged]]:
    result = reader.result
    judged = [name for row in result.items[:1] for name in row if name in list_graded()]
    if not judged or result.record.judge is None:
        raise QuadragError(f"{reader.folder} has no judged score; expected a run with --judge")
    graded = find_graded(metric or judged[0])
    entry = f"{graded.metric}.{graded.key}"
    if entry not in judged:
        raise QuadragError(f"{reader.folder} has no judged {graded.name}; expected --metric {' or '.join(judged)}")
    by_passages = "contexts" in metric_record(graded.metric).needs
    items = []
    for row, shown in zip(result.items, reader.select(), strict=True):
        value = row[entry]
        if (value.get("reason") or {}).get("official") == "not_applicable":
            continue
        # What `official` makes of a verdict that could not be read is nothing that the judge said.
        verdict = None if reason_of(value, "corrected") in FAILED else value["official"]
        ruled = "official" in value.get("ruled", ())
        items += [item._replace(value=verdict, ruled=ruled) for item in _show(result, [shown], by_passages)]
    if all(item.value is None for item in items):
        raise QuadragError(f"{reader.folder}: no verdict could be read; ask again with --retry unreadable")
    return graded, items


def _show(result: Run, answers: Iterable[Any], by_passages: bool) -> Iterator[Judged]:
    """Make items of what a person reads of a run, without its keys; with passages where one has to judge by them."""
    several = len({row["id"] for row in result.items}) < len(result.items)
    for shown in answers:
        if shown.answer is None:
            continue
        split, question_id = shown.question.split, shown.question.id
        history = "".join(f"{query}\n{reply or ''}\n" for query, reply in shown.question.history)
        texts = (history + shown.question.query, write_gold(shown.question.references), shown.answer)
        passages = [passage.text for passage in shown.passages] if by_passages else []
        question, gold, answer, *passages = (_CONTROL.sub("", clean(text)) for text in (*texts, *passages))
        name = f"{split}/{question_id}/{shown.sample}" if several else question_id
        yield Judged(name, question, gold, answer, passages=passages, split=split, question_id=question_id)


def write_gold(references: Any) -> str:
    """Write accepted answers in a cell: several ways to say one answer as a JSON list, which is read as such."""
    ways = references
    if isinstance(ways, list | tuple) and len(ways) == 1 and isinstance(ways[0], list | tuple):
        ways = ways[0]
    if isinstance(ways, list | tuple) and len(ways) > 1 and all(isinstance(way, str) for way in ways):
        return json.dumps(list(dict.fromkeys(ways)), ensure_ascii=False)
    return "; ".join(spell_gold(references))


# Sheets.


def draw_sheet(items: Sequence[Judged], n: int, graded: Graded, seed: int, language: str = "en") -> list[list[str]]:
    """Draw n items as the rows of a sheet whose `label` is to be filled in, header first; more hold the fewer."""
    # Classes are read as they are named.
    grades = [name if graded.several else translate(name, language) for name in graded.grades]
    head = ["id", "question", "passages", "gold", "answer", "label", f"{graded.ask(language)} {' / '.join(grades)}"]
    drawn = Random(seed).sample(items, len(items))[:n]
    rows = ([item.id, item.question, "\n\n".join(item.passages), item.gold, item.answer, "", ""] for item in drawn)
    return [head, *rows]


def take_back(path: Path, items: Sequence[Judged], graded: Graded) -> dict[str, str]:
    sheet = read_sheet(path, "id", "label")
    if "probability" in sheet.columns:
        raise QuadragError(f"{path} was drawn by strata, which are not read any more; draw a new sheet")
    lines = list_lines(sheet, items)
    grades = {name: read_grade(line, "label", graded) for name, line in lines.items() if line.row["label"].strip()}
    if not grades:
        raise QuadragError(f"{path} holds no label; expected {graded.spelled} in the column label")
    return grades


def label_sheet(path: Path, graded: Graded, language: str = "en") -> Labelling:

    def read() -> dict[str, Shown]:
        items = {}
        for _, row in read_sheet(path, "id", "label").lines:
            golds = read_texts(row.get("gold", ""))
            texts = {"question": row.get("question", ""), "gold": " / ".join(golds), "answer": row.get("answer", "")}
            fields = {name: text for name, text in texts.items() if text}
            passages = [text for text in row.get("passages", "").split("\n\n") if text]
            items[row["id"]] = Shown(fields, passages, golds, choice=graded.read(row["label"]) or "")
        return items

    def save(name: str, choice: str, _: Mapping[str, str]) -> str:
        change_row(path, name, {"label": choice})
        return ""

    choices = {name: translate(name, language) for name in graded.grades}
    return Labelling(path.name, [graded.ask(language)], choices, read, save, labels=language)


# What labels come to.


def tabulate_corrected(name: str, items: Sequence[Judged], labels: Mapping[str, str], graded: Graded) -> Table:
    """Make the table of a score, by the run's verdicts, of which there must be one, and as labels correct it.

    What is corrected is the value of rules and judge together, so what rules get wrong is corrected as what the judge
    does. (Strata of the two are hardly narrower, and hold the truth less often where labels are few.)
    """
    people = {name: value for name, grade in labels.items() if (value := graded.grades[grade]) is not None}
    if not people:
        raise QuadragError("no label is a value, so there is nothing to correct; label more items")
    labelled = [item for item in items if item.id in people]
    others = [item.value or 0.0 for item in items if item.id not in people]
    estimate = ppi_mean([people[item.id] for item in labelled], [item.value or 0.0 for item in labelled], others)
    verdicts = [item.value for item in items if item.value is not None]
    compared = [item for item in labelled if item.value is not None and not item.ruled]
    agreed = sum(item.value == people[item.id] for item in compared)
    low, high = map(format_value, estimate.interval)
    between = NOTHING if low == high else f"{low} to {high}"
    who = "rules and the judge" if any(item.ruled for item in items) else "the judge alone"
    lines = [
        Row(who, [Cell(format_value(fmean(verdicts))), Cell(NOTHING), Cell(str(len(verdicts)))]),
        Row("corrected by labels", [Cell(format_value(estimate.value)), Cell(between), Cell(str(len(items)))]),
    ]
    notes = ["Percent."]
    if compared:
        notes.append(f"The judge and the labels agree on {agreed} of {len(compared)}.")
    method = "Prediction-powered inference (PPI++), Wilson's interval at the effective number of labels"
    notes.append(f"{method}; tuning constant {estimate.tuning:.2f}.")
    notes.append("The labels are taken for a random draw of this run's items.")
    if unread := len(items) - len(verdicts):
        notes.append(f"{unread} of {len(items)} items have no verdict that could be read.")
    return Table(f"{name}, corrected for the judge", "score", ["value", "95% interval", "n"], lines, notes)


def tabulate_classes(
    title: str, classes: Classes, answers: Mapping[str, int], items: Sequence[Judged], labels: Mapping[str, str]
) -> Table:
    columns: list[list[Cell]] = []
    for split, n in answers.items():
        wrong = [item for item in items if item.split == split]
        named = [(item.question_id, labels[item.id].split(";")) for item in wrong if item.id in labels]
        values = [[Item(question, float(name in names)) for question, names in named] for name in classes.meanings]
        shares = [interval_cell(mean.value, mean.interval, len(named)) for mean in summarise_all(values)]
        columns.append([*shares, *(Cell(str(count)) for count in (n, len(wrong), len(named)))])
    rows = [
        Row(label.replace("_", " "), list(cells), rule=label == "answers")
        for label, *cells in zip([*classes.meanings, "answers", "wrong", "sorted"], *columns, strict=True)
    ]
    notes: list[Any] = ["Percent of the wrong answers that are sorted; an answer may have several classes.", INTERVALS]
    notes += [f"{classes.where}."] if classes.where else []
    return Table(f"Classes of errors: {title}", "class", [*answers], rows, notes)

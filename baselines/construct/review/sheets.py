"""Items for people who grade elsewhere, and their grades taken back: CSV, Label Studio's tasks, Argilla's records.

In each form a column or question ``grade`` takes 1 to 5, and one by the name of each field its correction. A list has
an entry a line. A cell that a spreadsheet would compute bears an apostrophe, which is taken off again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.records import write_text
from quadrag.sheet import write_csv

from ...certify.sheets import read_sheet
from .grades import GRADES, check_annotator, give_grade
from .items import Item, Review, as_text

_COMPUTED = re.compile(r"[=+\-@\t\r]")


class Said(NamedTuple):
    """What one person said of one item; the place is for messages."""

    place: str
    item: str
    annotator: str
    grade: str
    texts: Mapping[str, str]


def write_items(path: Path, items: Mapping[str, Item], review: Review, form: str) -> list[Path]:
    """Write items in a form; returns the files, of Label Studio its labelling interface too.

    Raises:
        QuadragError: the file is there already, as it may hold a person's work.
    """
    if path.exists():
        raise QuadragError(f"{path} is there already; name another file, or take it back with --take {path}")
    names = list(dict.fromkeys(name for item in items.values() for name in item.fields))
    rows = [{"id": name, **_shown(item, names)} for name, item in items.items()]
    if form == "csv":
        write_csv(path, _as_csv(rows, review))
        return [path]
    made = [_as_record(row, names) if form == "argilla" else {"data": row} for row in rows]
    write_text(path, json.dumps(made, ensure_ascii=False, indent=1) + "\n")
    if form == "argilla":
        return [path]
    interface = path.with_suffix(".xml")
    write_text(interface, _interface(names, review))
    return [path, interface]


def _shown(item: Item, names: Sequence[str]) -> dict[str, str]:
    fields = {name: as_text(item.fields.get(name, "")) for name in names}
    return {"cell": item.cell, **fields, "passages_shown": "\n\n".join(item.passages), "source": item.source}


def _as_csv(rows: Sequence[Mapping[str, str]], review: Review) -> Iterator[list[str]]:
    yield [*rows[0], "grade", "annotator", *(f"{at}. {ask}" for at, ask in enumerate(review.asks, 1))]
    blank = [""] * (2 + len(review.asks))
    for row in rows:
        yield [*(f"'{text}" if _COMPUTED.match(text) else text for text in row.values()), *blank]


def _as_record(row: Mapping[str, str], names: Sequence[str]) -> dict[str, Any]:
    suggested = {name: {"value": row[name]} for name in names if row[name]}
    shown = {name: text for name, text in row.items() if name != "id"}
    return {"id": row["id"], "fields": shown, "metadata": {}, "suggestions": suggested, "responses": {}}


def _interface(names: Sequence[str], review: Review) -> str:
    """Return the labelling interface that is pasted into a project of Label Studio."""
    asks = "".join(f"  <Header size='5' value={quoteattr(f'{at}. {ask}')}/>\n" for at, ask in enumerate(review.asks, 1))
    fields = "".join(
        f'  <Header value="{name}"/>\n  <TextArea name="{name}" value="${name}" toName="passages_shown" '
        'rows="2" editable="true" maxSubmissions="1"/>\n'
        for name in names
    )
    return (
        "<View>\n"
        f"{asks}{fields}"
        '  <Rating name="grade" toName="passages_shown" maxRating="5" required="true"/>\n'
        '  <Text name="passages_shown" value="$passages_shown"/>\n'
        "</View>\n"
    )


def take_items(
    path: Path, dataset: Path, review: Review, items: Mapping[str, Item], annotator: str | None
) -> tuple[int, list[str]]:
    """Put the grades of a file on record.

    Args:
        path: CSV, or what Label Studio or Argilla export.
        dataset: where the record is.
        review: how it is reviewed.
        items: all of its items.
        annotator: who graded; by the file's own names when None.

    Returns:
        How many grades were taken, and why others, or corrections, were not.

    Raises:
        QuadragError: the file cannot be read, or nobody says who graded.
    """
    taken, faults = 0, []
    for said in _read(path):
        if not said.grade.strip():
            continue
        named = annotator or re.sub(r"[^\w-]+", "-", said.annotator).strip("-")
        if not named:
            raise QuadragError(f"{said.place} does not say who graded; give --annotator NAME")
        who = check_annotator(named)
        grade = next((one for one in GRADES if said.grade.strip() in (str(one), f"{one}.0")), None)
        if grade is None or said.item not in items:
            what = f"grade {said.grade!r}; expected 1 to 5" if grade is None else f"no item {said.item!r} here"
            faults.append(f"{said.place}: {what}")
            continue
        fault = give_grade(dataset, review, items[said.item], who, grade, said.texts)
        if fault:
            faults.append(f"{said.place}: correction not taken: {fault}")
        taken += 1
    return taken, faults


def _read(path: Path) -> Iterator[Said]:
    if path.suffix.lower() != ".json":
        for place, row in read_sheet(path, "id", "grade").lines:
            texts = {name: text[1:] if re.match(f"'{_COMPUTED.pattern}", text) else text for name, text in row.items()}
            yield Said(place, row["id"].strip(), row.get("annotator", ""), row["grade"], texts)
        return
    if not path.is_file():
        raise QuadragError(f"no file {path}; expected what Label Studio or Argilla exports, or CSV")
    found = parse_json(path.read_bytes(), path, "a list of objects, as Label Studio and Argilla export")
    for number, one in enumerate(found if isinstance(found, list) else [found], 1):
        place = f"{path}, item {number}"
        try:
            yield from _read_task(place, one) if "annotations" in one else _read_record(place, one)
        except (AttributeError, IndexError, KeyError, TypeError):
            raise QuadragError(f"{place} is not as Label Studio or Argilla export it; expected their JSON") from None


def _read_task(place: str, task: Mapping[str, Any]) -> Iterator[Said]:
    for annotation in task["annotations"]:
        if annotation.get("was_cancelled"):
            continue
        values = {result["from_name"]: result["value"] for result in annotation["result"]}
        grade = str(values.pop("grade", {}).get("rating", ""))
        texts = {name: "\n".join(value["text"]) for name, value in values.items() if "text" in value}
        who = annotation.get("completed_by", "")
        who = who.get("email") or who.get("id") if isinstance(who, dict) else who
        yield Said(place, str(task["data"]["id"]), str(who), grade, texts)


def _read_record(place: str, record: Mapping[str, Any]) -> Iterator[Said]:
    """Read a record of Argilla, whose answers stand by question, or in a list with the answers of each person."""
    people: dict[str, dict[str, str]] = {}
    responses = record["responses"]
    if isinstance(responses, list):
        for one in responses:
            if one.get("status", "submitted") == "submitted":
                people[str(one["user_id"])] = {name: str(said["value"]) for name, said in one["values"].items()}
    else:
        for name, answers in responses.items():
            for said in answers:
                people.setdefault(str(said["user_id"]), {})[name] = str(said["value"])
    for who, texts in people.items():
        yield Said(place, str(record["id"]), who, texts.pop("grade", ""), texts)

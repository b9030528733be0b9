"""Items for people who grade elsewhere, and their grades taken back: CSV, Label Studio's tasks, Argilla's records.

In each form a column or question ``grade`` takes 1 to 5, and one by the name of each field its correction. A list has
an entry a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from quadrag.errors import QuadragError
from quadrag.records import write_text
from quadrag.sheet import read_sheet, refuse_filled, write_sheet

from .grades import GRADES, check_annotator, give_grade
from .items import Item, Review, as_text


def write_items(path: Path, items: Mapping[str, Item], review: Review, form: str) -> list[Path]:
    """Write items in a form; returns the files, of Label Studio its labelling interface too.

    Raises:
        QuadragError: the file is there already, as it may hold a person's work.
    """
    refuse_filled(path)
    names = list(dict.fromkeys(name for item in items.values() for name in item.fields))
    rows = [{"id": name, **_shown(item, names)} for name, item in items.items()]
    if form == "csv":
        write_sheet(path, _as_csv(rows, review))
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
    yield from ([*row.values(), *blank] for row in rows)


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
    for place, row in read_sheet(path, "id", "grade").lines:
        said, name = row["grade"].strip(), row["id"].strip()
        if not said:
            continue
        named = annotator or re.sub(r"[^\w-]+", "-", row.get("annotator", "")).strip("-")
        if not named:
            raise QuadragError(f"{place} does not say who graded; give --annotator NAME")
        who = check_annotator(named)
        grade = next((one for one in GRADES if said in (str(one), f"{one}.0")), None)
        if grade is None or name not in items:
            what = f"grade {said!r}; expected 1 to 5" if grade is None else f"no item {name!r} here"
            faults.append(f"{place}: {what}")
            continue
        fault = give_grade(dataset, review, items[name], who, grade, row)
        if fault:
            faults.append(f"{place}: correction not taken: {fault}")
        taken += 1
    return taken, faults

"""Items for people who grade elsewhere, and their grades taken back: a CSV sheet.

Its column ``grade`` takes 1 to 5, and one by the name of each field its correction. A list has an entry a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from quadrag.errors import QuadragError
from quadrag.sheet import read_sheet, write_sheet

from .items import GRADES, Item, Review, as_text, check_annotator, give_grade


def write_items(path: Path, items: Mapping[str, Item], review: Review) -> None:
    """Write items as a sheet.

    Raises:
        QuadragError: the file is there already, as it may hold a person's work.
    """
    write_sheet(path, _rows(items, review))


def _rows(items: Mapping[str, Item], review: Review) -> Iterator[list[str]]:
    names = list(dict.fromkeys(name for item in items.values() for name in item.fields))
    asks = [f"{at}. {ask}" for at, ask in enumerate(review.asks, 1)]
    yield ["id", "cell", *names, "passages_shown", "source", "grade", "annotator", *asks]
    for name, item in items.items():
        fields = [as_text(item.fields.get(field, "")) for field in names]
        yield [name, item.cell, *fields, "\n\n".join(item.passages), item.source, "", "", *("" for _ in asks)]


def take_items(
    path: Path, dataset: Path, review: Review, items: Mapping[str, Item], annotator: str | None
) -> tuple[int, list[str]]:
    """Put the grades of a sheet on record.

    `dataset`: where the record is.
    `annotator`: who graded; by the sheet's own names when None.

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
        grade = next((grade for grade in GRADES if said in (str(grade), f"{grade}.0")), None)
        if grade is None or name not in items:
            what = f"grade {said!r}; expected 1 to 5" if grade is None else f"no item {name!r} here"
            faults.append(f"{place}: {what}")
            continue
        fault = give_grade(dataset, review, items[name], who, grade, row)
        if fault:
            faults.append(f"{place}: correction not taken: {fault}")
        taken += 1
    return taken, faults

"""Sheets that people fill in: of each question what they say of it, as CSV or as JSON Lines.

CSV is what spreadsheets save: UTF-8, its first line the columns, parted by commas, semicolons or tabs. What a column
may hold is not decided here.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from quadrag.errors import QuadragError
from quadrag.records import not_utf8, read_jsonl, write_text

_EXPECTED = "a sheet with the columns"
_FORMULA = tuple("=+-@\t\r")  # what a spreadsheet would carry out


class Place(NamedTuple):
    """Which answer is meant; `split` is "" where a line does not say it, `sample` counts from 0."""

    split: str
    id: str
    sample: int


class Mark(NamedTuple):
    """What a person says of an answer, and where that stands, as ``FILE:LINE``."""

    value: Any
    where: str


_Said = TypeVar("_Said")


def read_marks(path: Path, column: str) -> dict[Place, Mark]:
    """Read what people say in one column; `id` is needed too, `split` and `sample` are where ids repeat.

    Raises:
        QuadragError: the file cannot be read, a line lacks a column, or an answer is named twice.
    """
    found: dict[Place, Mark] = {}
    for where, row in _lines(path):
        for name in ("id", column):
            if name not in row:
                raise QuadragError(f"{where} has no {name}; expected {_EXPECTED} id and {column}")
        place = _place(where, row)
        if place in found:
            raise QuadragError(f"{where} names {place.id!r} again, after {found[place].where}; expected once")
        found[place] = Mark(row[column], where)
    return found


def find_mark(marks: Mapping[Place, _Said], place: Place) -> _Said | None:
    """Find what is said of an answer, by its split or by a line that names none."""
    return marks.get(place) or marks.get(place._replace(split=""))


def write_sheet(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    """Write a sheet as CSV that spreadsheets open as text: no cell is taken for a formula.

    Raises:
        QuadragError: there is such a file, in which somebody may have filled something in.
    """
    if path.exists():
        raise QuadragError(f"{path} is there, and may be filled in; name another file")
    cells = [[row.get(name, "") for name in columns] for row in rows]
    write_csv(path, [columns, *([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row] for row in cells)])


def write_csv(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write rows as CSV; without the mark at its beginning spreadsheets take Chinese for something else.

    The names of the columns are in no quotes, which behind the mark would be a part of the first one.
    """
    text = io.StringIO(newline="")
    head, *others = rows
    csv.writer(text, lineterminator="\n").writerow(head)
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(others)
    write_text(path, "\ufeff" + text.getvalue().encode("utf-8", "backslashreplace").decode("utf-8"))


def _lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield place and cells of every line that holds something."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected a sheet, CSV or JSON Lines") from None
    except UnicodeDecodeError:
        raise not_utf8(path, "CSV") from None
    if text.lstrip().startswith("{"):
        yield from ((f"{path}:{number}", row) for number, row in read_jsonl(path))
        return
    head = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    try:
        for row in reader:
            where = f"{path}:{reader.line_num}"
            if None in row or None in row.values():
                raise QuadragError(f"{where} has not as many cells as the first line has columns")
            if any(cell.strip() for cell in row.values()):
                yield where, row
    except csv.Error as error:
        raise QuadragError(f"{path}:{reader.line_num} is not CSV ({error}); expected {_EXPECTED} in quotes") from None


def _place(where: str, row: Mapping[str, Any]) -> Place:
    ident, split, sample = row["id"], row.get("split") or "", row.get("sample")
    if type(ident) not in (str, int) or not str(ident).strip() or not isinstance(split, str):
        raise QuadragError(f"{where}: id is {ident!r:.60}, split {split!r:.60}; expected those of a question")
    try:
        return Place(split.strip(), str(ident).strip(), int(sample or 0))
    except (TypeError, ValueError):
        raise QuadragError(f"{where}: sample is {sample!r:.60}; expected a whole number from 0") from None

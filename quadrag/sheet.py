"""Sheets: tables that people made or filled in, read by `read_sheet`, and those that are for them, by `write_sheet`.

Read are CSV as spreadsheets save it, whatever parts its cells and in any encoding that its bytes tell, JSON Lines, and
lists of objects. What a cell means is not decided here.
"""

import codecs
import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from quadrag.errors import QuadragError
from quadrag.reading import guess_encoding, not_utf8, parse_json
from quadrag.records import read_jsonl, write_text

ANNOTATOR = "annotator"  # who labelled a row; with a number, what each of several people said
# What a spreadsheet would carry out, also behind apostrophes; one more is put before it, and taken off again.
_COMPUTED = re.compile(r"(?!-\d+(?:\.\d+)?$)'*[=+\-@\t\r\n＝＋－＠]")
_ENGLISH = "id label verdict question answer gold passages group system split sample rating classes grade annotator"
_CHINESE = {
    "编号": "id",
    "标签": "label",
    "标注": "label",
    "判断": "verdict",
    "问题": "question",
    "回答": "answer",
    "标准答案": "gold",
    "片段": "passages",
    "分组": "group",
    "系统": "system",
    "标注人": ANNOTATOR,
}
_CALLED = {**{name: name for name in _ENGLISH.split()}, **_CHINESE}


class Line(NamedTuple):
    """A row by the names of its columns, and where it stands, for messages."""

    place: str
    row: Mapping[str, str]


class Sheet(NamedTuple):
    """All rows of a file that hold something, the names of its columns, and the file's sha256."""

    lines: list[Line]
    columns: list[str]
    sha256: str


class Place(NamedTuple):
    """Which answer is meant; `split` is "" where a line does not say it, `sample` counts from 0."""

    split: str
    id: str
    sample: int


class Mark(NamedTuple):
    """What a person says of an answer, and where that stands, as ``FILE:LINE``."""

    value: str
    where: str


_Said = TypeVar("_Said")


def read_sheet(path: Path, *wanted: str) -> Sheet:
    """Read a sheet.

    Args:
        path: the file.
        wanted: columns that it has to have. Where there are any, names of columns are also known in Chinese and in
            capitals; else they stay as they are.

    Raises:
        QuadragError: it cannot be read, lacks a column, or holds no row.
    """
    named = " and ".join(wanted) or "columns"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected a CSV file with {named}") from None
    if (encoding := guess_encoding(content)) is None:
        raise not_utf8(path, "CSV")
    text = content.decode(encoding).lstrip("\ufeff")
    objects = path.suffix.lower() == ".json" or text.lstrip().startswith(("[", "{"))
    lines = list(_read_objects(path, text) if objects else _read_cells(path, text, wanted))
    if wanted:
        lines = [Line(place, dict(zip(_call([*row]), row.values(), strict=True))) for place, row in lines]
    columns = list(dict.fromkeys(name for line in lines for name in line.row))
    if not lines:
        raise QuadragError(f"{path} holds no row; expected a line of names ({named}) and a row for each item")
    if lacking := " and ".join(name for name in wanted if name not in columns):
        raise QuadragError(f"{path} has no column {lacking}; expected {named}, found {', '.join(columns[:8])}")
    blank = dict.fromkeys(wanted, "")
    return Sheet([Line(place, {**blank, **row}) for place, row in lines], columns, hashlib.sha256(content).hexdigest())


def _read_cells(path: Path, text: str, wanted: Sequence[str]) -> Iterator[Line]:
    csv.field_size_limit(1 << 27)

    def count_names(sign: str) -> tuple[int, int]:
        head = next(csv.reader(io.StringIO(text.lstrip(), newline=""), delimiter=sign), [])
        return len({*_call([name.strip() for name in head])} & {*wanted}), len(head)

    named = re.match(r"sep=(.)[\r\n]", text)  # as Excel says what parts the cells
    sign = named[1] if named else max(",;\t", key=count_names)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)][bool(named) :]
    except csv.Error as error:
        raise QuadragError(f"{path}:{reader.line_num} is not CSV ({error}); expected a CSV file") from None
    head = [_bare(name).strip() for name in rows[0][1]] if rows else []
    if twice := next((name for name in head if name and head.count(name) > 1), None):
        raise QuadragError(f"{path} names the column {twice} twice; expected each once")
    shortest = min((len(row) for _, row in rows[1:]), default=0)
    for number, row in rows[1:]:
        # Blank cells at the end of all rows are no fault; in some rows a sign in a text may have shifted the others.
        if len(row) > len(head) and (len(row) > shortest or any(cell.strip() for cell in row[len(head) :])):
            raise QuadragError(
                f"{path}:{number} has {len(row)} cells under {len(head)} names; "
                "put a text with commas into quotation marks"
            )
        cells = [*row, *[""] * len(head)]
        yield Line(f"{path}:{number}", {name: _bare(cell) for name, cell in zip(head, cells, strict=False) if name})


def _read_objects(path: Path, text: str) -> Iterator[Line]:
    if text.lstrip().startswith("{") and path.suffix.lower() != ".json":
        rows = [(f"{path}:{number}", row) for number, row in read_jsonl(path)]
    else:
        given = parse_json(text, path, "a list of objects")
        if not isinstance(given, list) or not all(isinstance(row, dict) for row in given):
            raise QuadragError(f"{path} is no list of objects; expected one, or CSV")
        rows = [(f"{path}, item {number}", row) for number, row in enumerate(given, 1)]
    for place, row in rows:
        yield Line(place, {name: _text(value) for name, value in row.items()})


def _text(value: Any) -> str:
    return "" if value in (None, []) else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bare(cell: str) -> str:
    """Return a cell without the apostrophe that keeps a spreadsheet from carrying it out."""
    return cell[1:] if cell.startswith("'") and _COMPUTED.match(cell, 1) else cell


def _call(names: Sequence[str]) -> list[str]:
    """Call columns by their English names, but where another has that name."""
    known = [_CALLED.get(name.casefold(), name) for name in names]
    return [name if english in names else english for name, english in zip(names, known, strict=True)]


def join_people(sheet: Sheet) -> Sheet:
    """Put rows that several people wrote about one item into one: what each said, and as the label what all did."""
    if ANNOTATOR not in sheet.columns:
        return sheet
    first: dict[str, Line] = {}
    votes: dict[str, dict[str, str]] = {}
    columns: dict[str, str] = {}  # of each person
    for line in sheet.lines:
        name = line.row["id"]
        labels = votes.setdefault(name, {})
        who = line.row.get(ANNOTATOR) or str(len(labels) + 1)
        column = columns.setdefault(who, f"{ANNOTATOR}{len(columns) + 1}")
        if column in labels:
            raise QuadragError(f"{line.place}: annotator {who!r} labelled item {name!r} twice; expected one label")
        labels[column] = line.row["label"]
        first.setdefault(name, line)
    if len(columns) == 1:
        return sheet
    lines = []
    for name, line in first.items():
        label = line.row["label"] if len({*votes[name].values()}) == 1 else ""
        lines.append(Line(line.place, {**line.row, **votes[name], "label": label}))
    return Sheet(lines, [*sheet.columns, *columns.values()], sheet.sha256)


def read_marks(path: Path, column: str) -> dict[Place, Mark]:
    """Read what people say in one column; `id` is needed too, `split` and `sample` are where ids repeat.

    Raises:
        QuadragError: the file cannot be read, lacks a column, or names an answer twice.
    """
    marks: dict[Place, Mark] = {}
    for where, row in read_sheet(path, "id", column).lines:
        sample = row.get("sample") or "0"
        if not (ident := row["id"].strip()) or not re.fullmatch(r"\s*\d{1,9}\s*", sample):
            raise QuadragError(f"{where}: id is {ident!r:.60}, sample {sample!r:.60}; expected an id, a whole number")
        place = Place(row.get("split", "").strip(), ident, int(sample))
        if place in marks:
            raise QuadragError(f"{where} names {ident!r} again, after {marks[place].where}; expected once")
        marks[place] = Mark(row[column], where)
    return marks


def find_mark(marks: Mapping[Place, _Said], place: Place) -> _Said | None:
    """Find what is said of an answer, by its split or by a line that names none."""
    return marks.get(place) or marks.get(place._replace(split=""))


def write_sheet(path: Path, rows: Iterable[Sequence[str]], *, again: bool = False) -> None:
    """Write a sheet, first the names of its columns, as CSV that spreadsheets open as text: no cell is carried out.

    Raises:
        QuadragError: there is such a file, and it is not to be written `again`.
    """
    if not again:
        refuse_filled(path)
    text = io.StringIO(newline="")
    head, *others = ([f"'{cell}" if _COMPUTED.match(cell) else cell for cell in row] for row in rows)
    # In no quotes, which behind the mark would be a part of the first name; without that mark Chinese is none.
    csv.writer(text, lineterminator="\n").writerow(head)
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(others)
    write_text(path, codecs.BOM_UTF8.decode() + text.getvalue())


def refuse_filled(path: Path) -> None:
    """Refuse to write to a file in which somebody may have filled something in; QuadragError where there is one."""
    if path.exists():
        raise QuadragError(f"{path} is there, and may be filled in; name another file")

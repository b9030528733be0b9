"""Sheets: tables that people made or filled in, read by `read_sheet`, and those that are for them, by `write_sheet`.

Read are JSON Lines, and CSV as spreadsheets save it: in UTF-8, UTF-16 or GB18030, with commas, semicolons or tabs. What
a cell means is not decided here.
"""

import codecs
import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.reading import not_utf8
from quadrag.records import read_jsonl, write_text

ANNOTATOR = "annotator"  # who labelled a row; with a number, what each of several people said
# What a spreadsheet would carry out, also behind apostrophes; one more is put before it, and taken off again.
_COMPUTED = re.compile(r"(?!-\d+(?:\.\d+)?$)'*[=+\-@\t\r\n＝＋－＠]")
_COMMON = re.compile(rb"[\xa1-\xa3\xb0-\xd7]")  # the first byte in GB 2312 of marks and of frequent characters


class Line(NamedTuple):
    """A row by the names of its columns, and where it stands, for messages."""

    place: str
    row: Mapping[str, str]


class Sheet(NamedTuple):
    """All rows of a file that hold something, the names of its columns, and the file's sha256."""

    lines: list[Line]
    columns: list[str]
    sha256: str


def read_sheet(path: Path, *wanted: str) -> Sheet:
    """Read a sheet.

    Args:
        path: the file.
        wanted: columns that it has to have; lines of JSON may lack them, as blank cells.

    Raises:
        QuadragError: it cannot be read, lacks a column, or holds no row.
    """
    named = " and ".join(wanted) or "columns"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected a CSV file with {named}") from None
    text = _decode(content, path)
    blank = dict.fromkeys(wanted, "")
    if text.lstrip().startswith("{"):
        rows = ((f"{path}:{at}", {name: _text(value) for name, value in row.items()}) for at, row in read_jsonl(path))
    else:
        rows = ((f"{path}:{at}", row) for at, row in _read_cells(path, text))
    lines = [Line(*row) for row in rows]
    columns = list(dict.fromkeys(name for line in lines for name in line.row))
    if not lines:
        raise QuadragError(f"{path} holds no row; expected a line of names ({named}) and a row for each item")
    if lacking := " and ".join(name for name in wanted if name not in columns):
        raise QuadragError(f"{path} has no column {lacking}; expected {named}, found {', '.join(columns[:8])}")
    return Sheet([Line(place, blank | {**row}) for place, row in lines], columns, hashlib.sha256(content).hexdigest())


def _decode(content: bytes, path: Path) -> str:
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    with suppress(UnicodeDecodeError):
        return content.decode("utf-16" if wide else "utf-8-sig")
    with suppress(UnicodeDecodeError):
        text = content.decode("gb18030")
        # What is no Chinese may be read as such, and is then of rare characters.
        signs = [sign.encode("gb2312", "ignore") for sign in text if not sign.isascii()]
        if sum(bool(_COMMON.match(sign)) for sign in signs) >= 0.9 * len(signs):
            return text
    raise not_utf8(path, "CSV")


def _read_cells(path: Path, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    csv.field_size_limit(1 << 27)
    first = text.lstrip().partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
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
        yield number, {name: _bare(cell) for name, cell in zip(head, cells, strict=False) if name}


def _text(value: Any) -> str:
    return "" if value in (None, []) else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bare(cell: str) -> str:
    """Return a cell without the apostrophe that keeps a spreadsheet from carrying it out."""
    return cell[1:] if cell.startswith("'") and _COMPUTED.match(cell, 1) else cell


def join_people(sheet: Sheet) -> Sheet:
    """Put rows that several people wrote about one item into one: what each said, and as the label what all did."""
    people = list(dict.fromkeys(line.row.get(ANNOTATOR, "") for line in sheet.lines))
    if len(people) == 1:
        return sheet
    columns = {who: f"{ANNOTATOR}{number}" for number, who in enumerate(people, 1)}
    joined: dict[str, tuple[str, dict[str, str]]] = {}
    for place, row in sheet.lines:
        label, who = row["label"], row.get(ANNOTATOR, "")
        _, votes = joined.setdefault(row["id"], (place, {**row}))
        if columns[who] in votes:
            raise QuadragError(f"{place}: annotator {who!r} labelled item {row['id']!r} twice; expected one label")
        votes[columns[who]] = label
        votes["label"] = label if votes["label"] == label else ""
    lines = [Line(*line) for line in joined.values()]
    return Sheet(lines, [*sheet.columns, *columns.values()], sheet.sha256)


def write_sheet(path: Path, rows: Iterable[Sequence[str]], *, again: bool = False) -> None:
    """Write a sheet, first the names of its columns, as CSV that spreadsheets open as text: no cell is carried out.

    Raises:
        QuadragError: there is such a file, and it is not to be written `again`.
    """
    if path.exists() and not again:
        raise QuadragError(f"{path} is there, and may be filled in; name another file")
    text = io.StringIO(newline="")
    head, *others = ([f"'{cell}" if _COMPUTED.match(cell) else cell for cell in row] for row in rows)
    # In no quotes, which behind the mark would be a part of the first name; without that mark Chinese is none.
    csv.writer(text, lineterminator="\n").writerow(head)
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(others)
    write_text(path, codecs.BOM_UTF8.decode() + text.getvalue())

"""Sheets: tables that people made or filled in, read by `read_sheet`, and those that are for them, by `write_sheet`.

Read are JSON Lines, and CSV as spreadsheets save it: in UTF-8, UTF-16 or GB18030, with commas, semicolons or tabs. What
a cell means is not decided here.
"""

import codecs
import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from quadrag.errors import QuadragError, not_utf8
from quadrag.records import dumps, read_jsonl, write_text

# What a spreadsheet would carry out, also behind apostrophes; one more is put before it, and taken off again.
_COMPUTED = re.compile(r"(?!-\d+(?:\.\d+)?$)'*[=+\-@\t\r\n＝＋－＠]")
_COMMON = re.compile(rb"[\xa1-\xa3\xb0-\xd7]")  # the first byte in GB 2312 of marks and of frequent characters


class Line(NamedTuple):
    place: str  # for messages
    row: Mapping[str, str]  # by the names of its columns


class Sheet(NamedTuple):
    lines: list[Line]  # of the rows that hold something
    columns: list[str]
    sha256: str  # of the file


def read_sheet(path: Path, *wanted: str) -> Sheet:
    """Read a sheet; QuadragError where it cannot be read, lacks one of the columns `wanted`, or holds no row."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected a CSV file") from None
    text = _decode(content, path)
    rows = list(_read_objects(path) if text.lstrip().startswith("{") else _read_cells(path, text))
    columns = list(dict.fromkeys(name for _, row in rows for name in row))
    if not rows or not {*wanted} <= {*columns}:
        raise QuadragError(
            f"{path} has {len(rows)} rows, with {', '.join(columns[:8]) or 'no columns'}; "
            f"expected a row for each item, with {' and '.join(wanted) or 'names of columns above'}"
        )
    blank = dict.fromkeys(wanted, "")
    lines = [Line(f"{path}:{number}", blank | row) for number, row in rows]
    return Sheet(lines, columns, hashlib.sha256(content).hexdigest())


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
            cells = f"{len(row)} cells under {len(head)} names"
            raise QuadragError(f"{path}:{number} has {cells}; put a text with commas into quotation marks")
        yield number, {name: _bare(cell) for name, cell in zip(head, [*row, *[""] * len(head)], strict=False) if name}


def _read_objects(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    for number, row in read_jsonl(path):
        texts = {name: "" if value in (None, []) else value for name, value in row.items()}
        yield number, {name: text if isinstance(text, str) else dumps(text) for name, text in texts.items()}


def _bare(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _COMPUTED.match(cell, 1) else cell


def write_sheet(path: Path, rows: Iterable[Sequence[str]], *, again: bool = False) -> None:
    """Write a sheet, first the names of its columns, as CSV that spreadsheets open as text: no cell is carried out.

    QuadragError where there is such a file, and it is not to be written `again`.
    """
    if path.exists() and not again:
        raise QuadragError(f"{path} is there, and may be filled in; name another file")
    text = io.StringIO(newline="")
    head, *others = ([f"'{cell}" if _COMPUTED.match(cell) else cell for cell in row] for row in rows)
    # In no quotes, which behind the mark would be a part of the first name; without that mark Chinese is none.
    csv.writer(text, lineterminator="\n").writerow(head)
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(others)
    write_text(path, codecs.BOM_UTF8.decode() + text.getvalue())

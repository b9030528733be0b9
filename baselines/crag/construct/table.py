"""The table that questions are made of: CSV, JSON Lines, or a graph that `quadrag kg build` made.

A row is one thing. In CSV and JSON Lines its column ``kind`` says what it is, unless there is one kind alone; in a
graph the kinds are the tables. An empty cell says that there is no such value.
"""

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError, unknown_name
from quadrag.records import read_jsonl
from quadrag.sheet import read_sheet

from ..kg.graph import Graph
from ..kg.store import unkey
from .templates import NAME, POPULARITY, Column, Kind

Value = str | Decimal | datetime.date
Thing = dict[str, tuple[Value, ...]]  # by column; no value where the cell is empty
Table = dict[str, list[Thing]]  # by kind

_KIND = "kind"
_LIST = ";"  # between the values of a cell of CSV
_LONGEST = 25  # digits of a number
_EXPECTED = {"number": "a number as 1250 or 6.5", "date": "a date as 2024-03-05", "text": "a text", "list": "texts"}


def read_table(path: Path, kinds: Mapping[str, Kind]) -> Table:
    """Read the columns that the kinds name."""
    table: Table = {name: [] for name in kinds}
    met: dict[str, set[str]] = {name: set() for name in kinds}
    for where, name, cells in _rows(path, kinds):
        kind = kinds[name]
        met[name] |= cells.keys()
        thing = {
            column: _read(cells.get(source), typed, f"{where}: {source}") for column, source, typed in _wanted(kind)
        }
        if not thing[NAME] and kind.name in cells:
            raise QuadragError(f"{where} has no {kind.name}; expected the name of each {name}")
        table[name].append(thing)
    for name, kind in kinds.items():
        if not table[name]:
            raise QuadragError(f"{path} holds no {name}; expected rows of every kind that the templates name")
        for _, source, _ in _wanted(kind):
            if source not in met[name]:
                raise QuadragError(f"{path}: kind {name}: {unknown_name('column', source, sorted(met[name]))}")
    return table


def _wanted(kind: Kind) -> list[tuple[str, str, Column]]:
    wanted = [(NAME, kind.name, Column()), *((name, name, column) for name, column in kind.columns.items())]
    return wanted if kind.popularity is None else [*wanted, (POPULARITY, kind.popularity, Column("number"))]


def _rows(path: Path, kinds: Mapping[str, Kind]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    try:
        with path.open("rb") as stream:
            is_graph = stream.read(15) == b"SQLite format 3"
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected a table") from None
    if is_graph:
        yield from _graph_rows(path, kinds)
        return
    if path.suffix.lower() not in (".csv", ".tsv", ".txt", ".jsonl"):
        raise QuadragError(f"{path} is no table; expected .csv, .jsonl or the file of quadrag kg build")
    only = next(iter(kinds)) if len(kinds) == 1 else None
    is_json = path.suffix.lower() == ".jsonl"
    rows = ((f"{path}:{at}", row) for at, row in read_jsonl(path)) if is_json else read_sheet(path).lines
    for place, cells in rows:
        name = cells.get(_KIND, only)
        if not isinstance(name, str):
            raise QuadragError(f"{place} has no {_KIND}; expected one of {', '.join(kinds)}")
        if name.strip() not in kinds:
            raise QuadragError(f"{place}: {unknown_name('kind', name, kinds)}")
        yield place, name.strip(), cells


def _graph_rows(path: Path, kinds: Mapping[str, Kind]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    with Graph(path) as graph:
        there = [part.table for part in graph.parts if part.table in graph.tables]
        for name in kinds:
            if name not in there:
                raise QuadragError(f"{path}: {unknown_name('kind', name, there)}")
            columns = [column for (column,) in graph.rows(name, "name FROM pragma_table_info('{}')")]
            for number, row in enumerate(graph.rows(name, "* FROM {}"), 1):
                plain = (unkey(cell) if isinstance(cell, bytes) else cell for cell in row)
                cells = dict(zip(columns, plain, strict=True))
                value = json.loads(cells.pop("value", None) or "null")
                yield f"{path}: {name} {number}", name, {**cells, **(value if isinstance(value, dict) else {})}


def _read(cell: Any, column: Column, where: str) -> tuple[Value, ...]:
    parts = [cell] if column.type != "list" else cell.split(_LIST) if isinstance(cell, str) else cell
    if not isinstance(parts, (list, type(None))):
        raise _unreadable(cell, column, where)
    texts = (_text(part, column, where) for part in parts or ())
    return tuple(dict.fromkeys(_value(text, column, where) for text in texts if text))


def _text(part: Any, column: Column, where: str) -> str:
    if isinstance(part, dict) and column.type == "list":
        part = part.get(NAME)  # as a graph lists things: {"id": 18, "name": "Drama"}
    if part is None:
        return ""
    if not isinstance(part, (str, int, float)):
        raise _unreadable(part, column, where)
    return " ".join(str(part).split())


def _value(text: str, column: Column, where: str) -> Value:
    try:
        if column.type == "number":
            number = Decimal(text)
            if number.is_finite() and len(text) <= _LONGEST and abs(number.adjusted()) <= _LONGEST:
                return number
        elif column.type == "date":
            return datetime.datetime.fromisoformat(text).date()
        else:
            return text
    except (InvalidOperation, ValueError):
        pass
    raise _unreadable(text, column, where)


def _unreadable(cell: Any, column: Column, where: str) -> QuadragError:
    return QuadragError(f"{where} is {str(cell)!r:.60}; expected {_EXPECTED[column.type]}")


_MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_LARGE = ((Decimal(10**9), "billion"), (Decimal(10**6), "million"))
_GROUPED = 10_000  # from here on a number without a unit is written with commas; below it may be a year


def forms(value: Value, unit: str | None = None) -> list[str]:
    """Return every form of a value, the one to show first; a unit is ``$`` or such before it, or a word behind it."""
    if isinstance(value, datetime.date):
        month = _MONTHS[value.month - 1]
        return [f"{month} {value.day}, {value.year}", value.isoformat(), f"{value.day} {month} {value.year}"]
    if isinstance(value, str):
        return [value]
    bare = _numerals(value, grouped=unit is not None or abs(value) >= _GROUPED)
    if unit is None:
        return bare
    before = len(unit) == 1 and not unit.isalpha()
    return [*(f"{unit}{one}" if before else f"{one} {unit}" for one in bare), *bare]


def _numerals(value: Decimal, grouped: bool) -> list[str]:
    plain = _plain(value)
    found = [f"{Decimal(plain):,f}", plain] if grouped else [plain]
    if plain.isdigit() and int(plain) < len(_WORDS):
        found.append(_WORDS[int(plain)])
    for size, word in _LARGE:
        short = _plain(value / size)
        if abs(value) >= size and len(short.partition(".")[2]) <= 2:
            found.append(f"{short} {word}")
            break
    return list(dict.fromkeys(found))


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


def list_forms(values: Sequence[Value]) -> list[str]:
    """Return several values as one answer, in their order: with commas, and with a last "and"."""
    texts = [forms(value)[0] for value in sorted(values)]
    return [", ".join(texts), f"{', '.join(texts[:-1])} and {texts[-1]}"]

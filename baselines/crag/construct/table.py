"""The table that questions are made of, CSV or JSON Lines, and how its values are written.

A row is one thing, and its column ``kind`` says what it is, unless there is one kind alone. An empty cell says that
there is no such value.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, get_args

from quadrag.errors import QuadragError, unknown_name
from quadrag.parts import Part, Text
from quadrag.records import read_jsonl
from quadrag.sheet import read_sheet

NAME, POPULARITY = "name", "popularity"
Dynamism = Literal["static", "slow-changing", "fast-changing", "real-time"]
DYNAMISM: tuple[str, ...] = get_args(Dynamism)  # from the slowest to the fastest
Value = Any  # a text, a number as Decimal, or a date
Thing = dict[str, tuple[Value, ...]]  # by column; no value where the cell is empty
Table = dict[str, list[Thing]]  # by kind

_KIND = "kind"
_LIST = ";"  # between the values of a cell of CSV
_LONGEST = 25  # digits of a number
_EXPECTED = {"number": "a number as 1250 or 6.5", "date": "a date as 2024-03-05", "text": "a text", "list": "texts"}


class Column(Part):
    """A column: what its cells hold, how fast they change, which kind they name, and the unit of a number."""

    type: Literal["text", "number", "date", "list"] = "text"
    dynamism: Dynamism = "static"
    link: Text | None = None
    unit: Text | None = None


class Kind(Part):
    """A kind of things: the columns of its name and of its popularity in the table, and the others by name."""

    columns: Mapping[str, Column]
    name: Text = NAME
    popularity: Text | None = None

    @property
    def all_columns(self) -> Mapping[str, Column]:
        """The columns, that of the name among them."""
        return {**self.columns, NAME: Column()}


def read_table(path: Path, kinds: Mapping[str, Kind]) -> Table:
    """Read the columns that the kinds name."""
    table: Table = {name: [] for name in kinds}
    met: dict[str, set[str]] = {name: set() for name in kinds}
    for place, cells in _read_rows(path):
        name = str(cells.get(_KIND, next(iter(kinds)) if len(kinds) == 1 else "")).strip()
        if name not in kinds:
            raise QuadragError(f"{place}: {unknown_name('kind', name, kinds)}")
        met[name] |= cells.keys()
        thing = {
            column: _read(cells.get(source), typed, f"{place}: {source}")
            for column, source, typed in _list_columns(kinds[name])
        }
        if not thing[NAME] and kinds[name].name in cells:
            raise QuadragError(f"{place} has no {kinds[name].name}; expected the name of each {name}")
        table[name].append(thing)
    for name, kind in kinds.items():
        if not table[name]:
            raise QuadragError(f"{path} holds no {name}; expected rows of every kind that the templates name")
        for _, source, _ in _list_columns(kind):
            if source not in met[name]:
                raise QuadragError(f"{path}: kind {name}: {unknown_name('column', source, sorted(met[name]))}")
    return table


def _list_columns(kind: Kind) -> list[tuple[str, str, Column]]:
    """List the columns of a kind as they are called here and in the table."""
    columns = [(NAME, kind.name, Column()), *((name, name, column) for name, column in kind.columns.items())]
    return columns + ([(POPULARITY, kind.popularity, Column(type="number"))] if kind.popularity else [])


def _read_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if path.suffix.lower() == ".jsonl":
        return ((f"{path}:{number}", row) for number, row in read_jsonl(path))
    return ((line.place, line.row) for line in read_sheet(path).lines)


def _read(cell: Any, column: Column, where: str) -> tuple[Value, ...]:
    parts = [cell] if column.type != "list" else cell.split(_LIST) if isinstance(cell, str) else cell or []
    if not isinstance(parts, list) or not all(isinstance(part, (str, int, float, type(None))) for part in parts):
        raise _unreadable(cell, column, where)
    texts = (" ".join(str(part).split()) for part in parts if part is not None)
    return tuple(dict.fromkeys(_read_value(text, column, where) for text in texts if text))


def _read_value(text: str, column: Column, where: str) -> Value:
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


_MONTHS = (
    *("", "January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_LARGE = ((Decimal(10**9), "billion"), (Decimal(10**6), "million"))
_GROUPED = 10_000  # from here on a number without a unit is written with commas; below it may be a year


def write_forms(value: Value, unit: str | None = None) -> list[str]:
    """Return every form of a value, the one to show first; a unit is ``$`` or such before it, or a word behind it."""
    if isinstance(value, datetime.date):
        month = _MONTHS[value.month]
        return [f"{month} {value.day}, {value.year}", value.isoformat(), f"{value.day} {month} {value.year}"]
    if isinstance(value, str):
        return [value]
    plain = _plain(value)
    forms = [f"{Decimal(plain):,f}", plain] if unit is not None or abs(value) >= _GROUPED else [plain]
    if plain.isdigit() and int(plain) < len(_WORDS):
        forms.append(_WORDS[int(plain)])
    short = [(_plain(value / size), word) for size, word in _LARGE if abs(value) >= size]
    forms += [f"{number} {word}" for number, word in short if len(number.partition(".")[2]) <= 2][:1]
    forms = list(dict.fromkeys(forms))
    if unit is None:
        return forms
    before = len(unit) == 1 and not unit.isalpha()
    return [*(f"{unit}{form}" if before else f"{form} {unit}" for form in forms), *forms]


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


def write_lists(values: Sequence[Value]) -> list[str]:
    """Return several values as one answer, in their order: with commas, and with a last "and"."""
    texts = [write_forms(value)[0] for value in sorted({*values})]
    return [", ".join(texts), f"{', '.join(texts[:-1])} and {texts[-1]}"]

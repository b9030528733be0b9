"""The file of templates: which kinds of things a table has, and the questions that are asked about them.

docs/construct-crag.md says what a writer of such a file needs to know. A fault is one line that names its place.
"""

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Field, StringConstraints, model_validator

from quadrag.construct.recipe import Rejected
from quadrag.errors import QuadragError, read_yaml, unknown_name
from quadrag.parts import Count, Part, Text, validate
from quadrag.records import read_jsonl
from quadrag.sheet import read_sheet

from ..kg.clock import parse as parse_query_time

NAME, POPULARITY = "name", "popularity"
Dynamism = Literal["static", "slow-changing", "fast-changing", "real-time"]
DYNAMISM: tuple[str, ...] = get_args(Dynamism)  # from the slowest to the fastest
Cell = Any  # a text, a number as Decimal, or a date
Thing = dict[str, tuple[Cell, ...]]  # by column; no value where the cell is empty
Table = dict[str, list[Thing]]  # by kind

_KIND = "kind"
_LIST = ";"  # between the values of a cell of CSV
_LONGEST = 25  # digits of a number
_EXPECTED = {"number": "a number as 1250 or 6.5", "date": "a date as 2024-03-05", "text": "a text", "list": "texts"}


class Column(Part):
    type: Literal["text", "number", "date", "list"] = "text"
    dynamism: Dynamism = "static"  # how fast its cells change
    link: Text | None = None  # the kind that its cells name
    unit: Text | None = None  # of a number


class Kind(Part):
    """A kind of things: the columns of its name and of its popularity in the table, and the others by name."""

    columns: Mapping[str, Column]
    name: Text = NAME
    popularity: Text | None = None

    @property
    def all_columns(self) -> Mapping[str, Column]:
        return {**self.columns, NAME: Column()}


def read_table(path: Path, kinds: Mapping[str, Kind]) -> Table:
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
    columns = [(NAME, kind.name, Column()), *((name, name, column) for name, column in kind.columns.items())]
    return columns + ([(POPULARITY, kind.popularity, Column(type="number"))] if kind.popularity else [])


def _read_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if path.suffix.lower() == ".jsonl":
        return ((f"{path}:{number}", row) for number, row in read_jsonl(path))
    return ((line.place, line.row) for line in read_sheet(path).lines)


def _read(cell: Any, column: Column, where: str) -> tuple[Cell, ...]:
    parts = [cell] if column.type != "list" else cell.split(_LIST) if isinstance(cell, str) else cell or []
    if not isinstance(parts, list) or not all(isinstance(part, (str, int, float, type(None))) for part in parts):
        raise _unreadable(cell, column, where)
    texts = (" ".join(str(part).split()) for part in parts if part is not None)
    return tuple(dict.fromkeys(_read_value(text, column, where) for text in texts if text))


def _read_value(text: str, column: Column, where: str) -> Cell:
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


def write_forms(value: Cell, unit: str | None = None) -> list[str]:
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


def write_lists(values: Sequence[Cell]) -> list[str]:
    texts = [write_forms(value)[0] for value in sorted({*values})]
    return [", ".join(texts), f"{', '.join(texts[:-1])} and {texts[-1]}"]


_SLOT = re.compile(r"\{(\w+)\}")
_ALWAYS = {"type", "of", "ask", "compute", "dynamism"}


class Form(NamedTuple):
    """What a type of questions is: the keys that its templates need, and may have, and how its answer is computed.

    `types` are those that its column may have, any where there are none. `compute` makes every form of the answer of
    the values, their unit and the day of the question; None where it is not computed of values. It asks about `two`
    things, or about `many` values of one thing or of several.
    """

    needed: tuple[str, ...] = ("column",)
    may_have: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    compute: Callable[[Any, str | None, datetime.date], list[str]] | None = None
    two: bool = False
    many: bool = False


def _value(values: Any, unit: str | None, today: datetime.date) -> list[str]:
    return write_forms(values[-1], unit)


def _list(values: Any, unit: str | None, today: datetime.date) -> list[str]:
    return write_lists(values)


def _count(values: Any, unit: str | None, today: datetime.date) -> list[str]:
    return write_forms(Decimal(len({*values})))


def _sum(values: Any, unit: str | None, today: datetime.date) -> list[str]:
    return write_forms(sum(values, Decimal(0)), unit)


def _difference(values: Any, unit: str | None, today: datetime.date) -> list[str]:
    between = abs(values[0] - values[1])
    return _write_many(between.days, "day") if isinstance(between, datetime.timedelta) else write_forms(between, unit)


def _years(values: Any, unit: str | None, today: datetime.date) -> list[str]:
    years = today.year - values[0].year - ((today.month, today.day) < (values[0].month, values[0].day))
    if years < 1:
        raise Rejected("less than a year before the query time")
    return _write_many(years, "year")


def _write_many(number: int, unit: str) -> list[str]:
    return write_forms(Decimal(number), unit if number == 1 else f"{unit}s")


# By question type and what is computed.
FORMS: Mapping[tuple[str, str | None], Form] = {
    ("simple", None): Form(compute=_value),
    ("simple_w_condition", None): Form(("given", "column"), compute=_value),
    ("set", None): Form(may_have=("given",), compute=_list, many=True),
    ("comparison", None): Form(("column", "wanted"), types=("number", "date"), two=True),
    ("aggregation", "count"): Form((), ("given", "column"), compute=_count, many=True),
    ("aggregation", "sum"): Form(may_have=("given",), types=("number",), compute=_sum, many=True),
    ("multi-hop", None): Form(("path",), compute=_value),
    ("post-processing", "difference"): Form(types=("number",), compute=_difference, two=True),
    ("post-processing", "days_between"): Form(types=("date",), compute=_difference, two=True),
    ("post-processing", "years_since"): Form(types=("date",), compute=_years),
    ("false_premise", None): Form(),
}


class Template(Part):
    type: str
    of: str
    ask: Text
    given: Annotated[tuple[str, ...], Field(min_length=1)] = (NAME,)
    column: str = NAME
    path: tuple[str, ...] = ()
    compute: str | None = None
    wanted: Literal["most", "least"] = "most"
    dynamism: Dynamism | None = None

    @property
    def form(self) -> Form:
        return FORMS[self.type, self.compute]

    def fill(self, slots: Mapping[str, str]) -> str:
        return _SLOT.sub(lambda slot: slots[slot[1]], self.ask)


class Templates(Part):
    domain: Literal["finance", "music", "movie", "sports", "open"]
    query_time: Annotated[str, StringConstraints(strip_whitespace=True)]
    each: Count = 3  # questions that a template gives of head, torso and tail each
    kinds: Mapping[str, Kind]
    templates: Annotated[tuple[Template, ...], Field(min_length=1)]

    def columns_along(self, template: Template) -> list[Column]:
        """Return the columns of a template's path, of which each but the last one links the kind of the next."""
        kind, columns = self.kinds[template.of], []
        for name in template.path:
            columns.append(kind.all_columns[name])
            kind = self.kinds.get(columns[-1].link or "", kind)
        return columns

    @model_validator(mode="after")
    def _check(self) -> "Templates":
        try:
            parse_query_time(self.query_time)
        except QuadragError as error:
            raise ValueError(str(error)) from None
        for name, kind in self.kinds.items():
            if wrong := [column.link for column in kind.columns.values() if column.link not in (None, *self.kinds)]:
                raise ValueError(f"kind {name} links {wrong[0]}; expected one of {', '.join(self.kinds)}")
        for number, template in enumerate(self.templates, 1):
            for fault in _find_faults(template, self.kinds):
                raise ValueError(f"template {number}: {fault}")
        return self


def read_templates(path: Path) -> Templates:
    return validate(Templates, read_yaml(path, "domain, query_time, kinds and templates"), str(path))


def _find_faults(template: Template, kinds: Mapping[str, Kind]) -> Iterator[str]:
    if template.of not in kinds or kinds[template.of].popularity is None:
        yield f"of is {template.of!r}; expected a kind with a popularity"
    if (template.type, template.compute) not in FORMS:
        known = ", ".join(" ".join(filter(None, pair)) for pair in FORMS)
        yield f"type is {template.type!r}, compute {template.compute!r}; expected one of {known}"
    form, own, keys = template.form, kinds[template.of].all_columns, template.model_fields_set - _ALWAYS
    if not {*form.needed} <= keys <= {*form.needed, *form.may_have}:
        yield f"{template.type} with {', '.join(sorted(keys)) or 'no keys'}; expected {', '.join(form.needed)}"
    for column in (*template.given, template.column):
        if column not in own:
            yield f"column {column!r}; expected one of {', '.join(own)}"
    if form.types and own[template.column].type not in form.types:
        yield f"column {template.column} is a {own[template.column].type}; expected a {' or '.join(form.types)}"
    least = {"given": len({*template.given}), "path": len(template.path)}
    if template.type in ("simple_w_condition", "multi-hop") and least[form.needed[0]] < 2:
        yield f"{form.needed[0]} has fewer than two columns; expected two at least"
    slots = {"first", "second"} if form.two else {*template.given}
    if {*_SLOT.findall(template.ask)} != slots:
        wanted = " and ".join(f"{{{slot}}}" for slot in sorted(slots))
        yield f"ask is {template.ask!r}; expected a question with {wanted} and no other slot"
    yield from _find_path_faults(template.path, own, kinds)


def _find_path_faults(path: Sequence[str], own: Mapping[str, Column], kinds: Mapping[str, Kind]) -> Iterator[str]:
    for place, column in enumerate(path, 1):
        links = own[column].link if column in own and own[column].type == "text" else None
        if column not in own or (links is None and place < len(path)):
            yield f"path: {column!r}; expected columns that link kinds, and the last one's: of {', '.join(own)}"
        own = kinds[links].all_columns if links else own

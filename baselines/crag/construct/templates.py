"""The file of templates: which kinds of things a table has, and the questions that are asked about them.

docs/construct-crag.md says what a writer of such a file needs to know. A fault is one line that names its place.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError, unknown_name
from quadrag.reading import parse_yaml

from ..kg.clock import parse as parse_query_time

NAME, POPULARITY = "name", "popularity"
DYNAMISM = ("static", "slow-changing", "fast-changing", "real-time")  # from the slowest to the fastest
DOMAINS = ("finance", "music", "movie", "sports", "open")
COLUMN_TYPES = ("text", "number", "date", "list")
COMPUTES = {"aggregation": ("count", "sum"), "post-processing": ("days_between", "difference", "years_since")}
# What a column's type must be, where not any will do.
_TAKEN = {
    "comparison": ("number", "date"),
    "sum": ("number",),
    "difference": ("number",),
    "days_between": ("date",),
    "years_since": ("date",),
}
# By question type: the keys that a template needs, and those that it may have besides.
_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "simple": (("column",), ()),
    "simple_w_condition": (("given", "column"), ()),
    "set": (("column",), ("given",)),
    "comparison": (("column", "wanted"), ()),
    "aggregation": (("compute",), ("given", "column")),
    "multi-hop": (("path",), ()),
    "post-processing": (("column", "compute"), ()),
    "false_premise": (("column",), ()),
}
TYPES = tuple(_KEYS)
_ALWAYS = ("type", "of", "ask")
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Column:
    """A column: what its cells hold, how fast they change, which kind they name, and the unit of a number."""

    type: str = "text"
    dynamism: str = "static"
    link: str | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of things: the columns of its name and of its popularity in the table, and the others by name."""

    columns: Mapping[str, Column]
    name: str = NAME
    popularity: str | None = None


@dataclass(frozen=True)
class Template:
    """A question to be filled in; the keys are those of the file."""

    id: str
    type: str
    of: str
    ask: str
    given: tuple[str, ...] = (NAME,)
    column: str | None = None
    path: tuple[str, ...] = ()
    compute: str | None = None
    wanted: str | None = None
    dynamism: str | None = None

    @property
    def takes_two(self) -> bool:
        """Whether it asks about two things."""
        return self.type == "comparison" or self.compute in ("days_between", "difference")

    def fill(self, slots: Mapping[str, str]) -> str:
        """Return the question with its slots filled."""
        return _SLOT.sub(lambda slot: slots[slot[1]], self.ask)


@dataclass(frozen=True)
class Templates:
    """All that a file holds; `each` is how many questions a template gives of head, torso and tail each."""

    domain: str
    query_time: str
    each: int
    kinds: Mapping[str, Kind]
    templates: tuple[Template, ...]


def read_templates(path: Path) -> Templates:
    """Read a file of templates."""
    expected = "domain, query_time, kinds and templates"
    try:
        found = parse_yaml(path.read_bytes(), path, expected)
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected a file of templates") from None
    _check_keys(found, path, ("domain", "query_time", "kinds", "templates"), ("each",))
    _check_one_of(found["domain"], DOMAINS, f"{path}: domain")
    try:
        parse_query_time(found["query_time"])
    except QuadragError as error:
        raise QuadragError(f"{path}: {error}") from None
    each = found.get("each", 3)
    if type(each) is not int or each < 1:
        raise QuadragError(f"{path}: each is {each!r}; expected a whole number from 1")
    if not isinstance(found["kinds"], dict) or not isinstance(found["templates"], list) or not found["templates"]:
        raise QuadragError(f"{path}: expected kinds by name, and a list of templates")
    kinds = {str(name): _kind(kind, f"{path}: kind {name}") for name, kind in found["kinds"].items()}
    for name, kind in kinds.items():
        for column in kind.columns.values():
            if column.link is not None:
                _check_one_of(column.link, kinds, f"{path}: kind {name}: link")
    templates = tuple(
        _template(one, number, kinds, f"{path}: template {number}") for number, one in enumerate(found["templates"], 1)
    )
    asked: dict[str, int] = {}
    for number, one in enumerate(templates, 1):
        if (before := asked.setdefault(one.ask, number)) != number:
            raise QuadragError(f"{path}: template {number} asks the same as template {before}; expected each once")
    return Templates(found["domain"], found["query_time"].strip(), each, kinds, templates)


def _check_keys(found: Any, where: object, needed: Collection[str], others: Collection[str]) -> None:
    if not isinstance(found, dict):
        raise QuadragError(f"{where} is no mapping; expected the keys {', '.join(needed)}")
    for key in found:
        if key not in needed and key not in others:
            raise QuadragError(f"{where}: {unknown_name('key', key, [*needed, *others])}")
    if lacking := [key for key in needed if key not in found]:
        raise QuadragError(f"{where} lacks {', '.join(lacking)}")


def _check_one_of(value: object, known: Collection[str], where: str) -> None:
    if value not in list(known):
        raise QuadragError(f"{where} is {value!r}; expected one of {', '.join(known)}")


def _kind(found: Any, where: str) -> Kind:
    _check_keys(found, where, ("columns",), ("name", "popularity"))
    for key in ("name", "popularity"):
        if not isinstance(found.get(key, ""), str):
            raise QuadragError(f"{where}: {key} is {found[key]!r}; expected the name of a column")
    if not isinstance(found["columns"], dict):
        raise QuadragError(f"{where}: columns is no mapping; expected columns by name")
    columns = {str(name): _column(one, f"{where}: column {name}") for name, one in found["columns"].items()}
    for name in (NAME, POPULARITY):
        if name in columns:
            raise QuadragError(f"{where}: a column may not be named {name}; the kind's own key {name} says where it is")
    return Kind(columns, found.get("name", NAME), found.get("popularity"))


def _column(found: Any, where: str) -> Column:
    found = {} if found is None else found
    _check_keys(found, where, (), [field.name for field in fields(Column)])
    column = Column(**found)
    _check_one_of(column.type, COLUMN_TYPES, f"{where}: type")
    _check_one_of(column.dynamism, DYNAMISM, f"{where}: dynamism")
    if column.unit is not None and (not isinstance(column.unit, str) or column.type != "number"):
        raise QuadragError(f"{where}: unit is {column.unit!r}; expected a text, and the type number")
    if column.link is not None and column.type not in ("text", "list"):
        raise QuadragError(f"{where}: a column of the type {column.type} cannot link; expected text or list")
    return column


def _template(found: Any, number: int, kinds: Mapping[str, Kind], where: str) -> Template:
    if not isinstance(found, dict) or "type" not in found:
        raise QuadragError(f"{where} has no type; expected one of {', '.join(TYPES)}")
    _check_one_of(found["type"], TYPES, f"{where}: type")
    needed, others = _KEYS[found["type"]]
    _check_keys(found, where, (*_ALWAYS, *needed), (*others, "dynamism"))
    _check_one_of(found["of"], kinds, f"{where}: of")
    kind = kinds[found["of"]]
    if kind.popularity is None:
        raise QuadragError(f"{where}: kind {found['of']} has no popularity, so nothing can be drawn from it")
    for key in ("given", "path"):
        if not isinstance(found.get(key, []), list):
            raise QuadragError(f"{where}: {key} is {found[key]!r}; expected a list of columns")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}
    template = Template(f"{number:02}-{found['type']}", **values)
    if template.type in COMPUTES:
        _check_one_of(template.compute, COMPUTES[template.type], f"{where}: compute")
    if template.type == "comparison":
        _check_one_of(template.wanted, ("most", "least"), f"{where}: wanted")
    if template.dynamism is not None:
        _check_one_of(template.dynamism, DYNAMISM, f"{where}: dynamism")
    _check_columns(template, kinds, where)
    slots = {"first", "second"} if template.takes_two else set(template.given)
    if not isinstance(template.ask, str) or set(_SLOT.findall(template.ask)) != slots:
        wanted = " and ".join(f"{{{slot}}}" for slot in sorted(slots))
        raise QuadragError(f"{where}: ask is {template.ask!r}; expected a question with {wanted} and no other slot")
    return template


def _check_columns(template: Template, kinds: Mapping[str, Kind], where: str) -> None:
    own = {NAME: Column(), **kinds[template.of].columns}
    for column in template.given:
        _check_one_of(column, own, f"{where}: given")
    if template.type == "simple_w_condition" and len(set(template.given)) < 2:
        raise QuadragError(f"{where}: given is {list(template.given)}; expected two columns at least")
    if template.column is not None:
        _check_one_of(template.column, own, f"{where}: column")
        allowed = _TAKEN.get(template.compute or template.type, COLUMN_TYPES)
        if own[template.column].type not in allowed:
            found = f"column {template.column} is of the type {own[template.column].type}"
            raise QuadragError(f"{where}: {found}; expected {' or '.join(allowed)}")
    elif template.compute == "sum":
        raise QuadragError(f"{where} lacks column, whose sum is asked for")
    if template.type == "multi-hop":
        if len(template.path) < 2:
            raise QuadragError(f"{where}: path is {list(template.path)}; expected two columns at least")
        for at, column in enumerate(template.path):
            _check_one_of(column, own, f"{where}: path")
            link = own[column].link
            if at < len(template.path) - 1:
                if link is None or own[column].type == "list":
                    raise QuadragError(f"{where}: path: column {column} names no single thing; expected a text's link")
                own = kinds[link].columns  # type: ignore[assignment]

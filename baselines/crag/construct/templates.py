"""The file of templates: which kinds of things a table has, and the questions that are asked about them.

docs/construct-crag.md says what a writer of such a file needs to know. A fault is one line that names its place.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field, StringConstraints, model_validator

from quadrag.errors import QuadragError
from quadrag.parts import Count, Part, Text, validate
from quadrag.reading import parse_yaml

from ..kg.clock import parse as parse_query_time

NAME, POPULARITY = "name", "popularity"
Dynamism = Literal["static", "slow-changing", "fast-changing", "real-time"]
DYNAMISM: tuple[str, ...] = get_args(Dynamism)  # from the slowest to the fastest
# By question type: the keys that a template needs, and those that it may have besides.
_KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "simple": (("column",), ()),
    "simple_w_condition": (("given", "column"), ()),
    "set": (("column",), ("given",)),
    "comparison": (("column", "wanted"), ()),
    "aggregation": (("compute",), ("given", "column")),
    "multi-hop": (("path",), ()),
    "post-processing": (("column", "compute"), ()),
    "false_premise": (("column",), ()),
}
_COMPUTES = {"aggregation": ("count", "sum"), "post-processing": ("days_between", "difference", "years_since")}
# What a column's type must be, by what is computed or the question type, where not any will do.
_TYPES: Mapping[str, tuple[str, ...]] = {
    "comparison": ("number", "date"),
    "sum": ("number",),
    "difference": ("number",),
    "days_between": ("date",),
    "years_since": ("date",),
}
_SLOT = re.compile(r"\{(\w+)\}")


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
        return {NAME: Column(), **self.columns}


class Template(Part):
    """A question to be filled in."""

    type: str
    of: str
    ask: Text
    given: tuple[str, ...] = (NAME,)
    column: str = NAME
    path: tuple[str, ...] = ()
    compute: str | None = None
    wanted: Literal["most", "least"] = "most"
    dynamism: Dynamism | None = None

    @property
    def takes_two(self) -> bool:
        """Whether it asks about two things."""
        return self.type == "comparison" or self.compute in ("days_between", "difference")

    def fill(self, slots: Mapping[str, str]) -> str:
        """Return the question with its slots filled."""
        return _SLOT.sub(lambda slot: slots[slot[1]], self.ask)


class Templates(Part):
    """All that a file holds; `each` is how many questions a template gives of head, torso and tail each."""

    domain: Literal["finance", "music", "movie", "sports", "open"]
    query_time: Annotated[str, StringConstraints(strip_whitespace=True)]
    each: Count = 3
    kinds: Mapping[str, Kind]
    templates: Annotated[tuple[Template, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> "Templates":
        try:
            parse_query_time(self.query_time)
        except QuadragError as error:
            raise ValueError(str(error)) from None
        for name, kind in self.kinds.items():
            for fault in _kind_faults(kind, self.kinds):
                raise ValueError(f"kind {name}: {fault}")
        asked: dict[str, int] = {}
        for number, template in enumerate(self.templates, 1):
            for fault in _template_faults(template, self.kinds):
                raise ValueError(f"template {number}: {fault}")
            if (before := asked.setdefault(template.ask, number)) != number:
                raise ValueError(f"template {number} asks the same as template {before}; expected each once")
        return self


def read_templates(path: Path) -> Templates:
    """Read a file of templates."""
    expected = "domain, query_time, kinds and templates"
    try:
        found = parse_yaml(path.read_bytes(), path, expected)
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected a file of templates") from None
    return validate(Templates, found, str(path))


def _kind_faults(kind: Kind, kinds: Collection[str]) -> Iterator[str]:
    if wrong := {NAME, POPULARITY} & {*kind.columns}:
        yield f"a column is named {min(wrong)}; the kind's own key of that name says where it is"
    for name, column in kind.columns.items():
        if column.link is not None and (column.link not in kinds or column.type not in ("text", "list")):
            yield f"column {name} is a {column.type} that links {column.link}; expected a text or list, and a kind"
        if column.unit is not None and column.type != "number":
            yield f"column {name} is a {column.type} with a unit; expected a number"


def _template_faults(template: Template, kinds: Mapping[str, Kind]) -> Iterator[str]:
    if template.of not in kinds or kinds[template.of].popularity is None:
        popular = [name for name, kind in kinds.items() if kind.popularity is not None]
        yield f"of is {template.of!r}; expected a kind with a popularity: {', '.join(popular)}"
    if template.type not in _KEYS:
        yield f"type is {template.type!r}; expected one of {', '.join(_KEYS)}"
    needed, others = _KEYS[template.type]
    typed = template.model_fields_set - {"type", "of", "ask", "dynamism"}
    if not {*needed} <= typed <= {*needed, *others} or (template.compute == "sum" and "column" not in typed):
        yield f"{template.type} with {', '.join(sorted(typed)) or 'no keys'}; expected {', '.join(needed)}"
    if template.compute not in _COMPUTES.get(template.type, (None,)):
        yield f"compute is {template.compute!r}; expected {' or '.join(_COMPUTES[template.type])}"
    yield from _column_faults(template, kinds)
    slots = {"first", "second"} if template.takes_two else {*template.given}
    if {*_SLOT.findall(template.ask)} != slots:
        wanted = " and ".join(f"{{{slot}}}" for slot in sorted(slots))
        yield f"ask is {template.ask!r}; expected a question with {wanted} and no other slot"


def _column_faults(template: Template, kinds: Mapping[str, Kind]) -> Iterator[str]:
    own = kinds[template.of].all_columns
    for column in (*template.given, template.column):
        if column not in own:
            yield f"column {column!r}; expected one of {', '.join(own)}"
    allowed = _TYPES.get(template.compute or template.type)
    if allowed and own[template.column].type not in allowed:
        yield f"column {template.column} is a {own[template.column].type}; expected a {' or '.join(allowed)}"
    least = {"simple_w_condition": template.given, "multi-hop": template.path}.get(template.type)
    if least is not None and len({*least}) < 2:
        yield f"given or path is {list(least)}; expected two columns at least"
    for at, column in enumerate(template.path):
        last = at == len(template.path) - 1
        if column not in own or (not last and (own[column].link is None or own[column].type == "list")):
            yield f"path: {column!r}; expected {'a column' if last else 'a text that links a kind'} of {', '.join(own)}"
        own = own if last else kinds[str(own[column].link)].all_columns

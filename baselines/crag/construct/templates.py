"""The file of templates: which kinds of things a table has, and the questions that are asked about them.

docs/construct-crag.md says what a writer of such a file needs to know. A fault is one line that names its place.
"""

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, StringConstraints, model_validator

from quadrag.construct.steps import Rejected
from quadrag.errors import QuadragError
from quadrag.parts import Count, Part, Text, validate
from quadrag.reading import parse_yaml

from ..kg.clock import parse as parse_query_time
from .table import NAME, Dynamism, Kind, write_forms, write_lists

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
    """A question to be filled in."""

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
        """What its type is."""
        return FORMS[self.type, self.compute]

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
            if wrong := [column.link for column in kind.columns.values() if column.link not in (None, *self.kinds)]:
                raise ValueError(f"kind {name} links {wrong[0]}; expected one of {', '.join(self.kinds)}")
        for number, template in enumerate(self.templates, 1):
            for fault in _find_faults(template, self.kinds):
                raise ValueError(f"template {number}: {fault}")
        return self


def read_templates(path: Path) -> Templates:
    """Read a file of templates."""
    expected = "domain, query_time, kinds and templates"
    try:
        found = parse_yaml(path.read_bytes(), path, expected)
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected a file of templates") from None
    return validate(Templates, found, str(path))


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
    for place, column in enumerate(template.path, 1):
        links = own[column].link if column in own and own[column].type == "text" else None
        if column not in own or (links is None and place < len(template.path)):
            yield f"path: {column!r}; expected columns that link kinds, and the last one's: of {', '.join(own)}"
        own = kinds[links].all_columns if links else own

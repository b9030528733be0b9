"""The eight question types: what each asks about, and its answer, computed from the table.

Only a crisp answer is one: where two things are equal, a value is lacking, or a name is that of two things, there is no
question. Each type is a function of a template, the things it asks about and the table; it returns every form of the
answer and what the question may not give away.
"""

import datetime
import itertools
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from quadrag.construct.held import stands_in
from quadrag.construct.steps import Drop

from ..kg.clock import parse as parse_query_time
from .table import Table, Thing, Value, forms, list_forms
from .templates import DYNAMISM, NAME, POPULARITY, Column, Template, Templates

BUCKETS = ("head", "torso", "tail")
LARGEST = 10  # values of a set
INVALID = "invalid question"


class Group(NamedTuple):
    """The things that have the same values in some columns: the values as a question shows them, and the things."""

    shown: Mapping[str, str]
    things: Sequence[Thing]


class Sheet:
    """A table with the templates over it."""

    def __init__(self, templates: Templates, table: Table) -> None:
        self.templates = templates
        self._table = table
        self._groups: dict[tuple[str, tuple[str, ...]], dict[tuple[Value, ...], Group]] = {}

    def columns(self, kind: str) -> dict[str, Column]:
        """Return the columns of a kind, that of its name among them."""
        return {NAME: Column(), **self.templates.kinds[kind].columns}

    def groups(self, kind: str, given: tuple[str, ...]) -> Mapping[tuple[Value, ...], Group]:
        """Return the groups of a kind's things by their values in some columns; kept for the next time."""
        if (kind, given) not in self._groups:
            found: dict[tuple[Value, ...], list[Thing]] = {}
            for thing in self._table[kind]:
                for key in itertools.product(*(thing[column] for column in given)):
                    found.setdefault(key, []).append(thing)
            self._groups[kind, given] = {
                key: Group({column: forms(value)[0] for column, value in zip(given, key, strict=True)}, things)
                for key, things in found.items()
            }
        return self._groups[kind, given]

    def named(self, kind: str, name: Value) -> Thing:
        """Return the one thing of a name; `Drop` where there is none, or more."""
        found = self.groups(kind, (NAME,)).get((name,))
        if found is None:
            raise Drop(f"no {kind} of that name")
        return _only(found)

    def buckets(self, template: Template) -> dict[str, list[Group]]:
        """Part the groups that a template may ask about into three of equal size by popularity.

        That of a group is the sum of its things'; one with a thing of unknown popularity is in none of them.
        """
        ranked = [
            (sum(thing[POPULARITY][0] for thing in group.things), group)  # type: ignore[misc]
            for group in self.groups(template.of, template.given).values()
            if all(thing[POPULARITY] for thing in group.things)
        ]
        ranked.sort(key=lambda one: (-one[0], tuple(one[1].shown.values())))
        parts: dict[str, list[Group]] = {bucket: [] for bucket in BUCKETS}
        for place, (_, group) in enumerate(ranked):
            parts[BUCKETS[place * len(BUCKETS) // len(ranked)]].append(group)
        return parts

    def answer(self, template: Template, groups: Sequence[Group]) -> list[str]:
        """Compute every form of the answer about some groups, the one to show first; `Drop` without a crisp one."""
        found, hidden = _TYPES[template.type](self, template, groups)
        asked = ask(template, groups)
        if any(stands_in(text, asked) for text in hidden):
            raise Drop("the question gives the answer away")
        return found

    def dynamism(self, template: Template) -> str:
        """Return how fast the answer changes: as the template says, else as the fastest column that it rests on."""
        if template.dynamism is not None:
            return template.dynamism
        kind, used = template.of, [*template.given]
        used += [template.column] if template.column is not None else []
        speeds = [self.columns(kind)[column].dynamism for column in used]
        for column in template.path:
            speeds.append(self.columns(kind)[column].dynamism)
            kind = self.columns(kind)[column].link or kind
        if template.compute == "years_since":
            speeds.append("slow-changing")
        return max(speeds, key=DYNAMISM.index)

    def unit(self, template: Template) -> str | None:
        """Return the unit of a template's column."""
        return self.columns(template.of)[template.column].unit if template.column is not None else None


def ask(template: Template, groups: Sequence[Group]) -> str:
    """Return a template's question about some groups."""
    if template.takes_two:
        slots = {slot: group.shown[NAME] for slot, group in zip(("first", "second"), groups, strict=True)}
    else:
        slots = dict(groups[0].shown)
    return template.fill(slots)


def _only(group: Group) -> Thing:
    if len(group.things) != 1:
        raise Drop("several things of that description")
    return group.things[0]


def _one(thing: Thing, column: str | None) -> Any:
    values = thing[column or NAME]
    if len(values) != 1:
        raise Drop("no value" if not values else "several values")
    return values[0]


Computed = tuple[list[str], list[str]]


def _simple(sheet: Sheet, template: Template, groups: Sequence[Group]) -> Computed:
    found = forms(_one(_only(groups[0]), template.column), sheet.unit(template))
    return found, found


def _set(sheet: Sheet, template: Template, groups: Sequence[Group]) -> Computed:
    things = groups[0].things
    if template.given == (NAME,):
        _only(groups[0])
    if not all(thing[template.column or NAME] for thing in things):
        raise Drop("no value")
    values = list(dict.fromkeys(value for thing in things for value in thing[template.column or NAME]))
    if not 2 <= len(values) <= LARGEST:
        raise Drop(f"a set of fewer than 2 values or more than {LARGEST}")
    return list_forms(values), [forms(value)[0] for value in values]


def _comparison(sheet: Sheet, template: Template, groups: Sequence[Group]) -> Computed:
    first, second = (_one(_only(group), template.column) for group in groups)
    if first == second:
        raise Drop("a tie")
    better = groups[0] if (first > second) == (template.wanted == "most") else groups[1]
    return [better.shown[NAME]], []


def _aggregation(sheet: Sheet, template: Template, groups: Sequence[Group]) -> Computed:
    things, column = groups[0].things, template.column or NAME
    if template.given == (NAME,):
        _only(groups[0])
    if not all(thing[column] for thing in things):
        raise Drop("no value")
    values = [value for thing in things for value in thing[column]]
    if len(values) < 2:
        raise Drop("fewer than two values")
    if template.compute == "sum":
        found = forms(sum(values, Decimal(0)), sheet.unit(template))
    elif len(set(values)) < len(values) and column == NAME:
        raise Drop("several things of that description")
    else:
        found = forms(Decimal(len(set(values))))
    return found, found


def _multi_hop(sheet: Sheet, template: Template, groups: Sequence[Group]) -> Computed:
    kind, thing, middle = template.of, _only(groups[0]), []
    for column in template.path[:-1]:
        name = _one(thing, column)
        middle.append(name)
        kind = sheet.columns(kind)[column].link or kind
        thing = sheet.named(kind, name)
    last = template.path[-1]
    found = forms(_one(thing, last), sheet.columns(kind)[last].unit)
    return found, [*found, *middle]


def _post_processing(sheet: Sheet, template: Template, groups: Sequence[Group]) -> Computed:
    values = [_one(_only(group), template.column) for group in groups]
    if template.compute == "years_since":
        found = _years(values[0], parse_query_time(sheet.templates.query_time).date())
    elif values[0] == values[1]:
        raise Drop("a tie")
    elif template.compute == "days_between":
        found = _counted(abs((values[0] - values[1]).days), "day")
    else:
        found = forms(abs(values[0] - values[1]), sheet.unit(template))
    return found, found


def _years(since: datetime.date, to: datetime.date) -> list[str]:
    years = to.year - since.year - ((to.month, to.day) < (since.month, since.day))
    if years < 1:
        raise Drop("less than a year before the query time")
    return _counted(years, "year")


def _counted(number: int, unit: str) -> list[str]:
    return forms(Decimal(number), unit if number == 1 else f"{unit}s")


def _false_premise(sheet: Sheet, template: Template, groups: Sequence[Group]) -> Computed:
    if _only(groups[0])[template.column or NAME]:
        raise Drop("the premise holds")
    return [INVALID], []


_TYPES: Mapping[str, Callable[[Sheet, Template, Sequence[Group]], Computed]] = {
    "simple": _simple,
    "simple_w_condition": _simple,
    "set": _set,
    "comparison": _comparison,
    "aggregation": _aggregation,
    "multi-hop": _multi_hop,
    "post-processing": _post_processing,
    "false_premise": _false_premise,
}

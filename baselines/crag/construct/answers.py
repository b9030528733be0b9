"""The eight question types: what each asks about, and its answer, computed from the table.

Only a crisp answer is one: where two things are equal, a value is lacking, or a name is that of two things, there is no
question.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quadrag.construct.checks import stands_in
from quadrag.construct.steps import Rejected

from ..kg.clock import parse as parse_query_time
from .table import DYNAMISM, NAME, POPULARITY, Table, Thing, Value, write_forms
from .templates import Template, Templates

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
        self._today = parse_query_time(templates.query_time).date()

    def groups(self, kind: str, columns: tuple[str, ...]) -> Mapping[tuple[Value, ...], Group]:
        """Return the groups of a kind's things by their values in some columns; kept for the next time."""
        if (kind, columns) not in self._groups:
            things: dict[tuple[Value, ...], list[Thing]] = {}
            for thing in self._table[kind]:
                for key in itertools.product(*(thing[column] for column in columns)):
                    things.setdefault(key, []).append(thing)
            self._groups[kind, columns] = {
                key: Group({name: write_forms(value)[0] for name, value in zip(columns, key, strict=True)}, same)
                for key, same in things.items()
            }
        return self._groups[kind, columns]

    def buckets(self, template: Template) -> dict[str, list[Group]]:
        """Part the groups that a template may ask about into three of equal size by popularity.

        That of a group is the sum of its things'; one with a thing of unknown popularity is in none of them.
        """
        groups = self.groups(template.of, template.given).values()
        known = [group for group in groups if all(thing[POPULARITY] for thing in group.things)]
        known.sort(key=lambda group: (-_sum(group.things), tuple(group.shown.values())))
        parts: dict[str, list[Group]] = {bucket: [] for bucket in BUCKETS}
        for place, group in enumerate(known):
            parts[BUCKETS[place * len(BUCKETS) // len(known)]].append(group)
        return parts

    def answer(self, template: Template, groups: Sequence[Group]) -> list[str]:
        """Compute every form of the answer about some groups, the one to show first; `Rejected` without a crisp one."""
        form = template.form
        if not (form.many and template.given != (NAME,)) and any(len(group.things) != 1 for group in groups):
            raise Rejected("several things of that description")
        things = [thing for group in groups for thing in group.things]
        if template.type == "false_premise":
            if things[0][template.column]:
                raise Rejected("the premise holds")
            return [INVALID]
        if template.type == "multi-hop":
            values, unit = self._follow(template, things[0])
        else:
            values = [value for thing in things for value in _values(thing, template.column, one=not form.many)]
            unit = self.templates.kinds[template.of].all_columns[template.column].unit
        if form.two and values[0] == values[1]:
            raise Rejected("a tie")
        if form.compute is None:
            better = groups[(values[0] < values[1]) == (template.wanted == "most")]
            return [better.shown[NAME]]
        if form.many:
            _check_many(template, values)
        forms = form.compute(values, unit, self._today)
        hidden = [] if template.type == "set" else list(forms)
        if template.type in ("set", "multi-hop"):
            hidden += [write_forms(value)[0] for value in values]
        asked = ask(template, groups)
        if any(stands_in(text, asked) for text in hidden):
            raise Rejected("the question gives the answer away")
        return forms

    def _follow(self, template: Template, thing: Thing) -> tuple[list[Any], str | None]:
        """Return the values along a path, and the unit of the last."""
        kind: str = template.of
        values: list[Any] = []
        for column in template.path[:-1]:
            (name,) = _values(thing, column, one=True)
            values.append(name)
            kind = str(self.templates.kinds[kind].columns[column].link)
            group = self.groups(kind, (NAME,)).get((name,))
            if group is None or len(group.things) != 1:
                raise Rejected("several things of that description" if group else f"no {kind} of that name")
            thing = group.things[0]
        unit = self.templates.kinds[kind].all_columns[template.path[-1]].unit
        return [*values, *_values(thing, template.path[-1], one=True)], unit

    def dynamism(self, template: Template) -> str:
        """Return how fast the answer changes: as the template says, else as the fastest column that it rests on."""
        if template.dynamism is not None:
            return template.dynamism
        kind = self.templates.kinds[template.of]
        speeds = [kind.all_columns[column].dynamism for column in (*template.given, template.column)]
        for name in template.path:
            column = kind.all_columns[name]
            speeds.append(column.dynamism)
            kind = self.templates.kinds[column.link] if column.link else kind
        if template.compute == "years_since":
            speeds.append("slow-changing")
        return max(speeds, key=DYNAMISM.index)


def ask(template: Template, groups: Sequence[Group]) -> str:
    """Return a template's question about some groups."""
    if not template.form.two:
        return template.fill(groups[0].shown)
    return template.fill({slot: group.shown[NAME] for slot, group in zip(("first", "second"), groups, strict=True)})


def _sum(things: Sequence[Thing]) -> Any:
    return sum(thing[POPULARITY][0] for thing in things)


def _values(thing: Thing, column: str, one: bool) -> Sequence[Any]:
    values = thing[column]
    if not values or (one and len(values) > 1):
        raise Rejected("several values" if values else "no value")
    return values


def _check_many(template: Template, values: list[Value]) -> None:
    distinct = {*values}
    if template.type == "set" and not 2 <= len(distinct) <= LARGEST:
        raise Rejected(f"a set of fewer than 2 values or more than {LARGEST}")
    if len(values) < 2:
        raise Rejected("fewer than two values")
    if template.compute == "count" and template.column == NAME and len(distinct) < len(values):
        raise Rejected("several things of that description")

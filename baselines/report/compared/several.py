"""Several runs in one report: their values side by side and, of three or more, what each differs from the first.

A terminal is shown both in one table, a line a run, the best first, and no more of it than a person reads.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from quadrag.errors import QuadragError

from ...certify.notes import note_judges, note_unasked
from ...core.result import Result
from ...tables.folded import fold_lines
from ...tables.grid import Alarm, Cell, Detail, Doubt, Grid, Line, Verdict
from ...tables.notes import TESTS, note_directions
from .comparison import compare_runs
from .glance.leader import Leading, find_leading, tell_leader
from .glance.lined import difference_cells, head_differences, line_up
from .matrix_change import tabulate_changes
from .names import (
    CORNER,
    FEW_RUNS,
    join_columns,
    keep_columns,
    label_place,
    name_columns,
    name_difference,
    name_places,
    tell_under,
)
from .paired.overall import pool_each
from .paired.pairs import compare_each, list_places, pick_places
from .paired.shared import tell_judges
from .said.errors import tell_errors
from .said.rankings import tell_rankings
from .said.verdict import tell_headline, tell_turned
from .said.words import tell_alike, tell_beside, tell_length, tell_missing, tell_odd, tell_over, tell_rule

_COUNTED = re.compile(r"^\d+ of \d+ splits of ")


def refuse_same(names: Sequence[str]) -> None:
    """Refuse to compare a folder, or a file, with itself, however it is spelled.

    Raises:
        QuadragError: it is named twice.
    """
    for one, other in combinations(names, 2):
        if Path(one).resolve() == Path(other).resolve():
            twice = f"{one} is named twice" if one == other else f"{one} and {other} are the same"
            raise QuadragError(f"nothing to compare: {twice}; name another one")


def refuse_apart(runs: Sequence[tuple[str, Sequence[Result]]]) -> None:
    """Refuse to compare runs of different benchmarks, or runs of which no two have a split in common.

    Args:
        runs: the results by the name of their folder.

    Raises:
        QuadragError: they are such runs.
    """
    made = [[result.run.inputs for result in results] for _, results in runs]
    places = [{(one.config, split) for one in inputs for split in one.splits} for inputs in made]
    mixed = len({one.benchmark for inputs in made for one in inputs}) > 1
    if mixed or all(one.isdisjoint(other) for one, other in combinations(places, 2)):
        named = []
        for called, inputs in zip(name_columns([name for name, _ in runs]), made, strict=True):
            tasks: dict[str, dict[str, None]] = {}
            for one in inputs:
                task = f"{one.config} {one.splits[0]}" if len(one.splits) == 1 else one.config
                tasks.setdefault(one.benchmark, {})[task] = None
            named.append(f"{called} is {' and '.join(' '.join((of, ', '.join(here))) for of, here in tasks.items())}")
        several = any(len({one.benchmark for one in inputs}) > 1 for inputs in made)
        named += ["name their folders of one benchmark"] * several
        raise QuadragError(f"nothing to compare: {'; '.join(named)}")


def tabulate_several(
    runs: Sequence[tuple[str, Result]], profile: str = "official", every: bool = True, labels: str = "en"
) -> list[Grid]:
    """Compare named runs; the first is what the others are compared with.

    Args:
        runs: two or more, of one benchmark. Of three or more the others are compared with the first one with a value.
        profile: ``official`` or ``corrected``.
        every: all metrics, of two runs their matrices too; else the headlines, of three runs or more the differences by
            the first and the values of the others.
        labels: of a matrix, ``en`` or ``zh``.
    """
    results = [result for _, result in runs]
    names = keep_columns([name for name, _ in runs])
    runs = list(zip(names, results, strict=True))
    leading = find_leading(results, profile)
    base = leading.base if leading else 0
    values = compare_runs(runs, profile, every)
    # None is compared with one that has no value.
    runs = [runs[base], *runs[:base], *runs[base + 1 :]]
    results = [result for _, result in runs]
    values.notes += [*note_judges(results, profile), *note_unasked(results, profile)]
    if len(runs) == 2:
        return [values, *(tabulate_changes(runs, profile, labels) if every else [])]
    differences = _tabulate_differences(runs, profile, every, leading)
    leader = tell_leader(runs, profile)
    if base and leading:
        told = f"{names[0].column} has no value by {label_place(leading.place)}, the others are compared with"
        leader.append(Alarm(f"{told} {names[base].column}."))
    if every:
        values.notes = [*leader, *values.notes]
        return [values, differences]
    lead, *rest = line_up(runs, profile, leading.place if leading else None)
    notes = dict.fromkeys([*leader[:1], *lead.notes, *leader[1:], *differences.notes, *values.notes, *tell_under(lead)])
    marked = [note for note in notes if isinstance(note, Alarm | Verdict)]
    single = [
        note for note in marked if isinstance(note, Alarm) and note not in leader and is_of_some(note, names, leading)
    ]
    above: list[str] = [note for note in marked if note not in single]
    lead = replace(lead, title=f"{differences.title}{lead.title}", notes=[*above, *map(Doubt, single)])
    grids = [lead, *rest]
    grids[-1].notes += [note for note in notes if note not in marked]
    return grids


def is_of_some(note: str, names: Sequence[str], leading: Leading | None) -> bool:
    """Whether a note on three runs or more is of some of them, as it begins, and stands below what is of all.

    What is odd of one that leads stands above, unless it is no more than a count of splits.
    """
    columns = name_columns(names)
    head = note.partition(": ")[0]
    begins = re.split(", | minus ", _COUNTED.sub("", head))
    best = {columns[at] for at in leading.best} if leading and not _COUNTED.match(head) else set()
    return len(names) > 2 and not {*columns}.isdisjoint(begins) and best.isdisjoint(begins)


def _tabulate_differences(
    runs: Sequence[tuple[str, Result]], profile: str, every: bool, leading: Leading | None
) -> Grid:
    """Tabulate the paired differences of all runs from the first by metric, and say them in words.

    Of more than a few runs the table alone has each of them, unless all is asked for; else of intervals those by the
    metric that is `leading` are told of, which alone are shown.
    """
    results = [result for _, result in runs]
    first, *others = results
    base, *names = name_columns([name for name, _ in runs])
    heads = pick_places(results, profile)
    places = list_places(results, profile) if every else heads
    compared = compare_each(first, others, heads, profile)
    rest = compare_each(first, others, [place for place in places if place not in heads], profile)
    found = {name: shown | more for name, shown, more in zip(names, compared, rest, strict=True)}
    pooled = pool_each(first, others, heads, compared, profile)
    seen = {
        name: {place: one.compared for place, one in whole.items()} | pairs
        for (name, pairs), whole in zip(found.items(), pooled, strict=True)
    }
    overall = dict.fromkeys(place for pairs in seen.values() for place, one in pairs.items() if one.splits)
    lines: list[Line] = []
    for place in [*overall, *places]:
        label = label_place(place)
        for name, pairs in seen.items():
            if place in pairs:
                lines.append(Line(label, [Cell(name), *difference_cells(place, pairs[place].pair)]))
                label = ""
    notes: list[str] = []
    below: list[str] = []
    doubts: list[tuple[str, str]] = []
    missing: list[tuple[str, str]] = []
    labels = name_places([*overall, *heads])
    for (name, pairs), other in zip(found.items(), others, strict=True):
        two = (base, name)
        single = {place: pairs[place] for place in heads if place in pairs}
        shown = {place: one for place, one in seen[name].items() if place in overall} | single
        doubts += [
            (name, one)
            for one in [
                *tell_judges(first, other),
                *tell_errors(first, other, {place: it.pair for place, it in single.items()}, profile),
                *tell_length(first, other, shown),
            ]
        ]
        lacking = tell_missing(first, other, heads, pairs, profile, two)
        # What is INVALID the table says in its line, and a note above it why.
        missing += [(name, one) for one in lacking if every or "INVALID" not in one]
        if every:
            headline = tell_headline(shown, profile, two, labels, several=len(runs) > 2)
            notes += [
                Verdict(one if one.startswith(f"{name} ") else f"{name_difference(two)}: {one}") for one in headline
            ]
            below += [f"{name_difference(two)}: {one}" for one in tell_beside(shown, profile, two, labels)]
        else:
            notes += map(Verdict, tell_turned(shown, profile, two, labels))
            own = {place: one for place, one in shown.items() if leading and place == leading.place}
            missing += [(name, one) for one in tell_odd(own, labels)]
    apart = fold_lines(missing, numbers=False)
    below += [f"{name_difference((base, join_columns(of, names)))}: {one}" for one, of in apart.items()]
    folded = fold_lines(doubts, len(runs) > FEW_RUNS)
    notes += [Alarm(f"{name_difference((base, join_columns(of, names)))}: {one}") for one, of in folded.items()]
    notes += tell_alike([base, *names], results)
    rule = tell_rule([one for pairs in seen.values() for one in pairs.values()], any(rest))
    over = tell_over(one for pairs in compared for one in pairs.values()) or ["On questions scored in both."]
    notes += [*below, " ".join([*rule, *over]), *note_directions(place[2:] for place in heads)]
    notes += [Detail(TESTS)]
    notes += tell_rankings(results, profile, heads, [base, *names])
    columns = ["", *head_differences(one.pair for pairs in seen.values() for one in pairs.values())]
    return Grid(f"Differences from {base}", CORNER, columns, lines, notes, "forest")

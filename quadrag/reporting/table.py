"""A table as data, how numbers are written in its cells and lines, what runs are called, and a benchmark's own tables.

A rate is in percent, a length in characters, as the record of its metric says; a dash is in the place of none.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

from quadrag import catalogue
from quadrag.metric_record import show_key
from quadrag.results import Place, Run, RunRecord, Score, Status
from quadrag.results.compare import ALPHA, Difference
from quadrag.spec import NONE

Chart = Literal["", "points", "curves", "heat", "forest"]
NOTHING = "–"  # in the place of a value
RATE, CHARACTERS = "rate", "characters"  # units of values
INVALID = "INVALID"  # in the place of a value of which too many items failed
ALIKE = "!"  # behind what rests on verdicts that say nothing of the answers
FEW = 5  # items, below which a value has no interval: a resample of them says nothing
MANY = 400  # items, beyond which a rate has two decimals


class Figure(NamedTuple):
    """The number behind a cell, in the unit in which it is shown, as a chart takes it; `unit` "" is characters.

    `sure` says of a difference whether it is more than chance, as the mark of its cell does.
    """

    value: float
    interval: tuple[float, float] | None = None
    n: int | None = None
    sure: bool = False
    unit: str = ""


@dataclass(slots=True)
class Cell:
    """A value as text, with a second, smaller text under it (an interval); without a figure it stands in no chart."""

    text: str
    sub: str = ""
    figure: Figure | None = field(default=None, compare=False)


@dataclass(slots=True)
class Row:
    """A row: `kind` is ``ours`` or ``published``; `rule` draws a line above it."""

    label: str
    cells: list[Cell]
    kind: str = "ours"
    rule: bool = False


@dataclass(slots=True)
class Table:
    """A table: a column's first line names its group where it has two. `notes` are `Note`s, or plain sentences.

    `chart` says how its figures are drawn; "" not at all:

    - ``points``: every column is a panel, every line a row of it;
    - ``curves``: along the numbers in the columns' heads, a curve a line;
    - ``heat``: a matrix;
    - ``forest``: differences with their intervals.
    """

    title: str
    row_header: str
    columns: list[str]
    rows: list[Row]
    notes: list[Any] = field(default_factory=list)
    chart: Chart = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTables:
    """What a benchmark says of its tables.

    Attributes:
        tabulate: makes the paper's tables, the printed rows with ours beside them, of runs with scores over all items;
            of the profiles the first is shown, the second where it differs. Raises QuadragError.
        matrices: makes the matrices of a run from its scores, slices among them; [] where there are no cells. Further
            arguments: its title, the profile, ``en`` or ``zh`` labels, whether for every metric or the main one alone.
        systems: makes the tables of one run as a whole system, rated by people or timed; [] where it was neither. A
            further argument: the profiles.
        blocks: what the paper calls runs of a config and a retriever, in its order.
        varies: by a table of the paper the setting that tells its rows apart, where it is not the model.
        mixing: whether the options mix the documents, so that beside such a run printed rows would say nothing.
    """

    tabulate: Callable[[Sequence[Run], Sequence[str]], list[Table]] | None = None
    matrices: Callable[[Sequence[Score], str, str, str, bool], list[Table]] = lambda *_: []
    systems: Callable[[Run, Sequence[str]], list[Table]] = lambda *_: []
    blocks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    varies: Mapping[str, str] = field(default_factory=dict)
    mixing: bool = False


def load_tables(benchmark: str) -> PaperTables:
    """Return what a benchmark says of its tables: nothing, where no ``tables.py`` lies beside its record."""
    tables = catalogue.module_beside(benchmark, "tables")
    return tables.TABLES if tables else PaperTables()


# Numbers.


def write_number(value: float, decimals: int, sign: str = "") -> str:
    """Write a number, with ``+`` as the sign the greater ones too; what is 0 in these decimals has none."""
    text = f"{value:{sign}.{decimals}f}"
    return text if float(text) else text.lstrip("+-")


def format_value(value: float | None, unit: str = RATE, n: int | None = None, sign: str = "") -> str:
    """Write a rate over n items in percent, with the decimals that n has earned, or a length; ``+`` a difference."""
    if value is None:
        return NOTHING
    if unit == CHARACTERS:
        return write_number(value, 1, sign)
    return write_number(value * 100, 2 if (n or 0) > MANY else 1, sign)


def format_interval(bounds: Sequence[float | None] | None, unit: str = RATE) -> str:
    """Write an interval, as ``1.2–3.4``; beside a minus a dash would be taken for another: ``-1.2 to 3.4``."""
    sides = [format_value(side, unit) for side in bounds or () if side is not None]
    return (" to " if any(side.startswith("-") for side in sides) else "–").join(sides)


# Cells.


def interval_cell(value: float | None, interval: Sequence[float] | None, n: int | None, unit: str = RATE) -> Cell:
    """Make a cell of a value over n items with its interval under it, where they are not too few."""
    bounds = interval if interval and (n or 0) >= FEW else None
    return Cell(format_value(value, unit, n), format_interval(bounds, unit), _figure(value, bounds, n, unit))


def _figure(value: float | None, bounds: Sequence[float] | None, n: int | None, unit: str) -> Figure | None:
    scale = 1 if unit == CHARACTERS else 100
    between = (bounds[0] * scale, bounds[1] * scale) if bounds else None
    return None if value is None else Figure(value * scale, between, n, unit="" if unit == CHARACTERS else "%")


def value_cell(row: Score | None) -> Cell:
    """Make the cell of a score: a dash where there is none, or its metric did not run, which a note says.

    What rests on verdicts that say nothing of the answers is marked, and in no chart.
    """
    if row is None or not row.ran:
        return Cell(NOTHING)
    if row.status is Status.INVALID:
        return Cell(INVALID)
    cell = interval_cell(row.value, row.interval, row.n, row.record.unit)
    marked = row.status is Status.UNTRUSTED_JUDGE and row.value is not None
    return Cell(cell.text + ALIKE, cell.sub) if marked else cell


def difference_cell(difference: Difference, better: bool = True) -> Cell:
    """Write a difference with its interval below; it stands in a chart where one end of its metric is `better`."""
    unit = difference.record.unit
    text = format_value(difference.delta, unit, difference.n, "+")
    if difference.n < FEW:
        return Cell(text)
    figure = _figure(difference.delta, difference.interval, difference.n, unit) if better else None
    units = "characters" if unit == CHARACTERS else "percent points"
    figure = figure and figure._replace(sure=difference.decisive < ALPHA, unit=units)
    return Cell(text, format_interval(difference.interval, unit), figure)


def count_both(row: Score) -> tuple[int, int]:
    """Count the items that a score's value is over, and those that its metric is about.

    Over all splits of a config these are questions or, where some of their answers are left out, answers.
    """
    total = count_all(row)
    if row.counts.left_out:
        return total - row.counts.left_out, total
    return row.n or 0, total - row.counts.n_not_applicable


def count_all(row: Score) -> int:
    """Count the items that a score's metric was tried on: of a value over all splits as `count_both` does."""
    return row.counts.n_answers if row.counts.left_out else row.counts.n_total


# Lines.


def our_lines(
    label: str,
    scores: Iterable[Score],
    columns: Sequence[Hashable],
    profiles: Sequence[str],
    place: Callable[[Any], Hashable] = attrgetter("key.key"),
) -> list[Row]:
    """Make our lines: the first profile's values and over how many items they are, and another's where they differ.

    Args:
        label: of the first line.
        scores: those that stand in the lines, among others.
        columns: the place of each.
        profiles: those shown.
        place: of a score, its key by default.
    """
    by_place = {(score.profile, place(score)): score for score in scores}
    first, *others = ([by_place.get((profile, column)) for column in columns] for profile in profiles)
    cells = [value_cell(row) for row in first]
    lines = [Row(label, cells), count_line(first)]
    for profile, rows in zip(profiles[1:], others, strict=True):
        other = [replace(value_cell(row), figure=None) for row in rows]  # charts show one profile
        lines += [Row(f"  {profile}", other)] if other != cells else []
    return lines


def count_line(rows: Sequence[Score | None]) -> Row:
    """Make the line of how many items values are over, as ``9/12`` where some of those that count have none."""
    counts = [count_both(row) if row and row.ran else () for row in rows]
    return Row("  n", [Cell("/".join(map(str, dict.fromkeys(count))) or NOTHING) for count in counts])


# What runs, their models and their scores are called.


def name_model(run: RunRecord) -> str:
    """Return the model's name without the folders or the organisation before it; a system of one's own stays whole."""
    own = "contract" in run.parameters and "://" not in run.llm
    return run.llm if own else run.llm.rstrip("/").rsplit("/", 1)[-1]


def title_of(result: Run, split: str = "") -> str:
    run = result.record
    what = " ".join(filter(None, (run.benchmark, run.config, split)))
    return f"{what}, {name_model(run)}" + ", no documents" * (run.retriever == NONE)


def name_apart(results: Sequence[Run]) -> list[str]:
    """Name runs by the model, the config and the splits that they do not share, or by their folders; one has no name.

    A config is called as the paper calls it, where that has a name for it.
    """
    runs = [result.record for result in results]
    models = [name_model(run) for run in runs]
    if len({*models}) < len({run.llm for run in runs}):
        models = [run.llm for run in runs]
    configs = [load_tables(run.benchmark).blocks.get((run.config, run.retriever), run.config) for run in runs]
    for parts in ([models, configs], [models, configs, [" ".join(run.splits) for run in runs]]):
        differing = [column for column in parts if len({*column}) > 1]
        names = [" ".join(words) for words in zip(*differing, strict=True)] or [""] * len(results)
        if len({*names}) == len(names):
            return names
    return [result.folder.name if result.folder else result.record.config for result in results]


def name_runs(names: Sequence[str]) -> list[str]:
    """Name runs side by side by their folders, with those above where two are alike, less what all begin with."""
    paths = [Path(name).parts for name in names]
    for depth in range(1, max(map(len, paths)) + 1):
        short = ["/".join(path[-depth:]) for path in paths]
        if len({*short}) == len({*names}):
            break
    words = [name.split("-") for name in short]
    while min(map(len, words)) > 1 and len({name[0] for name in words}) == 1 < len({*short}):
        words = [name[1:] for name in words]
    ends = ["-".join(name) for name in words]
    return ends if all(end[:1].isalpha() for end in ends) else short


def name_places(places: Iterable[Place]) -> dict[Place, str]:
    every = [*places]
    config, split = (len({place[at] for place in every}) > 1 for at in range(2))
    return {place: f"{place[0]}: " * config + f"{place[1]}/" * split + show_key(place[2], place[3]) for place in every}

"""What runs, their models and their scores are called in tables and under them."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from quadrag.metric_record import show_key
from quadrag.results.compare import Difference
from quadrag.results.record import RunRecord
from quadrag.results.run import Place, Run, Score, Status
from quadrag.spec import NONE

from .published import Published
from .table import CHARACTERS as CHARACTERS
from .table import NOTHING as NOTHING
from .table import RATE as RATE
from .table import Cell, Figure, Row, load_tables


def name_model(run: RunRecord) -> str:
    """Return the model's name without the folders or the organisation before it; a system of one's own stays whole."""
    own = "contract" in run.parameters and "://" not in run.llm
    return run.llm if own else run.llm.rstrip("/").rsplit("/", 1)[-1]


def name_run(run: RunRecord) -> str:
    """Name a run by its model, and by its retriever where that is none."""
    return f"{name_model(run)}, no documents" if run.retriever == NONE else name_model(run)


def title_of(result: Run, split: str = "") -> str:
    """Name what was run, or one split of it, and by what."""
    what = " ".join(filter(None, (result.record.benchmark, result.record.config, split)))
    return f"{what}, {name_run(result.record)}"


def name_apart(results: Sequence[Run]) -> list[str]:
    """Name runs by the model, the config and the splits that they do not share, or by their folders; one has no name.

    A config is called as the paper calls it, where that has a name for it.
    """
    runs = [one.record for one in results]
    models = [name_model(run) for run in runs]
    if len({*models}) < len({run.llm for run in runs}):
        models = [run.llm for run in runs]
    configs = [load_tables(run.benchmark).blocks.get((run.config, run.retriever), run.config) for run in runs]
    for parts in ([models, configs], [models, configs, [" ".join(run.splits) for run in runs]]):
        differing = [column for column in parts if len({*column}) > 1]
        names = [" ".join(one) for one in zip(*differing, strict=True)] or [""] * len(results)
        if len({*names}) == len(names):
            return names
    return [one.folder.name if one.folder else one.record.config for one in results]


def name_runs(names: Sequence[str]) -> list[str]:
    """Name runs side by side by their folders, with those above where two are alike, less what all begin with."""
    paths = [Path(name).parts for name in names]
    for depth in range(1, max(map(len, paths)) + 1):
        short = ["/".join(path[-depth:]) for path in paths]
        if len({*short}) == len({*names}):
            break
    words = [one.split("-") for one in short]
    while min(map(len, words)) > 1 and len({one[0] for one in words}) == 1 < len({*short}):
        words = [one[1:] for one in words]
    own = ["-".join(one) for one in words]
    return own if all(one[:1].isalpha() for one in own) else short


def name_places(places: Iterable[Place]) -> dict[Place, str]:
    """Name scores by what of config and split tells them apart."""
    every = [*places]
    config, split = (len({place[at] for place in every}) > 1 for at in range(2))
    return {place: f"{place[0]}: " * config + f"{place[1]}/" * split + show_key(place[2], place[3]) for place in every}


ALPHA = 0.05  # of differences that are none, the share that is taken for one
INVALID = "INVALID"  # in the place of a value of which too many items failed
ALIKE = "!"  # behind what rests on verdicts that say nothing of the answers
FEW = 5  # items, below which a value has no interval: a resample of them says nothing
MANY = 400  # items, beyond which a rate has two decimals
Name = Callable[[Any], Hashable]  # of a row: the column, or the line, that it stands in


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


def difference_cell(one: Difference, better: bool = True) -> Cell:
    """Write a difference with its interval below, and as it stands in a chart.

    Args:
        one: the difference, of runs that are compared.
        better: whether one end of the metric is the better one.
    """
    unit = one.record.unit
    text = format_value(one.delta, unit, one.n, "+")
    if one.n < FEW:
        return Cell(text)
    figure = _figure(one.delta, one.interval, one.n, unit) if better else None
    units = "characters" if unit == CHARACTERS else "percent points"
    figure = figure and figure._replace(sure=one.decisive < ALPHA, unit=units)
    return Cell(text, format_interval(one.interval, unit), figure)


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
    place: Name = attrgetter("key.key"),
    *,
    rule: bool = False,
) -> list[Row]:
    """Make our lines: the first profile's values and over how many items they are, and another's where they differ.

    Args:
        label: of the first line.
        scores: those that stand in the lines, among others.
        columns: the place of each.
        profiles: those shown.
        place: of a score.
        rule: whether a line is drawn above.
    """
    by_place = {(score.profile, place(score)): score for score in scores}
    first, *others = ([by_place.get((profile, column)) for column in columns] for profile in profiles)
    cells = [value_cell(row) for row in first]
    lines = [Row(label, cells, rule=rule), count_line(first)]
    for profile, rows in zip(profiles[1:], others, strict=True):
        other = [replace(value_cell(row), figure=None) for row in rows]  # charts show one profile
        lines += [Row(f"  {profile}", other)] if other != cells else []
    return lines


def count_line(rows: Sequence[Score | None]) -> Row:
    """Make the line of how many items values are over, as ``9/12`` where some of those that count have none."""
    counts = [count_both(row) if row and row.ran else None for row in rows]
    texts = [each and "/".join(map(str, dict.fromkeys(each))) for each in counts]
    return Row("  n", [Cell(text or NOTHING) for text in texts])


def printed_lines(
    rows: Iterable[Published],
    columns: Sequence[Hashable],
    name: Callable[[Published], str] = attrgetter("model"),
    place: Name = attrgetter("key"),
) -> list[Row]:
    """Make a line of printed numbers for each name; ? stands behind a doubtful one, a dash where none is printed."""
    named: dict[str, dict[Hashable, Cell]] = {}
    for row in rows:
        figure = Figure(float(row.printed), unit="%" if row.unit == RATE else "")
        named.setdefault(name(row), {})[place(row)] = Cell(row.printed + "?" * bool(row.doubt), figure=figure)
    return [Row(label, [cells.get(c, Cell(NOTHING)) for c in columns], "published") for label, cells in named.items()]

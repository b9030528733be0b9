"""What was counted, as tables and as one object for scripts; the paper's numbers stand beside ours, never mixed in."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from quadrag.hub.record import COUNTED, Rows, hub_record

from ..tables.cells import NOTHING
from ..tables.grid import Cell, Grid, Line
from .count import Counted, Part
from .record import ALL, Counts

_PART = "part of the authors' file"
_NEARLY = 0.95  # of a number that is known about: fewer rows are a part
_LENGTHS = ("n", "mean", "median", "95%", "longest", "total")


def tabulate(counted: Counted) -> list[Grid]:
    """Make the tables: rows, counts by groups, lengths."""
    return [_tabulate_rows(counted), *(_tabulate_counts(*one) for one in _tables(counted)), _tabulate_lengths(counted)]


def as_object(counted: Counted) -> dict[str, Any]:
    """Return what was counted as one object for scripts."""
    data = counted.data
    places = [{"config": part.config, "split": part.split} for part in counted.parts]
    return {
        "benchmark": data.benchmark.name,
        "sources": {config: source.text for config, source in data.sources.items()},
        "lacking": [
            {"config": config, "split": split, "needs": reason} for (config, split), reason in data.lacking.items()
        ],
        "rows": [
            {**place, "rows": part.rows, "whole": _whole(counted, part).number, "printed": _printed(counted, part)}
            for place, part in zip(places, counted.parts, strict=True)
        ],
        "counts": [
            {"table": title, "line": line, "column": column, "rows": rows, "printed": table.printed.get((line, column))}
            for title, table, found in _tables(counted)
            for (line, column), rows in _fill(table, found).items()
        ],
        "lengths": [
            {**place, "text": what, **_summarise(lengths)}
            for place, part in zip(places, counted.parts, strict=True)
            for what, lengths in part.lengths.items()
        ],
    }


def _tabulate_rows(counted: Counted) -> Grid:
    printed = [_printed(counted, part) for part in counted.parts]
    tables = dict.fromkeys(one.table for one in counted.record.printed.values())
    wholes = [_whole(counted, part) for part in counted.parts]
    known = dict.fromkeys(whole.source for whole in wholes if whole.number)
    sources = ["counted in the authors' file" if source == COUNTED else source for source in known]
    lines = []
    for part, whole, told in zip(counted.parts, wholes, printed, strict=True):
        cells = [_number(part.rows), ("about " if whole.about else "") + _number(whole.number)]
        cells += [_number(told)] if any(printed) else []
        lines.append(Line(part.label, [Cell(text) for text in (*cells, _PART if _is_part(counted, part) else "")]))
    heads = ["here", "whole set", *([f"paper,\nTable {' and '.join(tables)}"] if any(printed) else []), ""]
    notes = [f"The rows of the whole set are known from: {'; '.join(sources)}."] if sources else []
    return Grid(f"{counted.data.benchmark.name}: rows", "rows of", heads, lines, notes)


def _tables(counted: Counted) -> Iterator[tuple[str, Counts, Counter[tuple[str, str]]]]:
    """Yield title, table and counts of every table, for each split or over those that are there."""
    for source in counted.record.sources:
        parts = [part for part in counted.parts if part.source is source]
        for at, table in enumerate(source.counts if parts else ()):
            groups = [[part] for part in parts] if table.by_split else [parts]
            for group in groups:
                splits = ", ".join(part.split for part in group)
                found = sum((part.counts[at] for part in group), Counter[tuple[str, str]]())
                yield f"{table.title}: {splits}", table, found


def _fill(table: Counts, found: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Return the count of every line and column, in order, with those that the table does not name, and sums."""
    lines = [*table.lines, *sorted({line for line, _ in found if line not in table.lines}), ALL]
    columns = [*table.columns, *sorted({column for _, column in found if column not in table.columns}), ALL]
    sums = Counter(found)
    for (line, column), rows in found.items():
        sums.update({(line, ALL): rows, (ALL, column): rows, (ALL, ALL): rows})
    return {(line, column): sums[line, column] for line in lines for column in columns}


def _tabulate_counts(title: str, table: Counts, found: Mapping[tuple[str, str], int]) -> Grid:
    ours = _fill(table, found)
    columns = dict.fromkeys(column for _, column in ours)
    lines: list[Line] = []
    for line in dict.fromkeys(line for line, _ in ours):
        rule = line == ALL
        cells = [_count_cell(ours, line, column, table.shares) for column in columns]
        lines.append(Line(table.lines.get(line, line), cells, rule=rule))
        cells = [_count_cell(table.printed, line, column, table.shares) for column in columns]
        if any(cell.text != NOTHING for cell in cells):
            lines.append(Line("  paper", cells, "published"))
    notes = ["Percent: of the column's questions."] if table.shares else []
    notes += ["Paper: of its whole set."] if table.printed else []
    return Grid(title, "questions", [table.columns.get(column, column) for column in columns], lines, notes)


def _count_cell(numbers: Mapping[tuple[str, str], int], line: str, column: str, shares: bool) -> Cell:
    number, whole = numbers.get((line, column)), numbers.get((ALL, column))
    if number is None or not whole or not shares:
        return Cell(_number(number))
    return Cell(f"{number:,} {100 * number / whole:3.0f}%")


def _tabulate_lengths(counted: Counted) -> Grid:
    lines: list[Line] = []
    for part in counted.parts:
        lines.append(Line(part.label, [Cell("")] * len(_LENGTHS), rule=bool(lines)))
        for what, lengths in filter(lambda one: one[1], part.lengths.items()):
            told = _summarise(lengths)
            lines.append(Line(f"  {what}", [Cell(_length(told[name])) for name in _LENGTHS]))
        printed = counted.record.printed.get((part.config, part.split))
        if printed is not None and printed.characters is not None:
            cells = [_number(printed.rows), *[""] * (len(_LENGTHS) - 2), _number(printed.characters)]
            lines.append(Line(f"  paper, Table {printed.table}", [Cell(text) for text in cells], "published"))
    notes = ["Characters. 95%: so many of the texts are no longer than this."]
    return Grid(f"{counted.data.benchmark.name}: lengths", "lengths of", list(_LENGTHS), lines, notes)


def _summarise(lengths: Any) -> dict[str, Any]:
    """Return what is told of lengths; a median, and what 95% do not exceed, are lengths that there are."""
    import numpy as np

    if not lengths:
        return dict.fromkeys(_LENGTHS) | {"n": 0, "total": 0}
    numbers = np.frombuffer(lengths, np.int64)
    median, most = np.quantile(numbers, (0.5, 0.95), method="inverted_cdf").tolist()
    values = (len(numbers), float(numbers.mean()), int(median), int(most), int(numbers.max()), int(numbers.sum()))
    return dict(zip(_LENGTHS, values, strict=True))


def _whole(counted: Counted, part: Part) -> Rows:
    """Return how many rows the whole split has, as far as it is known."""
    return hub_record(counted.data.benchmark.name).rows[part.config][part.split]


def _printed(counted: Counted, part: Part) -> int | None:
    found = counted.record.printed.get((part.config, part.split))
    return None if found is None else found.rows


def _is_part(counted: Counted, part: Part) -> bool:
    whole = _whole(counted, part)
    if whole.number is None or not counted.data.sources[part.config].provenance.theirs:
        return False
    return part.rows < whole.number * (_NEARLY if whole.about else 1)


def _number(number: int | None) -> str:
    return NOTHING if number is None else f"{number:,}"


def _length(number: float | None) -> str:
    return NOTHING if number is None else f"{number:,.1f}" if isinstance(number, float) else f"{number:,}"

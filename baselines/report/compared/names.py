"""What runs that stand side by side are called: by what their names do not share, or by letters."""

from collections.abc import Sequence
from dataclasses import replace

from ...tables.grid import Grid
from ...tables.names import keep_name

PLACE = "config, split: metric"  # what the lines of a comparison are called by
_WIDE = 20  # characters of a name


def name_columns(names: Sequence[str]) -> list[str]:
    """Name runs wherever they stand side by side: two by what tells their names apart, where that does; by letters."""
    own = tell_apart(names) if len(names) == 2 else []
    if len({*own}) == 2:
        return own
    return [chr(ord("A") + rank) if len(names) <= 26 else str(rank) for rank in range(len(names))]


def name_fully(names: Sequence[str]) -> list[str]:
    """Return the names of runs with what they are called side by side before them, where that is less."""
    columns = zip(name_columns(names), names, strict=True)
    return [name if name == column else f"{column}: {name}" for column, name in columns]


def name_difference(columns: Sequence[str]) -> str:
    """Name what the second of two runs has more than the first."""
    return f"{columns[1]} - {columns[0]}"


def tell_apart(names: Sequence[str]) -> list[str]:
    """Return of each run's name what tells it from the others, for the head of a column.

    Of paths it is the last folder, or, where that is the same, what lies above it; and of that what is between words
    that all have: ``v1`` and ``v2`` of ``rgb-v1`` and ``rgb-v2``. Short names stay whole where numbers alone would be
    left, as of ``run-1`` and ``run-2``.
    """
    paths = [name.rstrip("/").split("/") for name in names]
    if len({path[-1] for path in paths}) == len(paths):
        found = [path[-1] for path in paths]
    else:
        found = ["/".join(path) for path in _drop_shared(paths)]
    own = ["-".join(words) for words in _drop_shared([one.split("-") for one in found])]
    if max(map(len, found)) > _WIDE or all(one[:1].isalpha() for one in own):
        found = own
    return [keep_name(one if len(one) <= _WIDE else f"…{one[1 - _WIDE :]}") for one in found]


def _drop_shared(names: Sequence[list[str]]) -> list[list[str]]:
    """Drop the first parts that all names share, and the last ones; of each at least one is left."""
    left = list(names)
    for _ in ("from the front", "from the back"):
        while min(map(len, left)) > 1 and len({one[0] for one in left}) == 1:
            left = [one[1:] for one in left]
        left = [one[::-1] for one in left]
    return left


def lift_place(grid: Grid) -> Grid:
    """Return a table for a terminal: the config, and the split, that all lines share stand in its title alone."""
    places = [line.label.partition(": ")[0].split(" ", 1) for line in grid.lines if ": " in line.label]
    shared = [parts.pop() for parts in map(set, zip(*places, strict=True)) if len(parts) == 1] if places else []
    if grid.corner != PLACE or not shared or shared[0] != places[0][0]:
        return grid
    cut = len(" ".join(shared)) + (2 if len(shared) > 1 else 1)
    lines = [replace(line, label=line.label[cut:] if ": " in line.label else line.label) for line in grid.lines]
    corner = "metric" if len(shared) > 1 else "split: metric"
    return replace(grid, title=f"{grid.title}, {' '.join(shared)}", corner=corner, lines=lines)

"""What runs that stand side by side are called, by what their names do not share or by letters; and their metrics."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from quadrag.metric_record import show_key

from ...tables.grid import Cell, Grid, Line
from ...tables.names import keep_name

Place = tuple[str, str, str, str]  # config, split, metric, key
CORNER = "config: split/metric"  # what the lines of a comparison are called by
_LONG, _LONGEST = 20, 60  # characters of a name, and of one that is explained
_PARTS = (24, 36, _LONGEST)  # of one that has folders: as many as tell names apart
FEW_RUNS = 3  # whose names stand wherever the runs do
_SHORT = 12  # characters of a name that says which of many runs is meant, as a letter does
_CUT = "…"  # where a name is cut
_NUMBER = 5  # columns of a number
_NAMED = 6  # runs that a sentence names
# Columns for labels and two heads: difference and verdict have the rest of a terminal, with interval and p under them
# or, in a plain table, beside them. A page is as wide as it takes.
TERMINAL, PLAIN, PAGE = 50, 36, 1000


class Called(str):
    """The name of a run that keeps what it is called side by side, wherever it stands among the others."""

    column: str


def keep_columns(names: Sequence[str]) -> list[Called]:
    """Return names of runs that are called as in this order, also where they are put in another."""
    kept = [Called(name) for name in names]
    for one, column in zip(kept, name_columns(names), strict=True):
        one.column = column
    return kept


def name_columns(names: Sequence[str]) -> list[str]:
    """Name runs wherever they stand side by side: by what tells their names apart, or by letters.

    Letters stand for names that are cut or alike; of three runs and more also where one is a mere number, of many where
    one is long.
    """
    kept = [one.column for one in names if isinstance(one, Called)]
    if len(kept) == len(names):
        return kept
    own = tell_apart(names)
    longest = _LONG if len(names) <= FEW_RUNS else _SHORT
    short = len(names) == 2 or all(len(one) <= longest and not one[:1].isdigit() for one in own)
    if short and len({*own}) == len(names) > 1 and not any(_CUT in one for one in own):
        return own
    return _letter(names) if len(names) <= 26 else [str(rank) for rank in range(len(names))]


def _letter(names: Sequence[str]) -> list[str]:
    """Return a letter for each run; of two it is none that either name begins with, as "A good" does."""
    begun = {name.rstrip("/").rpartition("/")[2][:1].upper() for name in names}
    first = "X" if len(names) == 2 and begun & {"A", "B"} and names[0] != names[1] else "A"
    return [chr(ord(first) + rank) for rank in range(len(names))]


def name_lines(names: Sequence[str]) -> list[str]:
    """Name runs where there is a line for each: what they are called side by side, and what tells their names apart."""
    columns = zip(name_columns(names), tell_apart(names), strict=True)
    return [column if column == own else f"{column} {own}" for column, own in columns]


def name_fully(names: Sequence[str]) -> list[str]:
    """Return the names of runs with what they are called side by side before them, where that is less."""
    columns = zip(name_columns(names), names, strict=True)
    return [name if name == column else f"{column}: {name}" for column, name in columns]


def name_difference(columns: Sequence[str]) -> str:
    """Name what the second of two runs has more than the first."""
    return f"{columns[1]} minus {columns[0]}"


def join_columns(some: Sequence[str], columns: Sequence[str]) -> str:
    """List some of the runs; three and more letters that follow each other are told as ``B–H``."""
    spans: list[list[str]] = []
    for name in some:
        follows = spans and len(name) == 1 and columns.index(name) == columns.index(spans[-1][-1]) + 1
        if follows and len(spans[-1][-1]) == 1:
            spans[-1].append(name)
        else:
            spans.append([name])
    return ", ".join(f"{span[0]}–{span[-1]}" if len(span) > 2 else ", ".join(span) for span in spans)


def name_some(columns: Sequence[str]) -> str:
    """List runs in a sentence or, where they are many, count them."""
    return ", ".join(columns) if len(columns) <= _NAMED else f"{len(columns)} runs"


def head_two(names: Sequence[str], labels: Iterable[str], room: int = TERMINAL) -> tuple[list[str], str]:
    """Return the heads of two runs' columns beside labels, letters where there is no room, and what letters mean."""
    from rich.cells import cell_len

    heads = columns = name_columns(names)
    widths = [cell_len(name) for name in columns]
    # Of names no wider than numbers letters would not be narrower.
    if max(widths) > _NUMBER and max(map(cell_len, labels), default=0) + sum(2 + width for width in widths) > room:
        heads = _letter(columns)
    whole = names if heads == columns else columns
    meant = zip(heads, (keep_name(_clip(name, _LONGEST)) for name in whole), strict=True)
    told = [f"{letter} = {name}" for letter, name in meant if letter != name]
    last = [keep_name(name.rstrip("/").rpartition("/")[2]) for name in names]
    return heads, f" ({', '.join(told)})" * bool(told and heads != last)


def tell_apart(names: Sequence[str]) -> list[str]:
    """Return of each run's name what tells it from the others.

    Of paths it is the last folder, or, where that is the same, what lies above it; and of that what is between words
    that all have: ``v1`` and ``v2`` of ``rgb-v1`` and ``rgb-v2``. Short names stay whole where numbers alone would be
    left, as of ``run-1`` and ``run-2``. Of what is long each folder keeps its end: ``…run_1/…gpt-oss-20b``.
    """
    paths = [name.rstrip("/").split("/") for name in names]
    if len({path[-1] for path in paths}) == len(paths):
        found = [path[-1] for path in paths]
    else:
        found = ["/".join(path) for path in _drop_shared(paths)]
    own = ["-".join(words) for words in _drop_shared([one.split("-") for one in found])]
    if max(map(len, found), default=0) > _LONG or all(one[:1].isalpha() for one in own):
        found = own
    cut = [_clip(one, _LONG) for one in found]
    if cut != found and any("/" in one for one in found):
        endings = {one.rpartition(".")[2] for one in found if "." in one.rpartition("/")[2]}
        whole = (
            [one.rpartition(".")[0] for one in found]
            if len(endings) == 1 and all("." in one for one in found)
            else found
        )
        for longest in _PARTS:
            cut = [_clip_folders(one, longest) for one in whole]
            if len({*cut}) == len({*found}):
                break
    return [keep_name(one) for one in cut]


def _clip_folders(name: str, longest: int) -> str:
    """Cut the front off the folders of a name that is too long: the last one, which says most, keeps the most."""
    if len(name) <= _LONG:
        return name
    *above, last = name.split("/")
    last = _clip(last, _LONG)
    room = (longest - len(last)) // max(len(above), 1) - 1
    return "/".join([*(_clip(one, max(room, 5)) for one in above), last])


def _clip(name: str, longest: int) -> str:
    """Cut the front off a name that is too long, whole words where it has several."""
    if len(name) <= longest:
        return name
    left = name[-longest:]
    if not name[-longest - 1].isalnum():
        return _CUT + left
    joint = re.search(r"[-_./ ](?=[^-_./ ])", left)
    return _CUT + left[joint.end() if joint else 1 :]


def _drop_shared(names: Sequence[list[str]]) -> list[list[str]]:
    """Drop the first parts that all names share, and the last ones; of each at least one is left."""
    left = list(names)
    for _ in ("from the front", "from the back"):
        while left and min(map(len, left)) > 1 and len({one[0] for one in left}) == 1:
            left = [one[1:] for one in left]
        left = [one[::-1] for one in left]
    return left


def label_place(place: Place) -> str:
    """Name a metric of a config and a split in full; behind the colon stands what finds it in a result of Python."""
    config, split, metric, key = place
    return f"{config}: {split}/{show_key(metric, key)}"


def name_places(places: Iterable[Place]) -> dict[Place, str]:
    """Name metrics, with what of config and split tells them apart."""
    known = list(places)
    config, split = (len({place[at] for place in known}) > 1 for at in range(2))
    return {place: f"{place[0]}: " * config + f"{place[1]}/" * split + show_key(place[2], place[3]) for place in known}


def join_labels(labels: Iterable[str], joint: str = ", ") -> str:
    """List what `name_places` calls metrics, or begins so: a config stands before the first of its metrics alone."""
    told, last = [], ""
    for label in labels:
        config, colon, rest = label.partition(": ")
        told.append(rest if colon and config == last else label)
        last = config if colon else ""
    return joint.join(told)


def lift_place(grid: Grid) -> Grid:
    """Return a table for a terminal: what its lines share of config and split stands above them, once.

    That is its title or, of several configs, a line above those of each; and it says what stands under its values.
    """
    groups: dict[str, list[Line]] = {}
    config = ""
    for line in grid.lines:  # one without a label is of the metric above it
        config = line.label.partition(": ")[0] or config
        groups.setdefault(config, []).append(line)
    if grid.corner != CORNER or "" in groups:
        return grid
    shared = {name: _lift(lines) for name, lines in groups.items()}
    notes = [*grid.notes, *tell_under(grid)]
    if len(shared) == 1:
        ((place, lines),) = shared.values()
        corner = "metric" if " " in place else "split/metric"
        return replace(grid, title=f"{grid.title}, {place}", corner=corner, lines=lines, notes=notes)
    found: list[Line] = []
    for place, lines in shared.values():
        found.append(Line(place, [Cell("")] * len(grid.columns), rule=bool(found)))
        found += [replace(line, label=line.label and f" {line.label}", rule=False) for line in lines]
    return replace(grid, corner="split/metric", lines=found, notes=notes)


def tell_under(grid: Grid) -> list[str]:
    """Say what stands in small type under the values of a table for a terminal."""
    subs = [cell.sub for line in grid.lines for cell in line.cells if cell.sub]
    if any(sub.endswith(" better") for sub in subs):
        return ["Under each value: on how many questions that run is better; under the difference its 95% interval."]
    return ["Under each value stands its 95% interval."] * bool(subs)


def _lift(lines: Sequence[Line]) -> tuple[str, list[Line]]:
    """Return the config of lines, with the split where it is one of all, and the lines without these."""
    places = [line.label.partition(": ")[::2] for line in lines]
    config, splits = places[0][0], {rest.partition("/")[0] for _, rest in places if rest}
    alone = len(splits) == 1
    labels = [rest.partition("/")[2] if alone else rest for _, rest in places]
    return " ".join([config, *splits] if alone else [config]), [
        replace(line, label=label) for line, label in zip(lines, labels, strict=True)
    ]

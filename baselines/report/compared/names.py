"""What runs that stand side by side are called, by what their names do not share; and their metrics."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from quadrag.metric_record import show_key

from ...tables.grid import Cell, Grid, Line
from ...tables.names import keep_name

Place = tuple[str, str, str, str]  # config, split, metric, key
CORNER = "config: split/metric"  # what the lines of a comparison are called by
_LONG = 20  # characters of a name
_PARTS = (24, 36, 60)  # of one that has folders: as many as tell names apart
_CUT = "…"  # where a name is cut


def name_columns(names: Sequence[str]) -> list[str]:
    """Name runs wherever they stand side by side: by what tells them apart, or in full where that is cut too short."""
    own = tell_apart(names)
    return own if len({*own}) == len({*names}) else [keep_name(name) for name in names]


def name_difference(columns: Sequence[str]) -> str:
    """Name what the second of two runs has more than the first."""
    return f"{columns[1]} minus {columns[0]}"


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
        same_ending = len(endings) == 1 and all("." in one for one in found)
        whole = [one.rpartition(".")[0] for one in found] if same_ending else found
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

"""Known label sets: their authors' files at pinned commits, fetched and verified, or found in a folder.

Which there are, and what their files mean, is said beside a benchmark's record: ``label_sets.py`` has `LABEL_SETS`, a
`KnownSet` by name, and ``label_sets.csv`` a line for each file.
"""

import csv
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data.files import RemoteFile, fault, fetch, sha256
from quadrag.errors import QuadragError, parse_json, unknown_name
from quadrag.paths import cache_dir

from .labels import Graded, Item, LabelSet, check_classes, find_graded, find_usual, read_labels

_HOST = "https://raw.githubusercontent.com"
Files = Mapping[str, Path]  # by name


class KnownSet(NamedTuple):
    """A label set: what people graded (the first by default), what reads its files, what to know of it.

    Rows that nobody labelled, or that their authors call improper, are not read.
    """

    graded: tuple[str | Graded, ...]
    read: Callable[[LabelSet, Files], Iterator[Item]]
    note: str = ""

    @property
    def names(self) -> list[str]:
        """What `--metric` calls what people graded."""
        return [each if isinstance(each, str) else each.name for each in self.graded]


@cache
def _sets() -> Mapping[str, tuple[KnownSet, Mapping[RemoteFile, Mapping[str, str]]]]:
    """Return the known sets of all benchmarks by name, with their files and what is known of each."""
    sets = {}
    for benchmark in catalogue.benchmarks():
        module = catalogue.module_beside(benchmark, "label_sets")
        path = catalogue.plugin_folder(benchmark) / "label_sets.csv"
        for name, known in module.LABEL_SETS.items() if module else ():
            files = {}
            with path.open(encoding="utf-8", newline="") as rows:
                for row in csv.DictReader(rows):
                    url = f"{_HOST}/{row['repository']}/{row['commit']}/{row['path']}"
                    own, size = row["path"].rpartition("/")[2], int(row["bytes"])
                    if row["set"] == name.casefold():
                        files[RemoteFile(own, url, size, row["sha256"], row["git_blob_sha1"])] = row
            sets[name] = known, files
    return sets


def open_labels(named: str, metric: str | None = None, data_dir: str | Path | None = None) -> LabelSet:
    """Open a label set by its name, or read a file of the user's own.

    `metric`: what is graded; the set's own, and of a file the usual value, when None.
    `data_dir`: a folder with the files of a known set; they are fetched when None.
    """
    name = next((known for known in _sets() if known.casefold() == named.casefold()), None)
    if Path(named).is_file():
        labels = read_labels(Path(named), find_graded(metric) if metric else find_usual())
    elif name is None:
        raise unknown_name("label set, or CSV file with id and label,", named, _sets())
    else:
        labels = _open_known(name, metric, data_dir)
    check_classes(labels.items, named, labels.graded)
    return labels


def _open_known(name: str, metric: str | None, data_dir: str | Path | None) -> LabelSet:
    about, sources = _sets()[name]
    by_name = dict(zip(about.names, about.graded, strict=True))
    asked = metric or about.names[0]
    chosen = by_name.get(asked) or by_name.get(find_graded(asked).name)
    if chosen is None:
        raise QuadragError(f"{name} has no labels for {asked}; expected --metric {' or '.join(about.names)}")
    root = Path(data_dir).expanduser() if data_dir else fetch([*sources], cache_dir() / "labels" / name.casefold())
    files = _locate(name, root)
    graded = find_graded(chosen) if isinstance(chosen, str) else chosen
    labels = LabelSet(name, graded, [], {path.name: sha256(path) for path in files.values()})
    theirs = all(each.name in files and fault(files[each.name], each) is None for each in sources)
    row = next(iter(sources.values()))
    labels.source = f"{row['repository']} at {row['commit'][:8]}, {row['licence']}"
    labels.source += f" ({'' if theirs else 'not all '}the authors' own files)"
    labels.notes = [about.note] if about.note else []
    try:
        labels.items = list(about.read(labels, files))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        where = ", ".join(map(str, files.values()))
        raise QuadragError(f"{where}: not in the form of {name} ({error!r}); expected its authors' files") from None
    return labels


def _locate(name: str, root: Path) -> Files:
    """Find the files of a set in a folder or below it, by their names or by their last folder's and theirs."""
    sources = _sets()[name][1]
    files = {}
    for source in sources:
        names = (source.name, "_".join(source.url.split("/")[-2:]))
        if places := [path for each in names for path in sorted(root.rglob(each)) if path.is_file()]:
            files[source.name] = places[0]
    if not files:
        wanted = ", ".join(source.name for source in sources)
        raise QuadragError(f"{root} has no file of {name}; expected {wanted}, or leave out --data-dir to fetch them")
    return files


def list_sets() -> Iterator[str]:
    """Yield a line for every known set: what it grades, where it comes from, its licence."""
    width = max(map(len, _sets()), default=0)
    yield f"{'LABELS':{width}}  what is graded; source, licence"
    for name, (about, sources) in _sets().items():
        row = next(iter(sources.values()))
        yield f"{name:{width}}  {', '.join(about.names)}; {row['repository']}, {row['licence']}"


def read_json(path: Path) -> Any:
    """Read a file of a set."""
    return parse_json(path.read_bytes(), path)

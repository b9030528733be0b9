"""Label sets by name: their authors' files at pinned commits, fetched and verified, or found in a folder."""

import csv
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from quadrag.data.download import RemoteFile, fault, fetch, sha256
from quadrag.errors import QuadragError, unknown_name
from quadrag.paths import cache_dir

from . import sets
from .labels import Graded, LabelSet, check_classes, find_graded, read_labels

_HOST = "https://raw.githubusercontent.com"
_TRUTHFULNESS = "truthfulness"


class Source(NamedTuple):
    """A file of a label set."""

    repository: str
    commit: str
    path: str
    size: int
    sha256: str
    git_blob_sha1: str
    licence: str

    @property
    def name(self) -> str:
        """The name of the file alone."""
        return self.path.rpartition("/")[2]

    @property
    def remote(self) -> RemoteFile:
        """The file as it is fetched."""
        url = f"{_HOST}/{self.repository}/{self.commit}/{self.path}"
        return RemoteFile(self.path, url, self.size, self.sha256, self.git_blob_sha1)


@cache
def sources() -> dict[str, list[Source]]:
    """Return the files of every label set."""
    found: dict[str, list[Source]] = {}
    with Path(__file__).with_name("label_files.csv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            name, size = row.pop("set"), int(row.pop("bytes"))
            found.setdefault(name, []).append(Source(size=size, **row))
    return found


def open_labels(named: str, metric: str | None = None, data_dir: str | Path | None = None) -> LabelSet:
    """Open a label set by its name, or read a file of the user's own.

    `metric`: what is graded; the set's own, and of a file truthfulness, when None.
    `data_dir`: a folder with the files of a known set; they are fetched when None.
    """
    name = next((one for one in sets.SETS if _plain(one) == _plain(named)), None)
    if name is None or Path(named).is_file():
        path = Path(named)
        if not path.is_file() and (path.suffix or "/" in named):
            raise QuadragError(f"no file {named}; expected a CSV file with id and label, or {', '.join(sets.SETS)}")
        if not path.is_file():
            raise unknown_name("label set", named, sets.SETS)
        return read_labels(path, find_graded(metric or _TRUTHFULNESS))
    about = sets.SETS[name]
    graded = _choose(name, about.graded, metric)
    files = _locate(about.files, Path(data_dir)) if data_dir is not None else _fetch(about.files)
    found = LabelSet(name, graded, [], {path.name: sha256(path) for path in files.values()})
    found.source = _describe(about.files, files)
    try:
        about.read(found, files)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        named = ", ".join(map(str, files.values()))
        raise QuadragError(f"{named}: not in the form of {name} ({error!r}); expected its authors' files") from None
    if not found.ranked:
        check_classes(found, name)
    return found


def _choose(name: str, known: Sequence[str], metric: str | None) -> Graded:
    if metric is None:
        return find_graded(known[0])
    graded = find_graded(metric)
    if graded.name not in known:
        raise QuadragError(f"{name} has no labels for {graded.name}; expected --metric {' or '.join(known)}")
    return graded


def _fetch(name: str) -> dict[str, Path]:
    folder = cache_dir() / "labels" / name
    fetch([source.remote for source in sources()[name]], folder)
    return {source.name: folder / source.path for source in sources()[name]}


def _locate(name: str, root: Path) -> dict[str, Path]:
    root = root.expanduser()
    if not root.is_dir():
        raise QuadragError(f"no folder {str(root)!r}; expected the label files of {name}")
    found = {}
    for source in sources()[name]:
        if path := next((path for path in _places(root, name, source) if path.is_file()), None):
            found[source.name] = path
    if not found:
        wanted = ", ".join(source.path for source in sources()[name])
        raise QuadragError(f"{root} has no file of {name}; expected {wanted}, or leave out --data-dir to fetch them")
    return found


def _places(root: Path, name: str, source: Source) -> Iterator[Path]:
    folder = name.replace("-", "_")
    names = (source.path, source.name, "_".join(source.path.split("/")[-2:]))
    for below in ("", name, folder, f"real_labels/{folder}"):
        for each in names:
            yield root / below / each


def _describe(name: str, files: dict[str, Path]) -> str:
    known = sources()[name]
    said = f"{known[0].repository} at {known[0].commit[:8]}, {known[0].licence}"
    other = [one.name for one in known if one.name in files and fault(files[one.name], one.remote) is not None]
    lacking = [one.name for one in known if one.name not in files]
    parts = [f"{', '.join(other)}: not the authors' own file"] if other else ["the authors' own files"]
    parts += [f"without {', '.join(lacking)}"] if lacking else []
    return f"{said} ({'; '.join(parts)})"


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).casefold()


def list_sets() -> Iterator[str]:
    """Yield a head, and a line for every known set: what it grades, where it comes from, its licence."""
    width = max(map(len, sets.SETS))
    yield f"{'LABELS':{width}}  what is graded; source, licence"
    for name, about in sets.SETS.items():
        source = sources()[about.files][0]
        yield f"{name:{width}}  {', '.join(about.graded)}; {source.repository}, {source.licence}"


def tell_languages() -> str:
    """Say which known sets are Chinese."""
    chinese = [name for name, about in sets.SETS.items() if about.language == "zh"]
    return f"Chinese: {', '.join(chinese)}; the others are English."

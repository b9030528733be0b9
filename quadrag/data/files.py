"""Upstream files by name: where they lie in a folder, what of them is lacking, where they come from, what they are.

Which files a split needs, where a checkout keeps them and what verifies them the dataset script says (`files_of`,
`lacking`, `locate`, `FILES`). One whose files have no names that are known before has `search` and `fetch`.
"""

import contextlib
import copy
import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.errors import QuadragError, one_line
from quadrag.paths import cache_dir
from quadrag.provenance import Other, Provenance, Source, shorten
from quadrag.reading import parse_json
from quadrag.scratch import scratch

from .download import RemoteFile, fault, fetch, sha256

SAMPLE = "sample"  # stands for the folder of the bundled sample
OWN_RECORD = "construct.json"  # in a folder that `quadrag construct` made
LONGEST = 600  # characters of what a script says: it shows values, which may have any length
SAMPLE_SOURCE = Source(Provenance.SAMPLE, parts=["bundled sample"])
_FETCHED = "the authors' files, verified"
_HUB = "the authors' repositories on the Hub, which give no checksums"


def find_files(
    benchmark: str, config: str, data_dir: str | Path, split: str | None = None
) -> tuple[dict[str, Path], list[str]]:
    """Return the files found, and what keeps the split, or all splits, from being built; see `locate_files`."""
    found, lacking = locate_files(benchmark, catalogue.config(benchmark, config), data_dir, split)
    return found, list_once(lacking) if all(lacking.values()) else []


def locate_files(
    benchmark: str, config: Any, data_dir: str | Path, split: str | None = None
) -> tuple[dict[str, Path], dict[str, list[str]]]:
    """Look for the files of a builder's config in a folder: an upstream checkout's root, or the files' own.

    Returns:
        The files found of the splits that can be built (of any, where none can be), in the script's order; for each
        split what keeps it from being built: missing files, or a part missing in a file.
    """
    root = Path(data_dir).expanduser()
    if not str(data_dir) or not root.is_dir():
        raise QuadragError(
            f"no folder {str(data_dir)!r}; expected the files of {benchmark}, its authors' repository, or the"
            f" word {SAMPLE}"
        )
    builder = catalogue.builder_class(benchmark)
    wanted = [split or config.only] if split or config.only else list(config.splits)
    if hasattr(builder, "search"):
        with script_errors():
            searched = {each: builder.search(root, config, each) for each in wanted}
        # What keeps a split from being built has no files.
        found = {name: path for files, _ in searched.values() for name, path in files.items()}
        return found, {each: lacking for each, (_, lacking) in searched.items()}
    names = dict.fromkeys(name for each in wanted for name in config.files_of(each))
    own = own_files(config)
    found = {name: path for name in names if (path := own.get(name) or builder.locate(root, name)) is not None}
    with script_errors():
        lacking = {each: config.lacking(each, found) for each in wanted}
    ready = {name for each in wanted if not lacking[each] for name in config.files_of(each)}
    return {name: path for name, path in found.items() if name in ready or not ready}, lacking


@contextlib.contextmanager
def script_errors() -> Iterator[None]:
    """Turn what a script says of a broken file into the one line that a user reads."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise QuadragError(one_line(error, LONGEST)) from None


def list_once(lacking: Mapping[str, Sequence[str]]) -> list[str]:
    """List what any split lacks, once each."""
    return list(dict.fromkeys(name for names in lacking.values() for name in names))


def own_files(config: Any, split: str | None = None) -> dict[str, Path]:
    """Map the options by which the user names files of a config, or of one split, to those files."""
    own: dict[str, Path] = getattr(config, "given", {})
    return {name: path for name, path in own.items() if split is None or name in config.files_of(split)}


def list_unused(config: Any, found: Collection[str]) -> list[str]:
    """List the files that a partial config would also take and that are not there."""
    there = {name.split("/")[-1] for name in found}
    return [name for each in config.files if (name := each.split("/")[-1]) not in there]


def describe(benchmark: str, config: Any, place: str, found: Mapping[str, Path]) -> Source:
    """Say where files are, which of a partial config's are missing, and whose they are by the sums that are known."""
    if is_own(place):
        return _describe_own(Path(place).expanduser())
    builder = catalogue.builder_class(benchmark)
    if hasattr(builder, "search"):
        return Source(Provenance.UNVERIFIED, place, _places(place, found))
    stand_ins: dict[str, str] = getattr(builder, "STAND_INS", {})
    parts: list[str] = []
    other: dict[str, Other] = {}
    for name, path in found.items():
        stand_in = next((each for each in stand_ins if Path(each).name == path.name), None)
        if stand_in:
            parts.append(f"{stand_ins[stand_in]} {path.name} in place of {Path(name).name}")
        size, *sums = builder.FILES.get(stand_in or name, (None, None, None))
        if not any(sums) or fault(path, RemoteFile(name, "", size, *sums)) is not None:
            other[name] = [path.name, path.stat().st_size / size if size else None]
    lacking = ""
    if config.partial and (missing := list_unused(config, found)):
        lacking = f"{len(found)} of {len(config.files)} files, lacking {shorten(missing)}"
    whose = Provenance.UNVERIFIED if other else Provenance.PARTIAL if lacking else Provenance.AUTHORS
    return Source(whose, place, parts, lacking, other)


def is_own(place: str | None) -> bool:
    """Whether a place of data is a dataset that `quadrag construct` made of the user's own documents."""
    return place is not None and (Path(place).expanduser() / OWN_RECORD).is_file()


def _describe_own(folder: Path) -> Source:
    """Say of a dataset of the user's own who made it of what."""
    found = parse_json((folder / OWN_RECORD).read_bytes(), folder / OWN_RECORD)
    try:
        made = f"own dataset {folder} (made by {found['model']} of {found['documents']['n']} documents)"
        return Source(Provenance.OWN, parts=[made])
    except (KeyError, TypeError):
        raise QuadragError(f"{folder / OWN_RECORD} is not of quadrag construct's form; make it again") from None


def _places(place: str, found: Mapping[str, Path]) -> list[str]:
    """Say how many files of each split were found, and the folder that holds them all."""
    by_split: dict[str, list[str]] = {}
    for name, path in found.items():
        by_split.setdefault(name.partition("/")[0], []).append(str(path.absolute()))
    phrases = []
    for split, paths in by_split.items():
        common = os.path.commonpath([str(Path(path).parent) for path in paths] if len(paths) > 1 else paths)
        below = os.path.relpath(common, Path(place).expanduser().absolute())
        shown = common if below.startswith(os.pardir) else below
        phrases.append(f"{split}: {f'{len(paths)} files of ' if len(paths) > 1 else ''}{shown}")
    return phrases


def point_to(builder: Any, folder: Path | None, split: str | None = None) -> None:
    """Tell a builder where its files are (None: it is prepared), and which split alone is wanted (None: all).

    Given to its constructor, the folder would change the config's id, and with it the cache's folder. The config is
    copied, because without options it is the very one that every builder of the class is given.
    """
    builder.config = copy.copy(builder.config)
    builder.config.data_dir = None if folder is None else str(folder)
    builder.config.only = split


def fetch_files(benchmark: str, config: Any, split: str | None = None) -> Path:
    """Fetch and verify the upstream files of a builder's config, or of one split, into the cache folder; return it.

    Below it they have the names of the script; files that the user names by an option are not fetched.
    """
    builder = catalogue.builder_class(benchmark)
    names = dict.fromkeys(config.files_of(split) if split else config.files)
    if split and not names:
        raise QuadragError(f"{benchmark} {config.name} lacks {', '.join(config.lacking(split, {}))}")
    if hasattr(builder, "fetch"):
        return _link_repositories(builder, config, split, cache_dir() / "upstream" / benchmark)
    own = own_files(config)
    remote = [RemoteFile(name, builder.URL + name, *builder.FILES[name]) for name in names if name not in own]
    folder = cache_dir() / "upstream" / benchmark
    folder.mkdir(parents=True, exist_ok=True)
    return fetch(remote, folder)


def _link_repositories(builder: Any, config: Any, split: str | None, home: Path) -> Path:
    """Let a script bring its repositories into the Hub's cache; a folder that holds a link to each, and no others."""
    with script_errors():
        places: dict[str, Path] = builder.fetch(config, split)
    total = hashlib.sha256("".join(f"{name}\0{place}\n" for name, place in sorted(places.items())).encode())
    folder = home / total.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    for name, place in places.items():
        with scratch(folder / name) as partial:
            partial.symlink_to(place, target_is_directory=True)
            partial.replace(folder / name)
    return folder


def describe_fetched(benchmark: str, config: Any, split: str | None = None) -> Source:
    """Say what the files that `fetch_files` brought are, and those that the user names by an option."""
    own = own_files(config, split)
    if hasattr(catalogue.builder_class(benchmark), "fetch"):
        fetched = [] if own else [_HUB]
    else:
        fetched = [_FETCHED] if split is None or len(own) < len(config.files_of(split)) else []
    whose = Provenance.UNVERIFIED if own else Provenance.AUTHORS
    return Source(whose, parts=[*fetched, *map(str, own.values())])


def sample_dir(benchmark: str) -> Path:
    """Return the folder of the sample data bundled with a benchmark's script."""
    return catalogue.benchmarks()[benchmark].with_name("sample")


def digest(paths: Mapping[str, Path]) -> str:
    """Return one sha256 over named files, as 64 hexadecimal digits."""
    total = hashlib.sha256()
    for name, path in sorted(paths.items()):
        total.update(f"{name}\0{sha256(path)}\n".encode())
    return total.hexdigest()

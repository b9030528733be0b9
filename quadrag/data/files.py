"""Upstream files by name: where they lie in a folder, what of them is lacking, where they come from, what they are.

Which files a split needs, where a checkout keeps them and what verifies them the dataset script says (`find`, `FILES`);
one whose files have no names that are known before brings them itself (`fetch`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from quadrag import catalogue
from quadrag.errors import QuadragError, one_line
from quadrag.paths import cache_dir, room
from quadrag.provenance import Other, Provenance, Source, shorten
from quadrag.records import scratch

_CHUNK = 1 << 20
TIMEOUT = (10, 60)  # seconds to connect, seconds between two chunks
# Beside the weights in many repositories, and without a say in what the model computes.
_IDLE = {".md", ".onnx", ".h5", ".msgpack", ".ot", ".png", ".jpg"}


class RemoteFile(NamedTuple):
    """A file upstream: its name here, its address, and what verifies it (None where unknown).

    `blob` is git's id of the content: the sha1 of ``blob LENGTH``, a zero byte and the content.
    """

    name: str
    url: str
    size: int | None = None
    sha256: str | None = None
    blob: str | None = None


def fault(path: Path, file: RemoteFile) -> str | None:
    """Return what was found and expected of a local file; None where all that is known of it is right."""
    from quadrag.datasets_scripts._shared.reading import mismatch  # with `datasets`, a second

    wrong: str | None = mismatch(path, *file[2:])
    return wrong


def sha256(path: Path) -> str:
    return _sum_once(path, path.stat().st_size, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _sum_once(path: Path, size: int, moment: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sum_weights(place: Path, kind: str) -> str:
    """Return the sha256 of a model's file, or of its folder, wherever it lies; `kind` is what it is to the user.

    All files of a folder count, by their bytes and relative paths, but for hidden ones, documents and the formats
    of other frameworks.
    """
    digest = hashlib.sha256()
    try:
        if place.is_file():
            return sha256(place)
        for path in sorted(place.rglob("*")):
            parts = path.relative_to(place).parts
            if path.is_file() and path.suffix not in _IDLE and not any(part.startswith(".") for part in parts):
                digest.update("/".join(parts).encode() + b"\0" + bytes.fromhex(sha256(path)) + b"\0")
    except OSError as error:
        raise QuadragError(f"cannot read {kind} {place} ({error}); expected a model's files") from error
    return digest.hexdigest()


def fetch(files: Iterable[RemoteFile], folder: Path) -> Path:
    """Bring files into a folder; those already there and right are left alone, and nothing is left of a wrong one.

    ``QUADRAG_MIRROR`` names a server that answers for the upstream host under the same paths.
    """
    for file in files:
        if file.sha256 is None and file.blob is None:
            raise QuadragError(f"{file.name} has neither a sha256 nor a git blob id")
        target = folder / file.name
        if target.is_file() and fault(target, file) is None:
            continue
        try:
            with scratch(target) as partial:
                mirror = os.environ.get("QUADRAG_MIRROR")
                url = f"{mirror.rstrip('/')}{urlsplit(file.url).path}" if mirror else file.url
                _transfer(url, partial)
                if wrong := fault(partial, file):
                    raise QuadragError(f"{file.name} from {url} has {wrong}; removed it, run again or use --data-dir")
                partial.replace(target)
        except OSError as error:
            raise QuadragError(
                f"cannot write {target} ({error.strerror or error}); make room there or name a folder in QUADRAG_CACHE"
            ) from None
    return folder


def _transfer(url: str, target: Path) -> None:
    import requests

    try:
        with requests.get(url, stream=True, timeout=TIMEOUT) as response:
            response.raise_for_status()
            with target.open("wb") as out:
                for chunk in response.iter_content(_CHUNK):
                    out.write(chunk)
    except requests.RequestException as error:
        why = f"status {error.response.status_code}" if error.response is not None else type(error).__name__
        raise QuadragError(
            f"cannot fetch {url} ({why}); check the network, name a mirror in QUADRAG_MIRROR, or use --data-dir;"
            " `--data-dir sample` needs no network"
        ) from None


SAMPLE = "sample"  # stands for the folder of the bundled sample
OWN_RECORD = "construct.json"  # in a folder that `quadrag construct` made
_LONGEST = 600  # characters of what a script says: it shows values, which may have any length

Files = dict[str, Path]  # by the names that the script has for them, in reading order


class Place(NamedTuple):
    """Where the files of a config are.

    `folder` is None where the user names all by options; `files` are those of each split that can be built, `lacking`
    says of each other what keeps it from that; `source` is told where anything can be built.
    """

    folder: Path | None
    files: dict[str, Files]
    lacking: dict[str, list[str]]
    source: Source


def find_place(benchmark: str, config: Any, data_dir: str | None, split: str | None = None) -> Place:
    if data_dir is None:
        folder, source = _fetch(benchmark, config, split)
        return Place(folder, *locate_files(benchmark, config, folder, split), source)
    if data_dir == SAMPLE:
        folder, source = sample_dir(benchmark), Source(Provenance.SAMPLE, parts=["bundled sample"])
        return Place(folder, *locate_files(benchmark, config, folder, split), source)
    ready, lacking = locate_files(benchmark, config, data_dir, split)
    return Place(Path(data_dir).expanduser(), ready, lacking, describe(benchmark, config, data_dir, join_files(ready)))


def locate_files(
    benchmark: str, config: Any, data_dir: str | Path | None, split: str | None = None
) -> tuple[dict[str, Files], dict[str, list[str]]]:
    """Look for the files of a builder's config in a folder: an upstream checkout's root, or the files' own.

    Returns the files of each split that can be built, and for each split what is missing of files, or within one.
    """
    root = None if data_dir is None else Path(data_dir).expanduser()
    if root is not None and (not str(data_dir) or not root.is_dir()):
        raise QuadragError(
            f"no folder {str(data_dir)!r}; expected the files of {benchmark}, its authors' repository, or the"
            f" word {SAMPLE}"
        )
    builder = catalogue.builder_class(benchmark)
    with script_errors():
        by_split = {each: builder.find(root, config, each) for each in ([split] if split else config.splits)}
    ready = {each: files for each, (files, missing) in by_split.items() if not missing}
    return ready, {each: missing for each, (_, missing) in by_split.items()}


def find_lacking(benchmark: str, config: str, data_dir: str | Path, split: str | None) -> list[str]:
    ready, lacking = locate_files(benchmark, catalogue.config(benchmark, config), data_dir, split)
    return [] if ready else list_once(lacking)


def join_files(ready: Mapping[str, Files]) -> Files:
    return {name: path for files in ready.values() for name, path in files.items()}


def list_once(lacking: Mapping[str, Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in lacking.values() for name in names))


@contextlib.contextmanager
def script_errors() -> Iterator[None]:
    """Turn what a script says of a broken file, also through `datasets`, into the one line that a user reads."""
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, (ValueError, OSError, RecursionError)):
            cause = cause.__cause__
        if cause is None:
            raise
        raise QuadragError(one_line(cause, _LONGEST)) from None


def list_unused(config: Any, used: Files) -> list[str]:
    return [name.split("/")[-1] for name in config.files if name not in used] if config.partial else []


def describe(benchmark: str, config: Any, place: str, used: Files) -> Source:
    """Say where files are, which of a partial config's are missing, and whose they are by the sums that are known."""
    if is_own(place):
        return Source(Provenance.OWN, place)
    builder = catalogue.builder_class(benchmark)
    parts: list[str] = []
    other: dict[str, Other] = {}
    for name, path in used.items() if builder.FILES else ():
        stand_in = next((each for each in builder.STAND_INS if Path(each).name == path.name), None)
        if stand_in:
            parts.append(f"{builder.STAND_INS[stand_in]} {path.name} in place of {Path(name).name}")
        size, *sums = builder.FILES.get(stand_in or name, (None, None, None))
        if not any(sums) or fault(path, RemoteFile(name, "", size, *sums)) is not None:
            other[name] = [path.name, path.stat().st_size / size if size else None]
    missing = list_unused(config, used)
    lacking = f"{len(used)} of {len(config.files)} files, lacking {shorten(missing)}" if missing else ""
    verified = Provenance.PARTIAL if lacking else Provenance.AUTHORS
    whose = Provenance.UNVERIFIED if other or not builder.FILES else verified
    return Source(whose, place, parts, lacking, other)


def is_own(place: str | None) -> bool:
    """Whether a place of data is a dataset that `quadrag construct` made of the user's own documents."""
    return place is not None and (Path(place).expanduser() / OWN_RECORD).is_file()


def _fetch(benchmark: str, config: Any, split: str | None) -> tuple[Path | None, Source]:
    """Fetch and verify the upstream files of a config, or of one split, that are not named, into the cache folder.

    Returns this, or None where all are named, and what the files are.
    """
    builder, named = catalogue.builder_class(benchmark), config.named
    names = config.files_of(split) if split else config.files
    if not names:
        raise QuadragError(f"{benchmark} {config.name} lacks {', '.join(config.lacking(split, {}))}")
    wanted = [name for name in names if name not in named]
    folder = cache_dir() / "upstream" / benchmark
    folder.mkdir(parents=True, exist_ok=True)
    if hasattr(builder, "fetch"):
        # Where the user names places and no split, the others are not asked for.
        wanted = [] if named and not split else wanted
        fetched = "the authors' repositories on the Hub, which give no checksums"
        with script_errors():
            builder.fetch(wanted, folder)
    else:
        fetched = "the authors' files, verified"
        fetch([RemoteFile(name, builder.URL + name, *builder.FILES[name]) for name in wanted], folder)
    own = [str(path) for name, path in named.items() if name in names]
    whose = Provenance.UNVERIFIED if own else Provenance.AUTHORS
    return folder if wanted else None, Source(whose, parts=[*([fetched] if wanted else []), *own])


def sample_dir(benchmark: str) -> Path:
    return catalogue.benchmarks()[benchmark].with_name("sample")


def sum_files(paths: Mapping[str, Path]) -> str:
    total = hashlib.sha256()
    for name, path in sorted(paths.items()):
        total.update(f"{name}\0{sha256(path)}\n".encode())
    return total.hexdigest()


def identify(benchmark: str, used: Files) -> str:
    """Return the digest of files, of the script, and of the modules beside it or of ours that it reads with."""
    shared = room("datasets_scripts") / "_shared" / "reading.py"
    modules = [shared, *catalogue.benchmarks()[benchmark].parent.glob("*.py")]
    return sum_files({**{f"script {path.name}": path for path in modules}, **used})

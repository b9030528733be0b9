"""From a benchmark's name to its builder with files behind it, and to its rows.

The order is: the folder the user names; what `quadrag prepare` has built; the upstream files, fetched and verified.
Rows are read through the builder itself, so no Hub is ever asked. Building the cache is `quadrag.prepare`'s work.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.download import RemoteFile, fault, fetch
from quadrag.errors import QuadragError, unknown_name
from quadrag.paths import cache_dir, room

SAMPLE = "sample"
SAMPLE_SOURCE = "bundled sample"
UPSTREAM_SOURCE = "upstream files, verified"
RECORD = "quadrag.json"  # beside a prepared config: what it was built from


def find_files(benchmark: str, config: str, data_dir: str | Path) -> tuple[dict[str, Path], list[str]]:
    """Look for a config's files in a folder: an upstream checkout's root, or the folder of the files themselves.

    Returns:
        The files found, by name, and the names of those lacking.

    Raises:
        QuadragError: the folder does not exist, or benchmark or config is unknown.
    """
    root = Path(data_dir).expanduser()
    if not str(data_dir) or not root.is_dir():
        raise QuadragError(
            f"no folder {str(data_dir)!r}; expected the files of {benchmark} or the root of its upstream checkout"
        )
    upstream = catalogue.builder_class(benchmark).UPSTREAM_FOLDER
    found, lacking = {}, []
    for name in catalogue.config(benchmark, config).files:
        path = next((p for p in (root / name, root / upstream / name) if p.is_file()), None)
        if path is None:
            lacking.append(name)
        else:
            found[name] = path
    return found, lacking


def describe(benchmark: str, place: str, files: Mapping[str, Path]) -> str:
    """Say where files are, and which of them are not the ones that the benchmark's script pins."""
    pinned = catalogue.builder_class(benchmark).FILES
    other = [name for name, path in files.items() if fault(path, RemoteFile(name, "", *pinned[name])) is not None]
    return (
        f"{place} ({', '.join(other)}: not upstream's pinned file)" if other else f"{place} (upstream's pinned files)"
    )


def built_from(benchmark: str, config: str) -> str | None:
    """Say what the config's bare name loads: where the files of the newest build came from; None without one."""
    found = _builds(benchmark, config)
    return max(found)[2] if found else None


def fetch_files(benchmark: str, config: str) -> Path:
    """Fetch and verify a config's upstream files into the cache folder, and return that folder."""
    builder = catalogue.builder_class(benchmark)
    names = catalogue.config(benchmark, config).files
    remote = [RemoteFile(name, builder.URL + name, *builder.FILES[name]) for name in names]
    return fetch(remote, cache_dir() / "upstream" / benchmark)


def sample_dir(benchmark: str) -> Path:
    """Return the folder of the sample data bundled with a benchmark's script."""
    return room("datasets_scripts") / benchmark / "sample"


def open_builder(
    benchmark: str, config: str, data_dir: str | None = None, options: Mapping[str, Any] | None = None
) -> tuple[Any, str]:
    """Make the builder of a config, ready to be read.

    Args:
        benchmark: its name.
        config: its config's name.
        data_dir: folder of upstream files, the word ``sample`` for the bundled sample, or None.
        options: builder options, such as RGB's ``noise_ratio``.

    Returns:
        The builder, and a phrase that says where its rows come from.

    Raises:
        QuadragError: a name or option is unknown, an option is out of range, or files are lacking.
    """
    cls = catalogue.builder_class(benchmark)
    known = catalogue.config(benchmark, config)
    options = dict(options or {})
    for name in options:
        if name not in vars(known) or name in ("name", "version", "data_dir", "data_files", "description"):
            own = [n for n in vars(known) if n not in ("name", "version", "data_dir", "data_files", "description")]
            raise unknown_name(f"option of {benchmark}", name, own)
    if data_dir is None and not options:
        ready = prepared(benchmark, config)
        if ready is not None:
            folder, source = ready
            return cls(config_name=config, dataset_name=benchmark, hash=folder.name), f"{source}, as prepared"
    if data_dir == SAMPLE:
        folder, source = sample_dir(benchmark), SAMPLE_SOURCE
    elif data_dir is not None:
        folder = Path(data_dir).expanduser()
        found, lacking = find_files(benchmark, config, folder)
        if lacking:
            raise QuadragError(f"{folder} lacks {', '.join(lacking)}, which {benchmark} {config} needs")
        source = describe(benchmark, str(data_dir), found)
    else:
        folder, source = fetch_files(benchmark, config), UPSTREAM_SOURCE
    try:
        builder = cls(config_name=config, dataset_name=benchmark, **options)
    except ValueError as error:
        raise QuadragError(f"{benchmark} {config}: {error}") from None
    point_to(builder, folder)
    return builder, source


def point_to(builder: Any, folder: Path) -> None:
    """Tell a builder where its files are.

    Given to its constructor, the folder would change the config's id, and with it the cache's folder. The config is
    copied, because without options it is the very one that every builder of the class is given.
    """
    builder.config = copy.copy(builder.config)
    builder.config.data_dir = str(folder)


def splits(builder: Any) -> list[str]:
    """Return the names of a config's splits, in the script's order."""
    return list(builder.config.splits)


def check_split(builder: Any, split: str) -> str:
    """Return the split's name when the config has it.

    Raises:
        QuadragError: it has not; the nearest names are given.
    """
    known = splits(builder)
    if split not in known:
        raise unknown_name(f"split of {builder.config.name}", split, known)
    return split


def rows(builder: Any, split: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a split, from the prepared cache or straight from the upstream files.

    Raises:
        QuadragError: a file does not hold what the benchmark's script expects.
    """
    try:
        if builder.config.data_dir is None:
            yield from builder.as_dataset(split=split)
        else:
            yield from builder.as_streaming_dataset(split=split)
    except (ValueError, OSError) as error:
        raise QuadragError(" ".join(str(error).split())) from None


def prepared(benchmark: str, config: str) -> tuple[Path, str] | None:
    """Find what `quadrag prepare` built last for a config from real files, by this very script.

    Returns:
        The folder in the Hugging Face cache and where its files came from, or None. The bundled sample does not count:
        a run that names no data means the benchmark.
    """
    script = digest({"script": catalogue.benchmarks()[benchmark]})
    found = [
        (moment, folder, source)
        for moment, folder, source, made_by in _builds(benchmark, config)
        if made_by == script and source != SAMPLE_SOURCE
    ]
    return max(found)[1:] if found else None


def _builds(benchmark: str, config: str) -> list[tuple[float, Path, str, str]]:
    """List what `quadrag prepare` built for a config: when, where, from which files, by which script."""
    import datasets

    version = str(catalogue.config(benchmark, config).version)
    home = Path(datasets.config.HF_DATASETS_CACHE) / benchmark / config / version
    found = []
    for record in home.glob(f"*/{RECORD}"):
        made = _record(record)
        found.append((record.stat().st_mtime, record.parent, made["source"], made["script"]))
    return found


def _record(path: Path) -> dict[str, str]:
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
        return {"script": made["script"], "source": made["source"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise QuadragError(f"{path} is damaged; remove {path.parent} and run `quadrag prepare` again") from None


def digest(paths: Mapping[str, Path]) -> str:
    """Return one sha256 over named files, as 64 hexadecimal digits."""
    total = hashlib.sha256()
    for name, path in sorted(paths.items()):
        total.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()

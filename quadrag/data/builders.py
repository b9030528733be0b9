"""From a benchmark's name to its builder with files behind it, and to its rows.

The order is: the folder the user names; what `quadrag prepare` has built; the upstream files, fetched and verified.
Rows are read through the builder itself, so no Hub is ever asked. A folder may be partial: what a split needs, and
what keeps it from being built, the benchmark's script says (`files_of`, `lacking`, `locate`).
"""

import copy
import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quadrag import catalogue
from quadrag.errors import QuadragError, unknown_name
from quadrag.provenance import Source

from . import files
from .files import point_to
from .prepare import find_prepared, splits_of

__all__ = ["SAMPLE", "point_to"]

SAMPLE = files.SAMPLE


def open_builder(
    benchmark: str,
    config: str,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    split: str | None = None,
) -> tuple[Any, Source]:
    """Make the builder of a config, ready to be read, and say where its rows come from.

    Args:
        benchmark: its name.
        config: its config's name.
        data_dir: folder of upstream files, the word ``sample`` for the bundled sample, or None.
        options: builder options, such as RGB's ``noise_ratio``.
        split: the one split to be read, whose files alone are then asked for; None for all that can be built.
    """
    options = dict(options or {})
    known = options_of(catalogue.config(benchmark, config))
    for name in options:
        if name not in known:
            raise unknown_name(f"option of {benchmark}", name, known)
    options = {name: value for name, value in options.items() if value != known[name]}
    try:
        builder = make_builder(benchmark, config, **options)
    except ValueError as error:
        raise QuadragError(f"{benchmark} {config}: {error}") from None
    if split is not None:
        check_split(builder, split)
    ready = find_prepared(benchmark, config, split) if data_dir is None and not options else None
    if ready is not None:
        builder.built, source = ready
        point_to(builder, None, split)
        return builder, source
    if data_dir is None:
        point_to(builder, files.fetch_files(benchmark, builder.config, split), split)
        return builder, files.describe_fetched(benchmark, builder.config, split)
    folder = str(files.sample_dir(benchmark)) if data_dir == SAMPLE else data_dir
    found, lacking = files.locate_files(benchmark, builder.config, folder, split)
    if all(lacking.values()):
        what = ", ".join(files.list_once(lacking))
        raise QuadragError(f"{folder} lacks {what}, which {benchmark} {config} needs")
    point_to(builder, Path(folder).expanduser(), split)
    return builder, files.SAMPLE_SOURCE if data_dir == SAMPLE else files.describe(
        benchmark, builder.config, data_dir, found
    )


@cache
def _own_folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="quadrag-")


def make_builder(benchmark: str, config: str, **options: Any) -> Any:
    """Make a builder of a config, whose `built` is the folder of a prepared config that it is to read, or None.

    `datasets` locks the place of what a builder may build; the caches may be such that can only be read.
    """
    cls = catalogue.builder_class(benchmark)
    builder = cls(config_name=config, dataset_name=benchmark, cache_dir=_own_folder().name, **options)
    builder.built = None
    return builder


def splits(builder: Any) -> list[str]:
    """Return the names of a config's splits that can be read, in the script's order."""
    config = builder.config
    if config.data_dir is None:
        there = [*splits_of(builder.built)]
    else:
        _, lacking = files.locate_files(builder.dataset_name, config, config.data_dir)
        there = [split for split, missing in lacking.items() if not missing]
    return [split for split in config.splits if split in there and config.only in (None, split)]


def check_split(builder: Any, split: str) -> str:
    """Return the split's name when the config has it; raise with the nearest names where it has not."""
    known = list(builder.config.splits)
    if split not in known:
        raise unknown_name(f"split of {builder.config.name}", split, known)
    return split


def rows(builder: Any, split: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a split, from the prepared cache or straight from the upstream files."""
    check_split(builder, split)
    with files.script_errors():
        if builder.config.data_dir is None:
            if split not in splits(builder):
                there = ", ".join(splits(builder))
                raise QuadragError(f"{builder.config.name} was prepared with {there} alone, not {split}")
            for shards in (f"{split}.arrow", f"{split}-*-of-*.arrow"):
                for file in sorted(builder.built.glob(f"{builder.dataset_name}-{shards}")):
                    yield from _read_arrow(file)
        else:
            yield from (row for _, row in builder._generate_examples(**_arguments(builder, split)))


def _read_arrow(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of an Arrow file, in memory as many at once as were written at once.

    Not through `Dataset`: it maps the file, and what has been read of CRAG's gigabytes would count as memory used.
    """
    import pyarrow as pa

    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as reader:
        for batch in reader:
            yield from batch.to_pylist()


def _arguments(builder: Any, split: str) -> dict[str, Any]:
    """Ask the script what it generates a split from, and for that split alone: another's files may be broken.

    Not `as_streaming_dataset`: `datasets` 3.6 takes half a millisecond for a row, 30 s for CRUD-RAG's corpus.
    """
    whole = builder.config
    builder.config = copy.copy(whole)
    builder.config.only = split
    try:
        generators = {generator.name: generator for generator in builder._split_generators(None)}
    finally:
        builder.config = whole
    return dict(generators[split].gen_kwargs)


def fingerprint(builder: Any) -> str:
    """Identify the rows of a builder by script, files and options: the 64 digits of a prepared config's folder."""
    config, benchmark = builder.config, builder.dataset_name
    if config.data_dir is None:
        return str(builder.built.name)
    found, _ = files.locate_files(benchmark, config, config.data_dir)
    plain = files.digest({"script": catalogue.benchmarks()[benchmark], **found})
    # A file named by an option is among those found where it decides rows, and its place decides nothing.
    own = files.own_files(config)
    options = {
        name: (getattr(config, name), default) for name, default in options_of(config).items() if name not in own
    }
    changed = {name: value for name, (value, default) in options.items() if value != default}
    return hashlib.sha256(json.dumps([plain, changed], sort_keys=True).encode()).hexdigest() if changed else plain


def options_of(config: Any) -> dict[str, Any]:
    """Map the names of a config's own options to their defaults."""
    own = inspect.signature(type(config).__init__).parameters.values()
    return {one.name: one.default for one in own if one.kind is one.KEYWORD_ONLY}

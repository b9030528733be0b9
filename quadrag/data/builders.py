"""From a benchmark's name to its builder with files behind it, and to its rows.

The order is: the folder the user names; what `quadrag prepare` has built; the upstream files, fetched and verified.
Rows are read through the builder itself, so no Hub is ever asked. A folder may be partial.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quadrag import catalogue
from quadrag.data import files
from quadrag.data.prepare import find_prepared
from quadrag.errors import QuadragError, unknown_name
from quadrag.provenance import Source

SAMPLE = files.SAMPLE


def open_builder(
    benchmark: str,
    config: str,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    split: str | None = None,
) -> tuple[Any, Source]:
    """Make the builder of a config, ready to be read, and say where its rows come from.

    Its `files` are those of each split that is there, and where it reads a prepared config, `built` is the folder of
    that, else None, and `counts` are the rows of each split.

    Args:
        benchmark: its name.
        config: its config's name.
        data_dir: folder of upstream files, the word ``sample`` for the bundled sample, or None.
        options: builder options, such as a benchmark's share of noise.
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
    if split is not None and split not in builder.config.splits:
        raise unknown_name(f"split of {config}", split, list(builder.config.splits))
    builder.built, builder.counts = None, {}
    ready = find_prepared(benchmark, config, split) if data_dir is None and not options else None
    if ready is not None:
        builder.built, source, builder.counts = ready
        builder.files = {name: {} for name in builder.config.splits if name in builder.counts and split in (None, name)}
        return builder, source
    place = files.find_place(benchmark, builder.config, data_dir, split)
    if not place.files:
        what = ", ".join(files.list_once(place.lacking))
        raise QuadragError(f"{place.folder or benchmark} lacks {what}, which {benchmark} {config} needs")
    builder.files = place.files
    return builder, place.source


@cache
def _own_folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="quadrag-")


def make_builder(benchmark: str, config: str, **options: Any) -> Any:
    """Make a builder of a config.

    `datasets` locks the place of what a builder may build; the caches may be such that can only be read.
    """
    cls = catalogue.builder_class(benchmark)
    return cls(config_name=config, dataset_name=benchmark, cache_dir=_own_folder().name, **options)


def splits(builder: Any) -> list[str]:
    return list(builder.files)


def rows(builder: Any, split: str) -> Iterator[dict[str, Any]]:
    if split not in builder.files:
        raise QuadragError(f"{builder.config.name} has {', '.join(builder.files)} alone here, not {split}")
    with files.script_errors():
        if builder.built is not None:
            for shards in (f"{split}.arrow", f"{split}-*-of-*.arrow"):
                for file in sorted(builder.built.glob(f"{builder.dataset_name}-{shards}")):
                    yield from _read_arrow(file)
        else:
            # Not `as_streaming_dataset`: `datasets` 3.6 takes half a millisecond for a row, 30 s for a large corpus.
            paths = {name: str(path) for name, path in builder.files[split].items()}
            yield from (row for _, row in builder._generate_examples(split, paths))


def _read_arrow(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of an Arrow file, in memory as many at once as were written at once.

    Not through `Dataset`: it maps the file, and what has been read of gigabytes would count as memory used.
    """
    import pyarrow as pa

    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as reader:
        for batch in reader:
            yield from batch.to_pylist()


def fingerprint(builder: Any) -> str:
    """Identify the rows of a builder by script, files and options: the 64 digits of a prepared config's folder."""
    if builder.built is not None:
        return str(builder.built.name)
    config = builder.config
    plain = files.identify(builder.dataset_name, files.join_files(builder.files))
    # A file named by an option is among the files where it decides rows, and its place decides nothing.
    options = {name: default for name, default in options_of(config).items() if name not in config.named}
    changed = {name: value for name in options if (value := getattr(config, name)) != options[name]}
    return hashlib.sha256(json.dumps([plain, changed], sort_keys=True).encode()).hexdigest() if changed else plain


def options_of(config: Any) -> dict[str, Any]:
    """Map the names of a config's own options to their defaults."""
    return dict(config.OPTIONS)

"""From a benchmark's name to its builder with files behind it, to its rows, and to what stands by its bare name.

The order is: the folder the user names; what `quadrag prepare` has built; the upstream files, fetched and verified.
Rows are read through the builder itself, so no Hub is ever asked. `prepare` fills the Hugging Face caches, to which
both libraries fall back where the Hub has no such name; what it writes reads the same under `datasets` 3.6 and 5.
"""

import copy
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data import files
from quadrag.errors import QuadragError, parse_json, unknown_name
from quadrag.provenance import Provenance, Source
from quadrag.records import scratch, sweep, write_text

SAMPLE = files.SAMPLE
RECORD = "quadrag.json"  # beside a prepared config: what it was built from
_INFO = "dataset_info.json"  # what `datasets` says of it


def open_builder(
    benchmark: str,
    config: str,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    split: str | None = None,
) -> tuple[Any, Source]:
    """Make the builder of a config, or of one split of it, ready to be read, and say where its rows come from.

    Its `files` are those of each split that is there, and where it reads a prepared config, `built` is the folder of
    that, else None, and `counts` are the rows of each split. `data_dir` is a folder of upstream files, or ``sample``.
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
    # Not in the caches, which may be such that can only be read: `datasets` locks the place of what may be built.
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
    return dict(config.OPTIONS)


class Prepared(NamedTuple):
    """What `prepare` did: rows by split of each config built, what those not built or not whole lack, the metrics."""

    built: dict[str, dict[str, int]]
    lacking: dict[str, list[str]]
    metrics: list[str]


def prepare(
    benchmark: str,
    config: str | None = None,
    data_dir: str | None = None,
    on_config: Callable[[str], None] = lambda name: None,
) -> Prepared:
    """Build a benchmark's configs into ``HF_DATASETS_CACHE`` and put every metric into ``HF_MODULES_CACHE``.

    `data_dir` is a folder of upstream files, which need not be whole, or ``sample``; None fetches and verifies them.
    `on_config` is called with each config's name before it is built.
    """
    sweep(_datasets_cache() / "quadrag")
    benchmark = catalogue.benchmark_name(benchmark)
    done = Prepared({}, {}, [])
    for name in [config] if config else catalogue.configs(benchmark):
        known = catalogue.config(benchmark, name)
        place = files.find_place(benchmark, known, data_dir)
        unused = files.list_unused(known, files.join_files(place.files)) if place.files else []
        if lacking := files.list_once(place.lacking) + unused:
            done.lacking[name] = lacking
        if place.files:
            on_config(name)
            done.built[name] = _build(benchmark, name, place)
    if not done.built:
        wanted = ", ".join(sorted(files.list_once(done.lacking)))
        raise QuadragError(f"{data_dir or 'upstream'} holds none of the files of {benchmark}: lacking {wanted}")
    done.metrics.extend(_install_metric(script) for script in catalogue.metrics().values())
    return done


def _datasets_cache() -> Path:
    import datasets

    return Path(datasets.config.HF_DATASETS_CACHE)


def _build(benchmark: str, config: str, place: files.Place) -> dict[str, int]:
    """Build one config under the hash of its script and files; one that stands already is made the newest.

    It is built aside and moved when it is whole: `datasets` would trip over a half-built folder beside the built ones.
    """
    import datasets

    identity = files.identify(benchmark, files.join_files(place.files))
    builder = catalogue.builder_class(benchmark)(config_name=config, dataset_name=benchmark, hash=identity)
    if place.source.provenance is Provenance.SAMPLE:
        made_up = "The rows are the bundled sample of quadrag, which is made up."
        builder.info.description = f"{made_up}\n{builder.info.description}"
    # To the constructor it would change the config's name; a copy, since all builders are given this very config.
    builder.config = copy.copy(builder.config)
    builder.config.data_dir = str(place.folder)
    folder = Path(builder.cache_dir)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch(_datasets_cache() / "quadrag") as aside:
            aside.mkdir()
            whole = aside / "built"
            datasets.disable_progress_bars()
            with files.script_errors():
                builder.download_and_prepare(output_dir=str(whole))
            _spell_lists_as_literals(whole)
            # Another process may have put the very same there meanwhile.
            if not folder.is_dir():
                whole.replace(folder)
    splits = json.loads((folder / _INFO).read_text(encoding="utf-8"))["splits"]
    counts = {name: split["num_examples"] for name, split in splits.items()}
    record = {"script": files.identify(benchmark, {}), "source": asdict(place.source), "rows": counts}
    write_text(folder / RECORD, json.dumps(record))
    os.utime(folder)
    return counts


def find_source(benchmark: str, config: str) -> Source | None:
    """Say what the config's bare name loads: where the files of the newest build came from; None without one."""
    builds = _list_builds(benchmark, config)
    return max(builds, key=itemgetter(0, 1))[2] if builds else None


def find_prepared(benchmark: str, config: str, split: str | None = None) -> tuple[Path, Source, dict[str, int]] | None:
    """Find what `prepare` built last for a config from real files, by this very script: its folder, source and rows.

    The bundled sample does not count: a run that names no data means the benchmark.
    """
    script = files.identify(benchmark, {})
    builds = [
        (moment, folder, source, rows)
        for moment, folder, source, rows, made_by in _list_builds(benchmark, config)
        if made_by == script and source.provenance is not Provenance.SAMPLE and (split is None or split in rows)
    ]
    return max(builds, key=itemgetter(0, 1))[1:] if builds else None


def _list_builds(benchmark: str, config: str) -> list[tuple[float, Path, Source, dict[str, int], str]]:
    version = str(catalogue.config(benchmark, config).version)
    builds = []
    for path in (_datasets_cache() / benchmark / config / version).glob(f"*/{RECORD}"):
        try:
            made = parse_json(path.read_bytes(), path)
            source = Source(**{**made["source"], "provenance": Provenance(made["source"]["provenance"])})
            builds.append((path.stat().st_mtime, path.parent, source, dict(made["rows"]), made["script"]))
        except (OSError, QuadragError, KeyError, TypeError, ValueError):
            raise QuadragError(f"{path} is damaged; remove {path.parent} and run `quadrag prepare` again") from None
    return builds


def _literal(feature: Any) -> Any:
    """Spell ``List`` features, unreadable to `datasets` 3.6, as one-element JSON arrays, which every version reads."""
    if isinstance(feature, dict):
        if feature.get("_type") == "List" and feature.get("length", -1) == -1:
            return [_literal(feature["feature"])]
        return {key: _literal(value) for key, value in feature.items()}
    return [_literal(item) for item in feature] if isinstance(feature, list) else feature


def _spell_lists_as_literals(folder: Path) -> None:
    import pyarrow as pa

    path = folder / _INFO
    info = json.loads(path.read_text(encoding="utf-8"))
    features = _literal(info["features"])
    if features == info["features"]:
        return
    write_text(path, json.dumps({**info, "features": features}))
    for arrow in folder.glob("*.arrow"):
        # Not memory-mapped: what has been read of a large file would count as this process's memory.
        with pa.OSFile(str(arrow)) as source, pa.ipc.open_stream(source) as reader:
            schema = reader.schema
            meta = json.loads(schema.metadata[b"huggingface"])
            meta["info"]["features"] = features
            schema = schema.with_metadata({**schema.metadata, b"huggingface": json.dumps(meta).encode()})
            partial = arrow.with_suffix(".part")
            with pa.OSFile(str(partial), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
                for batch in reader:
                    writer.write_batch(batch.replace_schema_metadata(schema.metadata))
        partial.replace(arrow)


def _install_metric(script: Path) -> str:
    from evaluate.loading import init_dynamic_modules

    modules = {path.name: path for path in script.parent.glob("*.py") if path.name != "app.py"}
    home = Path(init_dynamic_modules()) / "metrics" / f"evaluate-metric--{script.stem}"
    folder = home / files.sum_files(modules)
    folder.mkdir(parents=True, exist_ok=True)
    for package in (home.parent, home, folder):
        (package / "__init__.py").touch()
    for name, path in modules.items():
        shutil.copyfile(path, folder / name)
    return script.stem

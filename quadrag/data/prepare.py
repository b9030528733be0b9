"""Fill the Hugging Face caches: ``load_dataset`` and ``evaluate.load`` work by a benchmark's and a metric's bare name.

Both libraries fall back to their caches where the Hub has no such name: `datasets` to a folder that ends in a hash,
`evaluate` to one with 64 hexadecimal digits. What is written reads the same under `datasets` 3.6 and 5.
"""

import copy
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.errors import QuadragError, one_line, parse_json
from quadrag.provenance import Provenance, Source
from quadrag.records import scratch, sweep, write_text

from . import files

RECORD = "quadrag.json"  # beside a prepared config: what it was built from
_INFO = "dataset_info.json"  # what `datasets` says of it
_MADE_UP = "The rows are the bundled sample of quadrag, which is made up."


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

    Args:
        benchmark: its name.
        config: one config, or None for all of them.
        data_dir: folder of upstream files or ``sample``; None fetches and verifies them. A folder need not be whole.
        on_config: called with each config's name before it is built.
    """
    sweep(_aside())
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


def _aside() -> Path:
    import datasets

    return Path(datasets.config.HF_DATASETS_CACHE) / "quadrag"


def _build(benchmark: str, config: str, place: files.Place) -> dict[str, int]:
    """Build one config under the hash of its script and files; one that stands already is made the newest.

    It is built aside and moved when it is whole: `datasets` would trip over a half-built folder beside the built ones.
    """
    identity = files.identify(benchmark, files.join_files(place.files))
    builder = catalogue.builder_class(benchmark)(config_name=config, dataset_name=benchmark, hash=identity)
    if place.source.provenance is Provenance.SAMPLE:
        builder.info.description = f"{_MADE_UP}\n{builder.info.description}"
    # To the constructor it would change the config's name; a copy, since all builders are given this very config.
    builder.config = copy.copy(builder.config)
    builder.config.data_dir = str(place.folder)
    folder = Path(builder.cache_dir)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch(_aside()) as aside:
            aside.mkdir()
            whole = aside / "built"
            _generate(builder, whole)
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
    """List what `prepare` built for a config: when, where, from which files, its rows, by which script."""
    import datasets

    version = str(catalogue.config(benchmark, config).version)
    builds = []
    for path in (Path(datasets.config.HF_DATASETS_CACHE) / benchmark / config / version).glob(f"*/{RECORD}"):
        try:
            made = parse_json(path.read_bytes(), path)
            source = Source(**{**made["source"], "provenance": Provenance(made["source"]["provenance"])})
            builds.append((path.stat().st_mtime, path.parent, source, dict(made["rows"]), made["script"]))
        except (OSError, QuadragError, KeyError, TypeError, ValueError):
            raise QuadragError(f"{path} is damaged; remove {path.parent} and run `quadrag prepare` again") from None
    return builds


def _generate(builder: Any, folder: Path) -> None:
    """Let the builder write its splits into a folder, without progress bars; bad files become one line."""
    from datasets import disable_progress_bars

    disable_progress_bars()
    try:
        builder.download_and_prepare(output_dir=str(folder))
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        if not isinstance(cause, (ValueError, OSError, RecursionError)):
            raise
        raise QuadragError(one_line(cause, files.LONGEST)) from None


def _literal(feature: Any) -> Any:
    """Spell ``List`` features, unreadable to `datasets` 3.6, as one-element JSON arrays, which every version reads."""
    if isinstance(feature, dict):
        if feature.get("_type") == "List" and feature.get("length", -1) == -1:
            return [_literal(feature["feature"])]
        return {key: _literal(value) for key, value in feature.items()}
    return [_literal(item) for item in feature] if isinstance(feature, list) else feature


def _spell_lists_as_literals(folder: Path) -> None:
    """Rewrite the feature metadata of a built config, in ``dataset_info.json`` and in each Arrow file's schema."""
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
    """Copy a metric's modules to where `evaluate` looks for a name it cannot find on the Hub."""
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

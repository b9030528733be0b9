"""`quadrag export`: each benchmark as a dataset repository, a folder of Parquet files and a card.

What stands in a card is `card`'s work, how rows become files `parquet`'s; nothing is sent anywhere. A folder is written
aside and moved when it is whole. Splits that an interrupted run finished are kept.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.errors import QuadragError
from quadrag.hub.export.card import Part, list_closed, make_data_card, make_recipe, read_card
from quadrag.hub.export.manifest import Manifest, find_broken, read_manifest
from quadrag.hub.export.parquet import Written, write_split
from quadrag.hub.record import NotHosted, hub_record
from quadrag.records import write_text

_VERSION = 2  # raised by a change of code that changes what is written


class Exported(NamedTuple):
    """One dataset repository.

    Attributes:
        benchmark: its name.
        folder: where it stands.
        kind: ``data``, ``sample``, ``own`` of a dataset of the user's own, or ``recipe`` where data may not be
            hosted anew.
        made: whether it was written now; False where the same stood there already.
        rows: by config and split; empty for a recipe.
        size: of the Parquet files, in bytes.
        sources: where the rows of each config came from.
        lacking: for each config that is not there, or not with all its splits, what it lacks.
    """

    benchmark: str
    folder: Path
    kind: str
    made: bool
    rows: dict[str, dict[str, int]]
    size: int
    sources: dict[str, str]
    lacking: dict[str, list[str]]


class _Config(NamedTuple):
    """A config that can be written."""

    builder: Any
    source: str
    splits: list[str]


class _Plan(NamedTuple):
    """What is to stand in a benchmark's folder; `inputs` are all that decides it, as one digest.

    `data_dir` is that of a dataset of the user's own, and else None.
    """

    benchmark: str
    kind: str
    data_dir: str | None
    not_hosted: NotHosted | None
    configs: dict[str, _Config]
    lacking: dict[str, list[str]]
    inputs: str


def export(
    directory: Path,
    benchmarks: Sequence[str] = (),
    data_dir: str | None = None,
    accept_licence: bool = False,
    progress: Callable[[str, int], None] = lambda label, rows: None,
) -> list[Exported]:
    """Write dataset repositories that every version of `datasets` from 3.6 on loads, one folder a benchmark.

    Args:
        directory: the folder of these folders; it is made.
        benchmarks: their names; none for all.
        data_dir: folder of upstream files, ``sample`` for the bundled samples, or None for what `quadrag prepare` has
            built, else the upstream files. A folder need not be whole.
        accept_licence: whether data of a non-commercial licence may be written; the samples are quadrag's own.
        progress: called with ``BENCHMARK CONFIG SPLIT`` and the rows of it written so far, first with 0.

    Returns:
        What stands in each folder, in the order of the names.

    Raises:
        QuadragError: a name is unknown, a licence is not accepted, data are lacking or wrong, or a folder holds
            something else. Nothing is then written of that benchmark, or of any where it shows before the first row.
    """
    names = list(dict.fromkeys(map(catalogue.benchmark_name, benchmarks))) or list(catalogue.benchmarks())
    directory = directory.expanduser()
    if directory.exists() and not directory.is_dir():
        raise QuadragError(f"{directory} is a file; expected a folder to write dataset repositories into")
    if not accept_licence and (closed := list_closed(names, data_dir)):
        raise QuadragError(
            f"not for commercial use: {closed}; with --accept-licence they are written under that licence,"
            " or name other benchmarks"
        )
    plans = [_make_plan(name, data_dir) for name in names]
    for plan in plans:
        _check_folder(directory / plan.benchmark, plan)
    return [_export(directory, plan, progress) for plan in plans]


def digest_inputs(benchmark: str, data_dir: str | None) -> str:
    """Return the digest of all that decides what `export` writes of a benchmark."""
    return _make_plan(benchmark, data_dir).inputs


def _make_plan(benchmark: str, data_dir: str | None) -> _Plan:
    """Find out what can be written of a benchmark, and what decides it."""
    not_hosted = hub_record(benchmark).not_hosted
    own = files.is_own(data_dir)
    kind = "sample" if data_dir == builders.SAMPLE else "own" if own else "recipe" if not_hosted else "data"
    decisive: list[Any] = [_VERSION, kind, read_card(benchmark, data_dir)]
    configs: dict[str, _Config] = {}
    lacking: dict[str, list[str]] = {}
    for name, known in catalogue.configs(benchmark).items() if kind != "recipe" else ():
        if data_dir is not None:
            folder = files.sample_dir(benchmark) if kind == "sample" else data_dir
            _, missing = files.locate_files(benchmark, known, folder)
            if any(missing.values()):
                lacking[name] = files.list_once(missing)
            if all(missing.values()):
                continue
        builder, source = builders.open_builder(benchmark, name, data_dir)
        configs[name] = _Config(builder, source.text, builders.splits(builder))
        decisive.append([name, configs[name].splits, builders.fingerprint(builder)])
        if left := [split for split in known.splits if split not in configs[name].splits]:
            lacking.setdefault(name, [f"the split {split}" for split in left])
    if kind != "recipe" and not configs:
        wanted = ", ".join(sorted(files.list_once(lacking)))
        raise QuadragError(f"{data_dir} holds none of the files of {benchmark}: lacking {wanted}")
    inputs = hashlib.sha256(json.dumps(decisive, sort_keys=True, default=str).encode()).hexdigest()
    return _Plan(benchmark, kind, data_dir if own else None, not_hosted, configs, lacking, inputs)


def _check_folder(folder: Path, plan: _Plan) -> dict[str, dict[str, Written]] | None:
    """Look at what stands where a repository is to be.

    Returns:
        The splits of the very same repository, by config; None where there is nothing or an empty folder.

    Raises:
        QuadragError: something else stands there, or the same with files missing or cut short.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    held = read_manifest(folder)
    if held is None:
        raise QuadragError(f"{folder} is there and is no export of quadrag; remove it or name another folder")
    if held.inputs != plan.inputs:
        raise QuadragError(
            f"{folder} holds an export of other data or another version; remove it or name another folder"
        )
    if fault := held.find_fault(folder):
        raise QuadragError(f"{folder} is damaged: expected {fault}; remove the folder and export again")
    return held.splits


def _export(directory: Path, plan: _Plan, progress: Callable[[str, int], None]) -> Exported:
    """Write one repository aside and move it to its place, one process at a time."""
    from filelock import FileLock, Timeout

    folder, aside = directory / plan.benchmark, directory / f".{plan.benchmark}.part"
    directory.mkdir(parents=True, exist_ok=True)
    lock = directory / f".{plan.benchmark}.lock"
    try:
        with FileLock(lock, timeout=0):
            there = _check_folder(folder, plan)
            written = _write(aside, plan, progress) if there is None else there
            if there is None:
                aside.replace(folder)
            # Whoever opened it meanwhile finds the folder finished.
            lock.unlink(missing_ok=True)
    except Timeout:
        raise QuadragError(f"another process is writing {folder}; wait for it, or name another folder") from None
    return Exported(
        plan.benchmark,
        folder,
        plan.kind,
        there is None,
        {config: {split: one.rows for split, one in splits.items()} for config, splits in written.items()},
        sum(size for splits in written.values() for one in splits.values() for size in one.files.values()),
        {name: config.source for name, config in plan.configs.items()},
        plan.lacking,
    )


def _write(aside: Path, plan: _Plan, progress: Callable[[str, int], None]) -> dict[str, dict[str, Written]]:
    """Write files, manifest and card; splits that stand there finished, of the same inputs, are kept."""
    held = read_manifest(aside)
    if held is None or held.inputs != plan.inputs:
        shutil.rmtree(aside, ignore_errors=True)
        held = Manifest(plan.inputs, {})
    written = held.splits
    for name, config in plan.configs.items():
        done = written.setdefault(name, {})
        for split in config.splits:
            if split not in done or find_broken(aside / name, done[split]):
                done.pop(split, None)
                held.write(aside)
                done[split] = _write_split(aside / name, plan.benchmark, name, config, split, progress)
    # In the plan's order, whichever were kept: an interrupted export ends in the same bytes.
    written = {name: {split: written[name][split] for split in one.splits} for name, one in plan.configs.items()}
    Manifest(plan.inputs, written).write(aside)
    if plan.kind == "recipe" and plan.not_hosted:
        text = make_recipe(plan.benchmark, plan.not_hosted)
    else:
        parts = {
            name: Part(config.builder.info.features, config.source, written[name])
            for name, config in plan.configs.items()
        }
        text = make_data_card(plan.benchmark, parts, plan.kind == "sample", plan.data_dir)
    write_text(aside / "README.md", text)
    return written


def _write_split(
    folder: Path, benchmark: str, name: str, config: _Config, split: str, progress: Callable[[str, int], None]
) -> Written:
    label = f"{benchmark} {name} {split}"
    progress(label, 0)
    rows = builders.rows(config.builder, split)
    try:
        return write_split(
            rows, config.builder.info.features.arrow_schema, folder, split, lambda count: progress(label, count)
        )
    except QuadragError as error:
        raise QuadragError(f"{label}: {error}") from None
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        # Arrow does not say where the disk is full.
        raise OSError(error.errno, os.strerror(error.errno), str(folder)) from None

"""`quadrag export`: each benchmark as a dataset repository, a folder of Parquet files and a card; nothing is sent.

A folder is written aside and moved when it is whole. Row groups are small: a reader that streams holds one of them, and
one that leaves a column out skips it in each.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.data.card_facts import NotHosted, hub_record
from quadrag.errors import QuadragError, one_line
from quadrag.reading import parse_json
from quadrag.records import write_text
from quadrag.scratch import scratch

from .card import (
    GROUP_CHARACTERS,
    GROUP_ROWS,
    Part,
    Written,
    list_closed,
    make_data_card,
    make_recipe,
    read_card,
)
from .tasks import write_eval_yaml

MANIFEST = ".quadrag.json"  # hidden, so that `datasets` takes it for no data: the digest of the inputs, and the splits
SHARD_BYTES = 500_000_000  # on disk; a shard ends with the row group that reaches it
_VERSION = 3  # raised by a change of code that changes what is written


class Exported(NamedTuple):
    """One dataset repository: rows by config and split, bytes of Parquet, and what each config that is not whole lacks.

    `kind` is ``data``, ``sample``, ``own`` of a dataset of the user's own, or ``recipe`` where data may not be hosted
    anew; `made` is False where the same stood there already.
    """

    benchmark: str
    folder: Path
    kind: str
    made: bool
    rows: dict[str, dict[str, int]]
    size: int
    lacking: dict[str, list[str]]


class Config(NamedTuple):
    """A config that can be written."""

    builder: Any
    source: str
    splits: list[str]


class ExportPlan(NamedTuple):
    """What is to stand in a benchmark's folder, `kind` and `lacking` as in `Exported`.

    `org` is whose repository it becomes, or None; `data_dir` that of a dataset of the user's own, else None; `inputs`
    are all that decides the folder's content, as one digest.
    """

    benchmark: str
    org: str | None
    kind: str
    data_dir: str | None
    not_hosted: NotHosted | None
    configs: dict[str, Config]
    lacking: dict[str, list[str]]
    inputs: str


def export(
    directory: Path,
    benchmarks: Sequence[str] = (),
    data_dir: str | None = None,
    accept_licence: bool = False,
    progress: Callable[[str], None] = lambda label: None,
) -> list[Exported]:
    """Write dataset repositories that every version of `datasets` from 3.6 on loads, one folder a benchmark.

    Args:
        directory: the folder of these folders; it is made.
        benchmarks: their names; none for all.
        data_dir: folder of upstream files, ``sample`` for the bundled samples, or None for what `quadrag prepare` has
            built, else the upstream files. A folder need not be whole.
        accept_licence: whether data of a non-commercial licence may be written; the samples are quadrag's own.
        progress: called with ``BENCHMARK CONFIG SPLIT`` before each is written.

    Raises:
        QuadragError: nothing is then written of that benchmark, or of any where it shows before the first row.
    """
    names = list(dict.fromkeys(map(catalogue.benchmark_name, benchmarks))) or list(catalogue.benchmarks())
    check_licences(names, data_dir, accept_licence)
    plans = [plan_export(name, data_dir) for name in names]
    directory = directory.expanduser()
    for plan in plans:
        _read_rows(directory / plan.benchmark, plan)
    return [write_export(directory / plan.benchmark, plan, progress) for plan in plans]


def check_licences(benchmarks: Sequence[str], data_dir: str | None, accepted: bool) -> None:
    """Raise where data of a non-commercial licence would go out, and nobody has said that they may."""
    if not accepted and (closed := list_closed(benchmarks, data_dir)):
        raise QuadragError(
            f"not for commercial use: {closed}; with --accept-licence they go out under that licence, or name other"
            " benchmarks"
        )


def plan_export(benchmark: str, data_dir: str | None, org: str | None = None) -> ExportPlan:
    """Find out what can be written of a benchmark, and what decides it; where `org` is given, its card names that."""
    not_hosted = hub_record(benchmark).not_hosted
    own = files.is_own(data_dir)
    kind = "sample" if data_dir == builders.SAMPLE else "own" if own else "recipe" if not_hosted else "data"
    decisive: list[Any] = [_VERSION, kind, org, read_card(benchmark, data_dir)]
    configs: dict[str, Config] = {}
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
        configs[name] = Config(builder, source.text, builders.splits(builder))
        decisive.append([name, configs[name].splits, builders.fingerprint(builder)])
        if left := [split for split in known.splits if split not in configs[name].splits]:
            lacking.setdefault(name, [f"the split {split}" for split in left])
    if kind != "recipe" and not configs:
        wanted = ", ".join(sorted(files.list_once(lacking)))
        raise QuadragError(f"{data_dir} holds none of the files of {benchmark}: lacking {wanted}")
    inputs = hashlib.sha256(json.dumps(decisive, sort_keys=True, default=str).encode()).hexdigest()
    return ExportPlan(benchmark, org, kind, data_dir if own else None, not_hosted, configs, lacking, inputs)


def write_export(folder: Path, plan: ExportPlan, progress: Callable[[str], None]) -> Exported:
    """Write one repository, unless the very same stands there."""
    splits = _read_rows(folder, plan)
    made = splits is None
    if splits is None:
        with scratch(folder) as aside:
            splits = _write(aside, plan, progress)
            if _read_rows(folder, plan) is None:  # else another process has put the very same there meanwhile
                aside.replace(folder)
    return Exported(
        plan.benchmark,
        folder,
        plan.kind,
        made,
        {config: {split: one["rows"] for split, one in written.items()} for config, written in splits.items()},
        sum(path.stat().st_size for path in folder.glob("*/*.parquet")),
        plan.lacking,
    )


def holds_other(folder: Path, plan: ExportPlan) -> bool:
    """Tell whether an export of other data or another version stands in a folder."""
    held = _read_manifest(folder)
    return held is not None and held["inputs"] != plan.inputs


def _read_rows(folder: Path, plan: ExportPlan) -> dict[str, dict[str, dict[str, Any]]] | None:
    """Return the splits of the very same repository; None where there is nothing or an empty folder."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    held = _read_manifest(folder)
    if held is None:
        raise QuadragError(f"{folder} is there and is no export of quadrag; remove it or name another folder")
    if held["inputs"] != plan.inputs:
        raise QuadragError(
            f"{folder} holds an export of other data or another version; remove it or name another folder"
        )
    splits: dict[str, dict[str, dict[str, Any]]] = held["splits"]
    return splits


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    path = folder / MANIFEST
    held = parse_json(path.read_bytes(), path) if path.is_file() else None
    return held if isinstance(held, dict) and {"inputs", "splits"} <= held.keys() else None


def _write(aside: Path, plan: ExportPlan, progress: Callable[[str], None]) -> dict[str, dict[str, dict[str, Any]]]:
    """Write Parquet, manifest and card of a repository; return its splits as the manifest has them."""
    parts = {name: Part(config.builder.info.features, config.source, {}) for name, config in plan.configs.items()}
    for name, config in plan.configs.items():
        for split in config.splits:
            label = f"{plan.benchmark} {name} {split}"
            progress(label)
            rows, schema = builders.rows(config.builder, split), config.builder.info.features.arrow_schema
            try:
                parts[name].splits[split] = write_split(rows, schema, aside / name, split)
            except QuadragError as error:
                raise QuadragError(f"{label}: {error}") from None
    if plan.kind == "recipe" and plan.not_hosted:
        text = make_recipe(plan.benchmark, plan.not_hosted)
    else:
        text = make_data_card(plan.benchmark, parts, plan.kind == "sample", plan.data_dir)
    aside.mkdir(exist_ok=True)
    splits = {
        name: {split: written._asdict() for split, written in part.splits.items()} for name, part in parts.items()
    }
    write_text(aside / MANIFEST, json.dumps({"inputs": plan.inputs, "splits": splits}, indent=1) + "\n")
    if plan.org:
        # Nothing can be loaded from a recipe; the made-up rows of a sample are no benchmark.
        text = text if plan.kind == "recipe" else text.replace('"ORG/', f'"{plan.org}/')
        tasks = write_eval_yaml(plan.benchmark, plan.org, splits or None) if plan.kind in ("data", "recipe") else None
        if tasks:
            write_text(aside / "eval.yaml", tasks)
    write_text(aside / "README.md", text)
    return splits


def write_split(
    rows: Iterable[dict[str, Any]],
    schema: Any,
    folder: Path,
    split: str,
    shard_bytes: int = SHARD_BYTES,
) -> Written:
    """Write a split's rows into Parquet files of a folder, a row group in memory at once.

    The schema's metadata are left out, since `datasets` 3.6 cannot read those of 5. At `shard_bytes` on disk the next
    shard begins; a split without rows is one file without row groups.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = schema.remove_metadata()
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[Path] = []
    groups = _cut_groups(rows)
    group = next(groups, [])
    count = total = 0
    while not parts or group:
        parts.append(folder / f"{split}-{len(parts):05}.part")
        with (
            pa.OSFile(str(parts[-1]), "wb") as sink,
            pq.ParquetWriter(sink, schema, compression="zstd", write_page_index=True) as writer,
        ):
            while group and sink.tell() < shard_bytes:
                try:
                    table = pa.Table.from_pylist(group, schema=schema)
                except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError) as error:
                    which = f"rows {count} to {count + len(group) - 1}"
                    raise QuadragError(f"{which}: {one_line(error)}; expected the columns of the card") from None
                writer.write_table(table, row_group_size=len(group))
                count, total = count + len(group), total + table.nbytes
                del table
                group = next(groups, [])
    shards = [folder / f"{split}-{number:05}-of-{len(parts):05}.parquet" for number in range(len(parts))]
    for part, shard in zip(parts, shards, strict=True):
        part.replace(shard)
    return Written(count, total, {shard.name: shard.stat().st_size for shard in shards})


def _cut_groups(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Cut rows into row groups; what would make one too large begins the next, and what is too large stands alone."""
    group: list[dict[str, Any]] = []
    held = 0
    for row in rows:
        size = _count_characters(row)
        if group and (len(group) == GROUP_ROWS or held + size > GROUP_CHARACTERS):
            yield group
            group, held = [], 0
        group.append(row)
        held += size
    if group:
        yield group


def _count_characters(value: Any) -> int:
    """How much a value holds: characters of its texts, and a few for anything else."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_count_characters, value.values()))
    return sum(map(_count_characters, value)) if isinstance(value, list) else 8

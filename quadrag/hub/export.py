"""`quadrag export`: each benchmark as a dataset repository, a folder of Parquet files and a card; nothing is sent.

A folder is written aside and moved when it is whole. Row groups are small: a reader that streams holds one of them, and
one that leaves a column out skips it in each.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quadrag import __version__, catalogue
from quadrag.data import builders, files
from quadrag.data.card_facts import card_facts
from quadrag.errors import QuadragError, one_line
from quadrag.printing import remark
from quadrag.records import scratch, write_text

from .card import Part, Written, list_licences, make_data_card, make_recipe, read_card, write_eval_yaml

MANIFEST = ".quadrag.json"  # says that quadrag wrote a repository; hidden, so that `datasets` takes it for no data
SHARD_BYTES = 500_000_000  # on disk; a shard ends with the row group that reaches it
GROUP_ROWS = 1000  # of a row group of Parquet
# A row of CRAG's fifty pages has about as many, and is then a group of its own.
GROUP_CHARACTERS = 16_000_000


@dataclass(slots=True)
class Repository:
    """What is to stand in a repository, named without its organisation, and of configs not whole what they lack.

    `kind` is ``data``, ``sample``, ``own`` of a dataset of the user's own, ``recipe`` where data may not be hosted
    anew, or ``space`` of a metric; `data_dir` is where an own dataset lies, else None.
    """

    name: str
    kind: str
    data_dir: str | None = None
    parts: dict[str, Part] = field(default_factory=dict)
    lacking: dict[str, list[str]] = field(default_factory=dict)

    @property
    def repo_type(self) -> str:
        return "space" if self.kind == "space" else "dataset"

    @property
    def rows(self) -> dict[str, dict[str, int]]:
        return {
            name: {split: written.rows for split, written in part.written.items()} for name, part in self.parts.items()
        }


def export(
    directory: Path,
    benchmarks: Sequence[str] = (),
    data_dir: str | None = None,
    accept_licence: bool = False,
) -> list[Repository]:
    """Write dataset repositories, of all benchmarks where none is named, each into its folder of the directory.

    What an export has put there before is replaced. Of a benchmark that fails nothing is written, nor of any where
    that shows before the first row.
    """
    repositories = plan_repositories(benchmarks or list(catalogue.benchmarks()), data_dir, accept_licence)
    for repository in repositories:
        folder = directory.expanduser() / repository.name
        names = {path.name for path in folder.iterdir()} if folder.exists() else set()
        ours = {MANIFEST, "README.md", "eval.yaml", *catalogue.configs(repository.name)}
        if names and (MANIFEST not in names or names - ours):
            raise QuadragError(f"{folder} holds what is no export of quadrag; remove it or name another folder")
    for repository in repositories:
        folder = directory.expanduser() / repository.name
        with scratch(folder) as aside:
            write_repository(aside, repository)
            if folder.exists():
                shutil.rmtree(folder)
            aside.replace(folder)
    return repositories


def plan_repositories(benchmarks: Iterable[str], data_dir: str | None, accept_licence: bool) -> list[Repository]:
    """Find out what can be written of benchmarks; raise where their licence forbids it and nobody has said they may."""
    names = list(dict.fromkeys(map(catalogue.benchmark_name, benchmarks)))
    closed = []
    for name in names if not (accept_licence or data_dir == builders.SAMPLE or files.is_own(data_dir)) else ():
        licences = [] if card_facts(name).not_hosted else list_licences(read_card(name)[0])
        closed += [f"{name} ({licence})" for licence in licences if "nc" in licence.split("-")]
    if closed:
        raise QuadragError(
            f"not for commercial use: {', '.join(closed)}; with --accept-licence they go out under that licence, or"
            " name other benchmarks"
        )
    return [_plan(name, data_dir) for name in names]


def _plan(benchmark: str, data_dir: str | None) -> Repository:
    if files.is_own(data_dir):
        planned = Repository(benchmark, "own", data_dir)
    elif data_dir != builders.SAMPLE and card_facts(benchmark).not_hosted:
        return Repository(benchmark, "recipe")
    else:
        planned = Repository(benchmark, "sample" if data_dir == builders.SAMPLE else "data")
    for name, known in catalogue.configs(benchmark).items():
        if data_dir is not None:
            folder = files.sample_dir(benchmark) if planned.kind == "sample" else data_dir
            _, missing = files.locate_files(benchmark, known, folder)
            if any(missing.values()):
                planned.lacking[name] = files.list_once(missing)
            if all(missing.values()):
                continue
        builder, source = builders.open_builder(benchmark, name, data_dir)
        planned.parts[name] = Part(builder, source.text, builders.splits(builder))
    if not planned.parts:
        wanted = ", ".join(sorted(files.list_once(planned.lacking)))
        raise QuadragError(f"{data_dir} holds none of the files of {benchmark}: lacking {wanted}")
    return planned


def write_repository(folder: Path, planned: Repository, org: str = "") -> None:
    """Write Parquet, manifest and card of a dataset repository; where `org` is given, whose it becomes, its tasks."""
    folder.mkdir(exist_ok=True)
    for name, part in planned.parts.items():
        schema = part.builder.info.features.arrow_schema
        for split in part.splits:
            label = f"{planned.name} {name} {split}"
            remark(f"writing {label}")
            try:
                part.written[split] = write_split(builders.rows(part.builder, split), schema, folder / name, split)
            except QuadragError as error:
                raise QuadragError(f"{label}: {error}") from None
    if planned.kind == "recipe":
        text = make_recipe(planned.name)
    else:
        text = make_data_card(planned.name, planned.parts, planned.kind == "sample", planned.data_dir)
        text = text.replace('"ORG/', f'"{org}/') if org else text
    if org and planned.kind in ("data", "recipe"):  # the made-up rows of a sample are no benchmark
        tasks = write_eval_yaml(planned.name, org, planned.rows or None)
        if tasks:
            write_text(folder / "eval.yaml", tasks)
    write_text(folder / "README.md", text)
    write_manifest(folder)


def write_manifest(folder: Path) -> None:
    write_text(folder / MANIFEST, json.dumps({"quadrag": __version__}) + "\n")


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
    characters = 0
    for row in rows:
        size = len(str(row))
        if group and (len(group) == GROUP_ROWS or characters + size > GROUP_CHARACTERS):
            yield group
            group, characters = [], 0
        group.append(row)
        characters += size
    if group:
        yield group

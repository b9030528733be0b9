"""`quadrag export`: each benchmark as a dataset repository, a folder of Parquet files and a card; nothing is sent.

Where data may not be hosted anew the card has the way to them. A folder is written aside and moved when whole. Row
groups are small: a reader that streams holds one of them, and one that leaves a column out skips it in each.
"""

import json
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import __version__, catalogue
from quadrag.data import builders, files
from quadrag.data.card_facts import KEY, Headline, card_facts
from quadrag.errors import QuadragError, one_line
from quadrag.printing import remark
from quadrag.records import scratch, write_text

SAMPLE_LICENCE = "apache-2.0"
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")
MANIFEST = ".quadrag.json"  # says that quadrag wrote a repository; hidden, so that `datasets` takes it for no data
SHARD_BYTES = 500_000_000  # on disk; a shard ends with the row group that reaches it
GROUP_ROWS = 1000  # of a row group of Parquet
# A row of CRAG's fifty pages has about as many, and is then a group of its own.
GROUP_CHARACTERS = 16_000_000


class WrittenSplit(NamedTuple):
    rows: int  # their number
    bytes: int  # of the values in Arrow's memory, which a card gives as `num_bytes`
    files: dict[str, int]  # sizes of the shards on disk, by name


@dataclass(frozen=True, slots=True)
class Part:
    """A config of a repository: what reads it, where its rows are from, its splits, and those that were written."""

    builder: Any
    source: str
    splits: list[str]
    written: dict[str, WrittenSplit] = field(default_factory=dict)


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
        text = make_data_card(planned).replace('"ORG/', f'"{org or "ORG"}/')
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
) -> WrittenSplit:
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
    return WrittenSplit(count, total, {shard.name: shard.stat().st_size for shard in shards})


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


# The card: that of the benchmark, with what the Hub and `datasets` read in its header. Configs, splits, counts and
# features come from what was written, so that they cannot drift.


def read_card(benchmark: str, data_dir: str | None = None) -> tuple[dict[str, Any], str]:
    """Return header and body of a benchmark's hub card; of a dataset of the user's own, those of its own card."""
    own = data_dir is not None and files.is_own(data_dir)
    path = Path(str(data_dir)).expanduser() / "README.md" if own else catalogue.card(benchmark)
    if not path.is_file():
        raise QuadragError(f"no card of {benchmark}; expected {path}")
    header, body = split_card(path.read_text(encoding="utf-8"))
    header.pop(KEY, None)  # which is for quadrag alone
    return {"pretty_name": benchmark, "license": "unknown", **header}, body


def split_card(text: str) -> tuple[dict[str, Any], str]:
    import yaml

    _, header, body = text.split("---\n", 2) if text.startswith("---\n") else ("", "{}", text)
    return yaml.safe_load(header), body


def join_card(header: Mapping[str, Any], body: str) -> str:
    import yaml

    front = yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{front}---\n{body}"


def list_licences(header: Mapping[str, Any]) -> list[str]:
    licence = header["license"]
    return [licence] if isinstance(licence, str) else list(licence)


def make_recipe(benchmark: str) -> str:
    header, body = read_card(benchmark)
    header.pop("dataset_info", None)  # it describes data, and there are none
    section = fill_template("recipe", benchmark, card_facts(benchmark).not_hosted)
    return join_card({**header, "viewer": False}, _put_first(body, section))


def make_data_card(planned: Repository) -> str:
    sample = planned.kind == "sample"
    header, body = read_card(planned.name, planned.data_dir)
    rows = sum(split.rows for part in planned.parts.values() for split in part.written.values())
    header["size_categories"] = [size_category(rows)]
    if sample:
        header["pretty_name"] += " (sample)"
        header["license"] = SAMPLE_LICENCE
    header["configs"] = [
        {
            "config_name": name,
            # Else 0.0.0, and beside a prepared build of that name `datasets` would speak of another version.
            "version": str(catalogue.config(planned.name, name).version),
            "data_files": [{"split": split, "path": f"{name}/{split}-*.parquet"} for split in part.written],
        }
        for name, part in planned.parts.items()
    ]
    header["dataset_info"] = [_describe_part(name, part) for name, part in planned.parts.items()]
    sources: dict[str, list[str]] = {}
    for name, part in planned.parts.items():
        if source := "" if sample else strip_place(part.source):
            sources.setdefault(source, []).append(name)
    section = fill_template("here", planned.name, planned.parts, sample, SAMPLE_LICENCE, sources)
    return join_card(header, _put_first(body, section))


def size_category(rows: int) -> str:
    return _SIZES[min(max(len(str(rows)) - 3, 0), len(_SIZES) - 1)]


def _describe_part(name: str, part: Part) -> dict[str, Any]:
    return {
        "config_name": name,
        # As all versions of `datasets` spell them alike, since the scripts write a list as `[x]`.
        "features": part.builder.info.features._to_yaml_list(),
        "splits": [
            {"name": split, "num_bytes": written.bytes, "num_examples": written.rows}
            for split, written in part.written.items()
        ],
        "download_size": sum(sum(written.files.values()) for written in part.written.values()),
        "dataset_size": sum(written.bytes for written in part.written.values()),
    }


def strip_place(source: str) -> str:
    """Return where rows come from without the place on the exporter's machine."""
    inner = re.search(r" \(([^()]*)\)$", source)
    if inner:
        return inner[1]
    return "" if "/" in source or "\\" in source else source


def _put_first(body: str, section: str) -> str:
    before, mark, after = body.partition("\n## ")
    return f"{before}\n{section}\n\n## {after}" if mark else f"{body}\n{section}\n\n"


def fill_template(name: str, *values: Any) -> str:
    return str(getattr(_templates(), name)(*values)).strip("\n")


@cache
def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).with_name("templates"))
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["code"] = lambda names: ", ".join(f"`{name}`" for name in names)
    made.filters["cell"] = lambda text: text.replace("|", "\\|")
    made.filters["count"] = lambda rows: (rows and rows.number and f"{'about ' * rows.about}{rows.number:,}") or "–"
    return made.get_template("card.md.jinja").module


# The tasks of a repository, in the form of the Hub (https://huggingface.co/docs/hub/eval-results). No `solvers` or
# `scorers` are written: the form has no place for messages built of documents, and our scorers.


class HubTask(NamedTuple):
    """A task of a dataset repository: its id is the config, with the split where several of its splits are tasks."""

    id: str
    config: str
    split: str
    headline: Headline


def list_hub_tasks(benchmark: str) -> list[HubTask]:
    tasks = []
    for name, config in catalogue.configs(benchmark).items():
        for headline in card_facts(benchmark).headlines:
            splits = [split for split in config.splits if split in headline.splits]
            for split in splits if headline.holds_for(name) else ():
                tasks.append(HubTask(f"{name}_{split}" if len(splits) > 1 else name, name, split, headline))
    return tasks


def write_eval_yaml(benchmark: str, org: str, there: Mapping[str, Collection[str]] | None = None) -> str | None:
    """Write the `eval.yaml` of a dataset repository, the tasks that results of models refer to; None without any.

    A recipe repository has one too, though it holds no rows: a model's result names dataset and task. `there` are the
    splits that the repository holds, by config; None for all, and for a recipe.
    """
    import yaml

    tasks = [task for task in list_hub_tasks(benchmark) if there is None or task.split in there.get(task.config, ())]
    if not tasks:
        return None
    values = [
        f"{line.key} of the metric {line.metric} ({line.unit}) for {', '.join(line.configs)}"
        for line in card_facts(benchmark).headlines
    ]
    about = one_line(catalogue.load_script(catalogue.benchmarks()[benchmark])._DESCRIPTION)
    content = {
        "name": read_card(benchmark)[0]["pretty_name"],
        "description": f"{about} The value of a task is {'; '.join(values)}, as the paper's authors compute it.",
        "evaluation_framework": "inspect-ai",  # under which they run; the Hub's list has no framework of ours
        "tasks": [{"id": task.id, "config": task.config, "split": task.split} for task in tasks],
    }
    return (
        "# quadrag builds the messages and scores the replies of these tasks; with it installed, Inspect runs them as\n"
        f"#   inspect eval quadrag/{benchmark}_{tasks[0].config}\n"
        f"# The results of a run go to a model's repository by\n"
        f"#   quadrag push {org} --results MODEL --run DIR\n"
        + str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110))
    )

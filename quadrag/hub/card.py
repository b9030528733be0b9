"""The README.md of a dataset repository, the hub card with what the Hub and `datasets` read in its header; its tasks.

Configs, splits, counts and features come from what was written, so that they cannot drift. Benchmarks whose data may
not be hosted anew get a card with the recipe instead. Nothing is written here.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data.card_facts import KEY, Headline, card_facts
from quadrag.data.files import is_own
from quadrag.errors import QuadragError, one_line

SAMPLE_LICENCE = "apache-2.0"
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")


class Written(NamedTuple):
    """One split on disk."""

    rows: int  # their number
    bytes: int  # of the values in Arrow's memory, which a card gives as `num_bytes`
    files: dict[str, int]  # sizes of the shards on disk, by name


@dataclass(frozen=True, slots=True)
class Part:
    """A config of a repository: what reads it, where its rows are from, its splits, and those that were written."""

    builder: Any
    source: str
    splits: list[str]
    written: dict[str, Written] = field(default_factory=dict)


def read_card(benchmark: str, data_dir: str | None = None) -> tuple[dict[str, Any], str]:
    """Return header and body of a benchmark's hub card; of a dataset of the user's own, those of its own card."""
    own = data_dir is not None and is_own(data_dir)
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
    """Return the README of a repository without data: why, and how to get them."""
    header, body = read_card(benchmark)
    header.pop("dataset_info", None)  # it describes data, and there are none
    section = fill_template("recipe", benchmark, card_facts(benchmark).not_hosted)
    return join_card({**header, "viewer": False}, _put_first(body, section))


def make_data_card(benchmark: str, parts: Mapping[str, Part], sample: bool, data_dir: str | None) -> str:
    header, body = read_card(benchmark, data_dir)
    header["size_categories"] = [
        size_category(sum(split.rows for part in parts.values() for split in part.written.values()))
    ]
    if sample:
        header["pretty_name"] += " (sample)"
        header["license"] = SAMPLE_LICENCE
    header["configs"] = [
        {
            "config_name": name,
            # Else 0.0.0, and beside a prepared build of that name `datasets` would speak of another version.
            "version": str(catalogue.config(benchmark, name).version),
            "data_files": [{"split": split, "path": f"{name}/{split}-*.parquet"} for split in part.written],
        }
        for name, part in parts.items()
    ]
    header["dataset_info"] = [_describe_part(name, part) for name, part in parts.items()]
    sources: dict[str, list[str]] = {}
    for name, part in parts.items():
        if source := "" if sample else strip_place(part.source):
            sources.setdefault(source, []).append(name)
    section = fill_template("here", benchmark, parts, sample, SAMPLE_LICENCE, sources)
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

"""What is told of a benchmark on the Hub beside what its builder knows: `hub_cards/NAME.yaml`, as one typed record.

How many rows there are and who says so, what each column holds, whether the data may be hosted again, which metric
stands for a task. Not in the builder: its bytes decide what is built anew, and a word changed here changes no row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.errors import QuadragError, one_line
from quadrag.metric_record import metric_record
from quadrag.paths import room
from quadrag.reading import parse_yaml, read_text

from .builders import make_builder

COUNTED = "counted"  # in the upstream file whose size or sum the builder pins


class Rows(NamedTuple):
    """How many rows a split has (None: not known); `source` is ``counted``, where it is from, or why there is none."""

    number: int | None
    about: bool
    source: str


class Family(NamedTuple):
    """Configs that have the same columns, and what each holds, in the features' order; `like` names a family with them.

    `example` is the config and the split whose first row of the sample is shown.
    """

    configs: list[str]
    example: tuple[str, str]
    holds: dict[str, str]
    nullable: list[str]
    like: str | None


class Headline(NamedTuple):
    """The metric that stands for some tasks, since one result on the Hub has one value.

    `configs` is a pattern of their configs' names; `percent` says whether the paper prints percent.
    """

    configs: str
    splits: list[str]
    metric: str
    key: str
    percent: bool


class NotHosted(NamedTuple):
    """Why a benchmark's data are not hosted again, and how one gets them."""

    why: str
    how: str


class LargeColumns(NamedTuple):
    """Columns that hold nearly all of the bytes, and what they hold."""

    columns: list[str]
    what: str


@dataclass(frozen=True, slots=True)
class HubRecord:
    """One file: `sentences` say by config what is asked, `families` are tables of columns by name.

    `other_retrievers` says whether runs with another retriever than the usual answer the same questions, and so have
    results; `large` is None where no column is so large that a reader would leave it out.
    """

    languages: list[str]
    sentences: dict[str, str]
    rows: dict[str, dict[str, Rows]]
    families: dict[str, Family]
    headlines: list[Headline]
    retriever: str
    other_retrievers: bool
    not_hosted: NotHosted | None
    large: LargeColumns | None


@cache
def hub_record(benchmark: str) -> HubRecord:
    """Return the record of a benchmark as this installation has it; see `read_record`."""
    return read_record(benchmark, room("hub_cards"))


def read_record(benchmark: str, folder: Path) -> HubRecord:
    """Read a benchmark's record, `NAME.yaml` of a folder; it must tell of all that the builder has, and that alone."""
    configs = catalogue.configs(benchmark)
    path = folder / f"{benchmark}.yaml"
    try:
        read = parse_yaml(read_text(path), path, "a record as hub_cards/rgb.yaml")
        return HubRecord(
            languages=list(read["languages"]),
            sentences={config: _find_sentence(config, read["sentences"]) for config in configs},
            rows=_read_rows(configs, read["rows"]),
            families=_read_families(benchmark, list(configs), read["columns"]),
            headlines=[_read_headline(entry) for entry in read["headlines"]],
            retriever=str(read["retriever"]),
            other_retrievers=bool(read.get("other_retrievers", True)),
            not_hosted=NotHosted(**read["not_hosted"]) if "not_hosted" in read else None,
            large=LargeColumns(**read["large"]) if "large" in read else None,
        )
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"{type(error).__name__}: {one_line(error)}"
        raise QuadragError(f"{path} cannot be used ({what}); see hub_cards/rgb.yaml") from None


def features(benchmark: str, config: str) -> Mapping[str, Any]:
    """Return a config's features, by column."""
    return dict(make_builder(benchmark, config).info.features)


def _find_sentence(config: str, entries: Mapping[str, str]) -> str:
    for pattern, text in entries.items():
        if fnmatchcase(config, pattern):
            return text
    raise ValueError(f"no sentence says what {config} asks")


def _read_rows(configs: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Rows]]:
    found: dict[tuple[str, str], Rows] = {}
    for entry in entries:
        number = entry.get("rows", entry.get("about"))
        rows = Rows(None if number is None else int(number), "about" in entry, entry["source"])
        found |= {
            (config, split): rows
            for config in entry["configs"]
            for split in entry.get("splits", configs[config].splits)
        }
    wanted = [(name, split) for name, config in configs.items() for split in config.splits]
    if unlike := found.keys() ^ set(wanted):
        raise ValueError(f"rows of {sorted(unlike)}: expected those of each config and split, and no others")
    return {name: {split: found[name, split] for split in config.splits} for name, config in configs.items()}


def _read_families(benchmark: str, configs: list[str], entries: Mapping[str, Any]) -> dict[str, Family]:
    families: dict[str, Family] = {}
    for name, entry in entries.items():
        like = families[entry["like"]] if "like" in entry else None
        family = families[name] = Family(
            entry.get("configs") or configs,
            (entry["example"]["config"], entry["example"]["split"]),
            {**(like.holds if like else {}), **entry["holds"]},
            [*(like.nullable if like else []), *entry.get("nullable", [])],
            entry.get("like"),
        )
        for config in family.configs:
            columns = list(features(benchmark, config))
            if list(family.holds) != columns or not {*family.nullable} <= {*columns}:
                raise ValueError(f"columns of {config} in {name} are {list(family.holds)}; expected {columns}")
    named = [config for family in families.values() for config in family.configs]
    if sorted(named) != sorted(configs):
        raise ValueError(f"columns of {sorted(named)}; expected each config once: {sorted(configs)}")
    return families


def _read_headline(entry: Mapping[str, Any]) -> Headline:
    metric_record(entry["metric"]).key(entry["key"])  # known
    return Headline(entry["configs"], entry["splits"], entry["metric"], entry["key"], entry["unit"] == "percent")

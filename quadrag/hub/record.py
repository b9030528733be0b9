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
from quadrag.data.builders import make_builder
from quadrag.errors import QuadragError, one_line, unknown_name
from quadrag.metric_record import metric_record
from quadrag.paths import room

COUNTED = "counted"  # in the upstream file whose size or sum the builder pins
_UNITS = ("percent", "ratio")


class Rows(NamedTuple):
    """How many rows a split has.

    Attributes:
        number: of rows, or None where it is not known.
        about: whether the number is no exact one.
        source: ``counted``, or where the number comes from, or why there is none.
    """

    number: int | None
    about: bool
    source: str


class Family(NamedTuple):
    """Configs that have the same columns.

    Attributes:
        configs: their names.
        example: the config and the split whose first row of the sample is shown.
        holds: what each column holds, by name, in the features' order.
        nullable: the columns that may be null.
        like: the family whose columns they have too, or None.
    """

    configs: list[str]
    example: tuple[str, str]
    holds: dict[str, str]
    nullable: list[str]
    like: str | None


class Headline(NamedTuple):
    """The metric that stands for some tasks, since one result on the Hub has one value.

    Attributes:
        configs: a pattern of their configs' names.
        splits: of these configs.
        metric: the module.
        key: of its result.
        percent: whether the paper prints percent.
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
    """One file.

    Attributes:
        languages: of the rows.
        sentences: by config, what is asked there.
        rows: by config and split.
        families: tables of columns, by name.
        headlines: in the order in which the description names them.
        retriever: what finds passages where nobody chose otherwise.
        other_retrievers: whether runs with another one answer the same questions, and so have results.
        not_hosted: None where the data may be hosted again.
        large: None where no column is so large that a reader would leave it out.
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
    """Read the record of a benchmark.

    Args:
        benchmark: its name.
        folder: where `NAME.yaml` lies.

    Raises:
        QuadragError: there is no such benchmark or file, the file lacks something, or it names a config, split, column
            or metric that is not there, or not all that the builder has.
    """
    import yaml

    catalogue.builder_class(benchmark)
    path = folder / f"{benchmark}.yaml"
    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
        return HubRecord(
            languages=list(read["languages"]),
            sentences=_read_sentences(benchmark, read["sentences"]),
            rows=_read_rows(benchmark, read["rows"]),
            families=_read_families(benchmark, read["columns"]),
            headlines=[_read_headline(benchmark, entry) for entry in read["headlines"]],
            retriever=str(read["retriever"]),
            other_retrievers=bool(read.get("other_retrievers", True)),
            not_hosted=NotHosted(**read["not_hosted"]) if "not_hosted" in read else None,
            large=LargeColumns(**read["large"]) if "large" in read else None,
        )
    except QuadragError as error:
        raise QuadragError(f"{path}: {error}") from None
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"{type(error).__name__}: {one_line(error)}"
        raise QuadragError(f"{path} cannot be read ({what}); see hub_cards/rgb.yaml") from None


def features(benchmark: str, config: str) -> Mapping[str, Any]:
    """Return a config's features, by column."""
    return dict(make_builder(benchmark, config).info.features)


def _read_sentences(benchmark: str, entries: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for config in catalogue.configs(benchmark):
        fitting = next((str(text) for pattern, text in entries.items() if fnmatchcase(config, pattern)), None)
        if fitting is None:
            raise QuadragError(f"no sentence says what {config} asks")
        found[config] = fitting
    return found


def _read_rows(benchmark: str, entries: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Rows]]:
    known = catalogue.configs(benchmark)
    known_rows: dict[tuple[str, str], Rows] = {}
    for entry in entries:
        number = entry.get("rows", entry.get("about"))
        rows = Rows(None if number is None else int(number), "about" in entry, entry["source"])
        for config in entry["configs"]:
            _check_known(f"config of {benchmark}", [config], known)
            for split in entry.get("splits", known[config].splits):
                _check_known(f"split of {config}", [split], known[config].splits)
                if (config, split) in known_rows:
                    raise QuadragError(f"rows of {config} {split} are told twice; expected once")
                known_rows[config, split] = rows
    for config, one in known.items():
        if lacking := [split for split in one.splits if (config, split) not in known_rows]:
            raise QuadragError(f"rows of {config} {', '.join(lacking)} are not told; expected a number, or why not")
    return {config: {split: known_rows[config, split] for split in one.splits} for config, one in known.items()}


def _read_families(benchmark: str, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Family]:
    known = catalogue.configs(benchmark)
    families: dict[str, Family] = {}
    for name, entry in entries.items():
        like = entry.get("like")
        _check_known(f"columns that {name} is like", [like] if like else [], families)
        before = families[like] if like else None
        family = families[name] = Family(
            entry.get("configs") or list(known),
            (entry["example"]["config"], entry["example"]["split"]),
            {**(before.holds if before else {}), **entry["holds"]},
            [*(before.nullable if before else []), *entry.get("nullable", [])],
            like,
        )
        _check_known(f"config of {benchmark}", family.configs, known)
        for config in family.configs:
            _check_columns(config, list(features(benchmark, config)), family)
    named = [config for family in families.values() for config in family.configs]
    for config in known:
        if named.count(config) != 1:
            raise QuadragError(f"{config} stands under {named.count(config)} tables of columns; expected one")
    return families


def _check_columns(config: str, columns: list[str], family: Family) -> None:
    """Hold the columns that are described against those that a config has."""
    if lacking := [column for column in columns if column not in family.holds]:
        raise QuadragError(f"{config} has the columns {', '.join(lacking)}, which nothing describes")
    if unknown := [column for column in [*family.holds, *family.nullable] if column not in columns]:
        raise QuadragError(f"{config} has no column {', '.join(unknown)}; it has {', '.join(columns)}")
    if list(family.holds) != columns:
        raise QuadragError(f"columns of {config} are described in another order; expected {', '.join(columns)}")


def _read_headline(benchmark: str, entry: Mapping[str, Any]) -> Headline:
    headline = Headline(entry["configs"], entry["splits"], entry["metric"], entry["key"], entry["unit"] == _UNITS[0])
    matching = [config for name, config in catalogue.configs(benchmark).items() if fnmatchcase(name, headline.configs)]
    if not matching:
        raise QuadragError(f"no config of {benchmark} matches the headline {headline.configs!r}")
    splits = [split for config in matching for split in config.splits]
    _check_known(f"split of {headline.configs}", headline.splits, splits)
    metric_record(headline.metric).key(headline.key)
    _check_known("unit", [entry["unit"]], _UNITS)
    return headline


def _check_known(kind: str, names: Sequence[str], known: Any) -> None:
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, dict.fromkeys(known))

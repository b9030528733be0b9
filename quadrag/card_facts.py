"""What a hub card says of a benchmark beside what its builder knows: `hub_cards/NAME.yaml`, read and held against it.

How many rows there are and who says so, and what each column holds. Not in the builder: its bytes decide what is built
anew, and a word changed here changes no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.errors import QuadragError, unknown_name
from quadrag.paths import room

COUNTED = "counted"  # in the upstream file whose size or sum the builder pins


class Rows(NamedTuple):
    """How many rows a split has.

    Attributes:
        number: of rows, or None where nobody told.
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


class Facts(NamedTuple):
    """One file: languages, rows by config and split, families by name."""

    languages: list[str]
    rows: dict[str, dict[str, Rows]]
    families: dict[str, Family]


def facts(benchmark: str, folder: Path | None = None) -> Facts:
    """Read the facts of a benchmark's card.

    Args:
        benchmark: its name.
        folder: where the file is; None for this installation's `hub_cards`.

    Raises:
        QuadragError: there is no such file, it lacks something, or it names a config, split or column that the builder
            does not have, or not all that it has.
    """
    import yaml

    path = (folder or room("hub_cards")) / f"{benchmark}.yaml"
    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Facts(list(read["languages"]), _rows(benchmark, read["rows"]), _families(benchmark, read["columns"]))
    except QuadragError as error:
        raise QuadragError(f"{path}: {error}") from None
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        said = " ".join(str(error).split())
        raise QuadragError(f"{path} cannot be read ({type(error).__name__}: {said}); see hub_cards/rgb.yaml") from None


def features(benchmark: str, config: str) -> Mapping[str, Any]:
    """Return a config's features, by column."""
    return dict(catalogue.builder_class(benchmark)(config_name=config).info.features)


def _rows(benchmark: str, entries: list[dict[str, Any]]) -> dict[str, dict[str, Rows]]:
    known = catalogue.configs(benchmark)
    told: dict[tuple[str, str], Rows] = {}
    for entry in entries:
        for config in entry["configs"]:
            if config not in known:
                raise unknown_name(f"config of {benchmark}", config, known)
            for split in entry.get("splits", known[config].splits):
                if split not in known[config].splits:
                    raise unknown_name(f"split of {config}", split, known[config].splits)
                if (config, split) in told:
                    raise QuadragError(f"rows of {config} {split} are told twice; expected once")
                number = entry.get("rows", entry.get("about"))
                told[config, split] = Rows(None if number is None else int(number), "about" in entry, entry["source"])
    for config, one in known.items():
        if lacking := [split for split in one.splits if (config, split) not in told]:
            raise QuadragError(f"rows of {config} {', '.join(lacking)} are not told; expected a number, or why not")
    return {config: {split: told[config, split] for split in one.splits} for config, one in known.items()}


def _families(benchmark: str, entries: dict[str, dict[str, Any]]) -> dict[str, Family]:
    known = catalogue.configs(benchmark)
    families: dict[str, Family] = {}
    for name, entry in entries.items():
        like = entry.get("like")
        if like is not None and like not in families:
            raise unknown_name(f"columns that {name} is like", like, families)
        before = families[like] if like else None
        family = Family(
            entry.get("configs") or list(known),
            (entry["example"]["config"], entry["example"]["split"]),
            {**(before.holds if before else {}), **entry["holds"]},
            [*(before.nullable if before else []), *entry.get("nullable", [])],
            like,
        )
        for config in family.configs:
            if config not in known:
                raise unknown_name(f"config of {benchmark}", config, known)
            _agree(config, list(features(benchmark, config)), family)
        families[name] = family
    named = [config for family in families.values() for config in family.configs]
    for config in known:
        if named.count(config) != 1:
            raise QuadragError(f"{config} stands under {named.count(config)} tables of columns; expected one")
    return families


def _agree(config: str, columns: list[str], family: Family) -> None:
    """Hold the columns that are described against those that a config has."""
    if lacking := [column for column in columns if column not in family.holds]:
        raise QuadragError(f"{config} has the columns {', '.join(lacking)}, which nothing describes")
    if unknown := [column for column in [*family.holds, *family.nullable] if column not in columns]:
        raise QuadragError(f"{config} has no column {', '.join(unknown)}; it has {', '.join(columns)}")
    if list(family.holds) != columns:
        raise QuadragError(f"columns of {config} are described in another order; expected {', '.join(columns)}")

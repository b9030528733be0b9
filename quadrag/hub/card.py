"""The README.md of an exported dataset repository: the hub card, with what the Hub and `datasets` read in its header.

Configs, splits, counts and features come from what was written, so that they cannot drift. Benchmarks whose data may
not be hosted anew get a card with the recipe instead. Nothing is written here.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data.builders import SAMPLE
from quadrag.data.card_facts import NotHosted, hub_record
from quadrag.data.files import is_own
from quadrag.errors import QuadragError
from quadrag.paths import room

SAMPLE_LICENCE = "apache-2.0"
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")


GROUP_ROWS = 1000  # of a row group of Parquet
# A row of CRAG's fifty pages has about as many, and is then a group of its own.
GROUP_CHARACTERS = 16_000_000


class Written(NamedTuple):
    """One split on disk."""

    rows: int  # their number
    bytes: int  # of the values in Arrow's memory, which a card gives as `num_bytes`
    files: dict[str, int]  # sizes of the shards on disk, by name


class Part(NamedTuple):
    """A config as it was written: its features, what its rows were read from, and its splits."""

    features: Any
    source: str
    splits: dict[str, Written]


def read_card(benchmark: str, data_dir: str | None = None) -> tuple[dict[str, Any], str]:
    """Return header and body of a benchmark's hub card; of a dataset of the user's own, those of its own card."""
    path = room("hub_cards") / f"{benchmark}.md"
    if data_dir is not None and is_own(data_dir):
        path = Path(data_dir).expanduser() / "README.md"
    if not path.is_file():
        raise QuadragError(f"no card of {benchmark}; expected {path}")
    return split_card(path.read_text(encoding="utf-8"))


def split_card(text: str) -> tuple[dict[str, Any], str]:
    """Return the header and the body of a card of ours."""
    import yaml

    _, header, body = text.split("---\n", 2)
    return yaml.safe_load(header), body


def join_card(header: Mapping[str, Any], body: str) -> str:
    """Return the text of a card."""
    import yaml

    front = yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{front}---\n{body}"


def list_licences(header: Mapping[str, Any]) -> list[str]:
    """Return the licences of a card's header."""
    licence = header["license"]
    return [licence] if isinstance(licence, str) else list(licence)


def list_closed(benchmarks: Sequence[str], data_dir: str | None) -> str:
    """Name the benchmarks whose data would go out under a licence that forbids commercial use; empty for none."""
    if data_dir == SAMPLE or is_own(data_dir):
        return ""
    closed = []
    for name in benchmarks:
        licences = [] if hub_record(name).not_hosted else list_licences(read_card(name)[0])
        closed += [f"{name} ({licence})" for licence in licences if "nc" in licence.split("-")][:1]
    return ", ".join(closed)


def make_recipe(benchmark: str, not_hosted: NotHosted) -> str:
    """Return the README of a repository without data: why, and how to get them."""
    header, body = read_card(benchmark)
    header.pop("dataset_info", None)  # it describes data, and there are none
    section = fill_template("recipe", benchmark=benchmark, why=not_hosted.why, how=not_hosted.how)
    return join_card({**header, "viewer": False}, _put_first(body, section))


def make_data_card(benchmark: str, parts: Mapping[str, Part], sample: bool = False, data_dir: str | None = None) -> str:
    """Return the README of a repository with Parquet files, of the configs that were written, in their order."""
    header, body = read_card(benchmark, data_dir)
    rows = sum(split.rows for part in parts.values() for split in part.splits.values())
    header["size_categories"] = [size_category(rows)]
    if sample:
        header["pretty_name"] += " (sample)"
        header["license"] = SAMPLE_LICENCE
    header["configs"] = [
        {
            "config_name": name,
            # Else 0.0.0, and beside a prepared build of that name `datasets` would speak of another version.
            "version": str(catalogue.config(benchmark, name).version),
            "data_files": [{"split": split, "path": f"{name}/{split}-*.parquet"} for split in part.splits],
        }
        for name, part in parts.items()
    ]
    header["dataset_info"] = [_describe_part(name, part) for name, part in parts.items()]
    return join_card(header, _put_first(body, _render_parts(benchmark, parts, sample)))


def size_category(rows: int) -> str:
    """Return the Hub's name for a number of rows."""
    return _SIZES[min(max(len(str(rows)) - 3, 0), len(_SIZES) - 1)]


def list_features(features: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Spell features as a card does; `list`, unlike `sequence`, is the same to all versions of `datasets`."""
    return [{"name": column, **_spell_type(feature)} for column, feature in features.items()]


def _spell_type(feature: Any) -> dict[str, Any]:
    if isinstance(feature, dict):
        return {"struct": list_features(feature)}
    if isinstance(feature, list) or type(feature).__name__ == "List":
        inner = _spell_type(feature[0] if isinstance(feature, list) else feature.feature)
        return {"list": inner if "list" in inner else next(iter(inner.values()))}
    return {"dtype": feature.dtype}


def _describe_part(name: str, part: Part) -> dict[str, Any]:
    return {
        "config_name": name,
        "features": list_features(part.features),
        "splits": [
            {"name": split, "num_bytes": written.bytes, "num_examples": written.rows}
            for split, written in part.splits.items()
        ],
        "download_size": sum(sum(written.files.values()) for written in part.splits.values()),
        "dataset_size": sum(written.bytes for written in part.splits.values()),
    }


def _render_parts(benchmark: str, parts: Mapping[str, Part], sample: bool) -> str:
    """Render what is there, where it is from, and how it is loaded, large columns left out."""
    sources: dict[str, list[str]] = {}
    for config, part in parts.items():
        if source := "" if sample else strip_place(part.source):
            sources.setdefault(source, []).append(config)
    large = hub_record(benchmark).large
    lean = next(
        (
            {
                "what": large.what,
                "config": config,
                "split": next(iter(part.splits)),
                "columns": json.dumps([column for column in part.features if column not in large.columns]),
            }
            for config, part in parts.items()
            if large and set(large.columns) <= set(part.features)
        ),
        None,
    )
    name, first = next(iter(parts.items()))
    return fill_template(
        "here",
        benchmark=benchmark,
        parts=parts,
        sample=sample,
        licence=SAMPLE_LICENCE,
        sources=sources,
        config=name,
        split=next(iter(first.splits)),
        lean=lean,
        group_rows=GROUP_ROWS,
        group_characters=GROUP_CHARACTERS,
    )


def strip_place(source: str) -> str:
    """Return where rows come from without the place on the exporter's machine."""
    inner = re.search(r" \(([^()]*)\)$", source)
    if inner:
        return inner[1]
    return "" if "/" in source or "\\" in source else source


def _put_first(body: str, section: str) -> str:
    before, mark, after = body.partition("\n## ")
    return f"{before}\n{section}\n\n## {after}" if mark else f"{body}\n{section}\n\n"


def fill_template(name: str, **values: Any) -> str:
    """Return the text of ``templates/NAME.md.jinja``, without a line break at its end."""
    text: str = _templates().get_template(f"{name}.md.jinja").render(values)
    return text.rstrip("\n")


def as_code(names: Iterable[str]) -> str:
    """Return names as Markdown shows them: in backticks, with commas."""
    return ", ".join(f"`{name}`" for name in names)


@cache
def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).with_name("templates"))
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["code"] = as_code
    made.filters["cell"] = lambda text: text.replace("|", "\\|")
    return made

"""The README.md of an exported dataset repository: the hub card, with what the Hub and `datasets` read in its header.

Configs, splits, counts and features come from what was written, so that they cannot drift. Benchmarks whose data may
not be hosted anew get a card with the recipe instead. Nothing is written here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.errors import QuadragError
from quadrag.export_parquet import GROUP_CHARACTERS, GROUP_ROWS, Written
from quadrag.paths import room

SAMPLE_LICENCE = "apache-2.0"
# Why a benchmark's data are not hosted anew, and what is needed to have them.
RECIPES = {
    "crud_rag": (
        "The authors' repository shows a licence, but the copyright of the news texts, of which nearly every row has"
        " some, remains with their publishers. So they are not hosted here.",
        "quadrag fetches the authors' own files, verifies size and sum of each, and builds the dataset on your machine;"
        " `--data-dir FOLDER` takes a checkout of their repository instead.",
    ),
    "omnieval": (
        "Upstream keeps the data in repositories on the Hub that must be asked for. What one is given there on asking"
        " is not passed on here.",
        "Ask for access to `RUC-NLPIR/OmniEval-AutoGen-Dataset`, `RUC-NLPIR/OmniEval-Human-Questions` and"
        " `RUC-NLPIR/OmniEval-KnowledgeCorpus`, set `HF_TOKEN`, and quadrag builds the dataset on your machine;"
        " `--data-dir FOLDER` takes files that you have already.",
    ),
}
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")


class Part(NamedTuple):
    """A config as it was written: its features, what its rows were read from, and its splits."""

    features: Any
    source: str
    splits: Mapping[str, Written]


def card(benchmark: str) -> tuple[dict[str, Any], str]:
    """Return the header and the body of a benchmark's hub card.

    Raises:
        QuadragError: this installation has none.
    """
    import yaml

    path = room("hub_cards") / f"{benchmark}.md"
    if not path.is_file():
        raise QuadragError(f"no card of {benchmark}; expected {path}")
    _, header, body = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(header), body


def non_commercial(benchmark: str) -> str | None:
    """Return the licence of a benchmark's data where it forbids commercial use, else None."""
    licence = card(benchmark)[0]["license"]
    names = [licence] if isinstance(licence, str) else licence
    return next((name for name in names if "nc" in name.split("-")), None)


def recipe(benchmark: str) -> str:
    """Return the README of a repository without data: why, and how to get them."""
    header, body = card(benchmark)
    why, how = RECIPES[benchmark]
    section = f"""## Where the data are to be had

{why} {how}

```sh
pip install quadrag
quadrag prepare {benchmark}
```

Then the name alone loads it, with `datasets` 3.6 or later, as `load_dataset("{benchmark}", CONFIG, split=SPLIT)`.

"""
    header.pop("dataset_info", None)  # it describes data, and there are none
    return _text({**header, "viewer": False}, _with(body, section))


def data_card(benchmark: str, parts: Mapping[str, Part], sample: bool) -> str:
    """Return the README of a repository with Parquet files.

    Args:
        benchmark: its name.
        parts: the configs that were written, in their order.
        sample: whether the rows are those of the bundled sample.
    """
    header, body = card(benchmark)
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
    header["dataset_info"] = [_info(name, part) for name, part in parts.items()]
    return _text(header, _with(body, _section(benchmark, parts, sample)))


def size_category(rows: int) -> str:
    """Return the Hub's name for a number of rows."""
    return _SIZES[min(max(len(str(rows)) - 3, 0), len(_SIZES) - 1)]


def feature_list(features: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Spell features as a card does; `list`, unlike `sequence`, is the same to all versions of `datasets`."""
    return [{"name": column, **_type(feature)} for column, feature in features.items()]


def _info(name: str, part: Part) -> dict[str, Any]:
    """Describe a config that was written, as `datasets` does in a card."""
    return {
        "config_name": name,
        "features": feature_list(part.features),
        "splits": [
            {"name": split, "num_bytes": written.bytes, "num_examples": written.rows}
            for split, written in part.splits.items()
        ],
        "download_size": sum(sum(written.files.values()) for written in part.splits.values()),
        "dataset_size": sum(written.bytes for written in part.splits.values()),
    }


def _type(feature: Any) -> dict[str, Any]:
    if isinstance(feature, dict):
        return {"struct": [{"name": name, **_type(inner)} for name, inner in feature.items()]}
    if isinstance(feature, list) or type(feature).__name__ == "List":
        inner = _type(feature[0] if isinstance(feature, list) else feature.feature)
        return {"list": inner if "list" in inner else next(iter(inner.values()))}
    return {"dtype": feature.dtype}


def _section(benchmark: str, parts: Mapping[str, Part], sample: bool) -> str:
    name, first = next(iter(parts.items()))
    lines = ["## What is here", ""]
    if sample:
        lines += [
            "**The sample that comes with quadrag:** a few rows made up in the form of the benchmark's, to try programs"
            f" with. They are not the benchmark's data, and their licence is {SAMPLE_LICENCE}; what this card says of"
            " rows, sizes and licence holds for the benchmark itself.",
            "",
        ]
    lines += ["| config | split | rows | files |", "|---|---|---|---|"]
    for config, part in parts.items():
        for split, written in part.splits.items():
            lines.append(f"| `{config}` | `{split}` | {written.rows:,} | {len(written.files)} |")
    sources: dict[str, list[str]] = {}
    for config, part in parts.items():
        if not sample:
            sources.setdefault(public_source(part.source), []).append(f"`{config}`")
    lines += [
        "",
        *(f"Read from {source}: {', '.join(configs)}.\n" for source, configs in sources.items() if source),
        "What this card names beside these configs and splits is not in this repository, and its options are those of"
        " quadrag's own builder.",
        "",
        "```python",
        "from datasets import load_dataset",
        f'load_dataset("ORG/{benchmark}", "{name}", split="{next(iter(first.splits))}")',
        "```",
        "",
    ]
    for config, part in [each for each in parts.items() if "page_result" in each[1].features][:1]:
        columns = [column for column in part.features if column not in ("search_results", "page_result")]
        lines += [
            f"A row group holds up to {GROUP_ROWS:,} rows and {GROUP_CHARACTERS // 1_000_000} million characters, or"
            " one row: with `streaming=True` the first row comes at once. The HTML is nearly all of the bytes, and"
            " stays unread where the columns are named:",
            "",
            "```python",
            f"columns = {json.dumps(columns)}",
            f'load_dataset("ORG/{benchmark}", "{config}", split="{next(iter(part.splits))}", columns=columns,'
            " streaming=True)",
            "```",
            "",
        ]
    return "\n".join([*lines, ""])


def public_source(source: str) -> str:
    """Say where rows come from without the place on the exporter's machine."""
    said = source.removesuffix(", as prepared")
    inner = re.search(r" \(([^()]*)\)$", said)
    if inner:
        return inner[1]
    return "" if "/" in said or "\\" in said else said


def _with(body: str, section: str) -> str:
    """Put a section before the first one of a card."""
    before, mark, after = body.partition("\n## ")
    return f"{before}\n{section}## {after}" if mark else f"{body}\n{section}"


def _text(header: dict[str, Any], body: str) -> str:
    import yaml

    front = yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{front}---\n{body}"

"""The papers' own numbers, in our names and units, with the conditions they were made under.

The figures are in ``published/BENCHMARK.csv`` as printed; ``published/mapping.csv`` says, per table, task and printed
metric, which config, split, retriever and metric of ours it is, and what to multiply by. ``*`` for a table or a task is
every one of the paper. A rejection table's ``noise=1.0`` is the only split of its config.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_FOLDER = Path(__file__).with_name("published")


class Published(NamedTuple):
    """One printed number; `value` is in our unit, a rate in [0, 1] or characters.

    `setting` is that of the row: in a paper that varies the retrieval, by the names of `Retrieval`.
    """

    table: str
    model: str
    language: str
    config: str
    split: str
    retriever: str
    module: str
    key: str
    value: float
    conditions: str
    note: str
    setting: Mapping[str, Any]


@cache
def published(benchmark: str) -> tuple[Published, ...]:
    """Return every printed number of a benchmark's paper that has a counterpart here, in the paper's order."""
    with (_FOLDER / "mapping.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["benchmark"] == benchmark]
        mapping = {(row["table"], row["task"], row["metric"]): row for row in rows}
    with (_FOLDER / f"{benchmark}.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(_convert(mapping, lines))


def matching(benchmark: str, config: str, retriever: str, settings: Mapping[str, Any]) -> list[Published]:
    """Return the printed numbers that stand beside a config's scores, whichever version of the data it reads.

    Where passages are searched, they are those under the same settings: none where the settings are not known.
    """
    ability = config.removesuffix("_original")
    return [
        row
        for row in published(benchmark)
        if row.config.removesuffix("_original") == ability
        and row.retriever == retriever
        and under(row.setting, settings)
    ]


def beside(info: Mapping[str, Any]) -> list[Published]:
    """Return the printed numbers that stand beside a run; none where the user's own passages stood in for its search.

    Args:
        info: its `run.json`.
    """
    inputs = info["inputs"]
    if "retrieved.jsonl" in info.get("given", ()):
        return []
    rows = matching(inputs["benchmark"], inputs["config"], inputs["retriever"], inputs.get("retrieval", {}))
    return [row for row in rows if row.split in inputs["splits"]]


def under(setting: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether a printed row's setting is ours; ours may have more parts."""
    return all(settings.get(name) == value for name, value in setting.items())


def _convert(mapping: dict[tuple[str, str, str], dict[str, str]], lines: Iterator[str]) -> Iterator[Published]:
    for row in csv.DictReader(lines):
        places = itertools.product((row["table"], "*"), (row["task"], "*"))
        ours = next((found for place in places if (found := mapping.get((*place, row["metric"])))), None)
        if ours is None:
            continue
        setting = dict(pair.split("=", 1) for pair in row["setting"].split(";"))
        setting |= {"task": row["task"], "split": row["split"].partition("_")[0]}
        if "generator" in setting:
            # OmniEval names a retriever by its embedding.
            named = setting["retriever"]
            setting |= {"llm": setting["generator"], "embedding": named}
            setting["retriever"] = "none" if named == "none" else "dense"
        setting["retriever"] = setting.get("retriever", "").replace("_", "-")
        if "noise" in setting:
            setting["noise"] = f"{float(setting['noise']) * 100:g}"
        yield Published(
            table=row["table"],
            model=setting.get("model") or setting["llm"],
            language=setting.get("lang", ""),
            config=ours["config"].format(**setting),
            split=ours["split"].format(**setting),
            retriever=ours["retriever"].format(**setting),
            module=ours["module"],
            key=ours["key"],
            value=round(float(row["value"]) * float(ours["scale"]), 12),
            conditions=ours["conditions"],
            note=row["note"],
            setting=_retrieval(setting) if "top_k" in setting else {},
        )


def _retrieval(printed: Mapping[str, str]) -> dict[str, Any]:
    """Return a row's setting by our names; what its retriever does not use is left out."""
    if printed["retriever"] == "none":
        return {}
    names = {"chunk_size": "chunk_size", "overlap": "chunk_overlap", "top_k": "top_k"}
    numbers = {ours: int(printed[theirs]) for theirs, ours in names.items() if theirs in printed}
    models = {name: printed[name] for name in ("embedding", "reranker") if printed.get(name, "none") != "none"}
    # The authors' search server takes a character for a term.
    terms = {"tokenizer": "unigram"} if printed["retriever"] in ("bm25", "hybrid", "hybrid-rerank") else {}
    return {**numbers, **models, **terms}

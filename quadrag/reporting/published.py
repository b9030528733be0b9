"""The papers' own numbers, in our names and units, with the conditions they were made under.

The figures are in ``published.csv`` of a benchmark's room as printed; its ``mapping.csv`` says, per table, task and
printed metric, which config, split, retriever and metric of ours it is, and what to multiply by. ``*`` for a table or a
task is every one of the paper. A rejection table's ``noise=1.0`` is the only split of its config.
"""

import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.benchmark import Benchmark, load
from quadrag.metric_record import metric_record
from quadrag.provenance import Provenance
from quadrag.results.record import RunRecord
from quadrag.retrieval.search import RETRIEVERS
from quadrag.spec import RAG, UNKNOWN

from .table import RATE


class Published(NamedTuple):
    """One printed number; `value` is in our unit, a rate in [0, 1] or characters.

    `decimals` are those printed, of a rate in percent. `setting` is that of the row: in a paper that varies the
    retrieval, by the names of `Retrieval`.
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
    decimals: int
    conditions: str
    note: str
    setting: Mapping[str, Any]

    @property
    def unit(self) -> str:
        """The unit of the value."""
        return metric_record(self.module).key(self.key).unit

    @property
    def printed(self) -> str:
        """The value as it is printed, a rate in percent."""
        return f"{self.value * (100 if self.unit == RATE else 1):.{self.decimals}f}"

    def setting_of(self, name: str) -> str:
        """Return the row's value of a setting of the retrieval, the retriever itself among them."""
        return self.retriever if name == "retriever" else str(self.setting[name])

    @property
    def doubt(self) -> str:
        """Why the number is likely a misprint; "" where it is not."""
        return self.note.removeprefix("suspect: ") if self.note.startswith("suspect") else ""


@cache
def read_published(benchmark: str) -> tuple[Published, ...]:
    """Read every printed number of a benchmark's paper that has a counterpart here, in the paper's order."""
    folder = catalogue.plugin_folder(benchmark)
    if not (folder / "published.csv").is_file():
        return ()
    with (folder / "mapping.csv").open(encoding="utf-8", newline="") as lines:
        mapping = {(row["table"], row["task"], row["metric"]): row for row in csv.DictReader(lines)}
    with (folder / "published.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(_convert(mapping, lines))


def read_table_beside(benchmark: str, number: str, runs: Sequence[RunRecord]) -> list[Published]:
    """Read the printed numbers of a table that runs are shown in, less those of configs run on the user's own data."""
    own, others = (
        {_ability(run.config) for run in runs if (run.whose is Provenance.OWN) is so} for so in (True, False)
    )
    return [row for row in read_table(benchmark, number) if others and _ability(row.config) not in own - others]


def read_table(benchmark: str, number: str) -> list[Published]:
    """Read the printed numbers of one table."""
    return [row for row in read_published(benchmark) if row.table == number]


def find_published(benchmark: str, config: str, retriever: str, settings: Mapping[str, Any]) -> list[Published]:
    """Find the printed numbers that stand beside a config's scores, whichever version of the data it reads.

    Where passages are searched, they are those under the same settings, though ours may have more parts: none where
    the settings are not known.
    """
    return [
        row
        for row in read_published(benchmark)
        if _ability(row.config) == _ability(config)
        and row.retriever == retriever
        and all(settings.get(name) == value for name, value in row.setting.items())
    ]


def _ability(config: str) -> str:
    return config.removesuffix("_original")


def find_beside(run: RunRecord) -> list[Published]:
    """Find the printed numbers that stand beside a run.

    None where a model of the user's own stood in its search, or its data are the user's own.
    """
    if (run.spec.replica and run.spec.replica.replaced) or run.whose is Provenance.OWN:
        return []
    benchmark = load(run.benchmark)
    if benchmark.corpus and run.retriever in (UNKNOWN, RAG):
        rows = _find_usual(benchmark, run.config)
    else:
        rows = find_published(run.benchmark, run.config, run.retriever, run.retrieval or {})
    return [row for row in rows if row.split in run.splits]


def _find_usual(benchmark: Benchmark, config: str) -> list[Published]:
    """Find what stands beside a system of one's own: of the tables under the paper's usual settings the longest."""
    usual = asdict(benchmark.retrieval)
    tables: dict[tuple[str, str], list[Published]] = {}
    for row in read_published(benchmark.name):
        sizes = {name: value for name, value in row.setting.items() if name in ("chunk_size", "chunk_overlap", "top_k")}
        if _ability(row.config) == _ability(config) and sizes.items() <= usual.items():
            tables.setdefault((row.table, row.retriever), []).append(row)
    return max(tables.values(), key=lambda rows: len({row.model for row in rows}), default=[])


def _convert(mapping: dict[tuple[str, str, str], dict[str, str]], lines: Iterator[str]) -> Iterator[Published]:
    for row in csv.DictReader(lines):
        places = itertools.product((row["table"], "*"), (row["task"], "*"))
        ours = next((found for place in places if (found := mapping.get((*place, row["metric"])))), None)
        if ours is None:
            continue
        setting = dict(pair.split("=", 1) for pair in row["setting"].split(";"))
        setting |= {"task": row["task"], "split": row["split"].partition("_")[0]}
        if "generator" in setting:
            # This paper names a retriever by its embedding.
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
            decimals=_decimals(row["value"], ours),
            conditions=ours["conditions"],
            note=row["note"],
            setting=_retrieval(setting) if "top_k" in setting else {},
        )


def _decimals(printed: str, ours: Mapping[str, str]) -> int:
    """Return the decimals of a printed number; where shares are printed, as 0.3402, those that percent has."""
    shares = ours["scale"] == "1" and metric_record(ours["module"]).key(ours["key"]).unit == RATE
    return max(len(printed.partition(".")[2]) - 2 * shares, 0)


def _retrieval(printed: Mapping[str, str]) -> dict[str, Any]:
    """Return a row's setting by our names; what its retriever does not use is left out."""
    if printed["retriever"] == "none":
        return {}
    names = {"chunk_size": "chunk_size", "overlap": "chunk_overlap", "top_k": "top_k"}
    numbers = {ours: int(printed[theirs]) for theirs, ours in names.items() if theirs in printed}
    models = {name: printed[name] for name in ("embedding", "reranker") if printed.get(name, "none") != "none"}
    # The authors' search server takes a character for a term.
    entry = RETRIEVERS.get(printed["retriever"])
    terms = {"tokenizer": "unigram"} if entry and "tokenizer" in entry.settings else {}
    return {**numbers, **models, **terms}

"""The papers' own numbers, in our names and units, with the conditions they were made under.

The figures are in ``published.csv`` of a benchmark's room as printed; its ``mapping.csv`` says, per table, task and
printed metric, which config, split, retriever and metric of ours it is, and what to multiply by. ``*`` for a table or a
task is every one of the paper. A rejection table's ``noise=1.0`` is the only split of its config.
"""

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.benchmark import Benchmark, load
from quadrag.data.card_facts import card_facts
from quadrag.metric_record import metric_record
from quadrag.prompts import are_own
from quadrag.provenance import Provenance
from quadrag.results.note import Note, NoteCode, group_notes
from quadrag.results.record import RunRecord
from quadrag.results.run import PROFILES, Run
from quadrag.retrieval.search import RETRIEVERS
from quadrag.spec import RAG, UNKNOWN, Replica

from .table import RATE, Row, Table


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
        {_ability(run.config) for run in runs if (run.provenance is Provenance.OWN) is so} for so in (True, False)
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
    if (run.spec.replica and run.spec.replica.replaced) or run.provenance is Provenance.OWN:
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


_REPLICATED, _ROW = "<", "~"  # what stands behind a printed row


# The rows in tables.


def find_row(runs: Iterable[RunRecord], labels: Sequence[str]) -> str:
    """Find the printed row, among those with labels, that a recipe of the runs is of; "" where none is."""
    replicas = [run.spec.replica for run in runs if run.spec.replica]
    return next((label for label in labels if any(_is_row(label, replica) for replica in replicas)), "")


def place_lines(printed: Sequence[Row], ours: Sequence[tuple[str, Sequence[Row]]]) -> list[Row]:
    """Put our lines right under the printed one whose label stands beside them; those without one behind all."""
    lines: list[Row] = []
    for one in printed:
        lines.append(replace(one, rule=True) if lines and lines[-1].kind == "ours" else one)
        for under in (block for label, block in ours if label == one.label):
            lines += [replace(line, rule=False) for line in under]
    return lines + [line for label, block in ours if not label for line in block]


def mark_replicas(table: Table, results: Sequence[Run], profile: str) -> Table:
    """Mark the printed rows of the runs' recipes; `profile` is the one shown first."""
    reasons = _judge_recipes(results, profile)
    replicas = [replica for result in results if (replica := result.record.spec.replica)]

    def mark(line: Row) -> str:
        of = (one for one in replicas if line.kind == "published" and _is_row(line.label, one))
        return next((_ROW if reasons[one.recipe] else _REPLICATED for one in of), "")

    marks = [mark(line) for line in table.rows]
    lines = [replace(line, label=line.label + sign) for line, sign in zip(table.rows, marks, strict=True)]
    owner = _name_owner([result.record for result in results])
    kinds = {_REPLICATED: "replicated", _ROW: "row"}
    notes = [Note(NoteCode.ROW_MARK, {"kind": kind, "prompts": owner}) for sign, kind in kinds.items() if sign in marks]
    return replace(table, rows=lines, notes=[*notes, *table.notes])


def _is_row(label: str, replica: Replica) -> bool:
    """Whether a line is of a recipe's row: it is named by it, or, where a row has a language, the recipe is by it."""
    named, words = replica.row.split(), re.split("[, ]+", label.strip())
    return bool(named) and (replica.recipe.endswith(f"-{'-'.join(words)}") or set(named) <= set(words))


# Notes.


def note_recipe(run: RunRecord) -> list[Note]:
    """Say which row the recipe of a run is of, which model was asked and with whose prompts."""
    if (replica := run.spec.replica) is None:
        return []
    row = replica.row + (f" ({replica.model})" if replica.model else "")
    asked = {"recipe": replica.recipe, "row": row, "model": run.llm, "prompts": _name_owner([run])}
    return [Note(NoteCode.RECIPE, asked)]


def _name_owner(runs: Iterable[RunRecord]) -> str:
    return "the user's own" if all(are_own(one.benchmark, one.prompts) for one in runs) else "ours"


def note_replicas(results: Sequence[Run], profile: str, alone: bool = False) -> list[Note]:
    """Say of the recipes whose rows are not replicated all that keeps them from it.

    Args:
        results: of the runs in a table.
        profile: the one that it shows first.
        alone: whether it is about one run, whatever else its recipe has.
    """
    judged = _judge_recipes(results, profile, alone)
    told = ((name, Note(NoteCode.NOT_REPLICATED, {"why": why})) for name, why in judged.items() if why)
    return group_notes(told, [*judged])


def list_reasons(results: Sequence[Run], profile: str) -> list[tuple[str, Note]]:
    """List what keeps runs from replicating their recipes' rows, each with the name of the recipe."""
    return [(name, reason) for name, why in _judge_recipes(results, profile).items() for reason in why]


# What a recipe fixes, and a run is not.


def _judge_recipes(results: Sequence[Run], profile: str, alone: bool = False) -> dict[str, list[Note]]:
    """Return by recipe in what its runs are not what it fixes; nothing where they replicate its row."""
    recipes: dict[str, list[Run]] = {}
    for result in results:
        if replica := result.record.spec.replica:
            recipes.setdefault(replica.recipe, []).append(result)
    return {name: _list_departures(ours, profile, alone) for name, ours in recipes.items()}


def _list_departures(results: Sequence[Run], profile: str, alone: bool) -> list[Note]:
    replicas = [replica for result in results if (replica := result.record.spec.replica)]
    reasons = [
        reason for result, replica in zip(results, replicas, strict=True) for reason in _depart(result.record, replica)
    ]
    if len(results) < replicas[0].runs and not alone:
        reasons.append(_reason("runs", done=len(results), total=replicas[0].runs))
    asked, whole = _count_questions(results)
    if asked < whole:
        reasons.append(_reason("questions", done=f"{asked:,}", total=f"{whole:,}"))
    if profile != PROFILES[0]:
        reasons.append(_reason("profile", profile=profile))
    return [reason for at, reason in enumerate(reasons) if reason not in reasons[:at]]


def _reason(kind: str, **params: Any) -> Note:
    return Note(NoteCode.NOT_REPLICATED, {"kind": kind, **params})


def _depart(run: RunRecord, replica: Replica) -> Iterator[Note]:
    """Yield in what one run is not what its recipe fixes, less its questions."""
    served = run.served_as
    models = [("model", replica.model, run.llm, served.get("llm"))]
    if run.found.get("entities"):
        finder = run.entity["model"] if run.entity else "none"
        models.append(("entity_model", replica.entity_model, finder, served.get("entity")))
    for kind, row, *names in models:
        own = [name for name in names if name]
        if row and any(_fold(name) != _fold(row) for name in own):
            yield _reason(kind, own=own, row=row)
    for name, said in replica.replaced.items():
        yield _reason("setting", name=name, own=(run.retrieval or {}).get(name), row=said)
    for name, (changed, said) in replica.changed.items():
        yield _reason("setting", name=name, own=changed, row="none" if said is None else said)
    if refused := [name for name in replica.sent if name not in run.sent]:
        yield _reason("refused", fields=refused)
    if run.given:
        yield _reason("files", files=run.given)
    if others := set(run.splits).difference(splits := _list_splits(run)):
        yield _reason("setting", name="split", own=sorted(others), row=splits)
    if run.provenance is not Provenance.AUTHORS:
        yield _reason(f"data_{run.provenance.value}")
    if run.stopped:
        yield _reason("stopped")
    if run.find_notes(NoteCode.INVALID):
        yield _reason("invalid")


def _fold(names: str) -> list[str]:
    """Return a list of models less letter case, kinds of hyphens, and who publishes a model."""
    return [name.rpartition("/")[2].casefold().replace("_", "-") for name in names.split(", ")]


def _count_questions(results: Sequence[Run]) -> tuple[int, int]:
    """Count the questions that runs answered, each once, and those of the authors' splits.

    Of a split whose size is not known to the question, and of other data than theirs, it is what the data hold.
    """
    counts: dict[str, tuple[int, int]] = {}
    for result in results:
        run, coverage = result.record, result.record.coverage
        facts = card_facts(run.benchmark) if run.provenance.theirs else None
        known = [facts.find_rows(run.config, split) if facts else None for split in _list_splits(run)]
        asked = len({(row["split"], row["id"]) for row in result.items})
        numbers = [rows.number for rows in known if rows and rows.number and not rows.about]
        whole = sum(numbers) if len(numbers) == len(known) else coverage.total if coverage else asked
        counts[run.config] = min((asked, whole), counts.get(run.config, (asked, whole)))
    return sum(asked for asked, _ in counts.values()), sum(whole for _, whole in counts.values())


def _list_splits(run: RunRecord) -> list[str]:
    """List the splits that the paper's rows are on."""
    default = load(run.benchmark).default_split
    return [default] if default else list(catalogue.config(run.benchmark, run.config).splits)

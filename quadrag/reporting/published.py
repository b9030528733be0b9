"""The papers' own numbers, ours under them, and which printed row a recipe's runs replicate, or why they do not.

The figures are in ``published.csv`` of a benchmark's room, their settings in our names; its ``mapping.csv`` says, per
table, task and printed metric, which config, split, retriever and metric of ours it is, and what to multiply by. ``*``
for a table or a task is every one of the paper. A row is replicated where all that its recipe fixes holds: model,
settings, the authors' data, every question. It is marked, and so, by another sign, is one that is not replicated.
"""

import csv
import itertools
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.benchmark import Benchmark, load
from quadrag.data.card_facts import card_facts
from quadrag.metric_record import metric_record
from quadrag.parts import SETTINGS
from quadrag.prompts import are_own
from quadrag.provenance import Provenance
from quadrag.results import PROFILES, Note, NoteCode, Run, RunRecord, Score, group_notes
from quadrag.spec import NONE, RAG, UNKNOWN, Replica

from .table import NOTHING, RATE, Cell, Figure, Row, Table, our_lines

_REPLICATED, _ROW = "<", "~"  # what stands behind a printed row


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
def read_rows(benchmark: str, file: str) -> list[dict[str, str]]:
    """Read a table that lies beside a benchmark's record; [] where there is none."""
    path = catalogue.plugin_folder(benchmark) / file
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@cache
def read_printed(benchmark: str) -> list[dict[str, str]]:
    """Read all rows of ``published.csv``, each with the parts of its setting by their names."""
    rows = read_rows(benchmark, "published.csv")
    return [{**row, **dict(pair.split("=", 1) for pair in row["setting"].split(";"))} for row in rows]


@cache
def read_published(benchmark: str) -> tuple[Published, ...]:
    """Read every printed number of a benchmark's paper that has a counterpart here, in the paper's order."""
    mapping = {(row["table"], row["task"], row["metric"]): row for row in read_rows(benchmark, "mapping.csv")}
    numbers = []
    for row in read_printed(benchmark):
        places = itertools.product((row["table"], "*"), (row["task"], "*"))
        if ours := next(
            (mapping[*place, row["metric"]] for place in places if (*place, row["metric"]) in mapping), None
        ):
            numbers.append(_convert(row, ours))
    return tuple(numbers)


def _convert(row: Mapping[str, str], ours: Mapping[str, str]) -> Published:
    retriever = row.get("retriever", "")
    names = {**row, "retriever": retriever, "split": row["split"].partition("_")[0]}
    searched = {name: row[name] for name in SETTINGS if row.get(name, NONE) != NONE and retriever != NONE}
    # Where shares are printed, as 0.3402, percent has two decimals less.
    shares = ours["scale"] == "1" and metric_record(ours["module"]).key(ours["key"]).unit == RATE
    return Published(
        table=row["table"],
        model=row["llm"],
        language=row.get("lang", ""),
        config=ours["config"].format(**names),
        split=ours["split"].format(**names),
        retriever=ours["retriever"].format(**names),
        module=ours["module"],
        key=ours["key"],
        value=round(float(row["value"]) * float(ours["scale"]), 12),
        decimals=max(len(row["value"].partition(".")[2]) - 2 * shares, 0),
        conditions=ours["conditions"],
        note=row["note"],
        setting={name: int(value) if value.isdigit() else value for name, value in searched.items()},
    )


def read_table(benchmark: str, number: str) -> list[Published]:
    return [row for row in read_published(benchmark) if row.table == number]


def read_table_beside(benchmark: str, number: str, runs: Sequence[RunRecord]) -> list[Published]:
    """Read the printed numbers of a table that runs are shown in, less those of configs run on the user's own data."""
    own = {_family(run.config) for run in runs if run.provenance is Provenance.OWN}
    others = {_family(run.config) for run in runs if run.provenance is not Provenance.OWN}
    return [row for row in read_table(benchmark, number) if others and _family(row.config) not in own - others]


def find_published(benchmark: str, config: str, retriever: str, settings: Mapping[str, Any]) -> list[Published]:
    """Find the printed numbers that stand beside a config's scores, whichever version of the data it reads.

    Where passages are searched, they are those under the same settings, though ours may have more parts: none where
    the settings are not known.
    """
    return [
        row
        for row in read_published(benchmark)
        if _family(row.config) == _family(config)
        and row.retriever == retriever
        and all(settings.get(name) == value for name, value in row.setting.items())
    ]


def _family(config: str) -> str:
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
        if _family(row.config) == _family(config) and sizes.items() <= usual.items():
            tables.setdefault((row.table, row.retriever), []).append(row)
    return max(tables.values(), key=lambda rows: len({row.model for row in rows}), default=[])


# Lines of a table.


def printed_lines(
    rows: Iterable[Published],
    columns: Sequence[Hashable],
    name: Callable[[Published], str] = attrgetter("model"),
    place: Callable[[Published], Hashable] = attrgetter("key"),
) -> list[Row]:
    """Make a line of printed numbers for each name; ? stands behind a doubtful one, a dash where none is printed."""
    named: dict[str, dict[Hashable, Cell]] = {}
    for row in rows:
        figure = Figure(float(row.printed), unit="%" if row.unit == RATE else "")
        named.setdefault(name(row), {})[place(row)] = Cell(row.printed + "?" * bool(row.doubt), figure=figure)
    return [Row(label, [cells.get(c, Cell(NOTHING)) for c in columns], "published") for label, cells in named.items()]


def find_row(runs: Iterable[RunRecord], printed: Iterable[Row]) -> str:
    """Find the label of the printed line that a recipe of the runs is of; "" where none is."""
    replicas = [run.spec.replica for run in runs if run.spec.replica]
    return next((line.label for line in printed if any(_is_row(line.label, replica) for replica in replicas)), "")


def lay_under(
    printed: Sequence[Row],
    ours: Iterable[tuple[str, str, Sequence[Score], Sequence[Hashable]]],
    profiles: Sequence[str],
    place: Callable[[Any], Hashable] = attrgetter("key.key"),
) -> list[Row]:
    """Put our lines right under the printed one that they belong to; those that belong to none behind all.

    Args:
        printed: the printed lines.
        ours: of each block the label of the printed line above it, "" where there is none; its own; scores; columns.
        profiles: those shown, as of `our_lines`.
        place: of a score, as of `our_lines`.
    """
    blocks = [(above, our_lines(label, scores, columns, profiles, place)) for above, label, scores, columns in ours]
    lines: list[Row] = []
    for row in printed:
        lines.append(replace(row, rule=True) if lines and lines[-1].kind == "ours" else row)
        lines += [line for above, block in blocks if above == row.label for line in block]
    behind = [line for above, block in blocks if not above for line in block]
    if lines and behind:
        behind[0].rule = True
    return lines + behind


def mark_replicas(table: Table, results: Sequence[Run], profile: str) -> Table:
    """Mark the printed rows of the runs' recipes; `profile` is the one shown first."""
    reasons = _judge_recipes(results, profile)
    replicas = [replica for result in results if (replica := result.record.spec.replica)]
    lines = []
    signs = set()
    for line in table.rows:
        of = (replica for replica in replicas if line.kind == "published" and _is_row(line.label, replica))
        sign = next((_ROW if reasons[replica.recipe] else _REPLICATED for replica in of), "")
        lines.append(replace(line, label=line.label + sign))
        signs.add(sign)
    owner = _name_owner([result.record for result in results])
    kinds = {_REPLICATED: "replicated", _ROW: "row"}
    notes = [Note(NoteCode.ROW_MARK, {"kind": kind, "prompts": owner}) for sign, kind in kinds.items() if sign in signs]
    return replace(table, rows=lines, notes=[*notes, *table.notes])


def _is_row(label: str, replica: Replica) -> bool:
    """Whether a line is of a recipe's row: it is named by it, or, where a row has a language, the recipe is by it."""
    named, words = replica.row.split(), re.split("[, ]+", label.strip())
    return bool(named) and (replica.recipe.endswith(f"-{'-'.join(words)}") or set(named) <= set(words))


# Notes on recipes.


def note_recipe(run: RunRecord) -> list[Note]:
    if (replica := run.spec.replica) is None:
        return []
    row = replica.row + (f" ({replica.model})" if replica.model else "")
    asked = {"recipe": replica.recipe, "row": row, "model": run.llm, "prompts": _name_owner([run])}
    return [Note(NoteCode.RECIPE, asked)]


def _name_owner(runs: Iterable[RunRecord]) -> str:
    return "the user's own" if all(are_own(run.benchmark, run.prompts) for run in runs) else "ours"


def note_replicas(results: Sequence[Run], profile: str, alone: bool = False) -> list[Note]:
    """Say of the recipes whose rows are not replicated under a profile all that keeps them from it.

    With `alone` it is about one run, whatever else its recipe has.
    """
    judged = _judge_recipes(results, profile, alone)
    told = ((name, Note(NoteCode.NOT_REPLICATED, {"why": why})) for name, why in judged.items() if why)
    return group_notes(told, [*judged])


def list_reasons(results: Sequence[Run], profile: str) -> list[tuple[str, Note]]:
    return [(name, reason) for name, why in _judge_recipes(results, profile).items() for reason in why]


def _judge_recipes(results: Sequence[Run], profile: str, alone: bool = False) -> dict[str, list[Note]]:
    recipes: dict[str, list[Run]] = {}
    for result in results:
        if replica := result.record.spec.replica:
            recipes.setdefault(replica.recipe, []).append(result)
    return {name: _list_departures(ours, profile, alone) for name, ours in recipes.items()}


def _list_departures(results: Sequence[Run], profile: str, alone: bool) -> list[Note]:
    replicas = [replica for result in results if (replica := result.record.spec.replica)]
    pairs = zip(results, replicas, strict=True)
    reasons = [reason for result, replica in pairs for reason in _compare_run(result.record, replica)]
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


def _compare_run(run: RunRecord, replica: Replica) -> Iterator[Note]:
    yield from _compare_model("model", replica.model, run.llm, run.served_as.get("llm"))
    if run.found.get("entities"):
        finder = run.entity["model"] if run.entity else "none"
        yield from _compare_model("entity_model", replica.entity_model, finder, run.served_as.get("entity"))
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


def _compare_model(kind: str, row: str | None, *names: str | None) -> Iterator[Note]:
    """Yield that a model is not the row's where it is not so by the name asked for, or by the one that served it."""
    asked = [name for name in names if name]
    if row and any(_fold(name) != _fold(row) for name in asked):
        yield _reason(kind, own=asked, row=row)


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
    default = load(run.benchmark).default_split
    return [default] if default else list(catalogue.config(run.benchmark, run.config).splits)

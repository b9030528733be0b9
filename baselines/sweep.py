"""Tables of a paper that varies how passages are found: a table a task, the printed rows with ours under them.

Runs under one set of conditions are shown task by task, beside the printed rows of the same settings. Runs that differ
are shown in that table of the paper which varies what they vary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .benchmark import load
from .cells import NOTHING, published_line, value_cell
from .grid import Cell, Grid, Line
from .notes import (
    INTERVALS,
    corpus_notes,
    data_notes,
    denominator,
    not_run_notes,
    paper_notes,
    settings_notes,
    unscored_notes,
)
from .pipeline import Result
from .published import Published, beside, published


class Swept(NamedTuple):
    """A table of the paper: its title and the setting that it varies; ``retriever`` and ``llm`` are settings too."""

    title: str
    varies: str


SWEEPS: dict[str, dict[str, Swept]] = {
    "crud_rag": {
        "3": Swept("Chunk size, with top-k in step", "chunk_size"),
        "4": Swept("Overlap of chunks, percent", "chunk_overlap"),
        "5": Swept("Retriever", "retriever"),
        "6": Swept("Embedding model", "embedding"),
        "7": Swept("Passages shown (top-k)", "top_k"),
        "8": Swept("Language model", "llm"),
    }
}
_COLUMNS = {
    "bleu": "BLEU",
    "rouge_l": "ROUGE-L",
    "bertscore": "BERTScore",
    "precision": "RQE-P",
    "recall": "RQE-R",
    "length": "length",
}


def sweep_grids(benchmark: str, results: Sequence[Result], profiles: Sequence[str]) -> list[Grid]:
    """Make the tables of several runs of a benchmark that searches a corpus.

    Args:
        benchmark: its name, among `SWEEPS`.
        results: runs of tasks, each with scores of one split.
        profiles: the first is shown; of two, the second where it differs.
    """
    tables = SWEEPS[benchmark]
    order = {config: place for place, (config, _) in enumerate(load(benchmark).campaign())}
    results = sorted(results, key=lambda result: order[result.info["inputs"]["config"]])
    if len({_conditions(result) for result in results}) == 1:
        return [_overview(benchmark, results, profiles), *_retrieval(results, profiles)]

    def fits(number: str) -> tuple[int, bool]:
        values = {_value(result.info["inputs"], tables[number].varies) for result in results}
        return len(values), any(_beside(number, result) for result in results)

    number = max(tables, key=fits)
    results = sorted(results, key=lambda result: _rank(_value(result.info["inputs"], tables[number].varies)))
    configs = sorted({result.info["inputs"]["config"] for result in results}, key=order.__getitem__)
    grids = [_table(benchmark, number, config, results, profiles) for config in configs]
    return [*grids, *_retrieval(results, profiles)]


def _rank(value: str) -> int:
    """Rank what is a number by its size; what is none keeps its place."""
    return int(value) if value.isdigit() else 0


def _settings(result: Result) -> dict[str, str]:
    """Return all that a run's label may have to say, by name, in the order in which it says it."""
    inputs = result.info["inputs"]
    named = {"llm": _value(inputs, "llm"), "retriever": inputs["retriever"], **inputs.get("retrieval", {})}
    named |= inputs.get("options", {})
    named |= {name: inputs.get(name) for name in ("limit", "samples", "prompts")}
    named |= {name: value for name, value in inputs.get("parameters", {}).items()}
    given = ", ".join(result.info.get("given", ()))
    return {**{name: str(value) for name, value in named.items()}, "given": given}


def _conditions(result: Result) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(_settings(result).items()))


def _told_apart(labels: Sequence[str], results: Sequence[Result]) -> list[str]:
    """Add to labels that several runs of one task bear what these runs differ in."""
    places = [(label, result.info["inputs"]["config"]) for label, result in zip(labels, results, strict=True)]
    told = []
    for place, result in zip(places, results, strict=True):
        alike = [other for at, other in zip(places, results, strict=True) if at == place]
        mine, theirs = _settings(result), [_settings(other) for other in alike]
        parts = [f"{name} {value[:24]}" for name, value in mine.items() if {one.get(name) for one in theirs} != {value}]
        if len({tuple(other.info["inputs"]["splits"]) for other in alike}) > 1:
            parts.append("+".join(result.info["inputs"]["splits"]))
        told.append(", ".join([place[0], *parts]))
    return told


def _value(inputs: Mapping[str, Any], varies: str) -> str:
    found = inputs[varies] if varies in inputs else inputs.get("retrieval", {}).get(varies, NOTHING)
    return str(found).rstrip("/").rsplit("/", 1)[-1]


def _beside(number: str | None, result: Result) -> list[Published]:
    """Return the printed numbers of one task that were made under a run's settings, in one table or in all."""
    rows = beside(result.info)
    return [row for row in rows if number in (None, row.table)]


def _overview(benchmark: str, results: Sequence[Result], profiles: Sequence[str]) -> Grid:
    """Make one table of all tasks; under each stand the printed rows of the same settings by the paper's main model."""
    lines: list[Line] = []
    rows: list[Published] = []
    names = _told_apart([result.info["inputs"]["config"] for result in results], results)
    for name, result in zip(names, results, strict=True):
        lines += _ours(name, result, list(_COLUMNS), profiles)
        # The tables before the last one have one model; the last one varies it.
        last = max(SWEEPS[benchmark], key=int)
        printed = [row for row in _beside(None, result) if row.table != last]
        if printed:
            lines.append(_printed(f"  {printed[0].model}", printed))
            rows += printed
    inputs = results[0].info["inputs"]
    title = f"{benchmark}, {_value(inputs, 'llm')}"
    paper = ["No row of the paper was made under these settings."]
    if rows:
        paper = [*paper_notes(benchmark, rows), *corpus_notes([result.info for result in results])]
    return Grid(title, "task", list(_COLUMNS.values()), lines, [*_notes(results, profiles), *paper])


def _table(benchmark: str, number: str, config: str, results: Sequence[Result], profiles: Sequence[str]) -> Grid:
    """Make one of the paper's tables for one task."""
    varies = SWEEPS[benchmark][number].varies
    rows = [row for row in published(benchmark) if row.table == number and row.config == config]
    here = [result for result in results if result.info["inputs"]["config"] == config]
    lines: list[Line] = []
    by_label: dict[str, list[Published]] = {}
    for row in rows:
        by_label.setdefault(_label(row, varies), []).append(row)
    # The rows of a table over models are not told apart by their settings, and a model's name has many spellings.
    rows_of = {} if varies == "llm" else by_label
    under = [next((label for label, each in rows_of.items() if _stands(number, each, one)), None) for one in here]
    names = [
        _value(one.info["inputs"], "llm")
        if varies == "llm"
        else f"{label or _value(one.info['inputs'], varies)}, {_value(one.info['inputs'], 'llm')}"
        for label, one in zip(under, here, strict=True)
    ]
    names = _told_apart(names, here)
    for label, printed in by_label.items():
        lines.append(_printed(label if varies == "llm" else f"{label}, {printed[0].model}", printed))
        for name, place, result in zip(names, under, here, strict=True):
            if place == label:
                lines += _ours(name, result, list(_COLUMNS), profiles)
    others = [(name, result) for name, place, result in zip(names, under, here, strict=True) if place is None]
    for rank, (name, result) in enumerate(others):
        lines += _ours(name, result, list(_COLUMNS), profiles, rule=rank == 0)
    title = f"Table {number}. {SWEEPS[benchmark][number].title}: {config}"
    notes = [*_notes(here, profiles), *paper_notes(benchmark, rows), *corpus_notes([one.info for one in here])]
    return Grid(title, varies, list(_COLUMNS.values()), lines, notes)


def _stands(number: str, printed: Sequence[Published], result: Result) -> bool:
    """Whether a run stands under these printed rows."""
    return any(row in _beside(number, result) for row in printed)


def _label(row: Published, varies: str) -> str:
    if varies in ("llm", "retriever"):
        return row.model if varies == "llm" else row.retriever
    return str(row.setting[varies])


def _printed(label: str, rows: Sequence[Published]) -> Line:
    by_key = {row.key: row for row in rows}
    return published_line(label, [by_key.get(key) for key in _COLUMNS])


def _retrieval(results: Sequence[Result], profiles: Sequence[str]) -> list[Grid]:
    """Make the table of what was retrieved, where the corpus holds the relevant documents."""
    ranked = [r for r in results if any(row["metric"] == _RANKING and row["value"] is not None for row in r.scores)]
    if not ranked:
        return []
    keys = list(dict.fromkeys(r["key"] for result in ranked for r in result.scores if r["metric"] == _RANKING))
    depth = max(int(key.partition("@")[2] or 0) for key in keys)
    columns = [key for key in keys if "@" not in key or key.endswith(f"@{depth}")]
    lines = []
    for name, result in zip(_told_apart([one.info["inputs"]["config"] for one in ranked], ranked), ranked, strict=True):
        lines += _ours(name, result, columns, profiles)
    notes = [
        "Ranks are of passages; a document counts at its first. mrr_per_gold: mean over a question's documents.",
        "map: official over the documents found, corrected over all that are relevant.",
    ]
    heads = [column.replace("_", "_\n", 1) for column in columns]
    return [Grid("Retrieval", "task", heads, lines, notes)]


_RANKING = "retrieval_ranking"


def _ours(label: str, result: Result, keys: Sequence[str], profiles: Sequence[str], rule: bool = False) -> list[Line]:
    """Make our lines of one run: values with intervals, denominators where they differ, the second profile likewise."""
    found = {(row["profile"], row["key"]): row for row in result.scores}
    main, *other = ([found.get((profile, key)) for key in keys] for profile in profiles)
    cells = [value_cell(row) for row in main]
    lines = [Line(label, cells, rule=rule)]
    counts = [denominator(row) if row else None for row in main]
    totals = [row["n_total"] if row else None for row in main]
    if any(count not in (None, total) for count, total in zip(counts, totals, strict=True)):
        lines.append(Line("  n", [Cell(NOTHING if count is None else str(count)) for count in counts]))
    for profile, rows in zip(profiles[1:], other, strict=True):
        second = [value_cell(row) for row in rows]
        if second != cells:
            lines.append(Line(f"  {profile}", second))
    return lines


def _notes(results: Sequence[Result], profiles: Sequence[str]) -> list[str]:
    infos = [result.info for result in results]
    scores = [row for result in results for row in result.scores]
    totals = {r.info["inputs"]["config"]: max((row["n_total"] for row in r.scores), default=0) for r in results}
    n = ", ".join(f"{config} {total}" for config, total in totals.items())
    settings = dict.fromkeys(note for info in infos for note in settings_notes(info["inputs"]))
    return [
        *[f"PARTIAL: {result.stopped}." for result in results if result.stopped],
        f"Percent, length in characters; {profiles[0]} profile, {INTERVALS}. Items: {n}.",
        *data_notes(infos),
        *settings,
        *not_run_notes(scores),
        *unscored_notes([row for row in scores if row["profile"] in profiles]),
    ]

"""CRAG's tables 5 and 11, a model alone and on tasks 1 to 3, and 6, whole systems: the printed rows with ours under.

Table 5 has the two models that the paper discusses, Table 11 all eight: it is shown where a recipe of it was run. Table
6 has whole systems, by the ratings of people and by latency: its second half is weighted by the traffic of question
types, which the paper does not print, so ours has one where the user gives weights.
"""

from collections.abc import Sequence
from statistics import mean
from typing import Any

from quadrag.benchmark import load
from quadrag.provenance import Provenance
from quadrag.reporting.notes import INTERVALS, note_ours, note_paper, note_validity
from quadrag.reporting.published import find_row, lay_under, printed_lines, read_printed, read_table_beside
from quadrag.reporting.table import NOTHING, Cell, PaperTables, Row, Table, name_model, our_lines
from quadrag.results import Note, NoteCode, Run

NAME = "crag"
KEYS = ("accuracy", "hallucination", "missing", "truthfulness")
_RATED = ("perfect", "acceptable", "hallucination", "missing", "truthfulness")
_PROXY = "accuracy_bounded"  # shown where no judge was asked
_LATENCY, _WEIGHTED = "latency_ms", "_weighted"
_TASKS = {
    ("task_1_2", "none"): "LLM only",
    ("task_1_2", "snippets"): "Task 1",
    ("task_1_2", "snippets-kg"): "Task 2",
    ("task_3", "snippets-kg"): "Task 3",
}


def tabulate(results: Sequence[Run], profiles: Sequence[str]) -> list[Table]:
    """Make the table of several runs; runs that the paper has no counterpart of stand in a block of their own."""
    recipes = any("crag-table11" in word for result in results for word in result.record.command)
    number = "11" if recipes else "5"
    rows = read_table_beside(NAME, number, [result.record for result in results])
    blocks: dict[str, list[Run]] = {}
    for result in results:
        blocks.setdefault(_name_block(result.record.config, result.record.retriever), []).append(result)
    keys = KEYS if any(result.record.judge for result in results) else (*KEYS, _PROXY)
    lines: list[Row] = []
    for name in sorted(blocks, key=[*_TASKS.values(), *blocks].index):
        printed = printed_lines(
            [row for row in rows if _name_block(row.config, row.retriever) == name], keys, lambda row: f" {row.model}"
        )
        ours = []
        for result in blocks[name]:
            above = find_row([result.record], printed)
            for split in dict.fromkeys(row.key.split for row in result.scores):
                label = f" {name_model(result.record)} (ours)" + ("" if split == "public" else f", {split}")
                ours.append((above, label, [row for row in result.scores if row.key.split == split], keys))
        lines += [Row(name, [Cell("")] * len(keys), rule=True), *lay_under(printed, ours, profiles)]
    shown = [row for row in rows if _name_block(row.config, row.retriever) in blocks]
    scores = [[row for row in result.scores if row.key.key in keys] for result in results]
    notes = [*note_ours(results, scores, profiles[0]), *note_paper(NAME, shown)]
    return [Table(f"Table {number}. Truthfulness of answers", "", list(keys), lines, notes, "points")]


def _name_block(config: str, retriever: str) -> str:
    return _TASKS.get((config, retriever), f"{config} {retriever}")


def tabulate_systems(result: Run, profiles: Sequence[str]) -> list[Table]:
    """Make the table of a run; [] where its answers were neither rated nor timed."""
    scores = [row for row in result.whole() if row.key.metric == "truthfulness" and row.ran]
    there = {row.key.key for row in scores}
    rated, weighted = "perfect" in there, f"perfect{_WEIGHTED}" in there
    if not rated and not result.record.latency_seconds:
        return []
    keys = [*(_RATED if rated else ()), _LATENCY]
    printed = _read_systems(result)
    lines: list[Row] = []
    for weighting, end in (("equal", ""), ("traffic", _WEIGHTED))[: 1 + weighted]:
        if weighted:
            lines.append(Row(f"{weighting} weighting", [Cell("")] * len(keys), rule=bool(lines)))
        values = {(row["system"], row["metric"]): row["value"] for row in printed if row["weighting"] == weighting}
        for name in dict.fromkeys(name for name, _ in values):
            lines.append(Row(f" {name}", [Cell(values.get((name, key), NOTHING)) for key in keys], "published"))
        for split in dict.fromkeys(row.key.split for row in result.scores):
            own = {f"{key}{end}": key for key in keys}
            here = [row for row in scores if row.key.split == split and row.key.key in own]
            ours = our_lines(f" {name_model(result.record)} (ours)", here, list(own), profiles)
            if not end:
                for line, cell in zip(ours, _latency_cells(result, split), strict=False):
                    line.cells[-1] = cell
            lines += ours
    title = f"Table 6. {'Systems rated by people' if rated else 'Latency of systems'}"
    conditions = [row["note"].removeprefix("info: ") for row in printed if row["metric"] == _LATENCY and row["note"]]
    notes = [*note_validity([result]), INTERVALS]
    if printed:
        notes.append(Note(NoteCode.PUBLISHED_SOURCE, {"paper": load(NAME).paper, "tables": ["6"]}))
        notes.append(Note(NoteCode.CONDITIONS, {"conditions": conditions}))
    return [Table(title, "", [*keys[:-1], "latency\n(ms)"], lines, notes)]


def _read_systems(result: Run) -> list[dict[str, Any]]:
    """Read the numbers of the table, each with what it was made under; none beside data of one's own."""
    if result.record.provenance is Provenance.OWN:
        return []
    return [row for row in read_printed(NAME) if row["table"] == "6"]


def _latency_cells(result: Run, split: str) -> list[Cell]:
    place = f"{result.record.config}/{split}/"
    seconds = [taken for name, taken in result.record.latency_seconds.items() if name.startswith(place)]
    return [Cell(f"{mean(seconds) * 1000:.0f}"), Cell(str(len(seconds)))] if seconds else []


TABLES = PaperTables(tabulate=tabulate, systems=tabulate_systems, blocks=_TASKS)

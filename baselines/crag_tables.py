"""CRAG's tables 5 and 11: a model alone and on tasks 1 to 3, the printed rows with ours under them.

Table 5 has the two models that the paper discusses, Table 11 all eight: it is shown where a recipe of it was run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .cells import NOTHING, heading, published_line, value_cell
from .grid import Cell, Grid, Line
from .notes import INTERVALS, data_notes, denominator, not_run_notes, paper_notes, settings_notes, unscored_notes
from .pipeline import Result
from .published import Published, published

KEYS = ("accuracy", "hallucination", "missing", "truthfulness")
_PROXY = "accuracy_bounded"  # shown where no judge was asked
_TASKS = {
    ("task_1_2", "none"): "LLM only",
    ("task_1_2", "snippets"): "Task 1",
    ("task_1_2", "snippets-kg"): "Task 2",
    ("task_3", "snippets-kg"): "Task 3",
}


def crag_grids(results: Sequence[Result], profiles: Sequence[str]) -> list[Grid]:
    """Make the table of several runs; runs that the paper has no counterpart of stand in a block of their own.

    Args:
        results: with scores over all items.
        profiles: the first is shown; of two, the second where it differs.
    """
    commands = {word for result in results for word in result.info.get("command", ())}
    number = "11" if any("crag-table11" in word for word in commands) else "5"
    rows = [row for row in published("crag") if row.table == number]
    blocks: dict[str, list[Result]] = {}
    for result in results:
        blocks.setdefault(_task(result), []).append(result)
    lines: list[Line] = []
    shown: list[Published] = []
    judged = any(result.info["inputs"].get("judge") for result in results)
    keys = KEYS if judged else (*KEYS, _PROXY)
    places = {name: place for place, name in _TASKS.items()}
    for name in sorted(blocks, key=[*places, *blocks].index):
        lines.append(Line(name, [Cell("")] * len(keys), rule=True))
        printed = [row for row in rows if (row.config, row.retriever) == places.get(name)]
        for model in dict.fromkeys(row.model for row in printed):
            found = {row.key: row for row in printed if row.model == model}
            lines.append(published_line(f" {model}", [found.get(key) for key in keys]))
        shown += printed
        lines += _block(blocks[name], keys, profiles)
    infos = [result.info for result in results]
    scores = [row for result in results for row in result.scores if row["key"] in keys]
    notes = [
        *[f"PARTIAL: {result.stopped}." for result in results if result.stopped],
        *(paper_notes("crag", shown) if shown else ["No row of the paper was made under these settings."]),
        f"Ours: percent, {profiles[0]} profile, {INTERVALS}.",
        *data_notes(infos),
        *dict.fromkeys(note for info in infos for note in settings_notes(info["inputs"])),
        *not_run_notes(scores),
        *unscored_notes([row for row in scores if row["profile"] in profiles]),
    ]
    if not judged:
        notes.append(f"{_PROXY}: an accepted answer stands in the reply, whole words and numbers; not the paper's.")
    return [Grid(f"Table {number}. Truthfulness of answers", "", [heading(key) for key in keys], lines, notes)]


def _task(result: Result) -> str:
    inputs = result.info["inputs"]
    place = (inputs["config"], inputs["retriever"])
    return _TASKS.get(place, f"{place[0]} {place[1]}")


def _block(results: Sequence[Result], keys: Sequence[str], profiles: Sequence[str]) -> list[Line]:
    lines: list[Line] = []
    for result in results:
        model = str(result.info["inputs"]["llm"]).rstrip("/").rsplit("/", 1)[-1]
        for split in dict.fromkeys(row["split"] for row in result.scores):
            found = {(row["key"], row["profile"]): row for row in result.scores if row["split"] == split}
            label = f" {model} (ours)" if split == "public" else f" {model} (ours), {split}"
            main, *other = ([found.get((key, profile)) for key in keys] for profile in profiles)
            lines.append(Line(label, _cells(main)))
            counts = [denominator(row) if row else None for row in main]
            lines.append(Line("  n", [Cell(NOTHING if count is None else str(count)) for count in counts]))
            lines += [Line(f"  {profiles[1]}", _cells(rows)) for rows in other if _cells(rows) != _cells(main)]
    return lines


def _cells(rows: Sequence[Mapping[str, Any] | None]) -> list[Cell]:
    return [value_cell(row) for row in rows]

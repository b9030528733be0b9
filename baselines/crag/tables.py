"""CRAG's tables 5 and 11: a model alone and on tasks 1 to 3, the printed rows with ours under them.

Table 5 has the two models that the paper discusses, Table 11 all eight: it is shown where a recipe of it was run.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ..results.run import Result
from ..tables.cells import break_heading
from ..tables.grid import Cell, Grid, Line
from ..tables.lines import our_lines, printed_lines
from ..tables.names import name_model
from ..tables.paper import PaperTables
from ..tables.paper_notes import note_paper
from ..tables.published import Published, read_table_beside
from ..tables.replicas import find_row, place_lines
from ..tables.run_notes import note_ours
from .systems import tabulate_systems

NAME = "crag"
KEYS = ("accuracy", "hallucination", "missing", "truthfulness")
_FINDS_ENTITIES = "llama-3-8b-instruct"  # for every model of the paper
_PROXY = "accuracy_bounded"  # shown where no judge was asked
_TASKS = {
    ("task_1_2", "none"): "LLM only",
    ("task_1_2", "snippets"): "Task 1",
    ("task_1_2", "snippets-kg"): "Task 2",
    ("task_3", "snippets-kg"): "Task 3",
}


def tabulate(results: Sequence[Result], profiles: Sequence[str]) -> list[Grid]:
    """Make the table of several runs; runs that the paper has no counterpart of stand in a block of their own."""
    recipes = any("crag-table11" in word for result in results for word in result.run.command)
    number = "11" if recipes else "5"
    rows = read_table_beside(NAME, number, [result.run for result in results])
    blocks: dict[str, list[Result]] = {}
    for result in results:
        place = (result.run.config, result.run.retriever)
        blocks.setdefault(_TASKS.get(place, " ".join(place)), []).append(result)
    lines: list[Line] = []
    shown: list[Published] = []
    judged = any(result.run.judge for result in results)
    keys = KEYS if judged else (*KEYS, _PROXY)
    for name in _order(blocks):
        lines.append(Line(name, [Cell("")] * len(keys), rule=True))
        printed = [row for row in rows if _TASKS.get((row.config, row.retriever)) == name]
        theirs = printed_lines(printed, keys, lambda row: f" {row.model}")
        own: list[tuple[str, list[Line]]] = []
        shown += printed
        for result in blocks[name]:
            for split in dict.fromkeys(row.key.split for row in result.scores):
                label = f" {name_model(result.run)} (ours)" + ("" if split == "public" else f", {split}")
                under = find_row([result.run], [line.label for line in theirs])
                scores = [row for row in result.scores if row.key.split == split]
                own.append((under, our_lines(label, scores, keys, profiles)))
        lines += place_lines(theirs, own)
    own_scores = [[score for score in result.scores if score.key.key in keys] for result in results]
    notes: list[Any] = [*note_ours(results, own_scores, profiles[0]), *note_paper(NAME, shown)]
    if any(row.retriever.endswith("-kg") for row in shown):
        notes += _note_entities(results)
    heads = [break_heading(key) for key in keys]
    return [Grid(f"Table {number}. Truthfulness of answers", "", heads, lines, notes, "points")]


def _order(blocks: Iterable[str]) -> list[str]:
    return sorted(blocks, key=[*_TASKS.values(), *blocks].index)


def _name_block(name: str, result: Result, beside: Sequence[Result]) -> str:
    """Name a run in a line under the table: by its block, and by its model where another is in it too."""
    return name if len(beside) == 1 else f"{name} {name_model(result.run)}"


def _note_entities(results: Sequence[Result]) -> list[str]:
    """Say of runs with facts of the graph that their entities were found by another model than the paper's."""
    asked = [result.run for result in results if result.run.found.get("entities")]
    found = ((run.entity or {"model": run.llm})["model"] for run in asked)
    others = not all(_FINDS_ENTITIES in name.lower() for name in found)
    return (
        ["Entities: the paper's by Llama 3 8B for every model, ours not; name it with --entity-llm."] if others else []
    )


TABLES = PaperTables(
    tabulate=tabulate,
    systems=tabulate_systems,
    blocks=_TASKS,
)

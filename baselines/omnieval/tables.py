"""OmniEval's tables 4 and 5: retrievers with one model, models with and without retrieval; ours under the printed rows.

A run of a recipe stands right under the recipe's row. Runs of one model stand under Table 4 where they vary the
embedding too, or use one that Table 4 alone prints; all others stand under Table 5.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from quadrag.reporting.notes import INTERVALS, note_lower, note_ours, note_paper
from quadrag.reporting.published import Published, find_row, lay_under, printed_lines, read_table, read_table_beside
from quadrag.reporting.table import Cell, PaperTables, Row, Table, count_line, name_model, value_cell
from quadrag.results import ALL, Note, NoteCode, Run, Score

IN_MATRIX = ("acc", "rouge_l", "hal", "com", "utl", "nac", "f1", "em", "map", "mrr")  # the main one first
_LABELS = yaml.safe_load(Path(__file__).with_name("labels.yaml").read_text(encoding="utf-8"))
FIELDS, TOPICS, TASKS = _LABELS["fields"], _LABELS["topics"], _LABELS["tasks"]


def matrix_tables(
    scores: Sequence[Score], title: str, profile: str, labels: str = "en", every: bool = True
) -> list[Table]:
    """Make the matrix of each metric for each split of one run, in ``en`` or ``zh``; [] where there are no cells."""
    at = 1 if labels == "zh" else 0
    there = {row.key.key for row in scores if row.ran}
    keys = [key for key in IN_MATRIX if key in there]
    tables = []
    for split in dict.fromkeys(row.key.split for row in scores):
        here = [row for row in scores if row.key.split == split and row.profile == profile]
        for key in keys if every else keys[:1]:
            found = {row.slice: row for row in here if row.key.key == key}
            if any(name.startswith("cell=") for name in found):
                tables.append(_grid(found, f"{title}, {split}, {key}", profile, at))
    return tables


def _grid(found: Mapping[str, Score], title: str, profile: str, at: int) -> Table:
    tasks = [task for task in TASKS if f"task={task}" in found]
    tasks = tasks if len(tasks) > 1 else []  # the only one is all of them again
    lines: list[Row] = []
    field = None
    # Ours in their order, then those of a dataset of the user's own.
    there = [name.removeprefix("topic=") for name in found if name.startswith("topic=")]
    for topic in [*(name for name in TOPICS if name in there), *sorted(name for name in there if name not in TOPICS)]:
        upper, _, lower = topic.partition("/")
        label = TOPICS.get(topic, (lower, lower))
        if upper != field:
            field = upper
            name = FIELDS.get(field, (field, field))[at]
            lines.append(Row(name, [Cell("")] * (len(tasks) + 1), rule=bool(lines)))
        cells = [found.get(f"cell={topic}/{task}") for task in tasks]
        lines.append(Row(f" {label[at]}", [value_cell(row) for row in (*cells, found[f"topic={topic}"])]))
    whole = [*(found.get(f"task={task}") for task in tasks), found.get(ALL)]
    lines.append(Row(_LABELS["over"]["micro"][at], [value_cell(row) for row in whole], rule=True))
    lines.append(count_line(whole))
    for grouping, label in _LABELS["macro"].items():
        if row := found.get(f"macro:{grouping}"):
            lines.append(Row(label[at], [*[Cell("")] * len(tasks), value_cell(row)]))
    heads = [*(TASKS[task][at] for task in tasks), _LABELS["over"]["all"][at]]
    lower = note_lower((row.key.metric, row.key.key) for row in found.values())
    notes = [Note(NoteCode.UNITS, {"profile": profile}), INTERVALS, *lower]
    return Table(title, _LABELS["over"]["topic"][at], heads, lines, notes, "heat")


NAME = "omnieval"
KEYS = ("map", "mrr", "f1", "rouge_l", "acc", "hal", "com", "utl", "nac")
_ALONE = "alone"
_TITLES = {"4": "Retrievers", "5": "Models with retrieval and without"}


def tabulate(results: Sequence[Run], profiles: Sequence[str]) -> list[Table]:
    """Make a table for every split that was run."""
    number = _choose_table(results)
    splits = dict.fromkeys(row.key.split for result in results for row in result.scores)
    return [_tabulate_split(number, split, results, profiles) for split in splits]


def _choose_table(results: Sequence[Run]) -> str:
    embeddings = {_name_finder(result) for result in results} - {_ALONE}
    printed = {number: {row.setting.get("embedding") for row in read_table(NAME, number)} for number in _TITLES}
    apart = len(embeddings) > 1 or embeddings & (printed["4"] - printed["5"])
    return "4" if apart and len({result.record.llm for result in results}) == 1 else "5"


def _tabulate_split(number: str, split: str, results: Sequence[Run], profiles: Sequence[str]) -> Table:
    printed = read_table_beside(NAME, number, [result.record for result in results])
    rows = [row for row in printed if row.split == split]
    lines = printed_lines(rows, KEYS, _name_row)
    shown = [result for result in results if any(row.key.split == split for row in result.scores)]
    scores = [[row for row in result.scores if row.key.split == split] for result in shown]
    ours = []
    for result, of_split in zip(shown, scores, strict=True):
        above = find_row([result.record], lines)
        label = f"{' ' * bool(above)}{name_model(result.record)} {_name_finder(result)} (ours)"
        ours.append((above, label, of_split, KEYS))
    notes = [*note_ours(shown, scores, profiles[0]), *note_paper(NAME, rows)]
    lines = lay_under(lines, ours, profiles)
    return Table(f"Table {number}. {_TITLES[number]}", split, list(KEYS), lines, notes, "points")


def _name_finder(result: Run) -> str:
    run = result.record
    embedding = (run.retrieval or {}).get("embedding", run.retriever)
    return {"none": _ALONE, "dense": str(embedding)}.get(run.retriever, run.retriever)


def _name_row(row: Published) -> str:
    return f"{row.model} {row.setting.get('embedding', _ALONE)}"


TABLES = PaperTables(tabulate=tabulate, matrices=matrix_tables)

"""CRUD-RAG's tables 3 to 8, each of which varies one setting: a table a task, the printed rows with ours under them.

Runs that differ are shown in that table of the paper which varies what they vary.
"""

from collections.abc import Sequence
from typing import Any

from quadrag.benchmark import load
from quadrag.metric_record import show_key
from quadrag.reporting.notes import note_ours, note_paper
from quadrag.reporting.published import Published, find_beside, find_row, lay_under, printed_lines, read_table_beside
from quadrag.reporting.table import NOTHING, Cell, PaperTables, Row, Table, name_apart, name_model, our_lines
from quadrag.results import Run, RunRecord, Score

NAME = "crud_rag"
PRINTED = {  # title, and the setting that the table varies; ``retriever`` and ``llm`` are settings too
    "3": ("Chunk size, with top-k in step", "chunk_size"),
    "4": ("Overlap of chunks, percent", "chunk_overlap"),
    "5": ("Retriever", "retriever"),
    "6": ("Embedding model", "embedding"),
    "7": ("Passages shown (top-k)", "top_k"),
    "8": ("Language model", "llm"),
}
_MODELS = "8"  # the others are of one model
_COLUMNS = {
    "bleu": "BLEU",
    "rouge_l": "ROUGE-L",
    "bertscore": "BERTScore",
    "precision": show_key("ragquesteval", "precision"),
    "recall": show_key("ragquesteval", "recall"),
    "length": "length",
}
_KEYS, _HEADS = list(_COLUMNS), list(_COLUMNS.values())
_RANKING = "retrieval_ranking"


def tabulate(results: Sequence[Run], profiles: Sequence[str]) -> list[Table]:
    """Make the tables of several runs, each of which has scores of one split."""
    order = {config: place for place, (config, _) in enumerate(load(NAME).paper_runs(False))}
    records = [result.record for result in results]
    varied = {number: {_setting(record, varies) for record in records} for number, (_, varies) in PRINTED.items()}

    def fit(number: str) -> tuple[int, bool]:
        return len(varied[number]), any(row.table == number for one in results for row in find_beside(one.record))

    def rank(result: Run) -> tuple[int, int]:
        """Rank what is a number by its size; what is none keeps its place."""
        value = _setting(result.record, PRINTED[number][1])
        return order[result.record.config], int(value) if value.isdigit() else 0

    number = max(PRINTED, key=fit)
    results = sorted(results, key=rank)
    sweep = len(varied[number]) > 1
    first = _tabulate_sweep(number, results, profiles) if sweep else _tabulate_tasks(results, profiles)
    return [first, *_tabulate_ranks(results, profiles)]


def _tabulate_tasks(results: Sequence[Run], profiles: Sequence[str]) -> Table:
    lines: list[Row] = []
    rows: list[Published] = []
    for name, result in zip(name_apart(results), results, strict=True):
        printed = [row for row in find_beside(result.record) if row.table != _MODELS]
        lines += our_lines(name or result.record.config, result.scores, _KEYS, profiles)
        lines += printed_lines(printed, _KEYS, lambda row: f"  paper: {row.model}")
        rows += printed
    title = f"{NAME}, {name_model(results[0].record)}"
    return Table(title, "task", _HEADS, lines, _note(results, rows, profiles), "points")


def _tabulate_sweep(number: str, results: Sequence[Run], profiles: Sequence[str]) -> Table:
    title, varies = PRINTED[number]
    printed = read_table_beside(NAME, number, [result.record for result in results])
    lines: list[Row] = []
    rows: list[Published] = []
    for config in dict.fromkeys(result.record.config for result in results):
        here = [result for result in results if result.record.config == config]
        beside = [row for row in printed if row.config == config]
        rows += beside
        lines += [Row(config, [Cell("")] * len(_KEYS), rule=True), *_sweep_lines(number, beside, here, profiles)]
    return Table(f"Table {number}. {title}", varies, _HEADS, lines, _note(results, rows, profiles), "points")


def _sweep_lines(number: str, rows: Sequence[Published], here: Sequence[Run], profiles: Sequence[str]) -> list[Row]:
    varies = PRINTED[number][1]

    def name_printed(row: Published) -> str:
        return row.model if number == _MODELS else f"{row.setting_of(varies)}, {row.model}"

    printed = printed_lines(rows, _KEYS, name_printed)
    ours: list[tuple[str, str, Sequence[Score], Sequence[str]]] = []
    for result in here:
        run = result.record
        # The rows of a table over models are not told apart by their settings, and a model's name has many spellings.
        beside = [row for row in find_beside(run) if row.table == number and number != _MODELS]
        by_recipe = find_row([run], printed) if number == _MODELS else ""
        value = beside[0].setting_of(varies) if beside else _setting(run, varies)
        label = name_model(run) if number == _MODELS else f"{value}, {name_model(run)}"
        if any(label == other for _, other, *_ in ours) and result.folder:
            label = f"{label}, {result.folder.name}"
        ours.append((name_printed(beside[0]) if beside else by_recipe, label, result.scores, _KEYS))
    return lay_under(printed, ours, profiles)


def _tabulate_ranks(results: Sequence[Run], profiles: Sequence[str]) -> list[Table]:
    """Make a table of how well passages were found, at the greatest depth."""
    ranks = [[row for row in one.scores if row.key.metric == _RANKING and row.value is not None] for one in results]
    keys = list(dict.fromkeys(row.key.key for rows in ranks for row in rows))
    depth = max((int(key.partition("@")[2] or 0) for key in keys), default=0)
    columns = [key for key in keys if "@" not in key or key.endswith(f"@{depth}")]
    lines: list[Row] = []
    for name, result, rows in zip(name_apart(results), results, ranks, strict=True):
        lines += our_lines(name or result.record.config, rows, columns, profiles) if rows else []
    return [Table("Retrieval", "task", columns, lines)] if lines else []


def _note(results: Sequence[Run], rows: Sequence[Published], profiles: Sequence[str]) -> list[Any]:
    return [*note_ours(results, [result.scores for result in results], profiles[0]), *note_paper(NAME, rows)]


def _setting(run: RunRecord, varies: str) -> str:
    value = getattr(run, varies, None) or (run.retrieval or {}).get(varies, NOTHING)
    return str(value).rstrip("/").rsplit("/", 1)[-1]


TABLES = PaperTables(
    tabulate=tabulate,
    varies={number: varies for number, (_, varies) in PRINTED.items() if number != _MODELS},
)

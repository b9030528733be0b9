"""CRUD-RAG's tables 3 to 8, each of which varies one setting: a table a task, the printed rows with ours under them.

Runs that differ are shown in that table of the paper which varies what they vary.
"""

from collections.abc import Sequence

from quadrag.metric_record import show_key

from ..core.benchmark import load
from ..core.run_record import RunRecord
from ..results.note import Note
from ..results.run import Result
from ..results.score import Score
from ..tables.cells import NOTHING
from ..tables.grid import Cell, Grid, Line
from ..tables.lines import our_lines, printed_lines
from ..tables.names import name_model
from ..tables.paper import PaperTables
from ..tables.paper_notes import note_corpus, note_paper
from ..tables.published import Published, find_beside, read_table_beside
from ..tables.replicas import find_row, place_lines
from ..tables.run_notes import note_ours

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
_KEYS = list(_COLUMNS)


def tabulate(results: Sequence[Result], profiles: Sequence[str]) -> list[Grid]:
    """Make the tables of several runs, each of which has scores of one split."""
    order = {config: place for place, (config, _) in enumerate(load(NAME).campaign(False))}
    results = sorted(results, key=lambda result: order[result.run.config])
    if len({tuple(sorted(_list_settings(result.run).items())) for result in results}) == 1:
        return [_tabulate_tasks(results, profiles), *_tabulate_ranks(results, profiles)]

    def fit(number: str) -> tuple[int, bool]:
        values = {_setting(result.run, PRINTED[number][1]) for result in results}
        return len(values), any(row.table == number for result in results for row in find_beside(result.run))

    def rank(result: Result) -> int:
        """Rank what is a number by its size; what is none keeps its place."""
        value = _setting(result.run, PRINTED[number][1])
        return int(value) if value.isdigit() else 0

    number = max(PRINTED, key=fit)
    results = sorted(results, key=rank)
    configs = sorted({result.run.config for result in results}, key=order.__getitem__)
    return [_tabulate_sweep(number, configs, results, profiles), *_tabulate_ranks(results, profiles)]


def _tabulate_tasks(results: Sequence[Result], profiles: Sequence[str]) -> Grid:
    lines: list[Line] = []
    rows: list[Published] = []
    for name, result in zip(_name_tasks(results), results, strict=True):
        printed = [row for row in find_beside(result.run) if row.table != _MODELS]
        lines += _our_lines(name, result, _KEYS, profiles)
        lines += printed_lines(printed, _KEYS, lambda row: f"  paper: {row.model}")
        rows += printed
    paper = [*note_paper(NAME, rows), *note_corpus([result.run for result in results] if rows else [])]
    title = f"{NAME}, {name_model(results[0].run)}"
    return Grid(title, "task", list(_COLUMNS.values()), lines, [*_note_ours(results, profiles), *paper], "points")


def _tabulate_sweep(number: str, configs: Sequence[str], results: Sequence[Result], profiles: Sequence[str]) -> Grid:
    title, varies = PRINTED[number]
    printed = read_table_beside(NAME, number, [result.run for result in results])
    rows = [row for row in printed if row.config in configs]
    lines: list[Line] = []
    for config in configs:
        lines.append(Line(config, [Cell("")] * len(_COLUMNS), rule=True))
        here = [result for result in results if result.run.config == config]
        lines += _sweep_lines(number, [row for row in rows if row.config == config], here, profiles)
    notes = [*_note_ours(results, profiles), *note_paper(NAME, rows), *note_corpus([one.run for one in results])]
    return Grid(f"Table {number}. {title}", varies, list(_COLUMNS.values()), lines, notes, "sweep")


def _sweep_lines(number: str, rows: Sequence[Published], here: Sequence[Result], profiles: Sequence[str]) -> list[Line]:
    varies = PRINTED[number][1]

    def name_printed(row: Published) -> str:
        return row.model if varies == "llm" else f"{row.setting_of(varies)}, {row.model}"

    printed = printed_lines(rows, _KEYS, name_printed)
    above, names = [], []
    for result in here:
        inputs = result.run
        # The rows of a table over models are not told apart by their settings, and a model's name has many spellings.
        beside = [row for row in find_beside(result.run) if row.table == number and varies != "llm"]
        by_recipe = find_row([result.run], [line.label for line in printed]) if varies == "llm" else ""
        above.append(name_printed(beside[0]) if beside else by_recipe)
        value = beside[0].setting_of(varies) if beside else _setting(inputs, varies)
        names.append(name_model(inputs) if varies == "llm" else f"{value}, {name_model(inputs)}")
    blocks = [_our_lines(name, one, _KEYS, profiles) for name, one in zip(_tell_apart(names, here), here, strict=True)]
    return place_lines(printed, list(zip(above, blocks, strict=True)))


def _tabulate_ranks(results: Sequence[Result], profiles: Sequence[str]) -> list[Grid]:
    ranked = [one for one in results if any(row.value is not None for row in _rank_rows(one))]
    if not ranked:
        return []
    keys = list(dict.fromkeys(row.key.key for one in ranked for row in _rank_rows(one)))
    depth = max(int(key.partition("@")[2] or 0) for key in keys)
    columns = [key for key in keys if "@" not in key or key.endswith(f"@{depth}")]
    lines: list[Line] = []
    for name, result in zip(_name_tasks(ranked), ranked, strict=True):
        lines += _our_lines(name, result, columns, profiles)
    return [Grid("Retrieval", "task", [column.replace("_", "_\n", 1) for column in columns], lines)]


def _rank_rows(one: Result) -> list[Score]:
    return [row for row in one.scores if row.key.metric == "retrieval_ranking"]


def _our_lines(label: str, one: Result, keys: Sequence[str], profiles: Sequence[str], rule: bool = False) -> list[Line]:
    return our_lines(label, one.scores, keys, profiles, rule=rule)


def _note_ours(results: Sequence[Result], profiles: Sequence[str]) -> list[Note]:
    return note_ours(results, [result.scores for result in results], profiles[0])


def _setting(inputs: RunRecord, varies: str) -> str:
    found = getattr(inputs, varies, None) or (inputs.retrieval or {}).get(varies, NOTHING)
    return str(found).rstrip("/").rsplit("/", 1)[-1]


def _list_settings(run: RunRecord) -> dict[str, str]:
    inputs = run
    named = {"llm": name_model(inputs), "retriever": inputs.retriever, **(inputs.retrieval or {}), **inputs.options}
    named |= {"limit": inputs.limit, "samples": inputs.samples, "prompts": inputs.prompts, **inputs.parameters}
    return {name: str(value) for name, value in named.items()} | {"given": ", ".join(run.given)}


def _name_tasks(results: Sequence[Result]) -> list[str]:
    return _tell_apart([result.run.config for result in results], results)


def _tell_apart(labels: Sequence[str], results: Sequence[Result]) -> list[str]:
    """Add to labels that several runs of one task bear what these runs differ in."""
    names = []
    for label, result in zip(labels, results, strict=True):
        alike = [other.run for name, other in zip(labels, results, strict=True) if name == label]
        others = [_list_settings(run) for run in alike]
        differing = [
            item for item in _list_settings(result.run).items() if any(item not in one.items() for one in others)
        ]
        parts = [f"{name} {value[:24]}" for name, value in differing]
        if len({tuple(run.splits) for run in alike}) > 1:
            parts.append("+".join(result.run.splits))
        names.append(", ".join([label, *parts]))
    return names


TABLES = PaperTables(
    tabulate=tabulate,
    varies={number: varies for number, (_, varies) in PRINTED.items() if number != _MODELS},
)

"""OmniEval's tables 4 and 5: retrievers with one model, models with and without retrieval; ours under the printed rows.

A run of a recipe stands right under the recipe's row. The paper's Table 4 varies the embedding, its Table 5 the model.
Runs of one model stand under Table 4 where they vary the embedding too, or use one that Table 4 alone prints; all
others stand under Table 5.
"""

from collections.abc import Sequence

from ..core.result import Result
from ..tables.grid import Grid, Line
from ..tables.lines import our_lines, printed_lines
from ..tables.names import name_model
from ..tables.notes import INTERVALS, note_directions
from ..tables.paper import PaperTables
from ..tables.paper_notes import note_paper
from ..tables.published import Published, read_table, read_table_beside
from ..tables.replicas import find_row, place_lines
from ..tables.run_notes import note_ours
from .matrix import matrix_grids

NAME = "omnieval"
KEYS = ("map", "mrr", "f1", "rouge_l", "acc", "hal", "com", "utl", "nac")
_ALONE = "alone"
_TITLES = {"4": "Retrievers", "5": "Models with retrieval and without"}


def tabulate(results: Sequence[Result], profiles: Sequence[str]) -> list[Grid]:
    """Make a table for every split that was run."""
    number = _choose_table(results)
    splits = dict.fromkeys(row["split"] for result in results for row in result.scores)
    return [_tabulate_split(number, split, results, profiles) for split in splits]


def _choose_table(results: Sequence[Result]) -> str:
    embeddings = {_name_finder(result) for result in results} - {_ALONE}
    printed = {number: {row.setting.get("embedding") for row in read_table(NAME, number)} for number in _TITLES}
    apart = len(embeddings) > 1 or embeddings & (printed["4"] - printed["5"])
    return "4" if apart and len({result.run.inputs.llm for result in results}) == 1 else "5"


def _tabulate_split(number: str, split: str, results: Sequence[Result], profiles: Sequence[str]) -> Grid:
    printed = read_table_beside(NAME, number, [result.run for result in results])
    rows = [row for row in printed if row.split == split]
    theirs = printed_lines(rows, KEYS, _name_row)
    here = [result for result in results if any(row["split"] == split for row in result.scores)]
    scores = []
    own: list[tuple[str, list[Line]]] = []
    for result in here:
        under = find_row([result.run], [line.label for line in theirs])
        label = f"{' ' * bool(under)}{name_model(result.run.inputs)} {_name_finder(result)} (ours)"
        ours = [row for row in result.scores if row["split"] == split]
        first = all(above for above, _ in own)  # of those behind all printed rows
        own.append((under, our_lines(label, ours, KEYS, profiles, rule=first, bounds=True)))
        scores += ours
    head = [*note_paper(NAME, rows), f"Ours: percent, {profiles[0]} profile.", INTERVALS]
    notes = note_ours(here, head, scores, profiles)
    notes += note_directions((row.module, row.key) for row in read_table(NAME, number))
    return Grid(
        f"Table {number}. {_TITLES[number]}: {split}", "", list(KEYS), place_lines(theirs, own), notes, "points"
    )


def _name_finder(result: Result) -> str:
    inputs = result.run.inputs
    if inputs.retriever == "none":
        return _ALONE
    found = (inputs.retrieval or {}).get("embedding", "dense") if inputs.retriever == "dense" else inputs.retriever
    return str(found)


def _name_row(row: Published) -> str:
    return f"{row.model} {row.setting.get('embedding', _ALONE)}"


TABLES = PaperTables(tabulate=tabulate, matrices=matrix_grids)

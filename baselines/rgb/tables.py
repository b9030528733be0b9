"""RGB's tables 1, 3, 5 and 7: models in rows, ours under the printed, the languages side by side or in rows as well."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quadrag.benchmark import NO_JUDGE
from quadrag.errors import QuadragError
from quadrag.reporting.notes import note_ours, note_paper
from quadrag.reporting.published import Published, find_row, lay_under, printed_lines, read_table, read_table_beside
from quadrag.reporting.table import Chart, PaperTables, Row, Table, name_model
from quadrag.results import Note, NoteCode, Run, Score, Status, find_by_phrase
from quadrag.spec import NONE

NAME = "rgb"
PRINTED = {  # title, and the heads of the columns
    "1": ("Noise robustness: accuracy (%) by noise ratio", ("0", "0.2", "0.4", "0.6", "0.8")),
    "3": ("Negative rejection: rate (%) by phrase (Rej) and by judge (Rej*)", ("Rej", "Rej*")),
    "5": ("Information integration: accuracy (%) by noise ratio", ("0", "0.2", "0.4")),
    "7": ("Counterfactual robustness (%)", ("Acc", "Acc_doc", "ED", "ED*", "CR")),
}
_BY_ROW = "7"  # the table in which a row is a model in one language
_LANGUAGES = {"en": "English", "zh": "Chinese"}
Place = tuple[str, str, str, str, str]  # config, split, retriever, module, key


def tabulate(results: Sequence[Run], profiles: Sequence[str]) -> list[Table]:
    """Make the tables that any of our scores stands in; QuadragError where two runs of a model claim a cell."""
    by_model: dict[str, list[Run]] = {}
    for result in results:
        by_model.setdefault(result.record.llm, []).append(result)
    scores = {model: _place_scores(ours) for model, ours in by_model.items()}
    tables = []
    for number, (title, heads) in PRINTED.items():
        english, chinese = (find_columns(number, language) for language in _LANGUAGES)
        rows = {"-zh": chinese, "-en": english} if number == _BY_ROW else {"": [*english, *chinese]}
        configs = {place[0] for place in (*english, *chinese)}
        here = [one for one in results if _config(one.record.config) in configs]
        if not here:
            continue
        printed = read_table_beside(NAME, number, [one.record for one in here])
        lines: list[Row] = []
        for model in dict.fromkeys(row.model for row in printed):
            for suffix, columns in rows.items():
                beside = [row for row in printed if row.model == model and _place(row) in columns]
                lines += [replace(line, label=model + suffix) for line in printed_lines(beside, columns, place=_place)]
        ours = [block for model, runs in by_model.items() for block in _list_ours(runs, lines, scores[model], rows)]
        curves = "noise ratio" in title
        keys = {place[-1] for place in (*english, *chinese)}
        shown = [[row for row in one.scores if row.key.key in keys] for one in here]
        notes = [] if curves else [_note_columns(heads, english)]
        notes += [*note_ours(here, shown, profiles[0]), *note_paper(NAME, printed)]
        names = list(heads)
        if number != _BY_ROW:
            names = [f"{name * (at == 0)}\n{head}" for name in _LANGUAGES.values() for at, head in enumerate(heads)]
        form: Chart = "curves" if curves else "points"
        lines = lay_under(lines, ours, profiles, _place_of)
        tables.append(Table(f"Table {number}. {title}", "noise ratio" * curves, names, lines, notes, form))
    return tables


def _note_columns(heads: Sequence[str], places: Sequence[Place]) -> Note:
    names = [f"{place[-1]} without documents" if place[2] == NONE else place[-1] for place in places]
    columns = "; ".join(f"{head} = {name}" for head, name in zip(heads, names, strict=True))
    return Note(NoteCode.COLUMNS, {"columns": columns})


def _place_scores(results: Sequence[Run]) -> list[Score]:
    """List the scores of one model's runs, each of what its answers were given, on either version of the data."""
    scores: dict[tuple[str, Place], Score] = {}
    for result in results:
        for row in result.scores:
            own = replace(row, of=result.record.retriever)
            if (row.profile, _place_of(own)) in scores:
                told = "was run more than once, and the paper's table has one place for it; name one folder"
                raise QuadragError(
                    f"{_config(row.key.config)} {told}, or the folders A B, to see them beside each other"
                )
            scores[row.profile, _place_of(own)] = own
    return list(scores.values())


def find_columns(number: str, language: str) -> list[Place]:
    return list(dict.fromkeys(_place(row) for row in read_table(NAME, number) if row.language == language))


def _list_ours(
    results: Sequence[Run], printed: Sequence[Row], scores: Sequence[Score], rows: dict[str, list[Place]]
) -> list[tuple[str, str, Sequence[Score], Sequence[Place]]]:
    """List our blocks of one model, as `lay_under` takes them."""
    by_phrase = find_by_phrase(scores)
    lacking: dict[str, Any] = {"status": Status.NOT_RUN, "reason": NO_JUDGE, "interval": None}
    shown = [replace(row, **lacking) if row.place in by_phrase else row for row in scores]
    blocks: list[tuple[str, str, Sequence[Score], Sequence[Place]]] = []
    for suffix, columns in rows.items():
        if any(_place_of(row) in columns for row in scores):
            above = find_row((one.record for one in results), [line for line in printed if line.label.endswith(suffix)])
            label = f"{' ' * bool(above)}{name_model(results[0].record)}{suffix} (ours)"
            blocks.append((above, label, shown, columns))
    return blocks


def _config(name: str) -> str:
    return name.removesuffix("_original")


def _place_of(score: Score) -> Place:
    config, split, metric, key = score.place
    return _config(config), split, score.of, metric, key


def _place(row: Published) -> Place:
    return _config(row.config), row.split, row.retriever, row.module, row.key


TABLES = PaperTables(
    tabulate=tabulate,
    mixing=True,
)

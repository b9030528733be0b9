"""RGB's tables 1, 3, 5 and 7: models in rows, ours under the printed, the languages side by side or in rows as well."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quadrag.errors import QuadragError

from ..core.benchmark import NO_JUDGE
from ..core.spec import NONE
from ..results.note import Note
from ..results.run import Result
from ..results.score import Score, Status, find_by_phrase
from ..tables.grid import Form, Grid, Line
from ..tables.lines import our_lines, printed_lines
from ..tables.names import name_model
from ..tables.notes import INTERVALS, note_units
from ..tables.paper import PaperTables
from ..tables.paper_notes import note_beside, note_paper
from ..tables.published import Published, read_table, read_table_beside
from ..tables.replicas import find_row, place_lines
from ..tables.run_notes import note_context, note_validity

NAME = "rgb"
_SURE = 20  # answers, which all alike are no chance
PRINTED = {  # title, and the heads of the columns
    "1": ("Noise robustness: accuracy (%) by noise ratio", ("0", "0.2", "0.4", "0.6", "0.8")),
    "3": ("Negative rejection: rate (%) by phrase (Rej) and by judge (Rej*)", ("Rej", "Rej*")),
    "5": ("Information integration: accuracy (%) by noise ratio", ("0", "0.2", "0.4")),
    "7": ("Counterfactual robustness (%)", ("Acc", "Acc_doc", "ED", "ED*", "CR")),
}
_BY_ROW = "7"  # the table in which a row is a model in one language
_WIDE = 6  # columns, beyond which there is no room for an interval under each value
_LANGUAGES = {"en": "English", "zh": "Chinese"}
Place = tuple[str, str, str, str, str]  # config, split, retriever, module, key


def tabulate(results: Sequence[Result], profiles: Sequence[str]) -> list[Grid]:
    """Make the tables that any of our scores stands in; QuadragError where two runs of a model claim a cell."""
    by_model: dict[str, list[Result]] = {}
    for result in results:
        by_model.setdefault(result.run.llm, []).append(result)
    scores = {name: _place_scores(ours) for name, ours in by_model.items()}
    grids = []
    for number, (title, heads) in PRINTED.items():
        english, chinese = (find_columns(number, language) for language in _LANGUAGES)
        configs = {config for config, *_ in (*english, *chinese)}
        here = [one for one in results if one.run.config.removesuffix("_original") in configs]
        printed = read_table_beside(NAME, number, [one.run for one in here])
        rows = {"-zh": chinese, "-en": english} if number == _BY_ROW else {"": [*english, *chinese]}
        lines = _printed_lines(printed, rows)
        own: list[tuple[str, list[Line]]] = []
        shown: list[Score] = []
        for name, ours in by_model.items():
            places = [(profile, place) for profile in profiles for place in (*english, *chinese)]
            found = [scores[name][place] for place in places if place in scores[name]]
            own += _our_lines(ours, [line.label for line in lines], found, rows, profiles)
            shown += found
        if not shown:
            continue
        used = {_place_of(row)[0] for row in shown}
        others = [one for one in results if one.run.config.removesuffix("_original") not in used]
        here = [one for one in results if one.run.config.removesuffix("_original") in used]
        # Wherever a campaign was stopped, any of its tables may lack a column.
        notes: list[Note | str] = [*note_validity([*here, *(one for one in others if one.stopped)])]
        curves = "noise ratio" in title
        notes += [] if curves else [_note_columns(heads, english)]
        notes += [*note_paper(NAME, printed), note_units(shown, profiles[0]), INTERVALS]
        own_scores = [[score for score in one.scores if score.place in {at.place for at in shown}] for one in here]
        notes += note_context(here, own_scores, profiles[0])
        notes += note_beside([one.run for one in here])
        columns = list(heads)
        if number != _BY_ROW:
            columns = [f"{name * (at == 0)}\n{head}" for name in _LANGUAGES.values() for at, head in enumerate(heads)]
        form: Form = "curves" if curves else "points"
        corner = "noise ratio" * curves
        grids.append(Grid(f"Table {number}. {title}", corner, columns, place_lines(lines, own), notes, form))
    return grids


def _note_columns(heads: Sequence[str], places: Sequence[Place]) -> str:
    ours = [f"{place[-1]} without documents" if place[2] == NONE else place[-1] for place in places]
    return f"Columns: {'; '.join(f'{head} = {name}' for head, name in zip(heads, ours, strict=True))}."


def _place_scores(results: Sequence[Result]) -> dict[tuple[str, Place], Score]:
    scores: dict[tuple[str, Place], Score] = {}
    for result in results:
        for row in result.scores:
            config, retriever = row.key.config.removesuffix("_original"), result.run.retriever
            place = config, row.key.split, retriever, row.key.metric, row.key.key
            if taken := scores.get((row.profile, place)):
                data = " (once on revised and once on original data)" if taken.key.config != row.key.config else ""
                often, how = "more than once", "the folders of the runs, A B, to see them beside each other"
                if data:
                    often, how = f"twice{data}", "one of the two folders"
                raise QuadragError(f"{config} was run {often}, and the paper's table has one place for it; name {how}")
            scores[row.profile, place] = replace(row, of=retriever)
    return scores


def find_columns(number: str, language: str) -> list[Place]:
    """Find the places of a table's columns among our scores."""
    return list(dict.fromkeys(_place(row) for row in read_table(NAME, number) if row.language == language))


def _printed_lines(printed: Sequence[Published], rows: dict[str, list[Place]]) -> list[Line]:
    lines: list[Line] = []
    for model in dict.fromkeys(row.model for row in printed):
        for suffix, columns in rows.items():
            here = [row for row in printed if row.model == model and _place(row) in columns]
            lines += [replace(line, label=model + suffix) for line in printed_lines(here, columns, place=_place)]
    return lines


def _our_lines(
    results: Sequence[Result],
    printed: Sequence[str],
    ours: Sequence[Score],
    rows: dict[str, list[Place]],
    profiles: Sequence[str],
) -> list[tuple[str, list[Line]]]:
    by_phrase = find_by_phrase(ours)
    lacking: dict[str, Any] = {"status": Status.NOT_RUN, "reason": NO_JUDGE, "interval": None}
    shown = [replace(row, **lacking) if row.place in by_phrase else row for row in ours]
    found = []
    for suffix, columns in rows.items():
        if any(_place_of(row) in columns for row in ours if row.profile == profiles[0]):
            theirs = find_row((one.run for one in results), [label for label in printed if label.endswith(suffix)])
            label = f"{' ' * bool(theirs)}{name_model(results[0].run)}{suffix} (ours)"
            lines = our_lines(label, shown, columns, profiles, _place_of, rule=True, bounds=len(columns) > _WIDE)
            found.append((theirs, lines))
    return found


def _place_of(score: Score) -> Place:
    config, split, metric, key = score.place
    return config.removesuffix("_original"), split, score.of, metric, key


def _place(row: Published) -> Place:
    return row.config.removesuffix("_original"), row.split, row.retriever, row.module, row.key


TABLES = PaperTables(
    tabulate=tabulate,
    mixing=True,
)

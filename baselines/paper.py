"""The papers' own tables: their columns and rows, with our rows under the printed ones.

Every table is data: which of our scores stands in each column, and whether the languages are columns or rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .cells import NOTHING, percent, published_line
from .grid import Cell, Grid, Line
from .published import Published, published

OURS = "official profile, 95% bootstrap intervals (no width where all values are equal)."
_LANGUAGES = {"en": "English", "zh": "Chinese"}
Place = tuple[str, str, str, str, str, str]  # config, split, retriever, module, key, profile


class Column(NamedTuple):
    """A column of a paper's table and where its value is found among ours."""

    label: str
    ability: str
    split: str
    module: str
    key: str
    retriever: str = "own"

    def place(self, language: str, profile: str) -> Place:
        """Return the key of our score for a language and profile."""
        return (f"{self.ability}_{language}", self.split, self.retriever, self.module, self.key, profile)


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of RGB's paper; with `by_row` a row is a model in one language, else the languages are side by side."""

    number: str
    title: str
    columns: tuple[Column, ...]
    by_row: bool = False

    def holds(self, scores: Mapping[Place, Mapping[str, Any]]) -> bool:
        """Whether any of our scores stands in the table."""
        return any(column.place(lang, "official") in scores for lang in _LANGUAGES for column in self.columns)

    def _denominators(self, scores: Mapping[Place, Mapping[str, Any]]) -> list[str]:
        """Say over how many questions our rows are, and how many of them could not be scored."""
        places = [column.place(language, "official") for language in _LANGUAGES for column in self.columns]
        ours = [scores[place] for place in places if place in scores]
        totals = sorted({row["n_total"] for row in ours})
        unscored = [sum(row.get("unscored", {}).values()) for row in ours]
        notes = [f"Ours: n = {' or '.join(map(str, totals))} a cell; {OURS}"]
        if any(unscored):
            notes.append(f"Up to {max(unscored)} items of a cell are unscored; official leaves them out.")
        return notes

    def grid(self, scores: Mapping[Place, Mapping[str, Any]], name: str) -> Grid:
        """Fill the table with the printed numbers and ours.

        Args:
            scores: rows of ``scores.json`` by place.
            name: what to call our rows.
        """
        rows = [row for row in published("rgb") if row.table == self.number]
        spread = [(language, column) for language in _LANGUAGES for column in self.columns]
        groups = [[cell for cell in spread if cell[0] == lang] for lang in ("zh", "en")] if self.by_row else [spread]
        lines: list[Line] = []
        for model in dict.fromkeys(row.model for row in rows):
            for cells in groups:
                lines += _printed(rows, model, cells, f"{model}-{cells[0][0]}" if self.by_row else model)
        for cells in groups:
            lines += _ours(scores, cells, f"{name}-{cells[0][0]}" if self.by_row else name)
        heads = [
            f"{_LANGUAGES[language] if column is self.columns[0] else ''}\n{column.label}"
            for language, column in spread
        ]
        columns = [column.label for column in self.columns] if self.by_row else heads
        notes = [*paper_notes(rows), *self._denominators(scores)]
        return Grid(f"Table {self.number}. {self.title}", "", columns, lines, notes)


def _printed(rows: Sequence[Published], model: str, cells: Sequence[tuple[str, Column]], label: str) -> list[Line]:
    found = {(r.language, r.split, r.retriever, r.key): r for r in rows if r.model == model}
    line = [found.get((language, column.split, column.retriever, column.key)) for language, column in cells]
    return [published_line(label, line)] if any(line) else []


def _ours(scores: Mapping[Place, Mapping[str, Any]], cells: Sequence[tuple[str, Column]], label: str) -> list[Line]:
    """Make our lines: value, bounds of the interval, and the corrected profile where it differs."""
    official = [scores.get(column.place(language, "official")) for language, column in cells]
    corrected = [scores.get(column.place(language, "corrected")) for language, column in cells]

    def line(name: str, texts: list[str], rule: bool = False) -> Line:
        return Line(name, [Cell(text) for text in texts], rule=rule)

    def bound(side: int) -> list[str]:
        return [f"{row['interval'][side] * 100:.1f}" if row and row["interval"] else NOTHING for row in official]

    values = [NOTHING if row is None else "no judge" if "not_run" in row else percent(row["value"]) for row in official]
    lines = [line(label, values, rule=True), line("  95% from", bound(0)), line("  95% to", bound(1))]
    if [row and row["value"] for row in official] != [row and row["value"] for row in corrected]:
        lines.append(line("  corrected", [percent(row["value"] if row else None) for row in corrected]))
    return lines


def paper_notes(rows: Sequence[Published]) -> list[str]:
    """Say where printed numbers come from, under which conditions, and which are doubtful."""
    tables = ", ".join(dict.fromkeys(row.table for row in rows))
    conditions = "; ".join(dict.fromkeys(part for row in rows for part in row.conditions.split("; ")))
    notes = [f"Published: arXiv:2309.01431, table {tables}; {conditions}."]
    return notes + [
        f"? {row.model} {row.language} {row.value * 100:.2f}: {row.note.removeprefix('suspect: ')}."
        for row in rows
        if row.note.startswith("suspect")
    ]


def _noise(ability: str, ratios: Sequence[str]) -> tuple[Column, ...]:
    return tuple(
        Column(ratio, ability, f"noise_{float(ratio) * 100:g}", "rgb_accuracy", "accuracy") for ratio in ratios
    )


_REJECTION = "negative_rejection"
_FACT = "counterfactual_robustness"
PAPERS: dict[str, tuple[PaperTable, ...]] = {
    "rgb": (
        PaperTable(
            "1",
            "Noise robustness: accuracy (%) by noise ratio",
            _noise("noise_robustness", ("0", "0.2", "0.4", "0.6", "0.8")),
        ),
        PaperTable(
            "3",
            "Negative rejection: rate (%) by phrase (Rej) and by judge (Rej*)",
            (
                Column("Rej", _REJECTION, "test", "rejection_rate", "rejection_rate"),
                Column("Rej*", _REJECTION, "test", "rejection_rate", "rejection_rate_judged"),
            ),
        ),
        PaperTable(
            "5",
            "Information integration: accuracy (%) by noise ratio",
            _noise("information_integration", ("0", "0.2", "0.4")),
        ),
        PaperTable(
            "7",
            "Counterfactual robustness (%)",
            (
                Column("Acc", _FACT, "test", "rgb_accuracy", "accuracy", "none"),
                Column("Acc_doc", _FACT, "test", "rgb_accuracy", "accuracy"),
                Column("ED", _FACT, "test", "error_detection", "error_detection"),
                Column("ED*", _FACT, "test", "error_detection", "error_detection_judged"),
                Column("CR", _FACT, "test", "error_detection", "error_correction"),
            ),
            by_row=True,
        ),
    )
}

"""The papers' own tables: their columns and rows, with our rows under the printed ones.

Every table is data: which of our scores stands in each column, and whether the languages are columns or rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .cells import NOTHING, bound, published_line, shown
from .grid import Cell, Grid, Line
from .notes import INTERVALS, denominator, paper_notes, unscored_notes
from .published import Published, published

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
    judged_by: str = ""  # the judged metric that the paper's value is over

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

    def grid(self, scores: Mapping[Place, Mapping[str, Any]], name: str, profiles: Sequence[str]) -> Grid:
        """Fill the table with the printed numbers and ours.

        Args:
            scores: rows of ``scores.json`` by place.
            name: what to call our rows.
            profiles: the first is shown; of two, the second where it differs.
        """
        rows = [row for row in published("rgb") if row.table == self.number]
        spread = [(language, column) for language in _LANGUAGES for column in self.columns]
        groups = [[cell for cell in spread if cell[0] == lang] for lang in ("zh", "en")] if self.by_row else [spread]
        lines: list[Line] = []
        for model in dict.fromkeys(row.model for row in rows):
            for cells in groups:
                lines += _printed(rows, model, cells, f"{model}-{cells[0][0]}" if self.by_row else model)
        for cells in groups:
            lines += _ours(scores, cells, f"{name}-{cells[0][0]}" if self.by_row else name, profiles)
        heads = [
            f"{_LANGUAGES[language] if column is self.columns[0] else ''}\n{column.label}"
            for language, column in spread
        ]
        columns = [column.label for column in self.columns] if self.by_row else heads
        ours = [scores[place] for place in self.places(profiles) if place in scores]
        notes = [*paper_notes("rgb", rows), f"Ours: {profiles[0]} profile, {INTERVALS}.", *unscored_notes(ours)]
        return Grid(f"Table {self.number}. {self.title}", "", columns, lines, notes)

    def places(self, profiles: Sequence[str]) -> list[Place]:
        """Return the places of the table's cells among our scores."""
        return [c.place(lang, profile) for profile in profiles for lang in _LANGUAGES for c in self.columns]


def _printed(rows: Sequence[Published], model: str, cells: Sequence[tuple[str, Column]], label: str) -> list[Line]:
    found = {(r.language, r.split, r.retriever, r.key): r for r in rows if r.model == model}
    line = [found.get((language, column.split, column.retriever, column.key)) for language, column in cells]
    return [published_line(label, line)] if any(line) else []


def _ours(
    scores: Mapping[Place, Mapping[str, Any]],
    cells: Sequence[tuple[str, Column]],
    label: str,
    profiles: Sequence[str],
) -> list[Line]:
    """Make our lines: value, bounds of the interval, denominator, and the second profile where it differs."""
    main, *other = ([_row(scores, column, language, profile) for language, column in cells] for profile in profiles)
    if not any(main):
        return []

    def line(name: str, texts: Sequence[str], rule: bool = False) -> Line:
        return Line(name, [Cell(text) for text in texts], rule=rule)

    def values(rows: Sequence[Mapping[str, Any] | None]) -> list[str]:
        return [NOTHING if r is None else "no judge" if "not_run" in r else shown(r["key"], r["value"]) for r in rows]

    def bounds(side: int) -> list[str]:
        return [bound(row["key"], row["interval"][side]) if row and row["interval"] else NOTHING for row in main]

    counts = [denominator(row) if row else None for row in main]
    lines = [
        line(label, values(main), rule=True),
        line("  95% from", bounds(0)),
        line("  95% to", bounds(1)),
        line("  n", [NOTHING if count is None else str(count) for count in counts]),
    ]
    return lines + [line(f"  {profiles[1]}", values(rows)) for rows in other if values(rows) != values(main)]


def _row(
    scores: Mapping[Place, Mapping[str, Any]], column: Column, language: str, profile: str
) -> Mapping[str, Any] | None:
    """Find our score of a cell; one that the paper bases on a judge counts as not run where there was none."""
    if column.judged_by:
        base = scores.get(column._replace(key=column.judged_by).place(language, profile))
        if base is not None and "not_run" in base:
            return base
    return scores.get(column.place(language, profile))


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
                Column("CR", _FACT, "test", "error_detection", "error_correction", judged_by="error_detection_judged"),
            ),
            by_row=True,
        ),
    )
}

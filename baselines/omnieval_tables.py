"""OmniEval's tables 4 and 5: retrievers with one model, models with and without retrieval; ours under the printed rows.

The paper's Table 4 varies the embedding, its Table 5 the model. Runs of one model stand under Table 4 where they vary
the embedding too, or use one that Table 4 alone prints; all others stand under Table 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .cells import NOTHING, bound, published_line, shown
from .grid import Cell, Grid, Line
from .matrix import LOWER_IS_BETTER
from .notes import INTERVALS, data_notes, denominator, not_run_notes, paper_notes, settings_notes, unscored_notes
from .pipeline import Result
from .published import Published, published

KEYS = ("map", "mrr", "f1", "rouge_l", "acc", "hal", "com", "utl", "nac")
_ALONE = "alone"
_TITLES = {"4": "Retrievers", "5": "Models with retrieval and without"}


def omnieval_grids(results: Sequence[Result], profiles: Sequence[str]) -> list[Grid]:
    """Make a table for every split that was run.

    Args:
        results: with scores over all items.
        profiles: the first is shown; of two, the second where it differs.
    """
    embeddings = {_found_by(result) for result in results} - {_ALONE}
    models = {result.info["inputs"]["llm"] for result in results}
    printed = {number: {row.setting.get("embedding") for row in _rows(number)} for number in _TITLES}
    apart = len(embeddings) > 1 or embeddings & (printed["4"] - printed["5"])
    number = "4" if apart and len(models) == 1 else "5"
    grids = []
    for split in dict.fromkeys(row["split"] for result in results for row in result.scores):
        rows = [row for row in _rows(number) if row.split == split]
        lines: list[Line] = []
        for label in dict.fromkeys(map(_label, rows)):
            found = {row.key: row for row in rows if _label(row) == label}
            lines.append(published_line(label, [found.get(key) for key in KEYS]))
        here = [result for result in results if any(row["split"] == split for row in result.scores)]
        for rank, result in enumerate(here):
            lines += _ours(result, split, profiles, rule=rank == 0)
        infos = [result.info for result in here]
        scores = [row for result in here for row in result.scores if row["split"] == split]
        notes = [
            *[f"PARTIAL: {result.stopped}." for result in here if result.stopped],
            *(paper_notes("omnieval", rows) if rows else ["The paper prints nothing for this split."]),
            f"Ours: percent, {profiles[0]} profile, {INTERVALS}.",
            *data_notes(infos),
            *dict.fromkeys(note for info in infos for note in settings_notes(info["inputs"])),
            *not_run_notes(scores),
            *unscored_notes([row for row in scores if row["profile"] in profiles]),
            *LOWER_IS_BETTER,
        ]
        grids.append(Grid(f"Table {number}. {_TITLES[number]}: {split}", "", list(KEYS), lines, notes))
    return grids


def _rows(number: str) -> list[Published]:
    return [row for row in published("omnieval") if row.table == number]


def _found_by(result: Result) -> str:
    """Name what found a run's passages: the embedding, where that alone did."""
    inputs = result.info["inputs"]
    retriever = str(inputs["retriever"])
    if retriever == "none":
        return _ALONE
    return str(inputs.get("retrieval", {}).get("embedding", retriever)) if retriever == "dense" else retriever


def _label(row: Published) -> str:
    return f"{row.model} {row.setting.get('embedding', _ALONE)}"


def _ours(result: Result, split: str, profiles: Sequence[str], rule: bool) -> list[Line]:
    """Make our lines of one run: values, bounds of the intervals, denominators, and the second profile's values."""
    model = str(result.info["inputs"]["llm"]).rstrip("/").rsplit("/", 1)[-1]
    found = {(row["key"], row["profile"]): row for row in result.scores if row["split"] == split}
    main, *other = ([found.get((key, profile)) for key in KEYS] for profile in profiles)

    def values(rows: Sequence[Mapping[str, Any] | None]) -> list[Cell]:
        return [Cell(NOTHING if r is None or "not_run" in r else shown(r["key"], r["value"])) for r in rows]

    def bounds(side: int) -> list[Cell]:
        texts = [bound(r["key"], r["interval"][side]) if r and r["interval"] else NOTHING for r in main]
        return [Cell(text) for text in texts]

    counts = [denominator(row) if row else None for row in main]
    lines = [
        Line(f"{model} {_found_by(result)} (ours)", values(main), rule=rule),
        Line("  95% from", bounds(0)),
        Line("  95% to", bounds(1)),
        Line("  n", [Cell(NOTHING if count is None else str(count)) for count in counts]),
    ]
    return lines + [Line(f"  {profiles[1]}", values(rows)) for rows in other if values(rows) != values(main)]

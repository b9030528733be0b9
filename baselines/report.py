"""What stands in the tables: our scores with their intervals, and the papers' numbers beside them.

Rates are shown in percent. Under a value stands its 95% bootstrap interval over questions. The corrected profile is
shown where it differs from the official one. Drawing is `grid.py`'s work, and no number is computed here but the
difference of two runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.records import write_text
from quadrag.stats import paired_difference

from .benchmark import Conditions, load
from .cells import NOTHING, difference_cell, published_line, value_cell
from .crag_tables import crag_grids
from .grid import Cell, Grid, Line, render_html
from .matrix import matrix_grids
from .notes import (
    INTERVALS,
    corpus_notes,
    data_notes,
    denominator,
    not_run_notes,
    paper_notes,
    settings_notes,
    unscored_notes,
)
from .omnieval_tables import omnieval_grids
from .paper import PAPERS
from .pipeline import Result, spread
from .published import Published, beside
from .score import PROFILES, items_of
from .slices import slice_grids, whole
from .sweep import SWEEPS, sweep_grids

Scores = Sequence[Mapping[str, Any]]


def lines_of(scores: Scores, splits: Sequence[str], profiles: Sequence[str]) -> list[Line]:
    """Make a line per metric, another for the second profile where it differs, and denominators where they differ."""
    by_place = {(r["metric"], r["key"], r["profile"], r["split"]): r for r in scores}
    lines = []
    for metric, key in dict.fromkeys((row["metric"], row["key"]) for row in scores):
        shown: list[list[Cell]] = []
        for profile in profiles:
            rows = [by_place.get((metric, key, profile, split)) for split in splits]
            cells = [value_cell(row) for row in rows]
            if cells in shown:
                continue
            shown.append(cells)
            lines.append(Line(key if profile == profiles[0] else f"  {profile}", cells))
            counts = [denominator(row) if row else None for row in rows]
            if any(row and count not in (None, row["n_total"]) for row, count in zip(rows, counts, strict=True)):
                lines.append(Line("  n", [Cell(NOTHING if count is None else str(count)) for count in counts]))
    totals = [max((row["n_total"] for row in scores if row["split"] == split), default=0) for split in splits]
    return [*lines, Line("n", [Cell(str(total)) for total in totals], rule=True)]


_TABLES = {"crag": crag_grids, "omnieval": omnieval_grids}
# A matrix on the page for each of these; in the terminal for the first that was run.
_MATRIX = ("acc", "rouge_l", "hal", "com", "utl", "nac", "f1", "em", "map", "mrr")


def config_grids(
    result: Result, profiles: Sequence[str] = PROFILES, labels: str = "en", whole_page: bool = False
) -> list[Grid]:
    """Make the tables of one run: its scores, its slices or matrix, the published rows beside its official values.

    Args:
        result: of the run.
        profiles: the first is shown; of two, the second where it differs.
        labels: of a matrix, ``en`` or ``zh``.
        whole_page: a matrix for every metric, not for the main one alone.
    """
    inputs = result.info["inputs"]
    name, sliced = result_name(result.info), result.scores
    scores = whole(sliced)
    splits = list(dict.fromkeys(row["split"] for row in scores)) or inputs["splits"]
    title = f"{inputs['benchmark']} {inputs['config']}, {name}"
    lengths = ", length in characters" if any(row["key"] == "length" for row in scores) else ""
    notes = [
        *partial_notes([result]),
        f"Percent{lengths}, {profiles[0]} profile, {INTERVALS}.",
        *data_notes([result.info]),
        *settings_notes(inputs),
        *not_run_notes(scores),
        *unscored_notes([row for row in scores if row["profile"] in profiles]),
    ]
    grids = [Grid(title, "metric", splits, lines_of(scores, splits, profiles), notes)]
    grids += matrices(result, profiles[0], labels, whole_page) or slice_grids(sliced, title, profiles[0])
    # Beside another mix of documents the paper's numbers would say nothing.
    mixed = inputs.get("options") and inputs["benchmark"] in PAPERS
    rows = [] if mixed else [row for row in beside(result.info) if row.split in splits]
    if rows:
        grids.append(_beside(inputs["benchmark"], scores, splits, name, rows))
        grids[-1].notes += corpus_notes([result.info])
    return grids


def matrices(result: Result, profile: str = PROFILES[0], labels: str = "en", every: bool = False) -> list[Grid]:
    """Make the matrices of a run by topic and task: of its main metric, or of every one; [] where it has no cells."""
    run = {row["key"] for row in result.scores if "not_run" not in row}
    keys = [key for key in _MATRIX if key in run]
    title = f"{result.info['inputs']['benchmark']} {result.info['inputs']['config']}, {result_name(result.info)}"
    return matrix_grids(result.scores, title, profile, keys if every else keys[:1], labels)


def partial_notes(results: Sequence[Result]) -> list[str]:
    """Say that a table is partial, where a run could not finish."""
    return [f"PARTIAL: {result.stopped}." for result in results if result.stopped]


def _beside(benchmark: str, scores: Scores, splits: Sequence[str], name: str, rows: Sequence[Published]) -> Grid:
    """Put the published rows under ours: columns are splits, or metrics where there is one split."""
    keys = list(dict.fromkeys(row.key for row in rows))
    if len(splits) > 1:
        columns, places = list(splits), [(keys[0], split) for split in splits]
    else:
        # Four of these names fit into 80 columns beside a model's only when broken after their first word.
        wide = sum(map(len, keys)) > 50
        columns = [key.replace("_", "_\n", 1) for key in keys] if wide else keys
        places = [(key, splits[0]) for key in keys]
    official = {(row["key"], row["split"]): row for row in scores if row["profile"] == "official"}
    printed = {(row.model, row.key, row.split): row for row in rows}
    lines = [Line(f"{name} (ours)", [value_cell(official.get(place)) for place in places])]
    for rank, model in enumerate(dict.fromkeys(row.model for row in rows)):
        lines.append(published_line(model, [printed.get((model, *place)) for place in places], rule=rank == 0))
    title = f"Published: {keys[0]}" if len(splits) > 1 else "Published"
    return Grid(title, "model", columns, lines, paper_notes(benchmark, rows))


def paper_grids(benchmark: str, results: Sequence[Result], profiles: Sequence[str] = PROFILES) -> list[Grid]:
    """Make the paper's own tables, in its layout, with our rows under its; tables without any of ours are left out.

    Raises:
        QuadragError: two runs claim the same cell, as on refined and on original data.
    """
    results = [replace(result, scores=whole(result.scores)) for result in results]
    if benchmark in SWEEPS:
        return sweep_grids(benchmark, results, profiles)
    if benchmark in _TABLES:
        return _TABLES[benchmark](results, profiles)
    scores: dict[Any, Mapping[str, Any]] = {}
    by_config: dict[str, dict[str, Any]] = {}
    for result in results:
        for row in result.scores:
            config = row["config"].removesuffix("_original")
            place = (
                config,
                row["split"],
                result.info["inputs"]["retriever"],
                row["metric"],
                row["key"],
                row["profile"],
            )
            if place in scores:
                both = f"{scores[place]['config']} and {row['config']}"
                raise QuadragError(f"{both} stand for the same cell of the paper; report them apart")
            scores[place] = row
            by_config[config] = result.info
    name = result_name(results[0].info).removesuffix(", no documents")
    grids = []
    for table in PAPERS[benchmark]:
        infos = [by_config[config] for config in dict.fromkeys(p[0] for p in table.places(profiles) if p in scores)]
        if infos:
            grid = table.grid(scores, name, profiles)
            settings = dict.fromkeys(note for info in infos for note in settings_notes(info["inputs"]))
            grid.notes = [*partial_notes(results), *grid.notes, *data_notes(infos), *settings]
            grids.append(grid)
    return grids


def swept_grids(benchmark: str, results: Sequence[Result], profiles: Sequence[str] = PROFILES) -> list[Grid]:
    """Make the tables of a sweep; where the paper's table has one line for ours, every model has a table of its own."""
    if benchmark not in PAPERS:
        return paper_grids(benchmark, results, profiles)
    by_model: dict[str, list[Result]] = {}
    for result in results:
        by_model.setdefault(result.info["inputs"]["llm"], []).append(result)
    return [grid for ours in by_model.values() for grid in paper_grids(benchmark, ours, profiles)]


def result_name(info: Mapping[str, Any]) -> str:
    """Name a run by its model, and by its retriever where that is none."""
    model = str(info["inputs"]["llm"]).rstrip("/").rsplit("/", 1)[-1]
    return f"{model}, no documents" if info["inputs"]["retriever"] == "none" else model


def facts(results: Sequence[Result], out: Path) -> list[tuple[str, str]]:
    """List what a reader must know of a run, or of several of one campaign: what ran, on what, when, at what cost."""

    def every(values: Iterable[str]) -> str:
        return "; ".join(dict.fromkeys(value for value in values if value))

    inputs = [r.info["inputs"] for r in results]
    seconds = sum(r.info.get("seconds", 0) for r in results)
    rows = [
        ("model", every(value["llm"] for value in inputs)),
        ("judge", every(value["judge"] or "none: judged metrics are not run" for value in inputs)),
        ("data", every(r.info.get("source", "") for r in results)),
        ("parameters", every(", ".join(f"{k} {v}" for k, v in i["parameters"].items()) or "none" for i in inputs)),
        ("calls", spending(results)),
        ("latency", latency(results)),
        ("run", f"{results[0].info['started']}, {seconds:.1f} s" if "started" in results[0].info else ""),
        ("command", every(" ".join(r.info.get("command", [])) for r in results)),
        ("folder", str(out)),
        ("signatures", every(row["signature"] for r in results for row in r.scores)),
    ]
    return [(name, value) for name, value in rows if value]


def latency(results: Sequence[Result]) -> str:
    """Say how long a model took for an answer, as each was first made; "" where none was asked."""
    found = spread([seconds for r in results for seconds in (r.info.get("latency_seconds") or {}).values()])
    return f"median {found['median']} s, 95th percentile {found['p95']} s" if found else ""


def spending(results: Sequence[Result]) -> str:
    """Say how many calls the commands behind these runs made last, how many the ledger answered, and what they cost."""
    parts = []
    cost = None
    for role in ("llm", "judge"):
        spent = [usage[role] for r in results if role in (usage := r.info.get("usage") or {})]
        if spent:
            made, known = (sum(value[name] for value in spent) for name in ("calls", "cached"))
            parts.append(f"{'' if role == 'llm' else 'judge '}{made} made, {known} from the ledger")
            costs = [value["cost"] for value in spent if value.get("cost") is not None]
            cost = (cost or 0) + sum(costs) if costs else cost
    return "; ".join(parts) + ("" if cost is None else f"; cost {cost:.6g}")


def write_page(path: Path, title: str, results: Sequence[Result], grids: Sequence[Grid]) -> None:
    """Write ``report.html`` for one run, or for several of one campaign."""
    write_text(path, render_html(title, facts(results, path.parent), grids))


def merged(results: Sequence[Result]) -> Result:
    """Put the runs of one campaign together; where a config ran several times, splits say how they were answered."""

    def named(result: Result, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        inputs = result.info["inputs"]
        retriever = inputs["retriever"]
        if ran[inputs["config"]] == 1 or retriever == load(inputs["benchmark"]).RETRIEVERS[0]:
            return list(rows)
        how = "no documents" if retriever == "none" else retriever
        return [row | {"split": f"{row['split']} ({how})"} for row in rows]

    ran = Counter(result.info["inputs"]["config"] for result in results)

    return Result(
        results[0].info,
        [row for result in results for row in named(result, result.scores)],
        [row for result in results for row in named(result, result.items)],
        stopped="; ".join(result.stopped for result in results if result.stopped) or None,
    )


def comparison(runs: Sequence[tuple[str, Result]], profile: str = "official") -> Grid:
    """Compare runs metric by metric; of two runs over the same questions, the paired difference with its interval."""
    # Paths are longer than columns are wide.
    columns = [chr(ord("A") + rank) if len(runs) <= 26 else str(rank) for rank in range(len(runs))]
    tables = [
        {(r["config"], r["split"], r["metric"], r["key"]): r for r in whole(result.scores) if r["profile"] == profile}
        for _, result in runs
    ]
    pair = len(runs) == 2
    lines = []
    last = None
    for place in dict.fromkeys(place for table in tables for place in table):
        config, split, _, key = place
        cells = [value_cell(table.get(place)) for table in tables]
        if pair:
            cells.append(_difference([result for _, result in runs], place, profile))
        lines.append(Line(f"{config} {split}: {key}", cells, rule=last not in (None, config)))
        last = config
    notes = []
    for column, (name, result) in zip(columns, runs, strict=True):
        where = " ".join([*data_notes([result.info]), *settings_notes(result.info["inputs"])])
        notes.append(f"{column}: {name}, {result_name(result.info)}; {where.removeprefix('Ours ')}")
    notes += [f"PARTIAL, {column}: {r.stopped}." for column, (_, r) in zip(columns, runs, strict=True) if r.stopped]
    lengths = ", length in characters" if any(place[3] == "length" for table in tables for place in table) else ""
    notes.append(f"Percent{lengths}, {profile} profile, {INTERVALS}.")
    if pair:
        notes.append(
            "B - A: paired bootstrap on questions scored in both; * excludes zero; – not in both, or other questions."
        )
    return Grid("Comparison", "config, split: metric", [*columns, "B - A"] if pair else columns, lines, notes)


def _difference(results: Sequence[Result], place: tuple[str, str, str, str], profile: str) -> Cell:
    config, split, metric, key = place
    sides = [
        items_of(
            [row for row in r.items if (row["config"], row["split"]) == (config, split)], f"{metric}.{key}", profile
        )
        for r in results
    ]
    inputs = results[0].info["inputs"]
    asked = load(inputs["benchmark"]).metrics(config, Conditions(inputs["retriever"], inputs.get("options", {}), 1))
    worst = next((one.worst.get(key, 0.0) for one in asked if one.module == metric and key in one.keys), 0.0)
    found = paired_difference(*sides, profile=profile, worst=worst) if all(sides) else None
    if found is None:
        return Cell(NOTHING)
    value, (low, high) = found
    mark = "*" if low > 0 or high < 0 else ""
    return difference_cell(key, value, low, high, mark)

"""What stands in the tables: our scores with their intervals, and the papers' numbers beside them.

Rates are shown in percent. Under a value stands its 95% bootstrap interval over questions. The corrected profile is
shown where it differs from the official one. Drawing is `grid.py`'s work, and no number is computed here but the
difference of two runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.records import write_text
from quadrag.stats import paired_difference

from .cells import NOTHING, published_line, value_cell
from .grid import Cell, Grid, Line, render_html
from .paper import PAPERS, paper_notes
from .pipeline import Result, spread
from .published import Published, matching
from .score import PROFILES, items_of

Scores = Sequence[Mapping[str, Any]]
INTERVALS = "Percent, with 95% bootstrap intervals over questions (no width where all values are equal)."


def lines_of(scores: Scores, splits: Sequence[str], profiles: Sequence[str]) -> list[Line]:
    """Make a line per metric, and a second one for the corrected profile where it differs."""
    by_place = {(r["metric"], r["key"], r["profile"], r["split"]): r for r in scores}
    lines = []
    for metric, key in dict.fromkeys((row["metric"], row["key"]) for row in scores):
        shown: list[list[Cell]] = []
        for profile in profiles:
            cells = [value_cell(by_place.get((metric, key, profile, split))) for split in splits]
            if cells not in shown:
                shown.append(cells)
                label = key if profile == "official" or len(profiles) == 1 else f"  {profile}"
                lines.append(Line(label, cells))
    return lines


def counts_line(scores: Scores, splits: Sequence[str]) -> Line:
    """Make the line of denominators: questions, and under them how many of those could not be scored."""
    cells = []
    for split in splits:
        rows = [row for row in scores if row["split"] == split and "not_run" not in row]
        unscored = max((sum(row["unscored"].values()) for row in rows), default=0)
        total = str(rows[0]["n_total"]) if rows else NOTHING
        cells.append(Cell(total, f"{unscored} unscored" if unscored else ""))
    return Line("n", cells, rule=True)


def config_grids(result: Result, profiles: Sequence[str] = PROFILES) -> list[Grid]:
    """Make the tables of one run: its scores, and the published rows beside its official values."""
    inputs = result.info["inputs"]
    name, scores = result_name(result.info), result.scores
    splits = list(dict.fromkeys(row["split"] for row in scores)) or inputs["splits"]
    title = f"{inputs['benchmark']} {inputs['config']}, {name}"
    notes = [INTERVALS, f"Data: {result.info.get('source', 'unknown')}.", *profile_notes(scores, profiles)]
    if result.stopped:
        notes.insert(0, f"PARTIAL: {result.stopped}")
    grids = [Grid(title, "metric", splits, [*lines_of(scores, splits, profiles), counts_line(scores, splits)], notes)]
    rows = matching(inputs["benchmark"], inputs["config"], inputs["retriever"])
    if rows:
        grids.append(_beside(scores, splits, name, rows))
    return grids


def _beside(scores: Scores, splits: Sequence[str], name: str, rows: Sequence[Published]) -> Grid:
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
    return Grid(title, "model", columns, lines, paper_notes(rows))


def profile_notes(scores: Scores, profiles: Sequence[str]) -> list[str]:
    """Say what cannot be seen in a table: which metrics did not run, and what was left unscored, by reason."""
    notes = []
    missing = list(dict.fromkeys(row["key"] for row in scores if "not_run" in row))
    if missing:
        notes.append(f"Not run, they need --judge: {', '.join(missing)}.")
    reasons: dict[str, int] = {}
    for row in scores:
        for reason, count in row.get("unscored", {}).items():
            reasons[reason] = max(reasons.get(reason, 0), count)
    if reasons:
        listed = ", ".join(f"{reason} (up to {count} a split)" for reason, count in reasons.items())
        notes.append(f"Unscored: {listed}. Official leaves them out, corrected counts them as wrong.")
    return notes


def paper_grids(benchmark: str, results: Sequence[Result]) -> list[Grid]:
    """Make the paper's own tables, in its layout, with our rows under its; tables without any of ours are left out."""
    scores = {}
    for result in results:
        for row in result.scores:
            place = (row["config"].removesuffix("_original"), row["split"], result.info["inputs"]["retriever"])
            scores[tuple([*place, row["metric"], row["key"], row["profile"]])] = row
    name = result_name(results[0].info).removesuffix(", no documents")
    return [table.grid(scores, name) for table in PAPERS[benchmark] if table.holds(scores)]


def result_name(info: Mapping[str, Any]) -> str:
    """Name a run by its model, and by its retriever where that is none."""
    model = str(info["inputs"]["llm"]).rstrip("/").rsplit("/", 1)[-1]
    return f"{model}, no documents" if info["inputs"]["retriever"] == "none" else model


def facts(results: Sequence[Result], out: Path) -> list[tuple[str, str]]:
    """List what a reader must know of a run, or of several of one campaign: what ran, on what, when, at what cost."""

    def every(values: Iterable[str]) -> str:
        return "; ".join(dict.fromkeys(value for value in values if value))

    inputs = [r.info["inputs"] for r in results]
    usages = [r.info.get("usage") or {} for r in results]
    spent = [usage["llm"] for usage in usages if "llm" in usage]
    costs = [value["cost"] for usage in usages for value in usage.values() if value.get("cost") is not None]
    seconds = sum(r.info.get("seconds", 0) for r in results)
    latencies = [seconds for r in results for seconds in (r.info.get("latency_seconds") or {}).values()]
    latency = spread(latencies)
    rows = [
        ("model", every(value["llm"] for value in inputs)),
        ("judge", every(value["judge"] or "none: judged metrics are not run" for value in inputs)),
        ("data", every(r.info.get("source", "") for r in results)),
        ("parameters", every(", ".join(f"{k} {v}" for k, v in i["parameters"].items()) or "none" for i in inputs)),
        ("calls", f"{sum(v['calls'] for v in spent)} made, {sum(v['cached'] for v in spent)} from the ledger"),
        ("cost", f"{sum(costs):.6g}" if costs else ""),
        ("latency", f"median {latency['median']} s, 95th percentile {latency['p95']} s" if latency else ""),
        ("run", f"{results[0].info['started']}, {seconds:.1f} s" if "started" in results[0].info else ""),
        ("command", every(" ".join(r.info.get("command", [])) for r in results)),
        ("folder", str(out)),
        ("signatures", every(row["signature"] for r in results for row in r.scores)),
    ]
    return [(name, value) for name, value in rows if value]


def write_page(path: Path, title: str, results: Sequence[Result], grids: Sequence[Grid]) -> None:
    """Write ``report.html`` for one run, or for several of one campaign."""
    write_text(path, render_html(title, facts(results, path.parent), grids))


def merged(results: Sequence[Result]) -> Result:
    """Put the runs of one campaign together; without documents a split is called so, since its config ran twice."""

    def named(result: Result, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        bare = result.info["inputs"]["retriever"] == "none"
        return [row | {"split": f"{row['split']} (no documents)"} if bare else row for row in rows]

    return Result(
        results[0].info,
        [row for result in results for row in named(result, result.scores)],
        [row for result in results for row in named(result, result.items)],
    )


def comparison(runs: Sequence[tuple[str, Result]], profile: str = "official") -> Grid:
    """Compare runs metric by metric; of two runs over the same questions, the paired difference with its interval."""
    # Paths are longer than columns are wide.
    columns = [chr(ord("A") + rank) if len(runs) <= 26 else str(rank) for rank in range(len(runs))]
    tables = [
        {(r["config"], r["split"], r["metric"], r["key"]): r for r in result.scores if r["profile"] == profile}
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
    notes = [
        f"{column}: {name}, {result_name(result.info).removesuffix(', no documents')}."
        for column, (name, result) in zip(columns, runs, strict=True)
    ]
    notes.append(f"{INTERVALS} Profile: {profile}.")
    if pair:
        notes.append("B - A: on the same questions, paired bootstrap; * excludes zero.")
    return Grid("Comparison", "config, split: metric", [*columns, "B - A"] if pair else columns, lines, notes)


def _difference(results: Sequence[Result], place: tuple[str, str, str, str], profile: str) -> Cell:
    config, split, metric, key = place
    sides = [
        items_of(
            [row for row in r.items if (row["config"], row["split"]) == (config, split)], f"{metric}.{key}", profile
        )
        for r in results
    ]
    found = paired_difference(*sides, profile=profile) if all(sides) else None
    if found is None:
        return Cell(NOTHING)
    value, (low, high) = found
    mark = "*" if low > 0 or high < 0 else ""
    return Cell(f"{value * 100:+.2f}{mark}", f"{low * 100:+.1f} to {high * 100:+.1f}")

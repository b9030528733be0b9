"""The page of one run, of several of one campaign, or of runs compared: its head, its tables, its answers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag.hub.record import hub_record
from quadrag.provenance import Provenance
from quadrag.records import write_text

from ..judges.notes import note_judges
from ..report.comparison import name_runs as name_columns
from ..report.facts import list_facts
from ..report.summary import summary
from ..results.note import Level
from ..results.run import PROFILES, Result, own_profile
from ..results.score import Score, Status
from ..results.selection import pick_headlines
from ..systems.extractive import EXTRACTIVE
from ..tables.grid import Alarm, Grid, is_loud, level_of
from ..tables.names import name_model
from ..tables.run_notes import note_validity
from .answers import collect_answers
from .changes import list_changes
from .packed import pack_answers
from .render import render_page

MOST = 4  # names of one kind in a title

Runs = Sequence[tuple[str, Sequence[Result]]]


def write_page(
    path: Path,
    runs: Runs,
    grids: Sequence[Grid],
    labels: str = "en",
    profile: str | None = None,
) -> None:
    """Write the page of runs to a file.

    Args:
        path: the file.
        runs: name of each, and what it came to: one result, or one a config. Several stand beside each other.
        grids: the tables.
        labels: the language, ``en`` or ``zh``.
        profile: whose values single answers are shown with; the runs' own when None.
    """
    results = [result for _, parts in runs for result in parts]
    answers = collect_answers(runs, profile=profile, labels=labels)
    shown = profile or own_profile(results) or PROFILES[0]
    headline, grids, lead = _lay_out(runs, grids, shown)
    lead = [*lead, *answers.told]
    lead.sort(key=lambda note: not is_loud(note))
    ranked = headline is not None and headline.form == "runs"  # where an invalid run hides nothing of the others
    spared = ranked and not all(one.run.has_note("invalid") for one in results)
    title = _mark_title(results, shown) * (not spared) + name_runs(runs)
    blocks = pack_answers(answers)
    columns = name_columns([name for name, _ in runs])
    changes = list_changes(answers)
    facts = list_facts(results)
    page = render_page(
        title,
        facts,
        grids,
        lead,
        blocks,
        labels,
        changes,
        headline=headline,
        called=columns,
        asked=_tell_asked(results),
        spared=spared,
        made_up=_are_samples(results),
    )
    write_text(path, page)


def _mark_title(results: Sequence[Result], profile: str) -> str:
    """Return what a title begins with where the first headline of a split is INVALID, or else NOT RELIABLE."""
    first: list[Score] = []
    for result in results:
        rows = pick_headlines(result.scores, profile)
        first += {row.key.split: row for row in reversed(rows)}.values()
    if any(row.status is Status.INVALID for row in first):
        return "INVALID: "
    return "NOT RELIABLE: " if any(row.status is Status.UNRELIABLE for row in first) else ""


def _lay_out(runs: Runs, grids: Sequence[Grid], profile: str) -> tuple[Grid | None, list[Grid], list[Any]]:
    """Return the headline, the tables less what is told above them, and the lines that stand above all."""
    results = [result for _, parts in runs for result in parts]
    alone = len(runs) == 1
    headline = summary(results, profile) if len(results) == 1 else None
    judged = (
        [one for one in note_judges(results, profile) if level_of(one) is not Level.WARNING]
        if len(results) == 1
        else []
    )
    if headline:  # who judged stands by the numbers
        headline = replace(headline, notes=[*headline.notes, *judged])
    above = [*judged, *(headline.notes if headline and not alone else [])]
    left = [replace(grid, notes=[note for note in grid.notes if note not in above]) for grid in grids]
    odd = note_validity(results) if alone else [note for grid in left for note in grid.notes]
    told = [one for one in odd if level_of(one) is Level.WARNING or (alone and level_of(one) is not Level.DETAIL)]
    told.sort(key=lambda note: level_of(note) is not Level.WARNING)
    lead = [note for at, note in enumerate(told) if note not in told[:at]]
    return headline, left, [*_warn(results, grids), *lead]


def name_runs(runs: Runs) -> str:
    """Name benchmark, config, system and date of what ran; of many, how many there are.

    Of one system several times it says what tells the runs apart.
    """

    def few(what: str, values: Iterable[str]) -> str:
        found = list(dict.fromkeys(values))
        return ", ".join(found) if len(found) <= MOST else f"{len(found)} {what}"

    records = [result.run for _, results in runs for result in results]
    if (count := len({run.benchmark for run in records})) > 1 and all(
        run.whose is Provenance.SAMPLE for run in records
    ):
        return f"quadrag: Demo: {count} benchmarks on made-up samples"
    benchmarks = few("benchmarks", (run.benchmark for run in records))
    configs = few("configs", (run.config for run in records))
    what = f"{benchmarks}, {configs}" if "," in benchmarks else f"{benchmarks} {configs}"
    models = {name_model(run) for run in records}
    systems = few("systems", (name_model(run) for run in records))
    if len(runs) > len(models):
        named = few("runs", name_columns([name for name, _ in runs]))
        systems = named if len(models) > 1 and len(runs) <= MOST else f"{systems} ({named})"
    date = max(run.started or "" for run in records)[:10]
    return "quadrag: " + ", ".join(filter(None, (what, systems, date)))


def _tell_asked(results: Sequence[Result]) -> str:
    """Say what the questions of runs ask for, where all are of one config."""
    places = {(result.run.benchmark, result.run.config) for result in results}
    return " ".join(hub_record(benchmark).sentences.get(config, "") for benchmark, config in places if len(places) == 1)


def _are_samples(results: Sequence[Result]) -> bool:
    return all(result.run.whose is Provenance.SAMPLE for result in results)


def _warn(results: Sequence[Result], grids: Sequence[Grid]) -> Iterator[str]:
    """Say what numbers are worth that a system did not earn: of bundled samples, of the baseline without a model."""
    extractive = all(result.run.llm == EXTRACTIVE for result in results)
    answers = "each answer is the sentence most like its question, found without a model"
    if _are_samples(results):
        printed = any(line.kind == "published" for grid in grids for line in grid.lines)
        beside = (
            "The papers' values stand in tables for orientation, in no chart."
            if printed
            else "No published value stands beside made-up data."
        )
        made = f"the questions are made-up samples{f', and {answers}' * extractive}"
        yield f"These numbers measure nothing: {made}. {beside}"
    elif extractive:
        yield Alarm(f"The extractive baseline answered: {answers}.")

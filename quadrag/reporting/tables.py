"""Which tables stand where: of one run, of runs of one campaign in their paper's layout, of systems compared."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from quadrag.audit import Finding
from quadrag.benchmark import load
from quadrag.catalogue import configs
from quadrag.metric_record import show_key
from quadrag.provenance import Share, join
from quadrag.results import ALL, PROFILES, Note, NoteCode, Run, Score, Status, find_by_phrase, own_profile
from quadrag.results.certificates import note_judges
from quadrag.results.items import exclude, items_of, pick_headlines, with_pooled
from quadrag.run.folder import refuse_repeated_tasks
from quadrag.spec import NONE
from quadrag.stats import choose_fill, counted

from .comparison import are_apart, refuse_apart, tabulate_comparison
from .notes import INTERVALS, explain_profiles, note_ours, note_paper, note_units
from .published import Published, find_beside, mark_replicas, note_replicas
from .table import (
    ALIKE,
    NOTHING,
    Cell,
    Row,
    Table,
    count_both,
    format_value,
    load_tables,
    our_lines,
    title_of,
    value_cell,
)

# The summary.


def tabulate_summary(result: Run, profiles: Sequence[str]) -> list[Table]:
    table = summary(result, profiles[0])
    table.notes.append(Note(NoteCode.MORE_TABLES))
    rated = load_tables(result.record.benchmark).systems if result.record.options.get("ratings") else None
    return [table, *(rated(result, profiles) if rated else ()), *tabulate_samples(result, profiles[0])]


def list_headlines(result: Run, profile: str) -> dict[str, Score]:
    own = pick_headlines(result.scores, profile)
    rows = with_pooled(result, own, profile)
    many = len({row.key.split for row in rows}) > 1
    return {f"{row.key.split}/" * many + row.label: row for row in rows}


def summary(result: Run, profile: str) -> Table:
    """Make the summary of a run: value, interval, n; what nobody may overlook stands in the notes.

    A value by the other profile stands beside where it differs, and the best printed one.
    """
    rows = list_headlines(result, profile)
    lines = [Row(label, headline_cells(row)) for label, row in rows.items()]
    other = next(one for one in PROFILES if one != profile)
    fit = [row for row in result.whole(other) if row.status is not Status.INVALID]
    texts = {row.place: value_cell(row).text for row in with_pooled(result, fit, other)}
    differing = [texts.get(row.place, NOTHING) for row in rows.values()]
    differing = [
        "" if text in (NOTHING, line.cells[0].text) else text for text, line in zip(differing, lines, strict=True)
    ]
    # The papers' values are those of their own code.
    printed = rows_beside(result) if profile == PROFILES[0] else []
    best = [_find_best(printed, row) for row in rows.values()]
    beside = [f"{one.printed}{'?' * bool(one.doubt)} {one.model}" if one else "" for one in best]
    columns = ["value", "95% interval", "n"]
    for head, column in ((other, differing), ("best published", beside)):
        if any(column):
            columns.append(head)
            for line, text in zip(lines, column, strict=True):
                line.cells.append(Cell(text))

    not_run = [row for row in result.whole(profile) if not row.ran]
    notes = [*note_replicas([result], profile, alone=True), *note_ours([result], [[*rows.values(), *not_run]], profile)]
    notes += [*[Note(NoteCode.OTHER_PROFILE)] * any(differing), *note_judges([result], profile)]
    if any(best):
        is_part = bool(result.record.coverage or result.record.held)
        notes += [Note(NoteCode.PUBLISHED_SOURCE, {"kind": "part"})] * is_part
        notes += [*note_paper(result.record.benchmark, list(filter(None, best)))]
    splits = {row.key.split for row in rows.values()}
    return Table(title_of(result, splits.pop() if len(splits) == 1 else ""), "metric", columns, lines, notes)


def headline_cells(row: Score) -> list[Cell]:
    cell = value_cell(row)
    scored, total = count_both(row)
    n = f"{total} × {row.counts.times} splits" if row.counts.times else f"{scored} of {total}"
    unreliable = "NOT RELIABLE" * (row.status is Status.UNRELIABLE)
    return [Cell(cell.text, unreliable, cell.figure), Cell(cell.sub or NOTHING), Cell(n)]


def rows_beside(result: Run) -> list[Published]:
    """Find the printed rows that stand beside a run; none where its documents are mixed, or its data made up.

    Nor beside a value of what a phrase finds where the printed one is of what a judge finds, or of a doubtful judge.
    """
    run = result.record
    if not run.provenance.comparable or (run.options and load_tables(run.benchmark).mixing):
        return []
    apart = find_by_phrase(result.scores)
    apart |= {row.place for row in result.scores if row.status is Status.UNTRUSTED_JUDGE}
    return [row for row in find_beside(run) if (run.config, row.split, row.module, row.key) not in apart]


def _find_best(printed: Iterable[Published], row: Score) -> Published | None:
    here = [one for one in printed if (one.split, one.module, one.key) == (row.key.split, row.key.metric, row.key.key)]
    if row.record.direction == "none":
        return None
    return (min if row.record.direction == "lower" else max)(here, key=attrgetter("value"), default=None)


# All that a run came to.


def tabulate_run(
    result: Run, profiles: Sequence[str] = PROFILES, labels: str = "en", every: bool = False
) -> list[Table]:
    """Make the tables of one run; with `every`, a matrix for each metric, as a page has, not for the main one alone."""
    scores, *parts = tabulate_scores(result, profiles, labels, every)
    tables = load_tables(result.record.benchmark)
    whole = replace(result, scores=result.whole())
    beside = tables.tabulate([whole], profiles) if tables.tabulate and rows_beside(result) else []
    return [scores, *tabulate_samples(result, profiles[0]), *parts, *beside, *tables.systems(result, profiles)]


def tabulate_scores(result: Run, profiles: Sequence[str], labels: str = "en", every: bool = False) -> list[Table]:
    scores = result.whole()
    rows = with_pooled(result, scores, *profiles)
    columns = list(dict.fromkeys(row.key.split for row in rows)) or result.record.splits
    lines: list[Row] = []
    for place in dict.fromkeys((row.key.metric, row.key.key) for row in rows if row.ran):
        here = [row for row in rows if (row.key.metric, row.key.key) == place]
        lines += our_lines(show_key(*place), here, columns, profiles, attrgetter("key.split"))
    notes = [*note_replicas([result], profiles[0], alone=True), *note_ours([result], [scores], profiles[0])]
    notes += [*note_judges([result], profiles[0]), *explain_profiles(lines, scores)]
    matrices = load_tables(result.record.benchmark).matrices(
        result.scores, title_of(result), profiles[0], labels, every
    )
    return [Table(title_of(result), "metric", columns, lines, notes), *(matrices or slice_tables(result, profiles[0]))]


def slice_tables(result: Run, profile: str) -> list[Table]:
    """Make a table of slices for every split: groups of questions that share a value; cells stand in a matrix."""
    tables = []
    for split in dict.fromkeys(row.key.split for row in result.scores):
        here = [row for row in result.scores if row.key.split == split and row.profile == profile]
        totals = {row.key.key: row.counts.n_total for row in here if row.slice == ALL}
        parts = [row for row in here if "=" in row.slice and not row.slice.startswith("cell=")]
        parts = [row for row in parts if row.counts.n_total != totals.get(row.key.key)]  # else it is the whole again
        names = {row.key.key: row.label for row in parts if row.ran}
        if not names:
            continue
        by_place = {(row.slice, row.key.key): row for row in parts}
        sizes = {row.slice: row.counts.n_total for row in reversed(parts)}
        lines: list[Row] = []
        for grouping in dict.fromkeys(row.slice.partition("=")[0] for row in parts):
            lines.append(Row(grouping.replace("_", " "), [Cell("")] * (1 + len(names)), rule=bool(lines)))
            for place in dict.fromkeys(row.slice for row in parts if row.slice.startswith(f"{grouping}=")):
                cells = [Cell(str(sizes[place])), *(value_cell(by_place.get((place, key))) for key in names)]
                lines.append(Row(f" {place.partition('=')[2]}", cells))
        notes = [note_units([row for row in parts if row.ran], profile), INTERVALS]
        tables.append(Table(title_of(result, split), "slice", ["n", *names.values()], lines, notes, "points"))
    return tables


# Samples: an interval says what other questions would have changed, these what chance in the answers did.


def spread_samples(result: Run, score: Score) -> dict[str, float]:
    """Return how many samples a score has, their means' standard deviation (by n - 1), the least and the greatest.

    It is empty with fewer than two samples, or no value.
    """
    if score.value is None or result.stopped:  # the samples of a stopped run answer other questions
        return {}
    samples: dict[int, list[Mapping[str, Any]]] = {}
    for line in result.items:
        if (line["config"], line["split"]) == score.place[:2]:
            samples.setdefault(line.get("sample", 0), []).append(line)
    fill, means = choose_fill(score.profile, score.record.worst), []
    for lines in samples.values():
        values = [counted(item, fill) for item in items_of(lines, score.key.name, score.profile)]
        if counting := [value for value in values if value is not None]:
            means.append(fmean(counting))
    if len(means) < 2:
        return {}
    return {"samples": len(means), "sd": stdev(means), "min": min(means), "max": max(means)}


def tabulate_samples(result: Run, profile: str) -> list[Table]:
    spreads = [(score, spread) for score in result.whole(profile) if (spread := spread_samples(result, score))]
    if not spreads:
        return []
    many = len({score.key.split for score, _ in spreads}) > 1
    heads = ["sd", "min", "max"]
    lines = []
    for score, spread in spreads:
        cells = [Cell(format_value(spread[head], score.record.unit, score.n)) for head in heads]
        lines.append(Row(f"{score.key.split}/" * many + score.label, cells))
    note = Note(NoteCode.SPREAD, {"count": max(spread["samples"] for _, spread in spreads)})
    return [Table(title_of(result), "spread between samples", heads, lines, [note])]


# Without the questions in whose data an audit found a fault.


def tabulate_without(result: Run, findings: Sequence[Finding], profile: str) -> Table:
    """Make the table of a run with and without flagged questions; what a person confirmed as false does not count."""
    questions = {(line["config"], line["split"], line["id"]) for line in result.items}
    checks: dict[str, set[Any]] = {}
    for one in findings:
        if one.benchmark == result.record.benchmark and one.confirmed is not False:
            checks.setdefault(one.check, set()).update(questions.intersection(one.keys()))
    flagged = set[Any]().union(*checks.values())
    rest = exclude(result, flagged)
    left = {row.place: row for row in with_pooled(rest, rest.whole(profile), profile)}
    lines = [
        Row(label, [value_cell(row), value_cell(left.get(row.place))])
        for label, row in list_headlines(result, profile).items()
    ]
    lines.append(Row("n", [Cell(str(len(questions))), Cell(str(len(questions - flagged)))], rule=True))
    counts = [f"{name} {len(keys)}" for name, keys in sorted(checks.items()) if keys]
    params = {"kind": "some", "count": len(flagged), "total": len(questions), "checks": counts}
    note = Note(NoteCode.FLAGGED, params if flagged else {"kind": "none"})
    return Table(title_of(result), "metric", ["all", "without"], lines, [*summary(result, profile).notes, note])


Systems = Sequence[tuple[str, Sequence[Run]]]  # name of each, and what it came to: one result, or one a task


def tabulate(
    systems: Systems,
    profiles: Sequence[str] = PROFILES,
    labels: str = "en",
    verbose: bool = False,
    page: bool = False,
    paper: bool = False,
) -> list[Table]:
    """Make the tables of systems; several are compared with the first. Raises QuadragError where they cannot be.

    Args:
        systems: what ran.
        profiles: the first is shown; of two, the second where it differs.
        labels: of a matrix, ``en`` or ``zh``.
        verbose: all metrics and slices; of a campaign also the scores of every run below the paper's tables.
        page: what a page has, in place of what a terminal shows.
        paper: one run too in its paper's layout, as one of a recipe is beside which printed rows stand.
    """
    if len(systems) > 1:
        tables = [tabulate_comparison(merged, profiles[0], verbose or page) for merged in merge_all(systems)]
        if own_profile(result for _, parts in systems for result in parts) is None:
            tables[0].notes.insert(0, Note(NoteCode.PROFILES_MIXED))
        return tables
    [(_, results)] = systems
    first = results[0].record
    if len(results) == 1 and not (paper or (first.spec.replica and first.provenance.comparable)):
        if page or verbose:
            return tabulate_run(results[0], profiles, labels, every=page)
        return tabulate_summary(results[0], profiles)
    tables = []
    for benchmark in dict.fromkeys(result.record.benchmark for result in results):
        ours = [result for result in results if result.record.benchmark == benchmark]
        tables += tabulate_paper(benchmark, ours, profiles)
        whole = verbose or (page and len(results) == 1)
        tables += [table for one in ours if whole for table in tabulate_scores(one, profiles, labels)]
    noted: list[Note | str] = []
    for table in tables:  # a note stands under the first one alone
        table.notes = [note for note in table.notes if note not in noted]
        noted += table.notes
    return tables


def tabulate_paper(benchmark: str, results: Sequence[Run], profiles: Sequence[str] = PROFILES) -> list[Table]:
    """Make the tables of a benchmark's paper; without any of its own, a plain table of each run."""
    of_paper = load_tables(benchmark).tabulate
    if of_paper is None:
        return [table for result in results for table in tabulate_run(result, profiles)]
    whole = [replace(one, scores=one.whole()) for one in results]
    tables = [mark_replicas(table, whole, profiles[0]) for table in of_paper(whole, profiles)]
    rows = [replace(row, of=str(at)) for at, result in enumerate(whole) for row in result.scores]
    for table in tables:
        _clear_printed(table)
        table.notes += explain_profiles(table.rows, rows)
    tables[0].notes[:0] = note_replicas(whole, profiles[0])  # above what is said of its row's mark
    tables[-1].notes += note_judges(whole, profiles[0])
    return tables + [table for one in results for table in tabulate_samples(one, profiles[0])]


def _clear_printed(table: Table) -> None:
    """Take printed numbers out of the columns where all of ours rest on verdicts that say nothing."""
    ours = [line.cells for line in table.rows if line.kind == "ours" and not line.label.startswith("  ")]
    columns = [[cell.text for cell in column if cell.text not in ("", NOTHING)] for column in zip(*ours, strict=True)]
    marked = [bool(texts) and all(text.endswith(ALIKE) for text in texts) for texts in columns]
    for line in table.rows:
        if line.kind == "published" and marked:
            line.cells = [Cell(NOTHING) if bad else cell for cell, bad in zip(line.cells, marked, strict=True)]


# Several results as those of one system.


def merge_all(systems: Systems) -> list[list[tuple[str, Run]]]:
    """Make one result of each of several systems, to be compared; where all are of the same benchmarks, of each.

    Raises QuadragError where they are of several benchmarks, no two share a split, or one holds a task twice.
    """
    own = [dict.fromkeys(result.record.benchmark for result in parts) for _, parts in systems]
    groups = [list(systems)]
    if all(one.keys() == own[0].keys() for one in own):
        groups = [
            [(name, [one for one in parts if one.record.benchmark == benchmark]) for name, parts in systems]
            for benchmark in own[0]
        ]
    for group in groups:
        refuse_apart(group)
        for name, parts in group:
            refuse_repeated_tasks(name, parts)
    return [[(name, merge_runs(parts)) for name, parts in group] for group in groups]


def merge_runs(results: Sequence[Run]) -> Run:
    """Put the runs of one campaign together; where a config ran several times, splits say how they were answered."""
    ran = Counter(result.record.config for result in results)
    runs = [result.record for result in results]
    parts = []
    for result, run in zip(results, runs, strict=True):
        usual = ran[run.config] == 1 or run.retriever == load(run.benchmark).default_retriever
        parts.append((result, "" if usual else f" ({'no documents' if run.retriever == NONE else run.retriever})"))
    splits = dict.fromkeys(split for part, how in parts if not how for split in part.record.splits)
    coverage = [run.coverage for run in runs if run.coverage]
    merged = replace(
        runs[0],
        digests={**runs[0].digests, "splits": [*splits]},
        provenance=join(run.provenance for run in runs),
        coverage=Share(*map(sum, zip(*coverage, strict=True))) if coverage else None,
        short={place: kind for run in runs for place, kind in run.short.items()},
        notes=[_rename_split(note, how) for part, how in parts for note in part.record.notes],
        certificates=list({row["sum"]: row for run in runs for row in run.certificates}.values()),
        dead_judge=any(run.dead_judge for run in runs),
        stopped=next((run.stopped for run in runs if run.stopped), None),
    )
    return Run(
        merged,
        [replace(one, key=one.key._replace(split=one.key.split + how)) for part, how in parts for one in part.scores],
        [line | {"split": line["split"] + how} for part, how in parts for line in part.items],
        asked={
            (config, split + how, name): one for part, how in parts for (config, split, name), one in part.asked.items()
        },
        texts={
            ((config, split + how, name), sample): text
            for part, how in parts
            for ((config, split, name), sample), text in part.texts.items()
        },
        parts=runs,
    )


def _rename_split(note: Note, suffix: str) -> Note:
    split = {"split": note.params["split"] + suffix} if "split" in note.params else {}
    return replace(note, params={**note.params, **split})


def gather_systems(scored: Sequence[tuple[Path, Run]]) -> list[tuple[str, list[Run]]]:
    """Put the results of one model's logs in a folder together, in the order of its tasks; of other files each alone.

    Each stands by what it is to be called, a model or a file.
    """
    systems: dict[tuple[Path, str], list[Run]] = {}
    for file, result in scored:
        place = (file.parent, result.record.llm) if result.record.log else (file, str(file))
        systems.setdefault(place, []).append(result)
    for results in systems.values():
        results.sort(key=lambda result: [*configs(result.record.benchmark)].index(result.record.config))
    models = [model for _, model in systems]
    return [
        (model if models.count(model) == 1 else str(folder), results) for (folder, model), results in systems.items()
    ]


def group_systems(systems: Systems) -> list[Systems]:
    """Put those systems together that can be compared: of the same benchmarks, with a split in common."""
    groups: dict[tuple[str, ...], list[tuple[str, Sequence[Run]]]] = {}
    for name, parts in systems:
        benchmarks = tuple(dict.fromkeys(result.record.benchmark for result in parts))
        groups.setdefault(benchmarks, []).append((name, parts))
    return [group for own in groups.values() for group in ([[one] for one in own] if are_apart(own) else [own])]

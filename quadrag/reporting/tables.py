"""Which tables stand where: of one run, of runs of one campaign in their paper's layout, of systems compared."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from quadrag.benchmark import load
from quadrag.catalogue import configs
from quadrag.provenance import Share, join
from quadrag.results.certificates import note_judges, unique
from quadrag.results.note import Note, NoteCode, rename_splits
from quadrag.results.run import PROFILES, Run, own_profile
from quadrag.run.finished import refuse_repeated_tasks
from quadrag.spec import NONE

from .cells import ALIKE
from .comparison import are_apart, refuse_apart, tabulate_comparison
from .notes import explain_profiles
from .replicas import mark_replicas, note_replicas
from .run_tables import tabulate_run, tabulate_samples, tabulate_scores, tabulate_summary
from .table import NOTHING, Cell, Table, load_tables

Systems = Sequence[tuple[str, Sequence[Run]]]  # name of each, and what it came to: one result, or one a task


def tabulate(
    systems: Systems,
    profiles: Sequence[str] = PROFILES,
    labels: str = "en",
    verbose: bool = False,
    page: bool = False,
    paper: bool = False,
) -> list[Table]:
    """Make the tables of systems; several are compared with the first.

    Args:
        systems: what ran.
        profiles: the first is shown; of two, the second where it differs.
        labels: of a matrix, ``en`` or ``zh``.
        verbose: all metrics and slices; of a campaign also the scores of every run below the paper's tables.
        page: what a page has, in place of what a terminal shows.
        paper: one run too in its paper's layout, as one of a recipe is beside which printed rows stand.

    Raises:
        QuadragError: the systems cannot be compared, or runs not stand in one table.
    """
    if len(systems) > 1:
        tables = [tabulate_comparison(merged, profiles[0], verbose or page) for merged in merge_all(systems)]
        if own_profile(result for _, parts in systems for result in parts) is None:
            tables[0].notes.insert(0, Note(NoteCode.PROFILES_MIXED))
        return tables
    [(_, results)] = systems
    first = results[0].record
    if len(results) == 1 and not (paper or (first.spec.replica and first.whose.comparable)):
        if page or verbose:
            return tabulate_run(results[0], profiles, labels, every=page)
        return tabulate_summary(results[0], profiles)
    tables = []
    for benchmark in dict.fromkeys(result.record.benchmark for result in results):
        ours = [result for result in results if result.record.benchmark == benchmark]
        tables += tabulate_paper(benchmark, ours, profiles)
        whole = verbose or (page and len(results) == 1)
        tables += [table for one in ours if whole for table in tabulate_scores(one, profiles, labels)]
    return _note_once(tables)


def _note_once(tables: Sequence[Table]) -> list[Table]:
    """Return tables each of whose notes stands under the first table alone that has it."""
    noted: list[Note | str] = []
    own = []
    for table in tables:
        own.append(replace(table, notes=[note for note in table.notes if note not in noted]))
        noted += own[-1].notes
    return own


def tabulate_paper(benchmark: str, results: Sequence[Run], profiles: Sequence[str] = PROFILES) -> list[Table]:
    """Make the tables of a benchmark's paper; without any of its own, a plain table of each run.

    Raises:
        QuadragError: the runs cannot stand in one table.
    """
    of_paper = load_tables(benchmark).tabulate
    if of_paper is None:
        return [table for result in results for table in tabulate_run(result, profiles)]
    whole = [replace(one, scores=one.whole()) for one in results]
    tables = [mark_replicas(_clear_printed(table), whole, profiles[0]) for table in of_paper(whole, profiles)]
    rows = [replace(row, of=str(at)) for at, result in enumerate(whole) for row in result.scores]
    for table in tables:
        table.notes += explain_profiles(table.rows, rows)
    tables[0].notes[:0] = note_replicas(whole, profiles[0])  # above what is said of its row's mark
    tables[-1].notes += note_judges(whole, profiles[0])
    return tables + [table for one in results for table in tabulate_samples(one, profiles[0])]


def _clear_printed(table: Table) -> Table:
    """Return a table without printed numbers in columns where all of ours rest on verdicts that say nothing."""
    ours = [line.cells for line in table.rows if line.kind == "ours" and not line.label.startswith("  ")]
    columns = [[cell.text for cell in column if cell.text not in ("", NOTHING)] for column in zip(*ours, strict=True)]
    marked = [bool(texts) and all(text.endswith(ALIKE) for text in texts) for texts in columns]
    lines = [
        replace(line, cells=[Cell(NOTHING) if bad else cell for cell, bad in zip(line.cells, marked, strict=True)])
        if line.kind == "published"
        else line
        for line in table.rows
    ]
    return replace(table, rows=lines) if any(marked) else table


# Several results as those of one system.


def merge_all(systems: Systems) -> list[list[tuple[str, Run]]]:
    """Make one result of each of several systems, to be compared; where all are of the same benchmarks, of each.

    Raises:
        QuadragError: they are of several benchmarks, no two share a split, or one holds a task twice.
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
        provenance=join(run.whose for run in runs).value,
        coverage=Share(*map(sum, zip(*coverage, strict=True))) if coverage else None,
        short={place: kind for run in runs for place, kind in run.short.items()},
        notes=[note for part, how in parts for note in rename_splits(part.record, how)],
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
        certificates=unique(one for result in results for one in result.certificates),
        texts={
            ((config, split + how, name), sample): text
            for part, how in parts
            for ((config, split, name), sample), text in part.texts.items()
        },
        parts=runs,
    )


def gather_systems(scored: Sequence[tuple[Path, Run]]) -> list[tuple[str, list[Run]]]:
    """Put the results of one model's logs in a folder together, in the order of its tasks; of other files each alone.

    Args:
        scored: the files, as they are to be named, with what they came to.

    Returns:
        What each system is called, a model or a file, and its results.
    """
    systems: dict[tuple[Path, str], list[Run]] = {}
    for file, result in scored:
        place = (file.parent, result.record.llm) if result.record.log else (file, str(file))
        systems.setdefault(place, []).append(result)
    models = [model for _, model in systems]

    def rank(result: Run) -> int:
        return list(configs(result.record.benchmark)).index(result.record.config)

    return [
        (model if models.count(model) == 1 else str(folder), sorted(results, key=rank))
        for (folder, model), results in systems.items()
    ]


def group_systems(systems: Systems) -> list[Systems]:
    """Put those systems together that can be compared: of the same benchmarks, with a split in common."""
    groups: dict[tuple[str, ...], list[tuple[str, Sequence[Run]]]] = {}
    for name, parts in systems:
        benchmarks = tuple(dict.fromkeys(result.record.benchmark for result in parts))
        groups.setdefault(benchmarks, []).append((name, parts))
    return [group for own in groups.values() for group in ([[one] for one in own] if are_apart(own) else [own])]

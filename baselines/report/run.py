"""The tables of one run: its scores, its slices or matrices, the printed rows beside its official values."""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from quadrag.metric_record import show_key
from quadrag.provenance import Provenance

from ..core.run_record import RunRecord
from ..core.spec import NONE
from ..judges.notes import note_judges
from ..results.run import PROFILES, Result
from ..results.score import Score, Status, find_by_phrase
from ..tables.cells import break_heading
from ..tables.grid import Cell, Grid, Line
from ..tables.lines import our_lines, printed_lines
from ..tables.names import is_whole, name_model, number_of
from ..tables.notes import explain_lines
from ..tables.paper import load_tables
from ..tables.paper_notes import note_corpus, note_paper
from ..tables.published import Published, find_beside
from ..tables.replicas import head_replaced, note_replicas
from ..tables.run_notes import note_ours
from ..tables.slices import select_run, select_whole, slice_grids
from .pooled import pool_profiles
from .samples import tabulate_samples


def name_run(run: RunRecord, number: str = "") -> str:
    """Name a run by its model, with a number where it has one, and by its retriever where that is none."""
    model = f"{name_model(run)}{number}"
    return f"{model}, no documents" if run.retriever == NONE else model


def tabulate_run(
    result: Result, profiles: Sequence[str] = PROFILES, labels: str = "en", every: bool = False
) -> list[Grid]:
    """Make the tables of one run.

    Args:
        result: of the run.
        profiles: the first is shown; of two, the second where it differs.
        labels: of a matrix, ``en`` or ``zh``.
        every: a matrix for every metric, as a page has, not for the main one alone.
    """
    grid, *parts = tabulate_scores(result, profiles, labels, every)
    grids = [grid, *tabulate_samples(result, profiles[0], title_of(result)), *parts]
    marked = {
        (row.key.split, row.key.metric, row.key.key) for row in result.scores if row.status is Status.UNTRUSTED_JUDGE
    }
    splits = [name for name in grid.columns if not is_whole(name)]
    rows = [row for row in rows_beside(result) if row.split in splits]
    rows = [row for row in rows if (row.split, row.module, row.key) not in marked]
    if rows:
        grids.append(_tabulate_beside(result.run, select_whole(result.scores), splits, rows))
    return grids + tabulate_systems(result, profiles)


def tabulate_scores(result: Result, profiles: Sequence[str], labels: str = "en", every: bool = False) -> list[Grid]:
    """Make the table of all metrics of a run, and those of its slices or matrices; arguments as of `tabulate_run`."""
    scores = select_whole(result.scores)
    pooled = pool_profiles(result, [row for row in scores if row.profile in profiles])
    splits = list(dict.fromkeys(row.key.split for row in scores)) or result.run.splits
    notes = [*note_ours([result], [scores], profiles[0]), *note_judges([result], profiles[0])]
    columns = [*dict.fromkeys(row.key.split for row in pooled), *splits]
    lines = _metric_lines(select_run([*pooled, *scores]), columns, profiles)
    notes += explain_lines(lines, scores)
    notes[:0] = note_replicas([result], profiles[0], alone=True)
    matrices = tabulate_matrices(result, profiles[0], labels, every)
    slices = matrices or slice_grids(result.scores, title_of(result), profiles[0])
    return [Grid(title_of(result), "metric", columns, lines, notes), *slices]


def tabulate_systems(result: Result, profiles: Sequence[str]) -> list[Grid]:
    """Make the tables of a run as a whole system, rated or timed; [] where its benchmark has none."""
    systems = load_tables(result.run.benchmark).systems
    return systems(replace(result, scores=select_whole(result.scores)), profiles) if systems else []


def tabulate_matrices(
    result: Result, profile: str = PROFILES[0], labels: str = "en", every: bool = False
) -> list[Grid]:
    """Make a run's matrices: of its main metric, or of every one; [] where its benchmark has none."""
    matrices = load_tables(result.run.benchmark).matrices
    return matrices(result.scores, title_of(result), profile, labels, every) if matrices else []


def rows_beside(result: Result) -> list[Published]:
    """Find the printed rows that stand beside a run; none where its documents are mixed, or its data made up.

    Nor beside a value of what a phrase finds, where the printed one is of what a judge finds.
    """
    inputs = result.run
    mixed = inputs.options and load_tables(inputs.benchmark).mixing
    by_phrase = {place[1:] for place in find_by_phrase(result.scores)}
    rows = find_beside(result.run) if result.run.whose.comparable and not mixed else []
    return [row for row in rows if (row.split, row.module, row.key) not in by_phrase]


def title_of(result: Result, split: str = "") -> str:
    """Name what was run, or one split of it, and by what."""
    inputs = result.run
    what = " ".join(filter(None, (inputs.benchmark, inputs.config, split)))
    return f"{head_replaced(result.run)}{what}, {name_run(result.run, number_of(result))}"


def _metric_lines(scores: Sequence[Score], splits: Sequence[str], profiles: Sequence[str]) -> list[Line]:
    """Make the lines of every metric; columns are splits."""
    lines: list[Line] = []
    for place in dict.fromkeys((row.key.metric, row.key.key) for row in scores):
        rows = [row for row in scores if (row.key.metric, row.key.key) == place]
        lines += our_lines(show_key(*place), rows, splits, profiles, attrgetter("key.split"), counts="each")
    totals = [max((row.counts.n_total for row in scores if row.key.split == split), default=0) for split in splits]
    return [*lines, Line("n", [Cell(str(total)) for total in totals], rule=True)]


def _tabulate_beside(run: RunRecord, scores: Sequence[Score], splits: Sequence[str], rows: Sequence[Published]) -> Grid:
    """Put the printed rows under ours: columns are splits, or metrics where there is one split."""
    names = {row.key: show_key(row.module, row.key) for row in rows}
    keys = list(names)
    if len(splits) > 1:
        title, columns, places = f"Published: {names[keys[0]]}", list(splits), [(keys[0], split) for split in splits]
    else:
        # Four of these names fit into 80 columns beside a model's only when broken after their first word.
        wide = sum(map(len, keys)) > 50
        columns = [names[key].replace("_", "_\n", 1) if wide else break_heading(names[key]) for key in keys]
        title, places = "Published", [(key, splits[0]) for key in keys]
    place = attrgetter("key.key", "key.split")
    ours = "ours, unverified" if run.whose is Provenance.UNVERIFIED else "ours"
    lines = our_lines(f"{name_run(run)} ({ours})", scores, places, ["official"], place, counts="never")
    printed = printed_lines(rows, places, place=attrgetter("key", "split"))
    printed[0].rule = True
    notes = [*note_paper(run.benchmark, rows), *note_corpus([run])]
    return Grid(title, "model", columns, [*lines, *printed], notes, "curves" if len(splits) > 1 else "points")

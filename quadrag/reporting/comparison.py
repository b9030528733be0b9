"""Runs compared, two or many, as one table with its notes; and the gate of a pipeline.

What the values, p and verdicts are `results/compare.py` says: here they are laid out, and nothing is computed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from quadrag.errors import GateFailed, QuadragError, unknown_name
from quadrag.metric_record import show_key
from quadrag.results import PROFILES, Level, Note, NoteCode, Place, Run, Score, Status, group_notes
from quadrag.results.certificates import note_judges
from quadrag.results.check import check_lacking
from quadrag.results.compare import (
    FEW,
    Comparison,
    Difference,
    Reason,
    Verdict,
    answer_alike,
    compare,
    drop_parts,
    find_lead,
    find_worse,
    has_better,
    is_same,
    name_judges,
)
from quadrag.results.items import is_whole, with_pooled

from .messages import say
from .notes import INTERVALS, note_lower, note_units, note_validity
from .table import (
    ALIKE,
    CHARACTERS,
    NOTHING,
    Cell,
    Row,
    Table,
    difference_cell,
    format_value,
    name_places,
    name_runs,
    value_cell,
)

_LONG = 1.5  # times as long as another run's answers: beyond it that is said
_INVALID, _FAILED = 3, 4  # exit codes
_SHOWN = 3  # runs whose verdict stands above a table


def tabulate_comparison(runs: Sequence[tuple[str, Run]], profile: str = PROFILES[0], every: bool = False) -> Table:
    """Compare named runs of one benchmark with the first: a line for each score and run, with what the run differs by.

    Of three runs or more the best stands first. Unless `every` metric is asked for these are the headlines, of three
    runs or more over all splits alone where a score has several.
    """
    base, *others = (result for _, result in runs)
    comparison, run_names = compare(base, others, profile, every), name_runs([name for name, _ in runs])
    shown = list(comparison.differences)
    several = len(run_names) > 2
    if several and not every:
        shown = drop_parts(shown)
        shown = [one for one in shown if one.reason is not Reason.ONLY_ONE]  # which a note says
    lines: list[Row] = []
    for place, label in name_places(one.place for one in shown).items():
        of_place = [one for one in shown if one.place == place]
        if several:
            lines.append(Row(label, [Cell("")] * 5, rule=bool(lines)))
            of_place.sort(key=_rank)
        lines += [Row(f" {run_names[one.run]}" if several else label, _make_cells(one)) for one in of_place]
    shared = [{one.place[at] for one in shown} for at in range(2)]
    of = " ".join([base.record.benchmark, *(name for names in shared if len(names) == 1 for name in names)])
    heads = [run_names[0], "value" if several else run_names[1], "difference", "n", "verdict"]
    title = f"{', '.join(run_names[1:])} − {run_names[0]}, {of}"
    return Table(title, "metric", heads, lines, _note_comparison(comparison, run_names), "forest")


def _rank(difference: Difference) -> tuple[bool, float]:
    sign = 1 if difference.record.direction == "lower" else -1
    return difference.values[1] is None, sign * (difference.values[1] or 0)


def _make_cells(difference: Difference) -> list[Cell]:
    changes, unit = difference.changes, difference.record.unit
    better = [f"↑{count}" for count in (changes.worse, changes.better)] if changes else ["", ""]
    values = []
    for score, value, above in zip(difference.scores, difference.values, better, strict=True):
        text = value_cell(score).text if score else format_value(value, unit, difference.n or None)
        values.append(Cell(text, above))
    if difference.delta is None:
        return [*values, Cell(NOTHING), Cell(NOTHING), Cell("not compared" if difference.reason else NOTHING)]
    cell = difference_cell(difference, has_better(difference.place))
    if any(score and score.status is Status.UNTRUSTED_JUDGE for score in difference.scores):
        cell = Cell(cell.text + ALIKE, cell.sub)
    if not difference.headline:  # these alone stand in a chart
        cell = replace(cell, figure=None)
    return [*values, cell, Cell(str(difference.n)), Cell(difference.verdict or NOTHING, write_p(difference))]


def write_p(difference: Difference) -> str:
    """Write the p that decides, by the name of Holm's rule where that raised it; "" where nothing is to be decided."""
    if difference.verdict in (Verdict.NONE, Verdict.FEW):
        return ""
    alone, decisive = (f"{p:.3f}" if p >= 0.0005 else "< 0.001" for p in (difference.p, difference.decisive))
    return f"p {alone}" if alone == decisive else f"Holm {decisive}"


def write_difference(difference: Difference) -> str:
    cell, unit = difference_cell(difference), CHARACTERS if difference.record.unit == CHARACTERS else "points"
    size = f"{difference.place[3]} {cell.text} {unit}" + f" (95% {cell.sub})" * bool(cell.sub)
    parts = filter(None, (size, f"n {difference.n}", write_p(difference)))
    return ", ".join(parts) + f": {difference.verdict}" * bool(difference.verdict)


# Notes.


def _note_comparison(comparison: Comparison, run_names: Sequence[str]) -> list[Note]:
    runs, profile = comparison.runs, comparison.profile
    headlines = [one for one in comparison.differences if one.headline]
    labels = name_places(one.place for one in headlines)
    told = comparison.list_told()
    by_run: list[tuple[str, Note]] = []
    for number, (name, other) in enumerate(zip(run_names[1:], runs[1:], strict=True), 1):
        of_run = [one for one in told if one.run == number]
        notes = [*_check_length(runs[0], other, of_run, labels), *_check_missing(comparison, number, run_names, labels)]
        notes += [Note(NoteCode.SAME_ANSWERS, {"base": run_names[0]})] * answer_alike(runs[0], other)
        by_run += [(name, note) for note in notes]
    pairs = [one for one in headlines if one.delta is not None]
    shown = [score for one in comparison.differences for score in one.scores if score]
    apart = any(score and one.n != score.n for one in pairs for score in one.scores)
    not_run = [[score for score in run.whole(profile) if not score.ran] for run in runs]
    lacking = [score for score in not_run[0] if all(score.place in {one.place for one in each} for each in not_run)]
    notes = group_notes(by_run, run_names[1:])
    return [
        *(note for note in notes if note.level is Level.HEADLINE),
        *_check_lead(comparison, told, run_names, labels),
        *(note for note in notes if note.level is not Level.HEADLINE),
        *note_validity(runs, run_names),
        note_units(shown, profile),
        *[Note(NoteCode.P_RULE, {"kind": "holm"} if len(pairs) > 1 else {})] * bool(pairs),
        *[Note(NoteCode.VALUES_APART)] * apart,
        *check_lacking(lacking),
        *note_lower(dict.fromkeys(one.place[2:] for one in comparison.differences)),
        *note_judges(runs, profile),
        INTERVALS,
        Note(NoteCode.TESTS),
    ]


def _check_lead(
    comparison: Comparison, told: Sequence[Difference], run_names: Sequence[str], labels: Mapping[Place, str]
) -> Iterator[Note]:
    if lead := find_lead(told):
        of_lead = sorted((one for one in told if one.place == lead), key=_rank)
        yield from [note_verdict(one, run_names[one.run], labels[lead]) for one in of_lead][:_SHOWN]
    elif few := [one.n for one in comparison.differences if one.n and has_better(one.place)]:
        yield Note(NoteCode.VERDICT, {"kind": "few", "n": max(few), "least": FEW})


def note_verdict(difference: Difference, name: str, label: str) -> Note:
    cell, kind = difference_cell(difference), difference.verdict.name.lower()
    params = {"name": name, "metric": label, "difference": cell.text, "interval": cell.sub, "p": write_p(difference)}
    return Note(NoteCode.VERDICT, {"kind": kind, **params, "n": difference.n})


def _check_length(first: Run, second: Run, told: Sequence[Difference], labels: Mapping[Place, str]) -> Iterator[Note]:
    """Say that the answers of the better run are much longer, where more text can only raise a metric."""
    lengths: dict[str, list[int]] = {}  # of both runs' answers, by config
    for at, text in first.texts.items():
        if text and (other := second.texts.get(at)) and is_same(first, second, at[0]):
            both = lengths.setdefault(at[0][0], [0, 0])
            both[0] += len(text)
            both[1] += len(other)
    for config, both in lengths.items():
        longer = Verdict.BETTER if both[1] > both[0] else Verdict.WORSE
        raised = [one for one in told if one.place[0] == config and one.record.grows and one.verdict is longer]
        if raised and (times := max(both) / min(both)) > _LONG:
            keys = [labels[one.place] for one in raised]
            yield Note(NoteCode.LONGER_ANSWERS, {"keys": keys, "times": f"{times:.1f}"})


def _check_missing(
    comparison: Comparison, run: int, run_names: Sequence[str], labels: Mapping[Place, str]
) -> Iterator[Note]:
    headlines = [one for one in comparison.differences if one.headline and one.run == run and not one.splits]
    by_reason: dict[tuple[Reason, tuple[bool, bool]], list[Difference]] = {}
    for one in headlines:
        if one.reason:
            by_reason.setdefault((one.reason, one.about), []).append(one)
    for (reason, _), missing in by_reason.items():
        # A verdict on other metrics must not hide what is invalid, or lacks of the first headline.
        loud = reason is Reason.INVALID or (missing[0] is headlines[0] and reason is not Reason.ONLY_ONE)
        why = explain_missing(missing[0], run_names, comparison.runs)
        params = {"why": why, "keys": [labels[one.place] for one in missing]}
        yield Note(NoteCode.NOT_COMPARED, {**params, **({"level": Level.HEADLINE} if loud else {})})


def explain_missing(difference: Difference, run_names: Sequence[str], runs: Sequence[Run]) -> Note:
    reason, run = difference.reason, difference.run
    kind = "judged" if reason is Reason.ONLY_ONE and difference.record.needs == "judge" else str(reason)
    about = [name for name, is_it in zip((run_names[0], run_names[run]), difference.about, strict=True) if is_it]
    judges = name_judges(runs[0], runs[run]) or ("", "")
    return Note(NoteCode.NOT_COMPARED, {"kind": f"why.{kind}", "about": about, "judges": " / ".join(judges)})


# What cannot be compared at all.


def refuse_same(names: Sequence[str]) -> None:
    """Refuse to compare a folder, or a file, with itself, however it is spelled."""
    for one, other in combinations(names, 2):
        if Path(one).resolve() == Path(other).resolve():
            twice = f"{one} is named twice" if one == other else f"{one} and {other} are the same"
            raise QuadragError(f"nothing to compare: {twice}; name another one")


def refuse_apart(runs: Sequence[tuple[str, Sequence[Run]]]) -> None:
    if are_apart(runs):
        run_names = name_runs([name for name, _ in runs])
        named = "; ".join(
            f"{name} is {_list_tasks(parts)[0]}" for name, (_, parts) in zip(run_names, runs, strict=True)
        )
        raise QuadragError(f"nothing to compare: {named}; name runs of one benchmark with a split in common")


def are_apart(runs: Sequence[tuple[str, Sequence[Run]]]) -> bool:
    """Whether runs are of different benchmarks, or no two of several have a split in common."""
    tasks = [{*_list_tasks(parts)} for _, parts in runs]
    mixed = len({result.record.benchmark for _, parts in runs for result in parts}) > 1
    return len(runs) > 1 and (mixed or all(one.isdisjoint(other) for one, other in combinations(tasks, 2)))


def _list_tasks(results: Sequence[Run]) -> list[str]:
    runs = [result.record for result in results]
    return [f"{run.benchmark} {run.config} {split}" for run in runs for split in run.splits]


# The gate.


def check_gate(
    compared: Sequence[Comparison],
    names: Sequence[str],
    last_results: Sequence[Run],
    thresholds: Mapping[str, float],
    profile: str,
) -> None:
    """Hold runs against what a pipeline asks of them.

    Args:
        compared: in none a run may be worse than the first one by a headline that leads; [] asks that of no run.
        names: of the runs.
        last_results: what the last run came to: its scores are held against `thresholds`.
        thresholds: what the upper end of a score's interval, or its value where it has none, must reach, by name; of
            several splits the score over all of them, or else each, unless the name has a split before it.
        profile: of these scores.

    Raises:
        GateFailed: it fails, or cannot be told as a score is invalid; the line names all that failed.
        QuadragError: a run cannot be compared, or no score has a name.
    """
    run_names = name_runs(names)
    found = [one for comparison in compared for one in _check_worse(comparison, run_names)]
    for name, value in thresholds.items():
        found += _check_below(_match_scores(last_results, name, profile), name, value, run_names[-1])
    invalid = [text for code, text in found if code == _INVALID]
    if found:
        raise GateFailed("; ".join(invalid or [text for _, text in found]), _INVALID if invalid else _FAILED)


def _check_worse(comparison: Comparison, run_names: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield by what runs are worse than the first one, or cannot be told to be, each with the exit code."""
    for one in find_worse(comparison):
        label, name = f"{one.place[1]}/{show_key(*one.place[2:])}", run_names[one.run]
        if one.delta is not None:
            yield _FAILED, say(note_verdict(one, name, label)).rstrip(".")
            continue
        why = f"{label} of {name} is not compared, {say(explain_missing(one, run_names, comparison.runs))}"
        if one.reason is not Reason.INVALID:
            raise QuadragError(f"--fail-if worse: {why}")
        yield _INVALID, why


def _check_below(scores: Sequence[Score], name: str, value: float, run: str) -> Iterator[tuple[int, str]]:
    """Yield which scores of a run do not reach a value, or are invalid, each with the exit code."""
    for score in scores:
        low, high = score.record.range
        if (low is not None and value < low) or (high is not None and value > high):
            raise QuadragError(f"--fail-below {name}={value:g}: {score.label} lies between {low} and {high}")
        label = f"{score.key.split}/{score.label} of {run}"
        if score.status is Status.INVALID:
            yield _INVALID, f"{label} is INVALID"
        elif score.value is None:
            raise QuadragError(f"--fail-below {name}: {label} has no value")
        elif (score.interval.high if score.interval else score.value) < value:
            between = f" (95% {score.interval.low:.3f} to {score.interval.high:.3f})" if score.interval else ""
            yield _FAILED, f"{label} is {score.value:.3f}{between}, n {score.n}, below {value:g}"


def _match_scores(results: Sequence[Run], name: str, profile: str) -> list[Score]:
    rows: list[Score] = []
    for result in results:
        rows += [row for row in with_pooled(result, result.whole(profile), profile) if row.ran]
    split, _, key = name.rpartition("/")
    found = [row for row in rows if key in (row.key.key, row.key.name, row.label) and split in ("", row.key.split)]
    if not found:
        raise unknown_name("score", name, dict.fromkeys(row.label for row in rows))
    if any(row.record.direction == "lower" for row in found):
        raise QuadragError(f"--fail-below {name}: of it less is better; name a score of which more is")
    whole = {row.key.config for row in found if is_whole(row.key.split)}
    return [row for row in found if is_whole(row.key.split) or row.key.config not in whole]

"""Runs compared, two or many, as one table with its notes; and the gate of a pipeline.

What the values, p and verdicts are `results/compare.py` says: here they are laid out, and nothing is computed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from quadrag.errors import GateFailed, QuadragError, unknown_name
from quadrag.metric_record import show_key
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
    find_lead,
    find_worse,
    has_better,
    is_same,
    name_judges,
)
from quadrag.results.items import is_whole, with_pooled
from quadrag.results.note import Level, Note, NoteCode, group_notes
from quadrag.results.run import PROFILES, Place, Run, Score, Status

from .messages import say
from .names import ALIKE, CHARACTERS, NOTHING, difference_cell, format_value, name_places, name_runs, value_cell
from .notes import INTERVALS, note_lower, note_units, note_validity
from .table import Cell, Row, Table

_LONG = 1.5  # times as long as another run's answers: beyond it that is said
_SHOWN = 3  # runs whose verdict stands above a table


def tabulate_comparison(runs: Sequence[tuple[str, Run]], profile: str = PROFILES[0], every: bool = False) -> Table:
    """Compare named runs with the first of them: a line for each score and run, with what the run differs by.

    Of three runs or more the best stands first, and unless `every` line is asked for a score of several splits stands
    over all of them alone.

    Args:
        runs: two or more, of one benchmark.
        profile: ``official`` or ``corrected``.
        every: all metrics, not the headlines alone.
    """
    base, *others = (result for _, result in runs)
    comparison, called = compare(base, others, profile, every), name_runs([name for name, _ in runs])
    shown = list(comparison.differences)
    several = len(called) > 2
    if several and not every:
        whole = {(one.run, one.place[0], *one.place[2:]) for one in shown if one.splits}
        shown = [one for one in shown if one.splits or (one.run, one.place[0], *one.place[2:]) not in whole]
        shown = [one for one in shown if one.reason is not Reason.ONLY_ONE]  # which a note says
    lines: list[Row] = []
    for place, label in name_places(one.place for one in shown).items():
        here = [one for one in shown if one.place == place]
        if several:
            lines.append(Row(label, [Cell("")] * 5, rule=bool(lines)))
            here.sort(key=_rank)
        lines += [Row(f" {called[one.run]}" if several else label, _cells(one)) for one in here]
    shared = [{one.place[at] for one in shown} for at in range(2)]
    of = " ".join([base.record.benchmark, *(name for each in shared if len(each) == 1 for name in each)])
    heads = [called[0], "value" if several else called[1], "difference", "n", "verdict"]
    title = f"{', '.join(called[1:])} − {called[0]}, {of}"
    return Table(title, "metric", heads, lines, check_comparison(comparison, called), "forest")


def _rank(one: Difference) -> tuple[bool, float]:
    sign = 1 if one.record.direction == "lower" else -1
    return one.values[1] is None, sign * (one.values[1] or 0)


def _cells(one: Difference) -> list[Cell]:
    """Make the cells of both values, with on how many questions each is better, the difference, its n, the verdict."""
    better = one.changes and (one.changes.worse, one.changes.better)
    values = [Cell(_write_value(one, at), f"↑{better[at]}" if better else "") for at in range(2)]
    if one.delta is None:
        return [*values, Cell(NOTHING), Cell(NOTHING), Cell("not compared" if one.reason else NOTHING)]
    difference = difference_cell(one, has_better(one.place))
    if any(score and score.status is Status.UNTRUSTED_JUDGE for score in one.scores):
        difference = Cell(difference.text + ALIKE, difference.sub)
    if not one.headline:  # these alone stand in a chart
        difference = replace(difference, figure=None)
    verdict = Cell(one.verdict or NOTHING, write_p(one) * (one.verdict not in (Verdict.NONE, Verdict.FEW)))
    return [*values, difference, Cell(str(one.n)), verdict]


def _write_value(one: Difference, at: int) -> str:
    if score := one.scores[at]:
        return value_cell(score).text
    return format_value(one.values[at], one.record.unit, one.n or None)


def write_p(one: Difference) -> str:
    """Write the p that decides, by the name of Holm's rule where that raised it."""
    alone, decisive = (f"{p:.3f}" if p >= 0.0005 else "< 0.001" for p in (one.p, one.decisive))
    return f"p {alone}" if alone == decisive else f"Holm {decisive}"


def write_difference(one: Difference) -> str:
    """Write a difference in a line: the key, how much, its interval, over how many questions, p and verdict."""
    cell, unit = difference_cell(one), CHARACTERS if one.record.unit == CHARACTERS else "points"
    size = f"{one.place[3]} {cell.text} {unit}" + f" (95% {cell.sub})" * bool(cell.sub)
    told = [write_p(one)] if one.verdict not in (Verdict.NONE, Verdict.FEW) else []
    return ", ".join([size, f"n {one.n}", *told]) + f": {one.verdict}" * bool(one.verdict)


# Notes.


def check_comparison(comparison: Comparison, called: Sequence[str]) -> list[Note]:
    """Make the notes of runs compared, in the order in which they are read."""
    runs, profile = comparison.runs, comparison.profile
    heads = [one for one in comparison.differences if one.headline]
    labels = name_places(one.place for one in heads)
    other_profile = next(known for known in PROFILES if known != profile)
    turned = {(one.run, one.place): one for one in compare(runs[0], runs[1:], other_profile).differences}
    told: list[tuple[str, Note]] = []
    for number, (name, other) in enumerate(zip(called[1:], runs[1:], strict=True), 1):
        own = [one for one in comparison.list_told() if one.run == number]
        notes: list[Note] = []
        for one in own:
            notes += _check_profile(one, turned.get((number, one.place)), other_profile, name, labels[one.place])
        notes += [*_check_length(runs[0], other, own, labels), *_check_missing(comparison, number, called, labels)]
        notes += [Note(NoteCode.SAME_ANSWERS, {"base": called[0]})] * answer_alike(runs[0], other)
        told += [(name, note) for note in notes]
    pairs = [one for one in heads if one.delta is not None]
    shown = [score for one in comparison.differences for score in one.scores if score]
    apart = any(score and one.n != score.n for one in pairs for score in one.scores)
    whole = [[score for score in run.whole(profile) if not score.ran] for run in runs]
    lacking = [score for score in whole[0] if all(score.place in {one.place for one in others} for others in whole)]
    noted = group_notes(told, called[1:])
    return [
        *(note for note in noted if note.level is Level.HEADLINE),
        *_check_lead(comparison, called, labels),
        *(note for note in noted if note.level is not Level.HEADLINE),
        *note_validity(runs, called),
        note_units(shown, profile),
        *[Note(NoteCode.P_RULE, {"kind": "holm"} if len(pairs) > 1 else {})] * bool(pairs),
        *[Note(NoteCode.VALUES_APART)] * apart,
        *check_lacking(lacking),
        *note_lower(dict.fromkeys(one.place[2:] for one in comparison.differences)),
        *note_judges(runs, profile),
        INTERVALS,
        Note(NoteCode.TESTS),
    ]


def _check_lead(comparison: Comparison, called: Sequence[str], labels: Mapping[Place, str]) -> Iterator[Note]:
    """Say what runs are by the score that leads the comparison, the best runs first."""
    lead = find_lead(comparison.list_told())
    if lead:
        here = sorted((one for one in comparison.differences if one.place == lead), key=_rank)
        yield from [note_verdict(one, called[one.run], labels[lead]) for one in here if one.delta is not None][:_SHOWN]
    elif few := [one.n for one in comparison.differences if one.n and has_better(one.place)]:
        yield Note(NoteCode.VERDICT, {"kind": "few", "n": max(few), "least": FEW})


def note_verdict(one: Difference, name: str, label: str) -> Note:
    """Say what a run is by a difference."""
    cell = difference_cell(one)
    params = {"name": name, "metric": label, "difference": cell.text, "interval": cell.sub, "p": write_p(one)}
    return Note(NoteCode.VERDICT, {"kind": one.verdict.name.lower(), **params, "n": one.n})


def _check_profile(one: Difference, turned: Difference | None, profile: str, name: str, label: str) -> Iterator[Note]:
    """Say by a score that the other profile decides otherwise."""
    if turned and turned.n >= FEW and (turned.delta, turned.interval, turned.p) != (one.delta, one.interval, one.p):
        verdicts = {one.verdict, turned.verdict}
        if len(verdicts) > 1 and verdicts & {Verdict.BETTER, Verdict.WORSE}:
            yield Note(NoteCode.PROFILE_DISAGREES, {"profile": profile, "said": note_verdict(turned, name, label)})


def _check_length(first: Run, second: Run, told: Sequence[Difference], labels: Mapping[Place, str]) -> Iterator[Note]:
    """Say that the answers of the better run are much longer, where more text can only raise a metric."""
    lengths: dict[str, list[int]] = {}  # of both runs' answers, by config
    for at, one in first.texts.items():
        if one and (two := second.texts.get(at)) and is_same(first, second, at[0]):
            both = lengths.setdefault(at[0][0], [0, 0])
            both[0] += len(one)
            both[1] += len(two)
    for config, both in lengths.items():
        longer = Verdict.BETTER if both[1] > both[0] else Verdict.WORSE
        raised = [one for one in told if one.place[0] == config and one.record.grows and one.verdict is longer]
        if raised and (times := max(both) / min(both)) > _LONG:
            keys = [labels[one.place] for one in raised]
            yield Note(NoteCode.LONGER_ANSWERS, {"keys": keys, "times": f"{times:.1f}"})


def _check_missing(
    comparison: Comparison, run: int, called: Sequence[str], labels: Mapping[Place, str]
) -> Iterator[Note]:
    """Say which headlines of a run are not compared, and why."""
    heads = [one for one in comparison.differences if one.headline and one.run == run and not one.splits]
    found: dict[tuple[Reason, tuple[bool, bool]], list[Difference]] = {}
    for one in heads:
        if one.reason:
            found.setdefault((one.reason, one.about), []).append(one)
    for (reason, _), places in found.items():
        # A verdict on other metrics must not hide what is invalid, or lacks of the first headline.
        loud = reason is Reason.INVALID or (places[0] is heads[0] and reason is not Reason.ONLY_ONE)
        why = explain_missing(places[0], called, comparison.runs)
        params = {"why": why, "keys": [labels[one.place] for one in places]}
        yield Note(NoteCode.NOT_COMPARED, {**params, **({"level": Level.HEADLINE} if loud else {})})


def explain_missing(one: Difference, called: Sequence[str], runs: Sequence[Run]) -> Note:
    """Say why a score of a run is not compared."""
    kind = "judged" if one.reason is Reason.ONLY_ONE and one.record.needs == "judge" else str(one.reason)
    about = [name for name, is_it in zip((called[0], called[one.run]), one.about, strict=True) if is_it]
    judges = name_judges(runs[0], runs[one.run]) or ("", "")
    return Note(NoteCode.NOT_COMPARED, {"kind": f"why.{kind}", "about": about, "judges": " / ".join(judges)})


# What cannot be compared at all.


def refuse_same(names: Sequence[str]) -> None:
    """Refuse to compare a folder, or a file, with itself, however it is spelled.

    Raises:
        QuadragError: it is named twice.
    """
    for one, other in combinations(names, 2):
        if Path(one).resolve() == Path(other).resolve():
            twice = f"{one} is named twice" if one == other else f"{one} and {other} are the same"
            raise QuadragError(f"nothing to compare: {twice}; name another one")


def refuse_apart(runs: Sequence[tuple[str, Sequence[Run]]]) -> None:
    """Refuse to compare runs of different benchmarks, or runs of which no two have a split in common.

    Raises:
        QuadragError: they are such runs.
    """
    if are_apart(runs):
        called = name_runs([name for name, _ in runs])
        named = "; ".join(f"{name} is {_list_tasks(parts)[0]}" for name, (_, parts) in zip(called, runs, strict=True))
        raise QuadragError(f"nothing to compare: {named}; name runs of one benchmark with a split in common")


def are_apart(runs: Sequence[tuple[str, Sequence[Run]]]) -> bool:
    """Whether runs are of different benchmarks, or no two of several have a split in common."""
    tasks = [{*_list_tasks(parts)} for _, parts in runs]
    mixed = len({result.record.benchmark for _, parts in runs for result in parts}) > 1
    return len(runs) > 1 and (mixed or all(one.isdisjoint(other) for one, other in combinations(tasks, 2)))


def _list_tasks(results: Sequence[Run]) -> list[str]:
    return [
        f"{one.benchmark} {one.config} {split}" for result in results for one in [result.record] for split in one.splits
    ]


# The gate.


def check_gate(
    compared: Sequence[Comparison],
    names: Sequence[str],
    last: Sequence[Run],
    least: Mapping[str, float],
    profile: str,
) -> None:
    """Hold runs against what a pipeline asks of them.

    Args:
        compared: in none a run may be worse than the first one by a headline that leads; [] asks that of no run.
        names: of the runs.
        last: what the last run came to: its scores are held against `least`.
        least: what the upper end of a score's interval, or its value where it has none, must reach, by name; of several
            splits the score over all of them, or else each, unless the name has a split before it.
        profile: of these scores.

    Raises:
        GateFailed: it fails, or cannot be told as a score is invalid; the line names all that failed.
        QuadragError: a run cannot be compared, or no score has a name.
    """
    called = name_runs(names)
    failed: list[str] = []
    invalid: list[str] = []
    for comparison in compared:
        for one in find_worse(comparison):
            label, name = f"{one.place[1]}/{show_key(*one.place[2:])}", called[one.run]
            if one.delta is not None:
                failed.append(say(note_verdict(one, name, label)).rstrip("."))
                continue
            why = f"{label} of {name} is not compared, {say(explain_missing(one, called, comparison.runs))}"
            if one.reason is not Reason.INVALID:
                raise QuadragError(f"--fail-if worse: {why}")
            invalid.append(why)
    for name, value in least.items():
        for score in _match_scores(last, name, profile):
            low, high = score.record.range
            if (low is not None and value < low) or (high is not None and value > high):
                raise QuadragError(f"--fail-below {name}={value:g}: {score.label} lies between {low} and {high}")
            label = f"{score.key.split}/{score.label} of {called[-1]}"
            if score.status is Status.INVALID:
                invalid.append(f"{label} is INVALID")
            elif score.value is None:
                raise QuadragError(f"--fail-below {name}: {label} has no value")
            elif (score.interval.high if score.interval else score.value) < value:
                between = f" (95% {score.interval.low:.3f} to {score.interval.high:.3f})" if score.interval else ""
                failed.append(f"{label} is {score.value:.3f}{between}, n {score.n}, below {value:g}")
    if invalid or failed:
        raise GateFailed("; ".join(invalid or failed), 3 if invalid else 4)


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

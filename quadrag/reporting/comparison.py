"""Runs compared, two or many, as one table with its notes; and the gate of a pipeline.

What the values, p and verdicts are `results/compare.py` says: here they are laid out, and nothing is computed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from quadrag.errors import GateFailed, QuadragError, unknown_name
from quadrag.judges.notes import note_judges
from quadrag.metric_record import show_key
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
    judge_pair,
    name_judges,
    record_at,
)
from quadrag.results.note import Level, Note, NoteCode, group_notes
from quadrag.results.run import PROFILES, Run
from quadrag.results.score import Place, Score, Status
from quadrag.results.selection import is_whole, pool_rows
from quadrag.stats import Pair

from .cells import ALIKE, CHARACTERS, NOTHING, difference_cell, format_value, value_cell
from .messages import say
from .notes import note_lower, note_units
from .run_notes import note_validity
from .table import Cell, Row, Table

_LONG = 1.5  # times as long as another run's answers: beyond it that is said
_SHOWN = 3  # runs whose verdict stands above a table
Runs = Sequence[tuple[str, Run]]


def tabulate_comparison(runs: Runs, profile: str = PROFILES[0], every: bool = False) -> Table:
    """Compare named runs with the first of them.

    Args:
        runs: two or more, of one benchmark.
        profile: ``official`` or ``corrected``.
        every: all metrics, not the headlines alone.
    """
    base, *others = (result for _, result in runs)
    return comparison_table(compare(base, others, profile, every), [name for name, _ in runs], every)


def comparison_table(comparison: Comparison, names: Sequence[str], every: bool = False) -> Table:
    """Make the table of runs compared: a line for each score and run, with what the run differs by from the first one.

    Of three runs or more the best stands first, and unless `every` line is asked for a score of several splits stands
    over all of them alone.
    """
    called = name_runs(names)
    shown = list(comparison.differences)
    several = len(called) > 2
    if several and not every:
        whole = {(one.run, one.place[0], *one.place[2:]) for one in shown if one.splits}
        shown = [one for one in shown if one.splits or (one.run, one.place[0], *one.place[2:]) not in whole]
        shown = [one for one in shown if one.reason is not Reason.ONLY_ONE]  # which a note says
    labels = name_places([one.place for one in shown])
    lines: list[Row] = []
    for place, label in labels.items():
        here = [one for one in shown if one.place == place]
        if several:
            lines.append(Row(label, [Cell("")] * 5, rule=bool(lines)))
            here.sort(key=_rank)
        lines += [Row(f" {called[one.run]}" if several else label, _cells(one)) for one in here]
    shared = [{one.place[at] for one in shown} for at in range(2)]
    of = " ".join([comparison.runs[0].record.benchmark, *(name for each in shared if len(each) == 1 for name in each)])
    others = ", ".join([*called[1 : _SHOWN + 1], *["…"] * (len(called) > _SHOWN + 1)])
    heads = [called[0], "value" if several else called[1], "difference", "n", "verdict"]
    notes = check_comparison(comparison, called)
    return Table(f"{others} − {called[0]}, {of}", "metric", heads, lines, notes, "forest", names=called)


def _rank(one: Difference) -> tuple[bool, float]:
    sign = 1 if one.record.direction == "lower" else -1
    return one.values[1] is None, sign * (one.values[1] or 0)


def _cells(one: Difference) -> list[Cell]:
    """Make the cells of both values, with on how many questions each is better, the difference, its n, the verdict."""
    better = one.changes and (one.changes.worse, one.changes.better)
    values = [Cell(_write_value(one, at), f"↑{better[at]}" if better else "") for at in range(2)]
    if one.pair is None:
        return [*values, Cell(NOTHING), Cell(NOTHING), Cell("not compared" if one.reason else NOTHING)]
    difference = difference_cell(one.pair, one.record.unit, has_better(one.place))
    if any(score and score.status is Status.UNTRUSTED_JUDGE for score in one.scores):
        difference = Cell(difference.text + ALIKE, difference.sub)
    if not one.headline:  # these alone stand in a chart
        difference = replace(difference, figure=None)
    verdict = Cell(one.verdict or NOTHING, write_p(one.pair) * (one.verdict not in (Verdict.NONE, Verdict.FEW)))
    return [*values, difference, Cell(str(one.pair.n)), verdict]


def _write_value(one: Difference, at: int) -> str:
    if score := one.scores[at]:
        return value_cell(score).text
    return format_value(one.values[at], one.record.unit, one.pair.n if one.pair else None)


def write_p(pair: Pair) -> str:
    """Write the p that decides, by the name of Holm's rule where that raised it."""
    alone, decisive = (f"{p:.3f}" if p >= 0.0005 else "< 0.001" for p in (pair.p, pair.decisive))
    return f"p {alone}" if alone == decisive else f"Holm {decisive}"


def write_difference(place: Place, pair: Pair) -> str:
    """Write a difference in a line: the key, how much, its interval, over how many questions, p and verdict."""
    cell, verdict, unit = difference_cell(pair, record_at(place).unit), judge_pair(pair, place), record_at(place).unit
    size = f"{place[3]} {cell.text} {unit if unit == CHARACTERS else 'points'}" + f" (95% {cell.sub})" * bool(cell.sub)
    told = [write_p(pair)] if verdict not in (Verdict.NONE, Verdict.FEW) else []
    return ", ".join([size, f"n {pair.n}", *told]) + f": {verdict}" * bool(verdict)


# What the runs, and their metrics, are called.


def name_runs(names: Sequence[str]) -> list[str]:
    """Name runs side by side by their folders, with those above where two are alike, less what all begin with."""
    paths = [Path(name).parts for name in names]
    for depth in range(1, max(map(len, paths)) + 1):
        short = ["/".join(path[-depth:]) for path in paths]
        if len({*short}) == len({*names}):
            break
    words = [one.split("-") for one in short]
    while min(map(len, words)) > 1 and len({one[0] for one in words}) == 1 < len({*short}):
        words = [one[1:] for one in words]
    own = ["-".join(one) for one in words]
    return own if all(one[:1].isalpha() for one in own) else short


def name_places(places: Sequence[Place]) -> dict[Place, str]:
    """Name scores by what of config and split tells them apart."""
    config, split = (len({place[at] for place in places}) > 1 for at in range(2))
    return {place: f"{place[0]}: " * config + f"{place[1]}/" * split + show_key(place[2], place[3]) for place in places}


# Notes.


def check_comparison(comparison: Comparison, called: Sequence[str]) -> list[Note]:
    """Make the notes of runs compared, in the order in which they are read."""
    runs, profile = comparison.runs, comparison.profile
    heads = [one for one in comparison.differences if one.headline]
    labels = name_places([one.place for one in heads])
    told: list[tuple[str, Note]] = []
    for number, (name, other) in enumerate(zip(called[1:], runs[1:], strict=True), 1):
        own = [one for one in comparison.list_told() if one.run == number]
        notes = [note for one in own for note in _check_profile(one, profile, name, labels[one.place])]
        notes += [*_check_length(runs[0], other, own, labels), *_check_missing(comparison, number, called, labels)]
        notes += [Note(NoteCode.SAME_ANSWERS, {"base": called[0]})] * answer_alike(runs[0], other)
        told += [(name, note) for note in notes]
    pairs = [one.pair for one in heads if one.pair]
    shown = [score for one in comparison.differences for score in one.scores if score]
    apart = any(one.pair and score and one.pair.n != score.n for one in heads for score in one.scores)
    whole = [[score for score in run.whole(profile) if not score.ran] for run in runs]
    lacking = [score for score in whole[0] if all(score.place in {one.place for one in others} for others in whole)]
    noted = group_notes(told, called[1:])
    return [
        *(note for note in noted if note.level is Level.HEADLINE),
        *_check_lead(comparison, called, labels),
        *(note for note in noted if note.level is not Level.HEADLINE),
        *note_validity(runs, called),
        note_units(shown, profile),
        *[Note(NoteCode.CHANGES)] * any(one.changes for one in comparison.differences),
        *[Note(NoteCode.P_RULE, {"kind": "holm"} if len(pairs) > 1 else {})] * bool(pairs),
        *[Note(NoteCode.VALUES_APART)] * apart,
        *check_lacking(lacking),
        *note_lower(dict.fromkeys(one.place[2:] for one in comparison.differences)),
        *note_judges(runs, profile),
        Note(NoteCode.INTERVALS, {"least": FEW}),
        Note(NoteCode.TESTS),
    ]


def _check_lead(comparison: Comparison, called: Sequence[str], labels: Mapping[Place, str]) -> Iterator[Note]:
    """Say what runs are by the score that leads the comparison, the best runs first."""
    lead = find_lead(comparison.list_told())
    if lead:
        here = sorted((one for one in comparison.differences if one.place == lead), key=_rank)
        yield from [note_verdict(one, one.pair, called[one.run], labels[lead]) for one in here if one.pair][:_SHOWN]
    elif few := [one.pair.n for one in comparison.differences if one.pair and has_better(one.place)]:
        yield Note(NoteCode.VERDICT, {"kind": "few", "n": max(few), "least": FEW})


def note_verdict(one: Difference, pair: Pair, name: str, label: str) -> Note:
    """Say what a run is by a pair of a difference, under the profile shown or the other one."""
    cell, kind = difference_cell(pair, one.record.unit), judge_pair(pair, one.place).name.lower()
    params = {"name": name, "metric": label, "difference": cell.text, "interval": cell.sub, "p": write_p(pair)}
    return Note(NoteCode.VERDICT, {"kind": kind, **params, "n": pair.n})


def _check_profile(one: Difference, profile: str, name: str, label: str) -> Iterator[Note]:
    """Say by a score that the other profile decides otherwise."""
    turned = one.turned
    if one.pair and turned and turned.n >= FEW and replace(turned, p_holm=one.pair.p_holm) != one.pair:
        verdicts = {one.verdict, judge_pair(turned, one.place)}
        if len(verdicts) > 1 and verdicts & {Verdict.BETTER, Verdict.WORSE}:
            other = next(known for known in PROFILES if known != profile)
            said = note_verdict(one, turned, name, label)
            yield Note(NoteCode.PROFILE_DISAGREES, {"profile": other, "said": said})


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
    made = [[result.record for result in results] for _, results in runs]
    tasks = [[f"{one.benchmark} {one.config} {split}" for one in records for split in one.splits] for records in made]
    mixed = len({one.benchmark for records in made for one in records}) > 1
    if mixed or all({*one}.isdisjoint(other) for one, other in combinations(tasks, 2)):
        called = name_runs([name for name, _ in runs])
        named = "; ".join(f"{name} is {of[0]}" for name, of in zip(called, tasks, strict=True))
        raise QuadragError(f"nothing to compare: {named}; name runs of one benchmark with a split in common")


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
            if one.pair:
                failed.append(say(note_verdict(one, one.pair, name, label)).rstrip("."))
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
        own = result.whole(profile)
        rows += [row for row in (*pool_rows(result, own, profile), *own) if row.ran]
    split, _, key = name.rpartition("/")
    found = [row for row in rows if key in (row.key.key, row.key.name, row.label) and split in ("", row.key.split)]
    if not found:
        raise unknown_name("score", name, dict.fromkeys(row.label for row in rows))
    if any(row.record.direction == "lower" for row in found):
        raise QuadragError(f"--fail-below {name}: of it less is better; name a score of which more is")
    whole = {row.key.config for row in found if is_whole(row.key.split)}
    return [row for row in found if is_whole(row.key.split) or row.key.config not in whole]

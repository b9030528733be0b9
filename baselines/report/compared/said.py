"""What is told of differences in words: verdicts, and the notes beside a comparison.

A difference is the second run's value less the first one's wherever it stands, and a verdict is on the second run.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from quadrag.metric_record import metric_record
from quadrag.stats import Pair

from ...results.note import Note
from ...results.run import PROFILES, Result
from ...results.score import Status
from ...tables.cells import ALPHA, CHARACTERS, FEW, NOTHING, format_difference
from ...tables.grid import Alarm, Cell, Loud
from ...tables.names import keep_name, number_of
from ...tables.run_notes import note_context, note_validity
from ...tables.slices import select_whole
from ..run import name_run
from .names import Place, join_labels, name_columns, name_places
from .pairs import (
    Changes,
    Compared,
    answer_alike,
    has_better,
    is_lower,
    is_same,
    pair_cell,
    say_unpaired,
)

BETTER, WORSE, EQUAL = "better", "worse", "all equal"
UNDECIDED, TOO_FEW = "not decided", "too few questions"
_COUNTED = {"official": "both scored", "corrected": "count in both"}
_LONG = 1.5  # times as long as another run's answers: beyond it that is told


def find_verdict(place: Place, pair: Pair) -> str:
    """Say what the second run is by a metric; "" where neither end of it is the better one.

    All are equal where no question differs, which of a few questions proves nothing; where as many are better as are
    worse nothing is decided.
    """
    if not has_better(place):
        return ""
    if pair.n < FEW:
        return TOO_FEW
    if pair.decisive < ALPHA:
        return BETTER if (pair.difference > 0) != is_lower(place) else WORSE
    return UNDECIDED if pair.spread or pair.difference else EQUAL


def verdict_cells(place: Place, pair: Pair | None) -> list[Cell]:
    """Make the cells of a difference and of its verdict, with its p under it; without a pair nothing is compared."""
    if pair is None:
        return [Cell(NOTHING), Cell(NOTHING)]
    told = has_better(place) and pair.n >= FEW
    return [pair_cell(pair, place), Cell(find_verdict(place, pair) or NOTHING, _name_p(pair) * told)]


def _name_p(pair: Pair) -> str:
    """Write the p that decides, by the name of Holm's rule where that raised it."""
    decisive = format_p(pair.decisive)
    return decisive if decisive == format_p(pair.p) else decisive.replace("p", "Holm", 1)


def write_pair(place: Place, pair: Pair) -> str:
    """Write a difference in a line: the key, how much, its interval, over how many questions, p and verdict."""
    cell, verdict = verdict_cells(place, pair)
    told = tell_p(pair) * bool(verdict.sub)
    unit = metric_record(place[2]).key(place[3]).unit
    size = f"{cell.text} {unit if unit == CHARACTERS else 'points'}" + f" (95% {cell.sub})" * bool(cell.sub)
    said = f": {verdict.text}" * (verdict.text != NOTHING)
    return ", ".join(filter(None, (f"{place[3]} {size}", f"n {pair.n}", told))) + said


def tell_p(pair: Pair) -> str:
    """Write p; where Holm's rule raised it, its own stands before: the interval is of the difference by itself."""
    alone, by_holm = format_p(pair.p), format_p(pair.decisive)
    return alone if alone == by_holm else f"{alone}, by Holm {by_holm.removeprefix('p ')}"


def format_p(p: float) -> str:
    """Write a p of three decimals."""
    return f"p {p:.3f}" if p >= 0.0005 else "p < 0.001"


def list_told(pairs: Mapping[Place, Compared]) -> dict[Place, Compared]:
    """Return the differences that have a verdict; of those over all splits together these alone, not each split."""
    told = {place: one for place, one in pairs.items() if has_better(place) and one.pair.n >= FEW}
    pooled = {(place[0], *place[2:]) for place, one in told.items() if one.splits}
    return {at: one for at, one in told.items() if one.splits or (at[0], *at[2:]) not in pooled}


def find_lead(pairs: Mapping[Place, Compared]) -> Place | None:
    """Return the metric that a comparison is led by: the first one with a verdict that some question differs by.

    Of several tasks it is the first of which anything is decided.
    """
    told = list_told(pairs)
    tasks = len({place[0] for place in told}) > 1

    def rank(place: Place) -> int:
        verdict = find_verdict(place, told[place].pair)
        return 2 if verdict == EQUAL else int(tasks and verdict not in (BETTER, WORSE))

    return min(told, key=rank, default=None)


def tell_headline(
    pairs: Mapping[Place, Compared], profile: str, names: Sequence[str], labels: Mapping[Place, str]
) -> str:
    """Say in a line what the second of two runs is by the first metric that differs; "" where nothing is compared.

    Args:
        pairs: of the metrics to tell of, those over all splits first.
        profile: ``official`` or ``corrected``.
        names: what the two are called.
        labels: what the metrics are called, among all that either run has.
    """
    pairs = {place: one for place, one in pairs.items() if has_better(place)}
    first = find_lead(pairs)
    if first is None:
        few = max((one.pair.n for one in pairs.values()), default=0)
        return f"Too few questions to say which is better: {few} scored in both, {FEW} are needed." if pairs else ""
    one = pairs[first]
    label = keep_name(labels[first].replace(f"{first[1]}/", "") if one.splits else labels[first])
    over = f" over {first[1]}" * bool(one.splits)
    facts = [f"on the {one.pair.n} questions that {_COUNTED[profile]}"] * (one.pair.n < one.asked)
    facts += tell_failed(one.failed, profile, names)
    if find_verdict(first, one.pair) == EQUAL:
        return f"No difference on any question by {label}{over}{_tell_sureness(first, one.pair, facts)}."
    return f"{_tell_verdict(first, one.pair, names[1])} on {label}: {_tell_difference(first, one.pair, over, facts)}."


def tell_failed(failed: Sequence[int], profile: str, names: Sequence[str]) -> list[str]:
    """Say how many questions failed in which run, and how a profile counts them."""
    wrong = " and count as wrong" * (profile == "corrected")
    return [f"{count} failed in {name}{wrong}" for name, count in zip(names, failed, strict=True) if count]


def note_profiles_apart(
    pairs: Mapping[Place, Compared], profile: str, name: str, labels: Mapping[Place, str]
) -> list[Alarm]:
    """Say by which metrics the other profile decides otherwise of a run; arguments as of `tell_headline`."""
    (turned,) = (known for known in PROFILES if known != profile)
    notes = []
    for place, one in list_told(pairs).items():
        other = one.other
        if other is None or other.n < FEW or replace(other, p_holm=one.pair.p_holm) == one.pair:
            continue
        verdicts = [find_verdict(place, pair) for pair in (one.pair, other)]
        if verdicts[0] != verdicts[1] and {BETTER, WORSE} & {*verdicts}:
            said = f"{_tell_verdict(place, other, name)} on {labels[place]}: {_tell_difference(place, other)}"
            notes.append(Alarm(f"The other profile, {turned}, says otherwise: {said}."))
    return notes


def _tell_verdict(place: Place, pair: Pair, name: str) -> str:
    verdict = find_verdict(place, pair)
    return f"{name} is {verdict}" if verdict in (BETTER, WORSE) else "Not decided"


def _tell_difference(place: Place, pair: Pair, over: str = "", facts: Sequence[str] = ()) -> str:
    """Say a difference with its interval and its p, and that it may be chance."""
    size = format_difference(pair.difference, metric_record(place[2]).key(place[3]).unit, pair.n)
    chance = ", which may be chance" * (find_verdict(place, pair) == UNDECIDED)
    return f"{size} points{over}{chance}{_tell_sureness(place, pair, facts)}"


def _tell_sureness(place: Place, pair: Pair, facts: Sequence[str] = ()) -> str:
    """Say in brackets the interval and p, which no question differing leaves out, and other facts; "" without any."""
    interval = pair_cell(pair, place).sub
    parts = [f"95% {interval}"] * bool(interval)
    parts += [tell_p(pair)] * (find_verdict(place, pair) != EQUAL)
    between = "; ".join([*parts, *facts])
    return f" ({between})" * bool(between)


def tell_rule(pairs: Iterable[Compared]) -> list[str]:
    """Say by which p a verdict is given, for how many differences it is adjusted, and over which questions they are."""
    pairs = list(pairs)
    families = [[one.family for one in pairs if bool(one.splits) == over] for over in (False, True)]
    family, apart = (max(each, default=0) for each in families)
    holm = f" (Holm, {family or apart} differences)" * ((family or apart) > 1)
    said = [f"Better or worse: p below {ALPHA}{holm}."]
    said += [f"Those over all splits are adjusted apart, for {apart}."] * (family > 0 and apart > 1)
    part = any(one.pair.n < one.asked for one in pairs)
    said += ["Each value is over all that its run scored, a difference over the questions of both."] * part
    return [" ".join(said)] * bool(pairs)


def tell_missing(
    first: Result,
    second: Result,
    places: Iterable[Place],
    pairs: Container[Place],
    profile: str,
    names: Sequence[str],
) -> list[str]:
    """Say which metrics of some places are not compared, as they are in no pair, and why."""
    found: dict[tuple[str, bool], list[str]] = {}
    for place, label in name_places(places).items():
        if place not in pairs and (why := say_missing(first, second, place, profile, names)):
            invalid = bool(_find_runs(first, second, place, profile, names)[1])
            found.setdefault((why, invalid), []).append(label)
    told = [(f"Not compared, {why}: {join_labels(metrics)}.", invalid) for (why, invalid), metrics in found.items()]
    return [Loud(note) if invalid else note for note, invalid in told]


def say_missing(first: Result, second: Result, place: Place, profile: str, names: Sequence[str]) -> str:
    """Say why a metric has no difference; "" where neither run has it."""
    there, invalid = _find_runs(first, second, place, profile, names)
    if invalid:
        return f"INVALID in {' and '.join(invalid)}"
    if len(there) == 1:
        judged = metric_record(place[2]).key(place[3]).needs == "judge"
        return f"only {there[0]} {'was judged' if judged else 'has it'}"
    return say_unpaired(first, second, place, profile) if there else ""


def _find_runs(
    first: Result, second: Result, place: Place, profile: str, names: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Name the runs that have a metric, and those in which it is invalid."""
    both = [
        (name, row.status)
        for name, result in zip(names, (first, second), strict=True)
        for row in select_whole(result.scores)
        if row.place == place and row.profile == profile
    ]
    there = [name for name, status in both if status is not Status.NOT_RUN]
    return there, [name for name, status in both if status is Status.INVALID]


def tell_changes(changes: Mapping[Place, Changes], names: Sequence[str]) -> list[str]:
    """Say on how many questions the second of two runs is better, worse and equal, by metric, where some differ."""
    told = [
        f"{name} {', '.join(f'{count} {word}' for word, count in found._asdict().items())}"
        for place, name in name_places(changes).items()
        if (found := changes[place]).better + found.worse
    ]
    return [f"{names[1]} against {names[0]}, question by question: {join_labels(told, '; ')}."] if told else []


def note_same_answers(names: Sequence[str], results: Sequence[Result]) -> list[Alarm]:
    """Say which of several runs have the same texts for all answers, so that no system was changed and asked anew."""
    groups: list[list[int]] = []
    for at, result in enumerate(results):
        group = next((one for one in groups if answer_alike(results[one[0]], result)), None)
        if group is None:
            groups.append([at])
        else:
            group.append(at)
    alike = [", ".join(names[at] for at in group) for group in groups if len(group) > 1]
    return [Alarm(f"{named}: all answers are the same texts.") for named in alike]


def note_length(first: Result, second: Result, pairs: Mapping[Place, Compared]) -> list[Alarm]:
    """Say that the answers of the better run are much longer, where more text can only raise a metric."""
    lengths: dict[str, list[int]] = {}  # of both runs' answers, by config
    for place, one in first.texts.items():
        two = second.texts.get(place)
        if one and two and is_same(first, second, place[0]):
            both = lengths.setdefault(place[0][0], [0, 0])
            both[0] += len(one)
            both[1] += len(two)
    times = {config: max(both) / min(both) for config, both in lengths.items()}
    longer = {config: (WORSE, BETTER)[both.index(max(both))] for config, both in lengths.items()}
    raised = [
        place
        for place, one in list_told(pairs).items()
        if metric_record(place[2]).key(place[3]).grows
        and times.get(place[0], 0) > _LONG
        and find_verdict(place, one.pair) == longer[place[0]]
    ]
    told = ", ".join(name_places(raised).values())
    most = max((times[place[0]] for place in raised), default=0.0)
    said = f"{told} can only rise with length; the better answers are {most:.1f} times as long."
    return [Alarm(said)] * bool(raised)


def note_odd(runs: Sequence[tuple[str, Result]]) -> list[Note]:
    """Say of which runs what is odd."""
    return note_validity([result for _, result in runs], [name for name, _ in runs])


def tell_runs(runs: Sequence[tuple[str, Result]], every: bool) -> list[Note | str]:
    """Say what each run is, by name and model, and in what it is not as the others; with `every` its settings too."""
    columns = name_columns([name for name, _ in runs])
    models = [name_run(result.run, number_of(result)) for _, result in runs]
    notes = note_context([result for _, result in runs], names=columns)
    named = []
    for column, (name, _), model in zip(columns, runs, models, strict=True):
        known = column, keep_name(name.rstrip("/").rpartition("/")[2])
        facts = [one for one in (keep_name(name), model) if one not in known]
        named.append(f"{column} ({', '.join(dict.fromkeys(facts))})" if facts else column)
    is_new = named != columns
    return [
        *[f"Runs: {', '.join(named)}."] * is_new,
        *notes,
    ]

"""What a table of differences cannot say, in words: on which questions, what failed, p, what would decide, why none."""

from collections.abc import Container, Iterable, Mapping, Sequence

from quadrag.metric_record import metric_record
from quadrag.stats import items_needed

from ....core.result import Result
from ....scoring.validity import is_invalid
from ....tables.cells import ALPHA, FEW
from ....tables.grid import Alarm, Detail
from ....tables.slices import select_whole
from ..names import Place, join_labels, name_places
from ..paired.counts import Changes
from ..paired.pairs import Compared, compare_each, list_places, place_of, say_unpaired
from ..paired.shared import is_judged, is_same, match_answers
from .verdict import (
    BETTER,
    OPPOSITE,
    UNDECIDED,
    WORSE,
    drop_splits,
    find_lead,
    find_verdict,
    list_few,
    list_told,
    tell_facts,
    tell_other,
)

_HUGE = 1_000_000  # questions that nobody has
_LONG = 1.5  # times as long as another run's answers: beyond it that is told


def tell_beside(
    pairs: Mapping[Place, Compared], profile: str, names: Sequence[str], labels: Mapping[Place, str]
) -> list[str]:
    """Say of differences what their table does not, but what the headline says of the first one.

    Args:
        pairs: of the metrics to tell of, the second run minus the first.
        profile: ``official`` or ``corrected``.
        names: what the two are called.
        labels: what the metrics are called, among all that either run has.
    """
    told = list_told(pairs)
    facts: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    known = next((tell_facts(one, profile, names) for one in told.values()), [])
    for place, one in list(told.items())[1:]:
        if (said := tell_facts(one, profile, names)) and said != known:
            facts.setdefault("; ".join(said), []).append(labels[place])
        if but := tell_other(place, one, profile, names):
            others.setdefault(but, []).append(labels[place])
    said_of = ((f"{join_labels(metrics)}: {said}.", said) for said, metrics in (*facts.items(), *others.items()))
    notes: list[str] = [Alarm(line) if OPPOSITE in said else line for line, said in said_of]
    undecided = {place: one for place, one in drop_splits(told).items() if find_verdict(place, one.pair) == UNDECIDED}
    needs: dict[str, list[str]] = {}
    for place, one in undecided.items():
        if one.pair.difference and one.pair.changed > 1:  # one question does not say how much they differ
            needs.setdefault(_tell_need(one), []).append(labels[place])
    needed = "; ".join(f"{need} ({join_labels(metrics)})" for need, metrics in needs.items())
    what = "a difference" if sum(map(len, needs.values())) == 1 else "differences"
    notes += [f"To show {what} of this size would probably take: {needed}."] if needed else []
    return notes + tell_odd(told, labels)


def tell_odd(pairs: Mapping[Place, Compared], labels: Mapping[Place, str]) -> list[str]:
    """Say of which differences the interval alone would give another verdict than p; arguments as of `tell_beside`."""
    odd: dict[bool, list[str]] = {}
    for place, one in list_told(pairs).items():
        if _is_odd(one):
            odd.setdefault((one.pair.p < ALPHA) != (one.pair.decisive < ALPHA), []).append(labels[place])
    said = {
        False: "The interval alone would say otherwise; p decides on",
        True: "The interval is of one difference alone, p by Holm's rule of all, and decides on",
    }
    return [f"{said[raised]} {join_labels(metrics)}." for raised, metrics in odd.items()]


def tell_rule(pairs: Iterable[Compared], rest: bool = False) -> list[str]:
    """Say by which p a verdict is given, and for how many of the differences that are looked at it is adjusted.

    Args:
        pairs: those that are compared at once.
        rest: whether a table has other lines.
    """
    pairs = list(pairs)
    whole, single = ([one for one in pairs if bool(one.splits) == over] for over in (True, False))
    family, apart = (max((one.family for one in some), default=0) for some in (single or whole, single and whole))
    mirrored = sum(one.pair.p_holm is not None for one in pairs if one.family == family) > family > 1
    said = [f"Better or worse: p below {ALPHA}{f' (Holm, {family} differences)' * (family > 1)}."]
    said += [f"Those over all splits are adjusted apart, for {apart}."] * (apart > 1)
    said += ["Metrics that mirror each other question by question count once."] * mirrored
    said += ["Other metrics, and means over groups, are adjusted apart."] * (rest and family > 1)
    return [" ".join(said)] * bool(pairs)


def tell_over(pairs: Iterable[Compared]) -> list[str]:
    """Say over which questions values and differences are, where these are not over all."""
    apart = any(one.pair.n < one.asked for one in pairs)
    return ["Each value is over all that its run scored, a difference over the questions of both."] * apart


def tell_missing(
    first: Result,
    second: Result,
    places: Iterable[Place],
    pairs: Container[Place],
    profile: str,
    names: Sequence[str],
) -> list[str]:
    """Say which metrics are not compared, and why.

    Args:
        first: a run.
        second: another one.
        places: of the metrics that either run has.
        pairs: those that are compared.
        profile: ``official`` or ``corrected``.
        names: what the two are called.
    """
    found: dict[str, list[str]] = {}
    for place, label in name_places(places).items():
        if place not in pairs and (why := say_missing(first, second, place, profile, names)):
            found.setdefault(why, []).append(label)
    return [f"Not compared, {why}: {join_labels(metrics)}." for why, metrics in found.items()]


def say_missing(first: Result, second: Result, place: Place, profile: str, names: Sequence[str]) -> str:
    """Say why a metric has no difference; "" where neither run has it."""
    there: list[str] = []
    invalid: list[str] = []
    for name, one in zip(names, (first, second), strict=True):
        for row in select_whole(one.scores):
            if place_of(row) == place and row["profile"] == profile and "not_run" not in row:
                there.append(name)
                invalid += [name] * is_invalid(row)
    if invalid:
        return f"INVALID in {' and '.join(invalid)}"
    if len(there) == 1:
        return f"only {there[0]} {'was judged' if is_judged(*place[2:]) else 'has it'}"
    return say_unpaired(first, second, place, profile) if there else ""


def tell_elsewhere(
    first: Result, second: Result, shown: Sequence[Place], pairs: Mapping[Place, Compared], profile: str
) -> list[str]:
    """Say what the second of two runs is by metrics that no table shows, unless the first headline says the same.

    Args:
        first: a run.
        second: another one.
        shown: the places that a table shows.
        pairs: of the headlines, the second run minus the first.
        profile: ``official`` or ``corrected``.
    """
    lead = find_lead(pairs)
    told = lead and find_verdict(lead, pairs[lead].pair)
    rest = [place for place in list_places([first, second], profile) if place not in shown]
    (compared,) = compare_each(first, [second], rest, profile)
    labels = name_places(compared)
    found: dict[str, list[str]] = {}
    for place, one in compared.items():
        found.setdefault(find_verdict(place, one.pair), []).append(labels[place])
    said = [f"{each} on {list_few(found[each])}" for each in (WORSE, BETTER) if each in found and each != told]
    return [f"Not in this table: {'; '.join(said)} (--verbose)."] * bool(said)


def tell_changes(changes: Mapping[Place, Changes], names: Sequence[str]) -> list[str]:
    """Say on how many questions the second of two runs is better, worse and equal, by metric, where some differ."""
    told = [
        f"{name} {', '.join(f'{count} {word}' for word, count in found._asdict().items())}"
        for place, name in name_places(changes).items()
        if (found := changes[place]).better + found.worse
    ]
    return [f"{names[1]} against {names[0]}, question by question: {join_labels(told, '; ')}."] if told else []


def tell_same(first: Result, second: Result) -> list[str]:
    """Say how many answers of two runs are the same texts; where all are, no system was changed and asked anew."""
    matches = [*match_answers(first, second)]
    if not any(matches):
        return []
    told = f"{sum(matches)} of {len(matches)} answers are the same texts in both."
    return [Alarm(told) if all(matches) else Detail(told)]


def tell_alike(names: Sequence[str], results: Sequence[Result]) -> list[Alarm]:
    """Say which of several runs have the same texts for answers, all of them."""
    groups: list[list[int]] = []
    for at, result in enumerate(results):
        for group in groups:
            matches = match_answers(results[group[0]], result)
            if next(matches, False) and all(matches):
                group.append(at)
                break
        else:
            groups.append([at])
    told = []
    for group in groups:
        part = " to the questions that they share" * (len({len(results[at].texts) for at in group}) > 1)
        told += [Alarm(f"{', '.join(names[at] for at in group)}: all answers{part} are the same texts.")] * (
            len(group) > 1
        )
    return told


def tell_length(first: Result, second: Result, pairs: Mapping[Place, Compared]) -> list[Alarm]:
    """Say that the answers of the better run are much longer, where more text can only raise a metric.

    Args:
        first: a run.
        second: another one.
        pairs: of the metrics to tell of, the second run minus the first.
    """
    lengths: dict[str, list[int]] = {}  # of both runs' answers, by config
    for place, one in first.texts.items():
        two = second.texts.get(place)
        if one and two and is_same(first, second, place[0]):
            both = lengths.setdefault(place[0][0], [0, 0])
            both[0] += len(one)
            both[1] += len(two)
    times = {config: max(both) / min(both) for config, both in lengths.items()}
    longer = {config: (WORSE, BETTER)[both.index(max(both))] for config, both in lengths.items()}
    raised = {
        place: one
        for place, one in drop_splits(pairs).items()
        if metric_record(place[2]).key(place[3]).grows
        and times.get(place[0], 0) > _LONG
        and find_verdict(place, one.pair) == longer[place[0]]
    }
    told = ", ".join(name_places(raised).values())
    found = [times[place[0]] for place in raised]
    span = "–".join(dict.fromkeys(f"{each:.{int(each < 10)}f}" for each in (min(found), max(found)))) if found else ""
    return [Alarm(f"{told} can only rise with length; the better answers are {span} times as long.")] * bool(raised)


def _is_odd(one: Compared) -> bool:
    """Whether the interval alone would give another verdict than p."""
    low, high = one.pair.interval
    return (one.pair.decisive < ALPHA) != (low > 0 or high < 0)


def _tell_need(one: Compared) -> str:
    """Say how many more questions would show a difference as large, were it the clearest of those compared."""
    pair = one.pair
    # Where all differ alike, p alone is in the way, and that falls with every question.
    needed = items_needed(pair.difference, pair.spread, 1 - ALPHA / one.family) if pair.spread else pair.n
    if needed is None or needed - pair.n > _HUGE:
        return f"more than {_HUGE:,} questions"
    more = float(f"{needed - pair.n:.2g}")
    told = f"about {more:,.0f} more questions" if more > FEW else "a few more questions"
    if one.left is None or more <= one.left:
        return told
    return f"{told}, but {f'only {one.left:,} are' if one.left else 'none is'} left"

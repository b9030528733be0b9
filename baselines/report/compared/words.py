"""What a comparison of two runs says, in words: which is better on what, what is undecided, what would decide it."""

from collections.abc import Container, Iterable, Mapping, Sequence

from quadrag.metric_record import metric_record, show_key
from quadrag.stats import Pair, items_needed

from ...core.result import PROFILES, Result
from ...scoring.validity import is_invalid
from ...tables.cells import ALPHA, FEW, STAR, format_bound, format_difference
from ...tables.grid import Alarm
from ...tables.slices import select_whole
from .family import adjust, shape
from .pairs import Compared, Place, has_better, list_differences, pair_slices, place_of, say_unpaired
from .shared import is_judged, match_answers

_COUNTED = {"official": "both scored", "corrected": "count in both"}
_P_DECIDES = "p decides, as the interval is the rougher of the two"
_HUGE = 1_000_000  # questions that nobody has
_MANY = 20  # slices of a grouping beyond which nothing is told of them


def tell_pairs(pairs: Mapping[Place, Compared], profile: str, names: Sequence[str]) -> list[str]:
    """Say of each metric which run is better and by how much, that the runs are the same, or that it is not decided.

    In the same breath it is said what failed, and what the other profile says where that is another verdict.

    Args:
        pairs: of the metrics to tell of, the second run minus the first.
        profile: ``official`` or ``corrected``.
        names: what the two are called.
    """
    pairs = {place: one for place, one in pairs.items() if has_better(place)}
    told = {place: one for place, one in pairs.items() if one.pair.n >= FEW}
    labels = name_places(told)
    notes: list[str] = []
    same: dict[tuple[str, str], list[str]] = {}
    for place, one in told.items():
        facts, but = _tell_facts(one, profile, names), _tell_other(place, one, profile, names)
        if _is_same(place, one.pair):
            interval = f" ({_tell_interval(place, one.pair)} of the difference)" if one.pair.spread else ""
            same.setdefault(("; ".join(facts), but), []).append(f"{labels[place]}{interval}")
        else:
            notes.append(f"{labels[place]}: {_tell_pair(place, one, names, facts)}.{but}")
    for (part, but), metrics in same.items():
        listed = ", ".join(metrics)
        there = f"{listed}: the same{'' if part.startswith('on ') else ';'} {part}."
        notes.append((there if part else f"The same in {names[0]} and {names[1]}: {listed}.") + but)
    few = max((one.pair.n for one in pairs.values() if one.pair.n < FEW), default=0)
    return notes + (
        [f"Too few questions to say which is better: {few} scored in both, {FEW} are needed."] if few else []
    )


def tell_failed(failed: Sequence[int], profile: str, names: Sequence[str]) -> list[str]:
    """Say how many questions failed in which run, and how a profile counts them."""
    wrong = " and count as wrong" * (profile == "corrected")
    return [f"{count} failed in {name}{wrong}" for name, count in zip(names, failed, strict=True) if count]


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
    return [f"Not compared, {why}: {', '.join(metrics)}." for why, metrics in found.items()]


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


def tell_changes(
    first: Result, second: Result, places: Iterable[Place], profile: str, names: Sequence[str]
) -> list[str]:
    """Say on how many questions the second is better, worse and equal, by metric; arguments as of `tell_slices`."""
    told = []
    for place, name in name_places(places).items():
        gained = list_differences(first, second, place, profile).values()
        if gained and has_better(place):
            better, worse = sum(one > 0 for one in gained), sum(one < 0 for one in gained)
            told.append(f"{name} {better} better, {worse} worse, {len(gained) - better - worse} equal")
    return [f"{names[1]} against {names[0]}, question by question: {'; '.join(told)}."] if told else []


def tell_same(first: Result, second: Result) -> list[str]:
    """Say how many answers of two runs are the same texts; where all are, no system was changed and asked anew."""
    matches = [*match_answers(first, second)]
    if not any(matches):
        return []
    told = f"{sum(matches)} of {len(matches)} answers are the same texts in both."
    return [Alarm(told)] if all(matches) else [told]


def tell_slices(
    first: Result, second: Result, places: Iterable[Place], profile: str, names: Sequence[str]
) -> list[str]:
    """Say in which slices two runs differ, grouping by grouping, the p values of each adjusted together.

    Args:
        first: a run.
        second: another one.
        places: of the metrics to tell of.
        profile: ``official`` or ``corrected``.
        names: what the two are called.
    """
    groupings: dict[str, set[str]] = {}
    for asked in first.asked.values():
        for name, value in asked.slices.items():
            groupings.setdefault(name, set()).add(value)
    labels = name_places(filter(has_better, places))
    gains = {place: list_differences(first, second, place, profile) for place in labels}
    notes = []
    for grouping in (name for name, values in groupings.items() if len(values) <= _MANY):
        groups = {question: asked.slices.get(grouping) for question, asked in first.asked.items()}
        pairs: dict[tuple[Place, str], Pair | None] = {}
        for place in labels:
            slices = pair_slices(first, second, place, profile, grouping)
            known = {(place, value): pair for value, pair in slices.items() if pair.n >= FEW}
            pairs |= known if len(known) > 1 else {}
        told: dict[str, dict[str, list[str]]] = {}
        shapes = {
            (place, value): shape({at: gain for at, gain in gains[place].items() if groups[at] == value})
            for place, value in pairs
        }
        for (place, value), pair in adjust(pairs, shapes.get)[0].items():
            if pair and pair.decisive < ALPHA:
                by_name = told.setdefault(_tell_verdict(place, pair, names), {})
                by_name.setdefault(labels[place], []).append(f"{value} {_tell_size(place, pair)}")
        notes += [
            f"By {grouping.replace('_', ' ')}, p by Holm: {verdict} on "
            + "; ".join(f"{name} ({', '.join(parts)})" for name, parts in by_name.items())
            + "."
            for verdict, by_name in told.items()
        ]
    return notes


def tell_star(pairs: Iterable[Compared]) -> str:
    """Say what marks a difference among those that are compared at once."""
    return STAR + " by Holm's rule" * any(one.family > 1 for one in pairs)


def tell_holm(pairs: Iterable[Compared], rest: bool = False) -> list[str]:
    """Say for how many differences p is adjusted; nothing where it is one, or none would be marked either way.

    Args:
        pairs: those that are compared at once.
        rest: whether a table has other lines.
    """
    pairs = list(pairs)
    family = max((one.family for one in pairs), default=0)
    if family < 2 or all(one.pair.p >= ALPHA for one in pairs):
        return []
    mirrored = " Metrics that mirror each other question by question count once." * (
        sum(one.pair.p_holm is not None for one in pairs) > family
    )
    apart = " Other metrics, and means over groups, are adjusted apart." * rest
    return [
        f"Who looks at {family} differences finds some by chance: p is adjusted for all of them by Holm's rule, "
        f"an interval is of its own difference alone.{mirrored}{apart}"
    ]


def tell_shortly(place: Place, pair: Pair, names: Sequence[str]) -> str:
    """Say in a few words which run is better, that they are the same, or that it is not decided."""
    if pair.n < FEW:
        return "too few questions"
    if pair.decisive < ALPHA:
        return _tell_verdict(place, pair, names)
    return "the same" if _is_same(place, pair) else "not decided"


def name_places(places: Iterable[Place]) -> dict[Place, str]:
    """Name metrics, with what of config and split tells them apart."""
    known = list(places)
    parts = [at for at in range(2) if len({place[at] for place in known}) > 1]
    return {place: " ".join([*(place[at] for at in parts), show_key(place[2], place[3])]) for place in known}


def _is_same(place: Place, pair: Pair) -> bool:
    """Whether no difference is seen in the decimals that are shown."""
    return pair.decisive >= ALPHA and not float(_format(place, pair))


def _find_better(place: Place, pair: Pair | None, names: Sequence[str]) -> str | None:
    """Name the run that is told to be the better one; None where none is."""
    if pair is None or pair.decisive >= ALPHA:
        return None
    return _name_better(place, pair, names)


def _tell_facts(one: Compared, profile: str, names: Sequence[str]) -> list[str]:
    """Say on which questions two runs were paired, where not on all of either, and how many failed in which."""
    part = f"on the {one.pair.n} questions that {_COUNTED[profile]}"
    return [part] * (one.pair.n < one.asked) + tell_failed(one.failed, profile, names)


def _tell_other(place: Place, one: Compared, profile: str, names: Sequence[str]) -> str:
    """Say what the other profile says where that is another verdict; "" where it is the same."""
    mine, turned = (_find_better(place, pair, names) for pair in (one.pair, one.other))
    if one.other is None or one.other.n < FEW or mine == turned:
        return ""
    (other,) = (name for name in PROFILES if name != profile)
    if _is_same(place, one.other):
        return f" But {other}, the other profile, sees no difference ({_tell_interval(place, one.other)})."
    what = "says the opposite" if mine and turned else "decides" if turned else "does not decide"
    verdict = _tell_difference(place, one._replace(pair=one.other), names)
    return f" But {other}, the other profile, {what}: {verdict}."


def _format(place: Place, pair: Pair) -> str:
    return format_difference(pair.difference, metric_record(place[2]).key(place[3]).unit, pair.n)


def _tell_pair(place: Place, one: Compared, names: Sequence[str], facts: Sequence[str]) -> str:
    """Say which run is better and by how much or, where the test does not show it, what would."""
    told = _tell_difference(place, one, names, facts)
    return told if one.pair.decisive < ALPHA else f"not decided. {told}. {_tell_need(one)}"


def _tell_difference(place: Place, one: Compared, names: Sequence[str], facts: Sequence[str] = ()) -> str:
    pair, (low, high) = one.pair, one.pair.interval
    decided, interval = pair.decisive < ALPHA, _tell_interval(place, pair)
    odd = decided != (low > 0 or high < 0)
    if one.family > 1:
        interval += f"; p {_format_p(pair.p)}, by Holm's rule {_format_p(pair.decisive)}{', which decides' * odd}"
    elif one.splits and not odd:
        interval += f"; p {_format_p(pair.p)}"
    elif odd:
        interval += f", {'with' if decided else 'without'} 0 in it, but p is {pair.p:.3f}; {_P_DECIDES}"
    interval = "; ".join([interval, *facts])
    name, by = _name_better(place, pair, names), _tell_size(place, pair)
    if not decided:
        return f"{name} is {by}, which may be chance ({interval})"
    return f"{name} is better, {by} ({interval})"


def _tell_interval(place: Place, pair: Pair) -> str:
    """Write the interval of a difference as it is said: of the one that is higher or lower less the other."""
    low, high = (-pair.interval[1], -pair.interval[0]) if pair.difference < 0 else pair.interval
    unit = _unit(place)
    return f"95% interval {format_bound(low, unit)} to {format_bound(high, unit)}"


def _name_better(place: Place, pair: Pair, names: Sequence[str]) -> str:
    """Name the better run."""
    lower = metric_record(place[2]).key(place[3]).direction == "lower"
    return names[(pair.difference > 0) != lower]


def _tell_verdict(place: Place, pair: Pair, names: Sequence[str]) -> str:
    return f"{_name_better(place, pair, names)} is better"


def _tell_size(place: Place, pair: Pair) -> str:
    """Say how far the better run is from the other."""
    lower = metric_record(place[2]).key(place[3]).direction == "lower"
    return f"{_format(place, pair).lstrip('+-')} points {'lower' if lower else 'higher'}"


def _unit(place: Place) -> str:
    return metric_record(place[2]).key(place[3]).unit


def _format_p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.0005 else "< 0.001"


def _tell_need(one: Compared) -> str:
    """Say how many more questions would show a difference as large, were it the clearest of those compared."""
    pair = one.pair
    # Where all differ alike, p alone is in the way, and that falls with every question.
    needed = items_needed(pair.difference, pair.spread, 1 - ALPHA / one.family) if pair.spread else pair.n
    if needed is None or needed - pair.n > _HUGE:
        return f"More than {_HUGE:,} questions would be needed to show so small a difference"
    more = float(f"{needed - pair.n:.2g}")
    said = f"About {more:,.0f}" if more > FEW else "A few"
    told = f"{said} more questions would probably show a difference of this size"
    if one.left is None or more <= one.left:
        return told
    return f"{told}; the split has {f'{one.left:,} more' if one.left else 'none left'}"

"""What a comparison of two runs says, in words: which is better on what, what is undecided, what would decide it."""

from collections.abc import Iterable, Mapping

from quadrag.metric_record import metric_record, show_key
from quadrag.stats import Pair, detectable, holm, items_needed

from ..core.result import Result
from ..tables.cells import ALPHA, CHARACTERS, FEW, format_difference
from ..tables.grid import Alarm
from .pairs import Place, is_same, list_differences, pair_slices

_HUGE = 1_000_000  # questions that nobody has
_MANY = 20  # slices of a grouping beyond which nothing is told of them


def tell_pairs(pairs: Mapping[Place, Pair]) -> list[str]:
    """Say on which metrics B is better than A or worse, and which differences may be chance.

    Args:
        pairs: of the metrics to tell of, B minus A; of too few questions nothing is told.
    """
    told = {place: pair for place, pair in pairs.items() if pair.n >= FEW}
    names = name_places(told)
    sure: dict[str, list[str]] = {}
    open_: list[str] = []
    for place, pair in told.items():
        if pair.p < ALPHA:
            sure.setdefault(_verdict(place, pair), []).append(f"{names[place]} {_show(place, pair)}")
        else:
            open_.append(f"{names[place]} {_show(place, pair)} ({_tell_need(place, pair)})")
    notes = [f"{verdict} on {'; '.join(parts)}." for verdict, parts in sure.items()]
    return notes + ([f"A and B cannot be told apart on {'; '.join(open_)}."] if open_ else [])


def tell_changes(first: Result, second: Result, places: Iterable[Place], profile: str) -> list[str]:
    """Say on how many questions B is better than A, worse and equal, by metric; arguments as of `tell_slices`."""
    told = []
    for place, name in name_places(places).items():
        gained = list_differences(first, second, place, profile).values()
        if gained and metric_record(place[2]).key(place[3]).direction != "none":
            better, worse = sum(one > 0 for one in gained), sum(one < 0 for one in gained)
            told.append(f"{name} {better} better, {worse} worse, {len(gained) - better - worse} equal")
    return [f"B against A, question by question: {'; '.join(told)}."] if told else []


def tell_same(first: Result, second: Result) -> list[str]:
    """Say how many answers of two runs are the same texts; where all are, no system was changed and asked anew."""
    shared = [place for place in first.texts if place in second.texts and is_same(first, second, place[0])]
    same = sum(first.texts[place] is not None and first.texts[place] == second.texts[place] for place in shared)
    if not same:
        return []
    told = f"{same} of {len(shared)} answers are the same texts in both."
    return [Alarm(told)] if same == len(shared) else [told]


def tell_slices(first: Result, second: Result, places: Iterable[Place], profile: str) -> list[str]:
    """Say in which slices two runs differ, grouping by grouping, the p values of each adjusted by Holm's rule.

    Args:
        first: A.
        second: B.
        places: of the metrics to tell of.
        profile: ``official`` or ``corrected``.
    """
    groupings: dict[str, set[str]] = {}
    for asked in first.asked.values():
        for name, value in asked.slices.items():
            groupings.setdefault(name, set()).add(value)
    names = name_places(places)
    notes = []
    for grouping in (name for name, values in groupings.items() if len(values) <= _MANY):
        found: dict[str, list[str]] = {}
        for place, name in names.items():
            pairs = pair_slices(first, second, place, profile, grouping)
            known = {value: pair for value, pair in pairs.items() if pair.n >= FEW}
            told: dict[str, list[str]] = {}
            for (value, pair), p in zip(known.items(), holm([pair.p for pair in known.values()]), strict=True):
                if len(known) > 1 and p < ALPHA:
                    told.setdefault(_verdict(place, pair), []).append(f"{value} {_show(place, pair)}")
            for verdict, parts in told.items():
                found.setdefault(verdict, []).append(f"{name}: {', '.join(parts)}")
        notes += [
            f"By {grouping.replace('_', ' ')}, p by Holm: {verdict} on {'; '.join(parts)}."
            for verdict, parts in found.items()
        ]
    return notes


def name_places(places: Iterable[Place]) -> dict[Place, str]:
    """Name metrics, with what of config and split tells them apart."""
    known = list(places)
    parts = [at for at in range(2) if len({place[at] for place in known}) > 1]
    return {place: " ".join([*(place[at] for at in parts), show_key(place[2], place[3])]) for place in known}


def _verdict(place: Place, pair: Pair) -> str:
    direction = metric_record(place[2]).key(place[3]).direction
    above = (pair.difference > 0) != (direction == "lower")
    return f"{'B' if above else 'A'} is {'higher' if direction == 'none' else 'better'} than {'A' if above else 'B'}"


def _show(place: Place, pair: Pair) -> str:
    return format_difference(pair.difference, metric_record(place[2]).key(place[3]).unit, pair.n)


def _tell_need(place: Place, pair: Pair) -> str:
    """Say how many more questions would show a difference as large, and from which size on these ones show one."""
    if not pair.spread:
        return "all alike"
    unit = metric_record(place[2]).key(place[3]).unit
    least = detectable(pair.spread, pair.n)
    shown = f"{least:.1f}" if unit == CHARACTERS else f"{least * 100:.1f}"
    needed = items_needed(pair.difference, pair.spread)
    if needed is None or needed - pair.n > _HUGE:
        return f"these {pair.n} questions would show {shown}"
    more = float(f"{max(needed - pair.n, 1):.2g}")
    return f"{more:,.0f} more questions would show it, these {pair.n} would {shown}"

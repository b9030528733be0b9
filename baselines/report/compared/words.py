"""What a comparison of two runs says, in words: which is better on what, what is undecided, what would decide it."""

from collections.abc import Iterable, Mapping

from quadrag.metric_record import metric_record, show_key
from quadrag.stats import Pair, holm, items_needed

from ...core.result import PROFILES, Result
from ...scoring.validity import count_failed, is_invalid
from ...tables.cells import ALPHA, CHARACTERS, FEW, format_difference
from ...tables.grid import Alarm
from ...tables.slices import select_whole
from .pairs import Place, is_same, list_differences, pair_results, pair_slices, place_of

_NAMES = ("A", "B")
_P_DECIDES = "p decides, as the interval is the rougher of the two"
_HUGE = 1_000_000  # questions that nobody has
_MANY = 20  # slices of a grouping beyond which nothing is told of them


def tell_pairs(
    first: Result, second: Result, pairs: Mapping[Place, Pair], profile: str, names: tuple[str, str] = _NAMES
) -> list[str]:
    """Say of each metric which run is better and by how much, that the runs are the same, or that it is not decided.

    Args:
        first: A.
        second: B.
        pairs: of the metrics to tell of, B minus A.
        profile: ``official`` or ``corrected``.
        names: what A and B are called.
    """
    told = {place: pair for place, pair in pairs.items() if pair.n >= FEW}
    labels = name_places(told)
    notes: list[str] = []
    same: dict[str, list[str]] = {}
    for place, pair in told.items():
        if _is_same(place, pair):
            interval = f" ({_tell_interval(place, pair)} of the difference)" if pair.spread else ""
            part = _tell_part(place, pair, dict(zip(names, (first, second), strict=True)))
            same.setdefault(part, []).append(f"{labels[place]}{interval}")
        else:
            notes.append(f"{labels[place]}: {_tell_pair(place, pair, names)}.")
    for part, metrics in same.items():
        listed = ", ".join(metrics)
        notes.append(f"{listed}: the same {part}." if part else f"The same in {names[0]} and {names[1]}: {listed}.")
    few = max((pair.n for pair in pairs.values() if pair.n < FEW), default=0)
    return notes + (
        [f"Too few questions to say which is better: {few} scored in both, {FEW} are needed."] if few else []
    )


def tell_opposites(
    first: Result, second: Result, pairs: Mapping[Place, Pair], profile: str, names: tuple[str, str] = _NAMES
) -> list[str]:
    """Say of which metrics the other profile says that the other run is better; arguments as of `tell_pairs`."""
    (other,) = (name for name in PROFILES if name != profile)
    labels = name_places(pairs)
    notes = []
    for place, pair in pairs.items():
        if not _is_decided(place, pair):
            continue
        turned = pair_results(first, second, place, other)
        if turned and _is_decided(place, turned) and pair.difference * turned.difference < 0:
            verdict = _tell_pair(place, turned, names)
            notes.append(f"{labels[place]}: {other} says the opposite of {profile}: {verdict}.")
    return notes


def tell_invalid(first: Result, second: Result, places: Iterable[Place], profile: str) -> list[str]:
    """Say which metrics are not compared, since too many of their items failed; arguments as of `tell_slices`."""
    labels = name_places(places)
    notes = []
    for name, result in zip(_NAMES, (first, second), strict=True):
        rows = [row for row in select_whole(result.scores) if row["profile"] == profile and is_invalid(row)]
        if found := [labels[place_of(row)] for row in rows if place_of(row) in labels]:
            notes.append(f"Not compared, INVALID in {name}: {', '.join(found)}.")
    return notes


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
                    told.setdefault(_tell_verdict(place, pair), []).append(f"{value} {_tell_size(place, pair)}")
            for verdict, parts in told.items():
                found.setdefault(verdict, []).append(f"{name} ({', '.join(parts)})")
        notes += [
            f"By {grouping.replace('_', ' ')}, p by Holm: {verdict} on {'; '.join(parts)}."
            for verdict, parts in found.items()
        ]
    return notes


def tell_holm(chances: Mapping[Place, float]) -> list[str]:
    """Say which differences that are marked each by itself are more than chance among all of them; none without any.

    Args:
        chances: p of each difference.
    """
    labels = name_places(chances)
    if len(chances) < 2 or min(chances.values()) >= ALPHA:
        return []
    adjusted = dict(zip(chances, holm(list(chances.values())), strict=True))
    sure = [labels[place] for place, p in adjusted.items() if p < ALPHA]
    told = f"Who looks at {len(chances)} differences finds some by chance. By Holm's rule for all of them"
    return [f"{told} still more than chance: {', '.join(sure) or 'none'}."]


def tell_shortly(place: Place, pair: Pair) -> str:
    """Say in a few words which run is better, that they are the same, or that it is not decided."""
    if pair.n < FEW:
        return "too few questions"
    if pair.p < ALPHA:
        return _tell_verdict(place, pair)
    return "the same" if _is_same(place, pair) else "not decided"


def name_places(places: Iterable[Place]) -> dict[Place, str]:
    """Name metrics, with what of config and split tells them apart."""
    known = list(places)
    parts = [at for at in range(2) if len({place[at] for place in known}) > 1]
    return {place: " ".join([*(place[at] for at in parts), show_key(place[2], place[3])]) for place in known}


def _is_same(place: Place, pair: Pair) -> bool:
    """Whether no difference is seen in the decimals that are shown."""
    return pair.p >= ALPHA and not float(_format(place, pair))


def _is_decided(place: Place, pair: Pair) -> bool:
    """Whether it is told that one run is better."""
    return pair.n >= FEW and pair.p < ALPHA and metric_record(place[2]).key(place[3]).direction != "none"


def _tell_part(place: Place, pair: Pair, runs: Mapping[str, Result]) -> str:
    """Say on how many questions two runs were paired and how many failed in which; "" where both scored all."""
    asked = [{row["id"] for row in one.items if (row["config"], row["split"]) == place[:2]} for one in runs.values()]
    if pair.n == max(map(len, asked)):
        return ""
    counts = {name: count_failed(one.scores, place) for name, one in runs.items()}
    failed = "".join(f"; {count} failed in {name}" for name, count in counts.items() if count)
    return f"on the {pair.n} questions that both scored{failed}"


def _format(place: Place, pair: Pair) -> str:
    return format_difference(pair.difference, metric_record(place[2]).key(place[3]).unit, pair.n)


def _tell_pair(place: Place, pair: Pair, names: tuple[str, str]) -> str:
    """Say which run is better and by how much or, where the test does not show it, what would."""
    interval, (low, high) = _tell_interval(place, pair), pair.interval
    decided = pair.p < ALPHA
    if decided != (low > 0 or high < 0):
        interval += f", {'with' if decided else 'without'} 0 in it, but p is {pair.p:.3f}; {_P_DECIDES}"
    name, by = _name_better(place, pair, names), _tell_size(place, pair)
    if not decided:
        return f"not decided. {name} is {by}, which may be chance ({interval}). {_tell_need(pair)}"
    if metric_record(place[2]).key(place[3]).direction == "none":
        return f"{name} is {by} ({interval}), which is neither better nor worse"
    return f"{name} is better, {by} ({interval})"


def _tell_interval(place: Place, pair: Pair) -> str:
    """Write the interval of a difference as it is said: of the one that is higher or lower less the other."""
    low, high = (-pair.interval[1], -pair.interval[0]) if pair.difference < 0 else pair.interval
    if _unit(place) == CHARACTERS:
        return f"95% interval {low:.0f} to {high:.0f}"
    return f"95% interval {low * 100:.1f} to {high * 100:.1f}"


def _name_better(place: Place, pair: Pair, names: tuple[str, str] = _NAMES) -> str:
    """Name the better run; where no end is the better one, the higher."""
    lower = metric_record(place[2]).key(place[3]).direction == "lower"
    return names[(pair.difference > 0) != lower]


def _tell_verdict(place: Place, pair: Pair) -> str:
    known = metric_record(place[2]).key(place[3]).direction != "none"
    return f"{_name_better(place, pair)} is {'better' if known else 'higher'}"


def _tell_size(place: Place, pair: Pair) -> str:
    """Say how far the better run is from the other."""
    if _unit(place) == CHARACTERS:
        return f"{_format(place, pair)[1:]} characters longer"
    lower = metric_record(place[2]).key(place[3]).direction == "lower"
    return f"{_format(place, pair)[1:]} points {'lower' if lower else 'higher'}"


def _unit(place: Place) -> str:
    return metric_record(place[2]).key(place[3]).unit


def _tell_need(pair: Pair) -> str:
    """Say how many more questions would show a difference as large."""
    needed = items_needed(pair.difference, pair.spread)
    if needed is None or needed - pair.n > _HUGE:
        return f"More than {_HUGE:,} questions would be needed to show so small a difference"
    more = float(f"{needed - pair.n:.2g}")
    said = f"About {more:,.0f}" if more > FEW else "A few"
    return f"{said} more questions would probably show a difference of this size"

"""What is told of one difference: whether the second run is better or worse by it, and that in a sentence.

A difference is the second run's value less the first one's wherever it stands, and a verdict is on the second run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from quadrag.metric_record import metric_record
from quadrag.stats import Pair

from ....core.result import PROFILES
from ....tables.cells import ALPHA, CHARACTERS, FEW, NOTHING, format_difference
from ....tables.grid import Cell
from ....tables.names import keep_name
from ..names import Place, join_labels
from ..paired.pairs import Compared, has_better, pair_cell

OPPOSITE = "says the opposite"  # of one profile of the other
BETTER, WORSE, EQUAL = "better", "worse", "all equal"
UNDECIDED, TOO_FEW = "not decided", "too few questions"
_FEW = 3  # metrics that a headline names of one verdict
_COUNTED = {"official": "both scored", "corrected": "count in both"}


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
        lower = metric_record(place[2]).key(place[3]).direction == "lower"
        return BETTER if (pair.difference > 0) != lower else WORSE
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


def list_told(pairs: Mapping[Place, Compared]) -> dict[Place, Compared]:
    """Return the differences that have a verdict."""
    return {place: one for place, one in pairs.items() if has_better(place) and one.pair.n >= FEW}


def drop_splits(pairs: Mapping[Place, Compared]) -> dict[Place, Compared]:
    """Leave out the splits of a config by a metric whose difference over all of them together is there."""
    pooled = {(place[0], *place[2:]) for place, one in pairs.items() if one.splits}
    return {at: one for at, one in pairs.items() if one.splits or (at[0], *at[2:]) not in pooled}


def find_lead(pairs: Mapping[Place, Compared]) -> Place | None:
    """Return the metric that a comparison is led by: the first one with a verdict that some question differs by.

    What none differs by, as where all answers are wrong in both, is not what a reader looks for. Of several tasks it is
    the first of which anything is decided.
    """
    told = drop_splits(list_told(pairs))
    tasks = len({place[0] for place in told}) > 1

    def rank(place: Place) -> int:
        verdict = find_verdict(place, told[place].pair)
        return 2 if verdict == EQUAL else int(tasks and verdict not in (BETTER, WORSE))

    return min(told, key=rank, default=None)


def write_pair(place: Place, pair: Pair) -> str:
    """Write a difference in a line: the key, how much, its interval, over how many questions, p and verdict."""
    cell, verdict = verdict_cells(place, pair)
    told = tell_p(pair) * bool(verdict.sub)
    unit = metric_record(place[2]).key(place[3]).unit
    size = f"{cell.text} {unit if unit == CHARACTERS else 'points'}" + f" (95% {cell.sub})" * bool(cell.sub)
    said = f": {verdict.text}" * (verdict.text != NOTHING)
    return ", ".join(filter(None, (f"{place[3]} {size}", f"n {pair.n}", told))) + said


def tell_headline(
    pairs: Mapping[Place, Compared],
    profile: str,
    names: Sequence[str],
    labels: Mapping[Place, str],
    several: bool = False,
) -> list[str]:
    """Say in a line what the second of two runs is by the first metric that differs, and shortly by the others.

    Of several splits it is said over all of them, where that is known: each of them stands in a table.

    Args:
        pairs: of the metrics to tell of, those over all splits first.
        profile: ``official`` or ``corrected``.
        names: what the two are called.
        labels: what the metrics are called, among all that either run has.
        several: whether there are other runs too, so that the one it is better than has to be named.
    """
    pairs = {place: one for place, one in pairs.items() if has_better(place)}
    first = find_lead(pairs)
    if first is None:
        few = max((one.pair.n for one in pairs.values()), default=0)
        return [f"Too few questions to say which is better: {few} scored in both, {FEW} are needed."] if pairs else []
    one = pairs[first]
    rest: dict[str, list[str]] = {verdict: [] for verdict in (BETTER, WORSE, UNDECIDED, EQUAL)}
    for place, other in drop_splits(list_told(pairs)).items():
        if place != first:
            rest[find_verdict(place, other.pair)].append(labels[place])
    label = keep_name(labels[first].replace(f"{first[1]}/", "") if one.splits else labels[first])
    over = f" over {first[1]}" * bool(one.splits)
    facts = tell_facts(one, profile, names)
    if find_verdict(first, one.pair) == EQUAL:  # and so are all others
        said = f"No difference on any question by {label}{over}{_tell_sureness(first, one.pair, facts)}"
        if equal := rest.pop(EQUAL):
            said += f", nor by {list_few(equal)}"
    else:
        than = f" than {names[0]}" * (several and find_verdict(first, one.pair) != UNDECIDED)
        verdict = f"{_tell_verdict(first, one.pair, names)}{than}"
        said = f"{verdict} on {label}: {_tell_difference(first, one.pair, over, facts)}"
    but = tell_other(first, one, profile, names)
    also = "; ".join(f"{verdict} on {list_few(metrics)}" for verdict, metrics in rest.items() if metrics)
    sentences = [said]
    sentences += [f"But {but}"] if but else []
    sentences += [f"The rest: {also}"] if also else []
    return [" ".join(f"{one}." for one in sentences)]


def tell_facts(one: Compared, profile: str, names: Sequence[str]) -> list[str]:
    """Say on which questions two runs were paired, where not on all of either, and how many failed in which."""
    part = f"on the {one.pair.n} questions that {_COUNTED[profile]}"
    return [part] * (one.pair.n < one.asked) + tell_failed(one.failed, profile, names)


def tell_failed(failed: Sequence[int], profile: str, names: Sequence[str]) -> list[str]:
    """Say how many questions failed in which run, and how a profile counts them."""
    wrong = " and count as wrong" * (profile == "corrected")
    return [f"{count} failed in {name}{wrong}" for name, count in zip(names, failed, strict=True) if count]


def tell_other(place: Place, one: Compared, profile: str, names: Sequence[str]) -> str:
    """Say what the other profile says where it decides otherwise, or finds a difference in what failed; else ""."""
    other = one.other
    if other is None or other.n < FEW:
        return ""
    mine, turned = (find_verdict(place, pair) for pair in (one.pair, other))
    decided = [verdict in (BETTER, WORSE) for verdict in (mine, turned)]
    if replace(other, p_holm=one.pair.p_holm) == one.pair:  # but for p of what it is looked at with
        return ""
    if mine == turned or not any(decided):
        lost = mine == EQUAL != turned and profile == PROFILES[0] and any(one.failed)
        told = f"{_name_other(profile)}, the other profile, counts what failed as wrong: "
        return told + _tell_difference(place, other) if lost else ""
    what = OPPOSITE if all(decided) else "decides" if decided[1] else "does not decide"
    verdict = f"{_tell_verdict(place, other, names)}, " * decided[1]
    return f"{_name_other(profile)}, the other profile, {what}: {verdict}{_tell_difference(place, other)}"


def tell_turned(
    pairs: Mapping[Place, Compared], profile: str, names: Sequence[str], labels: Mapping[Place, str]
) -> list[str]:
    """Say shortly what the other profile says of the second run, by the first metric of which it says something else.

    Arguments as of `tell_headline`.
    """
    for place, one in drop_splits(list_told(pairs)).items():
        if one.other and tell_other(place, one, profile, names):
            verdict = find_verdict(place, one.other)
            against = "than" if verdict in (BETTER, WORSE) else "against"
            (first, second), (_, failed) = names, one.failed
            size = f"{_format(place, one.other)}{_tell_sureness(place, one.other)}"
            said = f"{verdict} {against} {first} on {labels[place]}, {size}"
            some = f"; {failed} answer{'s' * (failed > 1)} failed" * bool(failed)
            return [f"{second}: by {_name_other(profile)} {said}{some}."]
    return []


def _name_other(profile: str) -> str:
    (name,) = (known for known in PROFILES if known != profile)
    return name


def list_few(labels: Sequence[str]) -> str:
    """List the first few metrics, and count the others."""
    shown = labels if len(labels) <= _FEW + 1 else labels[:_FEW]
    return join_labels(shown) + f" and {len(labels) - len(shown)} more" * (shown is not labels)


def _tell_verdict(place: Place, pair: Pair, names: Sequence[str]) -> str:
    verdict = find_verdict(place, pair)
    return "Not decided" if verdict == UNDECIDED else f"{names[1]} is {verdict}"


def _tell_difference(place: Place, pair: Pair, over: str = "", facts: Sequence[str] = ()) -> str:
    """Say a difference with its interval and its p, and that it may be chance."""
    chance = ", which may be chance" * (find_verdict(place, pair) == UNDECIDED)
    return f"{_format(place, pair)} points{over}{chance}{_tell_sureness(place, pair, facts)}"


def _tell_sureness(place: Place, pair: Pair, facts: Sequence[str] = ()) -> str:
    """Say in brackets the interval and p, which no question differing leaves out, and other facts; "" without any."""
    interval = pair_cell(pair, place).sub
    parts = [f"95% {interval}"] * bool(interval)
    parts += [tell_p(pair)] * (find_verdict(place, pair) != EQUAL)
    between = "; ".join([*parts, *facts])
    return f" ({between})" * bool(between)


def tell_p(pair: Pair) -> str:
    """Write p; where Holm's rule raised it, its own stands before: the interval is of the difference by itself."""
    alone, by_holm = format_p(pair.p), format_p(pair.decisive)
    return alone if alone == by_holm else f"{alone}, by Holm {by_holm.removeprefix('p ')}"


def format_p(p: float) -> str:
    """Write a p of three decimals."""
    return f"p {p:.3f}" if p >= 0.0005 else "p < 0.001"


def _format(place: Place, pair: Pair) -> str:
    return format_difference(pair.difference, metric_record(place[2]).key(place[3]).unit, pair.n)

"""Whether answers that read like error texts, which no system was meant to give, make or hide a difference of runs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quadrag.metric_record import metric_record, show_key
from quadrag.records import Key
from quadrag.stats import Pair

from ....core.result import Result
from ....tables.answer_texts import find_errors
from ....tables.cells import ALPHA, format_difference
from ....tables.grid import Alarm
from ..names import Place
from ..paired.pairs import has_better, pair_results


def tell_errors(first: Result, second: Result, pairs: Mapping[Place, Pair], profile: str) -> list[Alarm]:
    """Say by which metrics runs differ half as much, or by another verdict, without answers that read like error texts.

    Of a difference that is none with them it is said that they hide one. The p of what is left is raised as that of
    the whole was, for as many comparisons.

    Args:
        first: a run.
        second: another one.
        pairs: of the metrics to tell of, the second run minus the first.
        profile: ``official`` or ``corrected``.
    """
    both = (first, second)
    errors = {place[0] for one in both for places in find_errors(one).values() for place in places}
    for one in both:
        errors &= {_key(row) for row in one.items}
    rest = [replace(one, items=[row for row in one.items if _key(row) not in errors]) for one in both]
    several = len({place[:2] for place in pairs}) > 1
    told: dict[str, list[str]] = {"make the": [], "hide a": []}
    for place, whole in pairs.items() if errors else ():
        pair = pair_results(rest[0], rest[1], place, profile)
        if pair is None or not has_better(place):
            continue
        decided = [one.decisive < ALPHA for one in (whole, replace(pair, p_holm=_raise(pair.p, whole)))]
        if decided[0] != decided[1] or 2 * pair.difference * whole.difference < whole.difference**2:
            unit = metric_record(place[2]).key(place[3]).unit
            label = f"{place[1]}/" * several + show_key(place[2], place[3])
            left = f"{format_difference(pair.difference, unit, pair.n)} points on {label} ({pair.n} questions left)"
            told["make the" if whole.difference else "hide a"].append(left)
    what = f"difference: without the {len(errors)} questions that were answered so it is"
    return [
        Alarm(f"Answers that read like error texts {how} {what} {', '.join(found)}.")
        for how, found in told.items()
        if found
    ]


def _raise(p: float, whole: Pair) -> float:
    """Raise a p as that of another difference is raised."""
    return min(1.0, p * whole.decisive / whole.p) if whole.p else p


def _key(row: Mapping[str, Any]) -> Key:
    return row["config"], row["split"], row["id"]

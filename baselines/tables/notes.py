"""What is said under a table of its values: their units and intervals, what did not run, what applies to nothing."""

import math
from collections.abc import Hashable, Iterable, Sequence

from quadrag.metric_record import metric_record, show_key

from ..core.result import PROFILES
from ..results.adapter import shorten_list
from ..results.items import FAILED
from ..results.score import UNJUDGED, Status, status_of
from .cells import CHARACTERS, FEW, Row, unit_of
from .grid import Detail, Line

INTERVALS = Detail(
    f"95% intervals over {FEW} or more questions: of shares by Wilson (by logit where questions belong together), of "
    "three grades by Bonett and Price, else by bootstrap (BCa)."
)
TESTS = (
    "p: McNemar's mid-p, with Bonett and Price's interval, where answers are right or wrong or all differ by as much; "
    "else 10,000 random swaps, with the bootstrap's interval."
)
CORRECTED = "corrected: what the paper defines; above it official, what the authors' code computes."
FOLDED = (
    "Official compares letter by letter; to corrected blanks, hyphens, apostrophes, width and grouped digits are alike"
)
SHOWN = 0.0005  # a difference of rates that tables show
_REMEDIES = {"no judge": "--judge", "no embedding": "--bertscore"}


def note_scores(rows: Sequence[Row], profiles: Sequence[str]) -> list[str]:
    """Say which metrics did not run, and what has no value under the profiles shown."""
    shown = [row for row in rows if row["profile"] in profiles]
    return list(dict.fromkeys([*note_keys(shown), *note_not_run(rows), *note_unscored(shown)]))


def note_profiles(lines: Iterable[Line], rows: Iterable[Row]) -> list[str]:
    """Explain the second profile, where a line shows it, and why values differ between the two."""
    if not any(line.label.strip() == PROFILES[1] for line in lines):
        return []
    by_place: dict[Hashable, list[Row]] = {}
    for row in rows:
        if "not_run" not in row and status_of(row) is not Status.INVALID:
            by_place.setdefault((name_place(row), row["split"], row["metric"], row["key"]), []).append(row)
    pairs = [both for both in by_place.values() if len(both) == len(PROFILES)]
    return [CORRECTED, *dict.fromkeys(why for both in pairs for why in tell_differing(*both))]


def tell_differing(one: Row, other: Row) -> list[str]:
    """Say why a value differs between the two profiles, in sentences; [] where it does not or nobody knows.

    Where what both could score is worth the same, it is what failed that moved the value.
    """
    official, corrected = sorted((one, other), key=lambda row: PROFILES.index(row["profile"]))
    low, high = official.get("value"), corrected.get("value")
    if low is None or high is None or abs(high - low) < SHOWN:
        return []
    known = metric_record(one["metric"]).key(one["key"])
    reason = FOLDED if known.folded and (high > low or not known.differs) else known.differs
    ours, theirs = official.get("over_scored"), corrected.get("over_scored")
    moved = ours is None or theirs is None or not math.isclose(ours, theirs, abs_tol=1e-9)
    return [f"{reason}."] * bool(reason and moved)


def note_keys(rows: Iterable[Row]) -> list[str]:
    """Explain the values that no paper defines."""
    keys = dict.fromkeys((row["metric"], row["key"]) for row in rows if "not_run" not in row)
    return [
        f"{show_key(metric, key)}: {about}." for metric, key in keys if (about := metric_record(metric).key(key).about)
    ]


def name_units(rows: Iterable[Row]) -> str:
    """Name the units of values: percent, and lengths by their keys."""
    lengths = dict.fromkeys(row["key"] for row in rows if unit_of(row) == CHARACTERS)
    return f"Percent, {', '.join(lengths)} in characters" if lengths else "Percent"


def note_directions(keys: Iterable[tuple[str, str]]) -> list[str]:
    """Say of which keys, each named after its metric, a lower value is the better one."""
    lower = dict.fromkeys(key for metric, key in keys if metric_record(metric).key(key).direction == "lower")
    return [f"Of {', '.join(lower)} lower is better."] if lower else []


def note_not_run(rows: Sequence[Row]) -> list[str]:
    """Say which metrics did not run and which option runs them."""
    missing: dict[str, dict[str, str]] = {}
    for row in rows:
        if "not_run" in row:
            missing.setdefault(row["not_run"], {})[row["key"]] = show_key(row["metric"], row["key"])
    # A reason with examples behind a semicolon stands above the table.
    ways = {why: "see above" if ";" in why else _REMEDIES.get(why, why) for why in missing}
    parts = [f"{shorten_list([*keys.values()])} ({ways[why]})" for why, keys in missing.items()]
    return [f"Not run: {', '.join(parts)}."] if parts else []


def name_place(row: Row) -> str:
    """Name what a row's values are of, as its table does; else its config and split."""
    return row.get("of") or f"{row['config']} {row['split']}"


def note_unscored(rows: Sequence[Row]) -> list[str]:
    """List what has no value though it did not fail, by metric, split and reason; of a metric that applies to none why.

    What failed the notes of the runs tell.
    """
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        lacking = {why: n for why, n in (row.get("unscored") or {}).items() if why not in (*FAILED, UNJUDGED)}
        if lacking:
            counts = ", ".join(f"{why} {count}" for why, count in lacking.items())
            found.setdefault(f"{name_place(row)}: {counts}", {})[show_key(row["metric"], row["key"])] = None
    notes = [f"Unscored, {shorten_list([*keys])}: {place}." for place, keys in found.items()]
    return _note_none(rows) + notes


def _note_none(rows: Sequence[Row]) -> list[str]:
    """Say why metrics apply to none of the items of a split."""
    found: dict[str, dict[str, None]] = {}
    # What could not be read might have been such items.
    invalid = {(name_place(row), row["metric"]) for row in rows if status_of(row) is Status.INVALID}
    for row in rows:
        read = (name_place(row), row["metric"]) not in invalid
        if read and row["n_total"] and row["n_total"] == row.get("n_not_applicable"):
            why = metric_record(row["metric"]).key(row["key"]).none or "it applies to none of the questions"
            found.setdefault(why, {})[show_key(row["metric"], row["key"])] = None
    return [f"{', '.join(labels)} has no value: {why}." for why, labels in found.items()]

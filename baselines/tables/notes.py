"""What is said under a table of its values: their units and intervals, what did not run, what applies to nothing."""

import math
from collections.abc import Hashable, Iterable, Sequence

from quadrag.metric_record import metric_record, show_key

from ..results.adapter import shorten_list
from ..results.items import FAILED
from ..results.run import PROFILES
from ..results.score import UNJUDGED, Score, Status
from .cells import CHARACTERS, FEW
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


def note_scores(rows: Sequence[Score], profiles: Sequence[str]) -> list[str]:
    """Say which metrics did not run, and what has no value under the profiles shown."""
    shown = [row for row in rows if row.profile in profiles]
    return list(dict.fromkeys([*note_keys(shown), *note_not_run(rows), *note_unscored(shown)]))


def note_profiles(lines: Iterable[Line], rows: Iterable[Score]) -> list[str]:
    """Explain the second profile, where a line shows it, and why values differ between the two."""
    if not any(line.label.strip() == PROFILES[1] for line in lines):
        return []
    by_place: dict[Hashable, list[Score]] = {}
    for row in rows:
        if row.ran and row.status is not Status.INVALID:
            by_place.setdefault((name_place(row), row.key.split, row.key.metric, row.key.key), []).append(row)
    pairs = [both for both in by_place.values() if len(both) == len(PROFILES)]
    return [CORRECTED, *dict.fromkeys(why for both in pairs for why in tell_differing(*both))]


def tell_differing(one: Score, other: Score) -> list[str]:
    """Say why a value differs between the two profiles, in sentences; [] where it does not or nobody knows.

    Where what both could score is worth the same, it is what failed that moved the value.
    """
    official, corrected = sorted((one, other), key=lambda row: PROFILES.index(row.profile))
    low, high = official.value, corrected.value
    if low is None or high is None or abs(high - low) < SHOWN:
        return []
    known = one.record
    reason = FOLDED if known.folded and (high > low or not known.differs) else known.differs
    ours, theirs = official.over_scored, corrected.over_scored
    moved = ours is None or theirs is None or not math.isclose(ours, theirs, abs_tol=1e-9)
    return [f"{reason}."] * bool(reason and moved)


def note_keys(rows: Iterable[Score]) -> list[str]:
    """Explain the values that no paper defines."""
    keys = dict.fromkeys((row.key.metric, row.key.key) for row in rows if row.ran)
    return [
        f"{show_key(metric, key)}: {about}." for metric, key in keys if (about := metric_record(metric).key(key).about)
    ]


def name_units(rows: Iterable[Score]) -> str:
    """Name the units of values: percent, and lengths by their keys."""
    lengths = dict.fromkeys(row.key.key for row in rows if row.record.unit == CHARACTERS)
    return f"Percent, {', '.join(lengths)} in characters" if lengths else "Percent"


def note_directions(keys: Iterable[tuple[str, str]]) -> list[str]:
    """Say of which keys, each named after its metric, a lower value is the better one."""
    lower = dict.fromkeys(key for metric, key in keys if metric_record(metric).key(key).direction == "lower")
    return [f"Of {', '.join(lower)} lower is better."] if lower else []


def note_not_run(rows: Sequence[Score]) -> list[str]:
    """Say which metrics did not run and which option runs them."""
    missing: dict[str, dict[str, str]] = {}
    for row in rows:
        if not row.ran:
            missing.setdefault(row.reason, {})[row.key.key] = row.label
    # A reason with examples behind a semicolon stands above the table.
    ways = {why: "see above" if ";" in why else _REMEDIES.get(why, why) for why in missing}
    parts = [f"{shorten_list([*keys.values()])} ({ways[why]})" for why, keys in missing.items()]
    return [f"Not run: {', '.join(parts)}."] if parts else []


def name_place(row: Score) -> str:
    """Name what a row's values are of, as its table does; else its config and split."""
    return row.of or f"{row.key.config} {row.key.split}"


def note_unscored(rows: Sequence[Score]) -> list[str]:
    """List what has no value though it did not fail, by metric, split and reason; of a metric that applies to none why.

    What failed the notes of the runs tell.
    """
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        lacking = {why: n for why, n in row.counts.unscored.items() if why not in (*FAILED, UNJUDGED)}
        if lacking:
            counts = ", ".join(f"{why} {count}" for why, count in lacking.items())
            found.setdefault(f"{name_place(row)}: {counts}", {})[row.label] = None
    notes = [f"Unscored, {shorten_list([*keys])}: {place}." for place, keys in found.items()]
    return _note_none(rows) + notes


def _note_none(rows: Sequence[Score]) -> list[str]:
    """Say why metrics apply to none of the items of a split."""
    found: dict[str, dict[str, None]] = {}
    # What could not be read might have been such items.
    invalid = {(name_place(row), row.key.metric) for row in rows if row.status is Status.INVALID}
    for row in rows:
        read = (name_place(row), row.key.metric) not in invalid
        if read and row.counts.n_total and row.counts.n_total == row.counts.n_not_applicable:
            why = row.record.none or "it applies to none of the questions"
            found.setdefault(why, {})[row.label] = None
    return [f"{', '.join(labels)} has no value: {why}." for why, labels in found.items()]

"""What is said under a table of its values: their units and intervals, what did not run, what could not be scored."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence

from quadrag.metric_record import metric_record, show_key

from ..core.result import PROFILES
from ..scoring.validity import is_invalid, list_untold
from .cells import CHARACTERS, FEW, Row, unit_of, value_cell
from .grid import COUNT, Cell, Detail, Line
from .lines import BOUNDS
from .paper import PaperTables, load_tables

_FIRST = 3  # metrics that did not run for one reason, which are named
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
LEFT_OUT = "Official leaves unscored items out, corrected counts them as wrong."
SHOWN = 0.0005  # a difference of rates that tables show
_REMEDIES = {"no judge": "--judge", "no embedding": "--bertscore"}


def note_scores(benchmark: str, rows: Sequence[Row], profiles: Sequence[str]) -> list[str]:
    """Say which metrics did not run, and what could not be scored under the profiles shown."""
    tables = load_tables(benchmark)
    shown = [row for row in rows if row["profile"] in profiles]
    judged = dict.fromkeys([*note_judged(shown), *note_ruled(shown)])
    notes = [*note_keys(shown), *note_not_run(tables, rows), *judged, *note_unscored(tables, shown)]
    return list(dict.fromkeys(notes))


def note_profiles(lines: Iterable[Line], rows: Iterable[Row]) -> list[str]:
    """Explain the second profile, where a line shows it, and why values that stand in lines differ between the two."""
    lines = list(lines)
    if not any(line.label.strip() == PROFILES[1] for line in lines):
        return []
    shown = _pair_values(lines)
    by_place: dict[Hashable, list[Row]] = {}
    for row in rows:
        if "not_run" not in row and not is_invalid(row):
            by_place.setdefault((name_place(row), row["split"], row["metric"], row["key"]), []).append(row)
    pairs = [both for both in by_place.values() if len(both) == len(PROFILES)]
    pairs = [sorted(both, key=lambda row: PROFILES.index(row["profile"])) for both in pairs]
    seen = [both for both in pairs if (value_cell(both[0]).text, value_cell(both[1]).text) in shown]
    return [CORRECTED, *dict.fromkeys(why for both in seen for why in tell_differing(*both))]


def _pair_values(lines: Sequence[Line]) -> set[tuple[str, str]]:
    """Return the values that stand in lines with another one of the second profile under them."""
    pairs = set()
    above: Sequence[Cell] = ()
    for line in lines:
        if line.label.strip() == PROFILES[1]:
            pairs |= {(one.text, other.text) for one, other in zip(above, line.cells, strict=True)}
        elif line.label not in (COUNT, *BOUNDS):
            above = line.cells
    return pairs


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
    plain = one["metric"] not in load_tables(one["benchmark"]).unscored
    unscored = plain and any(list_untold(row) for row in (one, other) if row.get("unscored"))
    ours, theirs = official.get("over_scored"), corrected.get("over_scored")
    moved = ours is None or theirs is None or not math.isclose(ours, theirs, abs_tol=1e-9)
    return [f"{reason}."] * bool(reason and moved) + [LEFT_OUT] * unscored


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


def note_not_run(tables: PaperTables, rows: Sequence[Row]) -> list[str]:
    """Say which metrics did not run and which option runs them, and what that means for those that build on them."""
    missing: dict[str, dict[str, str]] = {}
    for row in rows:
        if "not_run" in row:
            missing.setdefault(row["not_run"], {})[row["key"]] = show_key(row["metric"], row["key"])
    # A reason with examples behind a semicolon stands above the table.
    ways = {why: "see above" if ";" in why else _REMEDIES.get(why, why) for why in missing}
    parts = [f"{_join_some([*keys.values()])} ({ways[why]})" for why, keys in missing.items()]
    notes = [f"Not run: {', '.join(parts)}."] if parts else []
    return notes + [
        told for key, tell in tables.not_run.items() if key in missing.get("no judge", ()) and (told := tell(rows))
    ]


def _join_some(labels: Sequence[str]) -> str:
    """Join the first few labels, and count the others."""
    left = len(labels) - _FIRST
    return _join(labels) if left <= 2 else f"{_join(labels[:_FIRST])} and {left} more"


def _join(labels: Iterable[str]) -> str:
    """Join labels; the first word that one shares with the label before it is said once."""
    parts: list[str] = []
    said = ""
    for label in labels:
        first, _, rest = label.partition(" ")
        parts.append(rest if rest and first == said else label)
        said = first
    return ", ".join(parts)


def note_ruled(rows: Iterable[Row]) -> list[str]:
    """Say of judged metrics of which rules decide a part how many items were judged, and what the rules are."""
    rows = list(rows)
    metrics = {row["metric"] for row in rows if row.get("n_ruled")}
    ruled = [row for row in rows if row["metric"] in metrics]
    told = dict.fromkeys(metric_record(row["metric"]).ruled for row in ruled)
    return [*note_judged(ruled), *(Detail(f"{rules}.") for rules in told if rules)]


def note_judged(rows: Iterable[Row]) -> list[str]:
    """Say of every judged metric that ran how many items were scored, or judged: one line for metrics counted alike.

    Where the counts differ, each has its places, and after those of the first profile those of the other.
    """
    counts: dict[tuple[str, str], dict[str, dict[str, tuple[int, int, int]]]] = {}  # by place, by profile
    for row in rows:
        if "n_scored" in row and "not_run" not in row and metric_record(row["metric"]).key(row["key"]).needs == "judge":
            here = counts.setdefault((row["metric"], row["key"]), {}).setdefault(name_place(row), {})
            here[row["profile"]] = row["n_scored"], row["n_total"], row.get("n_ruled", 0)
    said: dict[str, dict[str, None]] = {}
    for metric_key, by_place in counts.items():
        said.setdefault(_tell_counts(by_place), {})[show_key(*metric_key)] = None
    return [line.replace("\0", ", ".join(keys)) for line, keys in said.items()]


def _tell_counts(by_place: Mapping[str, Mapping[str, tuple[int, int, int]]]) -> str:
    """Say how many items of each place were scored or, where rules decided some, judged; the keys' slot is NUL."""
    every = [count for by_profile in by_place.values() for count in by_profile.values()]
    by_rule = any(ruled for *_, ruled in every)
    if len(set(every)) == 1:
        scored, total, ruled = every[0]
        if by_rule:
            return f"{scored - ruled} of {total} judged, {ruled} decided by rule: \0."
        return f"Judged, scored {scored} of {total}: \0."
    alike: dict[str, list[str]] = {}
    for place, by_profile in by_place.items():
        told = {name: (scored - ruled, ruled, total) for name, (scored, total, ruled) in by_profile.items()}
        (_, first), *others = told.items()
        parts = [f"{_add(first, by_rule)} of {first[2]}"]
        parts += [f"{name} {_add(other, by_rule)}" for name, other in others if other != first]
        alike.setdefault(", ".join(parts), []).append(place)
    if len(by_place) == 1:
        listed = next(iter(alike))
    else:
        listed = "; ".join(f"{', '.join(places)} ({count})" for count, places in alike.items())
    return f"{'Judged + decided by rule' if by_rule else 'Judged and scored'}, \0: {listed}."


def _add(count: tuple[int, int, int], by_rule: bool) -> str:
    judged, ruled, _ = count
    return f"{judged} + {ruled}" if by_rule else str(judged)


def name_place(row: Row) -> str:
    """Name what a row's values are of, as its table does; else its config and split."""
    return row.get("of") or f"{row['config']} {row['split']}"


def note_unscored(tables: PaperTables, rows: Sequence[Row]) -> list[str]:
    """List what could not be scored, by metric, profile, split and reason, and say what becomes of it.

    Of a metric that applies to no item it is said why.
    """
    found: dict[str, dict[str, list[str]]] = {}
    # Of an invalid metric a line on top says it, but for one of a profile that is not the run's.
    lacking = [row for row in rows if row.get("unscored") and (list_untold(row) or not is_invalid(row))]
    for row in filter(list_untold, lacking):
        counts = ", ".join(f"{reason} {count}" for reason, count in list_untold(row).items())
        place = f"{name_place(row)}: {counts}"
        found.setdefault(show_key(row["metric"], row["key"]), {}).setdefault(row["profile"], []).append(place)
    alike: dict[str, list[str]] = {}  # what is said once for all the keys that it is true of
    for key, profiles in found.items():
        same = len(profiles) > 1 and len({tuple(places) for places in profiles.values()}) == 1
        for profile, places in list(profiles.items())[: 1 if same else None]:
            alike.setdefault(f"{'' if same else f' ({profile})'}: {'; '.join(places)}.", []).append(key)
    notes = [*_note_none(rows), *(f"Unscored, {', '.join(keys)}{said}" for said, keys in alike.items())]
    if any(row["metric"] not in tables.unscored and list_untold(row) for row in lacking):
        notes.append(Detail(LEFT_OUT))
    for metric, say in tables.unscored.items():
        if own := [row for row in lacking if row["metric"] == metric]:
            notes.append(Detail(say(own)))
    return notes


def _note_none(rows: Sequence[Row]) -> list[str]:
    """Say why metrics apply to none of the items of a split, which is named where they apply to some of another."""
    found: dict[str, dict[str, list[str]]] = {}
    every: dict[str, set[str]] = {}
    # What could not be read might have been such items.
    invalid = {(name_place(row), row["metric"]) for row in rows if is_invalid(row)}
    for row in rows:
        place, label = name_place(row), show_key(row["metric"], row["key"])
        every.setdefault(label, set()).add(place)
        read = (place, row["metric"]) not in invalid
        if read and row["n_total"] and row["n_total"] == row.get("n_not_applicable"):
            why = metric_record(row["metric"]).key(row["key"]).none or "it applies to none of the questions"
            found.setdefault(why, {}).setdefault(label, []).append(place)
    said: dict[str, list[str]] = {}
    for why, labels in found.items():
        for label, places in labels.items():
            where = "" if {*places} == every[label] else f" of {', '.join(dict.fromkeys(places))}"
            said.setdefault(f"{where} has no value: {why}.", []).append(label)
    return [f"{', '.join(labels)}{told}" for told, labels in said.items()]

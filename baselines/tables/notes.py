"""What is said under a table of its values: their units and intervals, what did not run, what could not be scored."""

from collections.abc import Iterable, Sequence
from operator import itemgetter

from quadrag.metric_record import metric_record, show_key

from ..core.result import PROFILES
from ..scoring.validity import is_invalid, list_untold
from .cells import CHARACTERS, FEW, Row, unit_of
from .grid import Detail, Line
from .paper import PaperTables, load_tables

INTERVALS = (
    f"95% intervals over {FEW} or more questions: of shares by Wilson (by logit where questions belong together), else "
    "by bootstrap (BCa)"
)
TESTS = (
    "p: McNemar's mid-p, with Bonett and Price's interval, where answers are right or wrong or all differ by as much; "
    "else 10,000 random swaps, with the bootstrap's interval."
)
_REMEDIES = {"no judge": "--judge", "no embedding": "--bertscore"}


def note_scores(benchmark: str, rows: Sequence[Row], profiles: Sequence[str]) -> list[str]:
    """Say which metrics did not run, and what could not be scored under the profiles shown."""
    tables = load_tables(benchmark)
    shown = [row for row in rows if row["profile"] in profiles]
    judged = dict.fromkeys([*note_judged(shown), *note_ruled(shown)])
    return [*note_keys(shown), *note_not_run(tables, rows), *judged, *note_unscored(tables, shown)]


def note_profiles(lines: Iterable[Line]) -> list[str]:
    """Explain the second profile, where a line shows it."""
    shown = any(line.label.strip() == PROFILES[1] for line in lines)
    return ["corrected: what the paper defines; above it official, what the authors' code computes."] if shown else []


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
    parts = [f"{_join(keys.values())} ({ways[why]})" for why, keys in missing.items()]
    notes = [f"Not run: {', '.join(parts)}."] if parts else []
    return notes + [note for key, note in tables.not_run.items() if key in missing.get("no judge", ())]


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
    ruled = [row for row in rows if row.get("n_ruled")]
    told = dict.fromkeys(metric_record(row["metric"]).ruled for row in ruled)
    return [*note_judged(ruled), *(Detail(f"{rules}.") for rules in told if rules)]


def note_judged(rows: Iterable[Row]) -> list[str]:
    """Say of every judged metric that ran how many items were scored, or judged, by profile where these differ."""
    counts: dict[tuple[str, str], dict[str, list[str]]] = {}  # of a split and a key, of each count the profiles
    for row in rows:
        if "n_scored" in row and "not_run" not in row and metric_record(row["metric"]).key(row["key"]).needs == "judge":
            place = f"{row['config']} {row['split']}", show_key(row["metric"], row["key"])
            counts.setdefault(place, {}).setdefault(_count_judged(row), []).append(row["profile"])
    alike: dict[tuple[str, str], tuple[dict[str, None], dict[str, None]]] = {}  # of a count the splits and the keys
    for (where, key), found in counts.items():
        for count, profiles in found.items():
            places, keys = alike.setdefault((count, f" ({profiles[0]})" if len(found) > 1 else ""), ({}, {}))
            places[where] = keys[key] = None
    several = len(alike) > 1 and len({where for where, _ in counts}) > 1
    return [
        f"{said.format(where=''.join(f', {where}' for where in places if several), by=by)}: {', '.join(keys)}."
        for (said, by), (places, keys) in alike.items()
    ]


def _count_judged(row: Row) -> str:
    """Say how many items were scored or, where rules decided some, judged, with slots for split and profile."""
    scored, total, ruled = row["n_scored"], row["n_total"], row.get("n_ruled", 0)
    if ruled:
        return f"{scored - ruled} of {total}{{by}} judged{{where}}, {ruled} decided by rule"
    return f"Judged{{where}}, scored {scored} of {total}{{by}}"


def note_unscored(tables: PaperTables, rows: Sequence[Row]) -> list[str]:
    """List what could not be scored, by metric, profile, split and reason, and say what becomes of it.

    Of a metric that applies to no item it is said why.
    """
    found: dict[str, dict[str, list[str]]] = {}
    lacking = [row for row in rows if row.get("unscored") and not is_invalid(row)]  # of those a line on top says it
    for row in filter(list_untold, lacking):
        counts = ", ".join(f"{reason} {count}" for reason, count in list_untold(row).items())
        place = f"{row['config']} {row['split']}: {counts}"
        found.setdefault(show_key(row["metric"], row["key"]), {}).setdefault(row["profile"], []).append(place)
    alike: dict[str, list[str]] = {}  # what is said once for all the keys that it is true of
    for key, profiles in found.items():
        same = len(profiles) > 1 and len({tuple(places) for places in profiles.values()}) == 1
        for profile, places in list(profiles.items())[: 1 if same else None]:
            alike.setdefault(f"{'' if same else f' ({profile})'}: {'; '.join(places)}.", []).append(key)
    notes = [*_note_none(rows), *(f"Unscored, {', '.join(keys)}{said}" for said, keys in alike.items())]
    if any(row["metric"] not in tables.unscored and list_untold(row) for row in lacking):
        notes.append(Detail("Official leaves unscored items out, corrected counts them as wrong."))
    for metric, say in tables.unscored.items():
        if own := [row for row in lacking if row["metric"] == metric]:
            notes.append(Detail(say(own)))
    return notes


def _note_none(rows: Sequence[Row]) -> list[str]:
    """Say why metrics apply to none of the items of a split."""
    found: dict[str, list[str]] = {}
    several = len({(row["config"], row["split"]) for row in rows}) > 1
    place = itemgetter("config", "split", "metric")
    invalid = {place(row) for row in rows if is_invalid(row)}  # what could not be read might have been such items
    for row in rows:
        if place(row) not in invalid and row["n_total"] and row["n_total"] == row.get("n_not_applicable"):
            why = metric_record(row["metric"]).key(row["key"]).none or "it applies to none of the questions"
            where = f" of {row['config']} {row['split']}" * several
            found.setdefault(f"{where} has no value: {why}.", []).append(show_key(row["metric"], row["key"]))
    return [f"{', '.join(dict.fromkeys(keys))}{said}" for said, keys in found.items()]

"""Whether a metric's value says anything: not where too many of its items failed; where some did, that is told.

An item has failed where a call to a model or a judge did, or where its reply was cut, empty or cannot be read. What can
be read is what `corrected` reads, whatever value a profile gives to the rest; but where more items failed under
`official`, as where `corrected` decides by rule what `official` has judged, each stands by itself. Single items are
shown with the value that they count as in a profile's score, beside the reason; of a metric that is not valid those
that failed have none. An item that a metric does not apply to, or that a profile leaves out by a named quirk, has not
failed, and neither has an empty answer of one's own system. A judge of whose first verdicts none could be read was
asked no further, and no metric that asks a judge has a value then; nor where the judge does not answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quadrag.metric_record import find_verdict, metric_record
from quadrag.run_record import MOST_FAILED, RunRecord
from quadrag.stats.items import choose_fill, counted

from ..core.benchmark import NO_JUDGE
from ..core.result import PROFILES, Result
from .faults import (
    FAILED,
    JUDGE,
    VERDICTS,
    Place,
    count_tried,
    find_cure,
    find_faults,
    is_by_rule,
    list_keys,
    pick_read,
    place_of,
    settle_ruled,
    tell_faults,
    tell_short,
)
from .probe import FIRST
from .rows import ALL, items_of, reason_of

UNJUDGED = "unjudged"
_BESIDE = "beside"


def mark_invalid(
    scores: Sequence[Mapping[str, Any]], run: RunRecord, items: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the rows as tables show them, and enter into the run which of its metrics are invalid.

    A row of an invalid metric has no value; its n are the items that could be read. Of a valid one the run says how
    many failed. A row that rests on verdicts which are all the same, or against words, is marked.

    Args:
        scores: rows of ``scores.json``.
        run: says which share may fail, and which replies were empty or cut.
        items: lines of ``items.jsonl``.
    """
    scores = [settle_ruled(row) for row in scores]
    found = find_faults(scores, run, items)
    faults = [fault for fault in found if fault.failed > run.max_failed * fault.total]
    # What of the other profile is not shown, is told at its value.
    shown_by = [fault for fault in faults if run.profile in fault.profiles]
    run.invalid = tell_faults(shown_by, run) + _tell_unjudged(scores, run)
    run.partly = {fault.tell_counted(run): fault.failed / fault.total for fault in found if fault not in faults}
    told = {(place, profile): fault for fault in found for place in fault.places for profile in fault.profiles}
    read = {(place_of(row), row.get("slice")): row for row in scores if row["profile"] == "corrected"}
    tried = {place_of(row): count_tried(row) for row in scores if row.get("slice", ALL) == ALL}
    told_of = (*run.constant_verdicts.values(), *run.doubtful_verdicts.values())
    alike = {name for names in told_of for name in names}
    marked = []
    for row in scores:
        shown = dict(row)
        fault = told.get((place_of(row), row["profile"]))
        if find_verdict(row["metric"], row["key"]) in alike:
            discredit(shown)
        if fault and fault in faults:
            own = pick_read(row, read.get((place_of(row), row.get("slice"))))
            n = min(own.get("n_scored", 0), tried[place_of(row)] - fault.failed)
            shown |= {"value": None, "interval": None, "n_scored": n, "n_filled": 0, "invalid": True}
            shown["n_ruled"] = min(own.get("n_ruled", 0), n)
            shown["unscored"] = own.get("unscored") or {}
            if row.get("slice", ALL) == ALL:
                others = {why: count for why, count in shown["unscored"].items() if why not in FAILED}
                shown["unscored"] = others | fault.reasons
            shown |= {"told": tuple(shown["unscored"])} if fault in shown_by else {}
            shown["why"] = fault.tell_shortly() + fault.tell_judge(run)
        elif _is_unjudged(row, run):
            shown.pop("not_run", None)
            shown |= {"value": None, "interval": None, "n_scored": 0, "n_filled": 0, "n_not_applicable": 0}
            shown["invalid"] = True
            shown |= {"unscored": {UNJUDGED: row["n_total"]}, "told": (UNJUDGED,)}
            shown["why"] = _tell_judge(run)
        elif fault:
            shown["told"] = FAILED
            shown |= {"unreliable": True} if fault.failed > MOST_FAILED * fault.total else {}
        marked.append(shown)
    return marked


def list_untold(row: Mapping[str, Any]) -> dict[str, int]:
    """Count the unscored items of a row by reason, less those that a run tells of (`RunRecord.partly`)."""
    return {why: n for why, n in (row.get("unscored") or {}).items() if why not in row.get("told", ())}


def is_invalid(row: Mapping[str, Any]) -> bool:
    """Whether `mark_invalid` took a row's value away, since too many items of its metric failed."""
    return "invalid" in row


def is_unreliable(row: Mapping[str, Any]) -> bool:
    """Whether a row has a value only since the user allows that so many items of its metric fail."""
    return "unreliable" in row


def discredit(row: dict[str, Any], beside: bool = False) -> None:
    """Mark a row whose value rests on verdicts that say nothing of the answers; none that rules alone decided.

    `beside`: as another run's verdicts show.
    """
    if not 0 < row.get("n_scored", 0) <= row.get("n_ruled", 0):
        row.setdefault("alike", _BESIDE if beside else True)


def is_alike(row: Mapping[str, Any]) -> bool:
    """Whether a row's value rests on verdicts that are all the same, against words, or as by chance."""
    return "alike" in row


def is_alike_beside(row: Mapping[str, Any]) -> bool:
    """Whether a value is marked so only since the same judge's verdicts say nothing in another run beside it."""
    return row.get("alike") == _BESIDE and row["value"] is not None


def has_unscored(scores: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a metric that was run has no value of any item, as the authors' code leaves empty answers out."""
    whole = [row for row in scores if row.get("slice", ALL) == ALL]
    return any(row["value"] is None and row.get("unscored") and not row["n_scored"] for row in whole)


def read_items(result: Result) -> list[dict[str, Any]]:
    """Return a run's items as people are shown them: under each profile with the value that they count as in its score.

    One that failed, if by a reply that is empty or cut, has its reason under both profiles. Of a metric that is not
    valid, what failed counts as nothing; one that was not judged has no value of any item.
    """
    invalid = {(place_of(row), row["profile"]) for row in result.scores if is_invalid(row)}
    unjudged: dict[tuple[str, str], dict[str, Any]] = {}
    for row in result.scores:
        if UNJUDGED in (row.get("unscored") or {}):
            entry = {**dict.fromkeys(PROFILES), "reason": dict.fromkeys(PROFILES, UNJUDGED)}
            unjudged.setdefault((row["config"], row["split"]), {})[f"{row['metric']}.{row['key']}"] = entry

    def read(item: Mapping[str, Any], name: str, short: str) -> Mapping[str, Any]:
        entry, (module, _, key) = item[name], name.partition(".")
        place, why = (item["config"], item["split"], module, key), reason_of(entry, "corrected")
        reasons = {profile: why if why in FAILED else reason_of(entry, profile) or short for profile in PROFILES}
        values = {}
        for profile, reason in reasons.items():
            if (place, profile) in invalid:
                values[profile] = None if reason in FAILED else entry.get(profile)
            else:
                fill = choose_fill(profile, metric_record(module).key(key).worst)
                values[profile] = counted(items_of([item], name, profile)[0], fill)
        settled = VERDICTS if is_by_rule(module, key) else ()
        entry = {field: value for field, value in entry.items() if field != "reason"} if why in settled else entry
        told = {profile: reason for profile, reason in reasons.items() if reason and reason not in settled}
        return {**entry, **values, **({"reason": told} if told else {})}

    return [
        {name: read(item, name, short) if isinstance(entry, Mapping) else entry for name, entry in item.items()}
        | unjudged.get((item["config"], item["split"]), {})
        for item, short in ((item, tell_short(item, result.run)) for item in result.items)
    ]


def spell_reason(metric: str, reason: str, run: RunRecord, answered: bool) -> str:
    """Return the reason why an item has no value with what it means where it is the judge's and not the answer's."""
    if reason == UNJUDGED:
        return f"{reason}: {_tell_judge(run)}"
    judged = answered and run.judge is not None and metric_record(metric.partition(".")[0]).verdict
    return f"{reason}: {JUDGE[reason]}" if judged and reason in JUDGE else reason


def _is_unjudged(row: Mapping[str, Any], run: RunRecord) -> bool:
    """Whether a row has no value since the judge was asked no further, or does not answer.

    Without a judge `error_correction` would be another measure, of what a phrase finds.
    """
    lost = run.dead_judge or run.unread_judge is not None
    return lost and (row.get("not_run") == NO_JUDGE or find_verdict(row["metric"], row["key"]) != "")


def find_by_phrase(scores: Sequence[Mapping[str, Any]]) -> set[Place]:
    """Return the places of values that rest on a phrase for want of the judge on whom the printed ones rest."""
    absent = {place_of(row) for row in scores if "not_run" in row}
    rests = {place: find_verdict(*place[2:]) for row in scores if (place := place_of(row)) not in absent}
    return {at for at, verdict in rests.items() if verdict and (*at[:2], *verdict.split(".")) in absent}


def _tell_judge(run: RunRecord) -> str:
    return "the judge does not answer" if run.dead_judge else "the judge's first verdicts could not be read"


def _tell_unjudged(scores: Sequence[Mapping[str, Any]], run: RunRecord) -> list[str]:
    """Say of every split which metrics have no value since nothing is to be had of the judge, and what to do."""
    found: dict[tuple[str, str], dict[Place, None]] = {}
    for row in scores:
        if _is_unjudged(row, run):
            found.setdefault((row["config"], row["split"]), {})[place_of(row)] = None
    if run.dead_judge:
        return [
            f"{config} {split}: not judged: {list_keys([*places], run)}; {run.stopped}"
            for (config, split), places in found.items()
        ]
    told = []
    for (config, split), places in found.items():
        form = metric_record(next(iter(places))[2]).verdict
        told.append(
            f"{config} {split}: none of the first {FIRST} verdicts of {run.unread_judge} could be read, and it is asked"
            f" no further: {list_keys([*places], run)}; it said {run.verdict!r}, where a verdict is like {form!r}; "
            f"{find_cure(form, run)}"
        )
    return told

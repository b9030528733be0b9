"""Whether a metric's value says anything: not where too many of its items failed.

An item has failed where a call to a model or a judge did, or where its reply was cut, empty or cannot be read. What
can be read is what `corrected` reads, whatever value a profile gives to the rest: that value stands in the files of a
run alone, and people are shown none. An item that a metric does not apply to, or that a profile leaves out by a named
quirk, has not failed, and neither has an empty answer of one's own system.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quadrag.metric_record import show_key
from quadrag.records import Answer
from quadrag.run_record import RunRecord

from ..core.result import PROFILES
from .rows import ALL, reason_of

_FAILED = ("api_error", "raised", "unparsable", "truncated", "misaligned")
_EMPTY = "empty reply"
_CAUSES = {
    "api_error": "calls failed",
    "raised": "the function raised an exception",
    "truncated": "replies were cut: raise --max-tokens or --judge-max-tokens",
    "unparsable": "replies are not of the form that was asked for: try --judge-format json, or another judge",
    "misaligned": "a judge answered more or fewer questions than it was asked: try another judge",
    _EMPTY: "the model replied with nothing",
}
Place = tuple[str, str, str, str]  # config, split, metric, key


class Fault(NamedTuple):
    """Metrics of one split of which too many items failed, the same of each.

    Attributes:
        places: config, split, metric and key of each.
        failed: how many items failed.
        total: of how many that the metrics apply to.
        reasons: how many failed, by reason.
    """

    places: tuple[Place, ...]
    failed: int
    total: int
    reasons: dict[str, int]

    def tell(self, run: RunRecord) -> str:
        """Say in one line what failed, with a reply of the judge's, and its likely cause."""
        config, split = self.places[0][:2]
        keys = ", ".join(show_key(*place[2:]) for place in self.places)
        why = ", ".join(f"{count} {reason}" for reason, count in self.reasons.items())
        most = max(self.reasons, key=lambda reason: self.reasons[reason])
        cause = _CAUSES[most]
        if most == "unparsable" and run.verdict is not None:
            cause = f"a judge said {run.verdict!r}; {cause}"
        elif most in ("api_error", "raised", "unparsable") and run.failures:
            cause = next(iter(run.failures.values()))
        elif most == "truncated" and not run.cut:
            cause = cause.replace("--max-tokens or ", "")  # no answer was: the judge's replies were
        return f"{config} {split}: {self.failed} of {self.total} items failed ({why}): {keys}; {cause}"


def count_empty(answers: Iterable[Answer]) -> dict[str, int]:
    """Count the empty replies of a model by ``config/split``."""
    return dict(
        Counter(f"{one.config}/{one.split}" for one in answers if one.answer is not None and not one.answer.strip())
    )


def mark_invalid(scores: Sequence[Mapping[str, Any]], run: RunRecord) -> list[dict[str, Any]]:
    """Return the rows as tables show them, and enter into the run which of its metrics are invalid.

    A row of an invalid metric has no value; its n are the items that could be read.

    Args:
        scores: rows of ``scores.json``.
        run: says which share may fail, and how many replies were empty.
    """
    faults = _find_faults(scores, run)
    run.invalid = [fault.tell(run) for fault in faults]
    by_place = {place: fault for fault in faults for place in fault.places}
    # What can be read is what `corrected` reads.
    read = {(_place(row), row.get("slice")): row.get("n_scored", 0) for row in scores if row["profile"] == "corrected"}
    marked = []
    for row in scores:
        shown = dict(row)
        if fault := by_place.get(_place(row)):
            n = min(read.get((_place(row), row.get("slice")), 0), fault.total - fault.failed)
            shown |= {"value": None, "interval": None, "n_scored": n, "n_filled": 0, "invalid": True}
        marked.append(shown)
    return marked


def is_invalid(row: Mapping[str, Any]) -> bool:
    """Whether `mark_invalid` took a row's value away, since too many items of its metric failed."""
    return "invalid" in row


def read_items(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return lines of ``items.jsonl`` as people are shown them: what `corrected` could not read has no value."""
    return [
        {name: _read_entry(entry) if isinstance(entry, Mapping) else entry for name, entry in item.items()}
        for item in items
    ]


def _read_entry(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    why = reason_of(entry, "corrected")
    return {**dict.fromkeys(PROFILES), "reason": dict.fromkeys(PROFILES, why)} if why in _FAILED else entry


def _find_faults(scores: Sequence[Mapping[str, Any]], run: RunRecord) -> list[Fault]:
    found: dict[tuple[Any, ...], Fault] = {}
    for row in scores:
        if row.get("slice", ALL) != ALL or row["profile"] != "corrected" or "not_run" in row:
            continue
        reasons = {name: count for name, count in (row.get("unscored") or {}).items() if name in _FAILED}
        if empty := run.empty.get(f"{row['config']}/{row['split']}"):
            reasons[_EMPTY] = empty
        total = row["n_total"] - row.get("n_not_applicable", 0)
        failed = min(sum(reasons.values()), total)
        if failed > run.max_failed * total:
            alike = (row["config"], row["split"], total, *reasons.items())
            before = found[alike].places if alike in found else ()
            found[alike] = Fault((*before, _place(row)), failed, total, reasons)
    return list(found.values())


def _place(row: Mapping[str, Any]) -> Place:
    return (row["config"], row["split"], row["metric"], row["key"])

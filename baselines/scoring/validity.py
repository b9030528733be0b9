"""Whether a metric's value says anything: not where too many of its items failed; where some did, that is told.

An item has failed where a call to a model or a judge did, or where its reply was cut, empty or cannot be read. What
can be read is what `corrected` reads, whatever value a profile gives to the rest. Single items are shown with the value
that they count as in a profile's score, beside the reason; of a metric that is not valid those that failed have none.
An item that a metric does not apply to, or that a profile leaves out by a named quirk, has not failed, and neither has
an empty answer of one's own system. A judge of whose first verdicts none could be read was asked no further, and no
metric that asks a judge has a value then; nor where the judge does not answer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quadrag.metric_record import find_verdict, metric_record, show_key
from quadrag.records import Answer
from quadrag.run_record import RunRecord
from quadrag.stats.items import choose_fill, counted

from ..core.benchmark import NO_JUDGE, load
from ..core.result import PROFILES, Result
from .probe import FIRST
from .rows import ALL, items_of, reason_of

FAILED = ("api_error", "raised", "unparsable", "truncated", "misaligned", "null")
UNJUDGED = "unjudged"
_EMPTY = "empty reply"
_ALLOW = "or allow a share of them with --max-failed"
_CAUSES = {
    "api_error": "calls failed",
    "raised": f"correct the function and run again, {_ALLOW}",
    "truncated": "replies were cut: raise --max-tokens or --judge-max-tokens",
    "unparsable": "replies are not of the form that was asked for: try another judge",
    "misaligned": "a judge answered more or fewer questions than it was asked: try another judge",
    "null": f"the file of answers has null in their place: answer these and score again, {_ALLOW}",
    _EMPTY: "the model replied with nothing",
}
_JUDGE = {  # by the reason of an answer's verdict
    "api_error": "the judge's call failed",
    "truncated": "the judge's reply was cut",
    "unparsable": "the judge's verdict could not be read",
    "misaligned": "the judge answered more or fewer questions than it was asked",
}
_WRONG = "they count as wrong"
_READ = "official makes values of them, corrected counts them as wrong"
_LEFT_OUT = "official leaves them out, corrected counts them as wrong"
_JSON = "try --judge-format json, or "
_SHOWN = 4  # keys in a line
Place = tuple[str, str, str, str]  # config, split, metric, key


class Fault(NamedTuple):
    """Metrics of one split of which too many items failed, the same of each.

    Attributes:
        places: config, split, metric and key of each.
        failed: how many items failed.
        total: of how many that the metrics apply to, and no rule decided.
        reasons: how many failed, by reason.
        counts: how those that failed count where a value is shown.
    """

    places: tuple[Place, ...]
    failed: int
    total: int
    reasons: dict[str, int]
    counts: str

    def tell(self, run: RunRecord, alike: Sequence["Fault"]) -> str:
        """Say in one line what failed, here and in others of the same cause, with a reply of the judge's, and why."""
        config, split = self.places[0][:2]
        most = max((self, *alike), key=lambda fault: fault.failed)
        what = "up to " * any(fault.failed < most.failed for fault in (self, *alike)) + most.tell_shortly()
        places = [place for fault in (self, *alike) for place in fault.places]
        return f"{config} {split}: {what}: {_list_keys(places, run)}; {self.find_cause(run)}"

    def tell_shortly(self) -> str:
        """Say how many failed, by reason."""
        why = ", ".join(f"{count} {reason}" for reason, count in self.reasons.items())
        return f"{self.failed} of {self.total} items failed ({why})"

    def tell_judge(self, run: RunRecord) -> str:
        """Say in a few words that it was the judge, where all was answered; else ""."""
        most = max(self.reasons, key=lambda reason: self.reasons[reason])
        return f": {_JUDGE[most]}" if self._find_form(run) and most in _JUDGE and not run.failures else ""

    def find_cause(self, run: RunRecord) -> str:
        """Say why most failed, as far as it is known, and what to do."""
        most = max(self.reasons, key=lambda reason: self.reasons[reason])
        cause = _CAUSES[most]
        form = self._find_form(run)
        if most == "unparsable" and form and run.verdict is not None:
            cause = f"a judge said {run.verdict!r}, where a verdict is like {form!r}: {_find_cure(form, run)}"
        elif most in ("api_error", "raised", "unparsable") and run.failures:
            said = next(iter(run.failures.values()))
            cause = f"{cause}; {said}" if most == "raised" else said
        elif most == "truncated" and not run.cut:
            cause = cause.replace("--max-tokens or ", "")  # no answer was: the judge's replies were
        return cause

    def _find_form(self, run: RunRecord) -> str:
        """Return a verdict as a judge was to give it; "" where none was asked."""
        return metric_record(self.places[0][2]).verdict if run.inputs.judge is not None else ""

    def tell_counted(self, run: RunRecord) -> str:
        """Say in one line how many failed of a value that is shown, and how they count."""
        config, split = self.places[0][:2]
        counts = self.counts
        what = f"items failed ({', '.join(f'{count} {reason}' for reason, count in self.reasons.items())})"
        if [*self.reasons] == ["unparsable"]:
            what = f"{'verdicts' if self._find_form(run) else 'results'} could not be read"
        elif [*self.reasons] == [_EMPTY]:
            what, counts = "replies of the model are empty", "they are scored as such"
        return f"{config} {split}: {self.failed} of {self.total} {what}, {counts}: {_list_keys(self.places, run)}"


def count_empty(answers: Iterable[Answer]) -> dict[str, int]:
    """Count the empty replies of a model by ``config/split``."""
    return dict(
        Counter(f"{one.config}/{one.split}" for one in answers if one.answer is not None and not one.answer.strip())
    )


def mark_invalid(scores: Sequence[Mapping[str, Any]], run: RunRecord) -> list[dict[str, Any]]:
    """Return the rows as tables show them, and enter into the run which of its metrics are invalid.

    A row of an invalid metric has no value; its n are the items that could be read. Of a valid one the run says how
    many failed. A row that rests on verdicts which are all the same, or against words, is marked.

    Args:
        scores: rows of ``scores.json``.
        run: says which share may fail, and how many replies were empty.
    """
    found = _find_faults(scores, run)
    faults = [fault for fault in found if fault.failed > run.max_failed * fault.total]
    run.invalid = _tell_faults(faults, run) + _tell_unjudged(scores, run)
    run.partly = {fault.tell_counted(run): fault.failed / fault.total for fault in found if fault not in faults}
    by_place = {place: fault for fault in faults for place in fault.places}
    told = {place for fault in found for place in fault.places}
    # What can be read is what `corrected` reads.
    read = {(_place(row), row.get("slice")): row for row in scores if row["profile"] == "corrected"}
    told_of = (*run.constant_verdicts.values(), *run.doubtful_verdicts.values())
    alike = {name for names in told_of for name in names}
    marked = []
    for row in scores:
        shown = dict(row)
        if find_verdict(row["metric"], row["key"]) in alike:
            discredit(shown)
        if fault := by_place.get(_place(row)):
            own = read.get((_place(row), row.get("slice")), {})
            n = min(own.get("n_scored", 0), fault.total - fault.failed + own.get("n_ruled", 0))
            shown |= {"value": None, "interval": None, "n_scored": n, "n_filled": 0, "invalid": True}
            shown["n_ruled"] = own.get("n_ruled", 0)
            shown["unscored"] = own.get("unscored") or (fault.reasons if row.get("slice", ALL) == ALL else {})
            shown["why"] = fault.tell_shortly() + fault.tell_judge(run)
        elif _is_unjudged(row, run):
            shown.pop("not_run", None)
            shown |= {"value": None, "interval": None, "n_scored": 0, "n_not_applicable": 0, "invalid": True}
            shown |= {"unscored": {UNJUDGED: row["n_total"]}, "told": (UNJUDGED,)}
            shown["why"] = _tell_judge(run)
        elif _place(row) in told:
            shown["told"] = FAILED
        marked.append(shown)
    return marked


def list_untold(row: Mapping[str, Any]) -> dict[str, int]:
    """Count the unscored items of a row by reason, less those that a run tells of (`RunRecord.partly`)."""
    return {why: n for why, n in (row.get("unscored") or {}).items() if why not in row.get("told", ())}


def is_invalid(row: Mapping[str, Any]) -> bool:
    """Whether `mark_invalid` took a row's value away, since too many items of its metric failed."""
    return "invalid" in row


def discredit(row: dict[str, Any]) -> None:
    """Mark a row whose value rests on verdicts that say nothing of the answers."""
    row["alike"] = True


def is_alike(row: Mapping[str, Any]) -> bool:
    """Whether a row's value rests on verdicts that are all the same, against words, or as by chance."""
    return "alike" in row


def has_unscored(scores: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a metric that was run has no value of any item, as the authors' code leaves empty answers out."""
    whole = [row for row in scores if row.get("slice", ALL) == ALL]
    return any(row["value"] is None and row.get("unscored") and not row["n_scored"] for row in whole)


def read_items(result: Result) -> list[dict[str, Any]]:
    """Return a run's items as people are shown them: under each profile with the value that they count as in its score.

    One that failed has its reason under both profiles. Of a metric that is not valid, what failed counts as nothing;
    one that was not judged has no value of any item.
    """
    invalid = {_place(row) for row in result.scores if is_invalid(row)}
    unjudged: dict[tuple[str, str], dict[str, Any]] = {}
    for row in result.scores:
        if UNJUDGED in (row.get("unscored") or {}):
            entry = {**dict.fromkeys(PROFILES), "reason": dict.fromkeys(PROFILES, UNJUDGED)}
            unjudged.setdefault((row["config"], row["split"]), {})[f"{row['metric']}.{row['key']}"] = entry

    def read(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        entry, (module, _, key) = item[name], name.partition(".")
        why = reason_of(entry, "corrected")
        reason = {"reason": dict.fromkeys(PROFILES, why)} if why in FAILED else {}
        if (item["config"], item["split"], module, key) in invalid:
            return {**entry, **dict.fromkeys(PROFILES), **reason} if reason else entry
        values = {}
        for profile in PROFILES:
            fill = choose_fill(profile, metric_record(module).key(key).worst)
            values[profile] = counted(items_of([item], name, profile)[0], fill)
        return {**entry, **values, **reason}

    return [
        {name: read(item, name) if isinstance(entry, Mapping) else entry for name, entry in item.items()}
        | unjudged.get((item["config"], item["split"]), {})
        for item in result.items
    ]


def spell_reason(metric: str, reason: str, run: RunRecord, answered: bool) -> str:
    """Return the reason why an item has no value with what it means where it is the judge's and not the answer's."""
    if reason == UNJUDGED:
        return f"{reason}: {_tell_judge(run)}"
    judged = answered and run.inputs.judge is not None and metric_record(metric.partition(".")[0]).verdict
    return f"{reason}: {_JUDGE[reason]}" if judged and reason in _JUDGE else reason


def _is_unjudged(row: Mapping[str, Any], run: RunRecord) -> bool:
    """Whether a row has no value since the judge was asked no further, or does not answer.

    Without a judge `error_correction` would be another measure, of what a phrase finds.
    """
    lost = run.dead_judge or run.unread_judge is not None
    return lost and (row.get("not_run") == NO_JUDGE or find_verdict(row["metric"], row["key"]) != "")


def _tell_judge(run: RunRecord) -> str:
    """Say in a few words why nothing was judged."""
    return "the judge does not answer" if run.dead_judge else "the judge's first verdicts could not be read"


def _tell_unjudged(scores: Sequence[Mapping[str, Any]], run: RunRecord) -> list[str]:
    """Say of every split which metrics have no value since nothing is to be had of the judge, and what to do."""
    found: dict[tuple[str, str], dict[Place, None]] = {}
    for row in scores:
        if _is_unjudged(row, run):
            found.setdefault((row["config"], row["split"]), {})[_place(row)] = None
    if run.dead_judge:
        return [
            f"{config} {split}: not judged: {_list_keys([*places], run)}; {run.stopped}"
            for (config, split), places in found.items()
        ]
    told = []
    for (config, split), places in found.items():
        form = metric_record(next(iter(places))[2]).verdict
        told.append(
            f"{config} {split}: none of the first {FIRST} verdicts of {run.unread_judge} could be read, and it is asked"
            f" no further: {_list_keys([*places], run)}; it said {run.verdict!r}, where a verdict is like {form!r}; "
            f"{_find_cure(form, run)}"
        )
    return told


def _tell_faults(faults: Sequence[Fault], run: RunRecord) -> list[str]:
    """Say what failed, a line for all metrics of a split that failed for the same cause."""
    alike: dict[tuple[Any, ...], list[Fault]] = {}
    for fault in faults:
        cause = (*fault.places[0][:2], fault.total, *fault.reasons, fault.find_cause(run))
        alike.setdefault(cause, []).append(fault)
    return [first.tell(run, others) for first, *others in alike.values()]


def _find_cure(form: str, run: RunRecord) -> str:
    """Say what to do about verdicts that cannot be read: kept ones stay so until they are asked for again."""
    if any(used.get("earlier") for role, used in run.usage.items() if role.startswith("judge")):
        return "these are kept verdicts: --retry unreadable asks this judge again, or name another"
    return f"{_JSON * form.startswith('{')}name another judge, or ask this one again with --retry unreadable"


def _list_keys(places: Sequence[Place], run: RunRecord) -> str:
    """List the keys of metrics, those of a summary first, and the first few alone where there are many."""
    heads = load(run.inputs.benchmark).headlines

    def rank(place: Place) -> int:
        name = metric_record(place[2]).key(place[3]).name
        return heads.index(name) if name in heads else len(heads)

    return shorten_list([show_key(*place[2:]) for place in sorted(places, key=rank)])


def shorten_list(names: Sequence[str]) -> str:
    """List names, the first few alone where there are many."""
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def _find_faults(scores: Sequence[Mapping[str, Any]], run: RunRecord) -> list[Fault]:
    """Find the metrics of which any item failed."""
    found: dict[tuple[Any, ...], Fault] = {}
    official = {
        _place(row): (row.get("n_filled", 0), row.get("n_scored", 0))
        for row in scores
        if row.get("slice", ALL) == ALL and row["profile"] == "official"
    }
    for row in scores:
        if row.get("slice", ALL) != ALL or row["profile"] != "corrected" or "not_run" in row:
            continue
        reasons = {name: count for name, count in (row.get("unscored") or {}).items() if name in FAILED}
        if empty := run.empty.get(f"{row['config']}/{row['split']}"):
            reasons[_EMPTY] = empty
        # An item that has no such value by its answer was tried too, and those that failed were among all. What a rule
        # decided could not fail.
        by_answer = metric_record(row["metric"]).key(row["key"]).among
        total = row["n_total"] - (0 if by_answer else row.get("n_not_applicable", 0)) - row.get("n_ruled", 0)
        failed = min(sum(reasons.values()), total)
        if failed:
            filled, read = official.get(_place(row), (0, 0))
            counts = _WRONG if filled else _READ if read > total - failed else _LEFT_OUT
            alike = (row["config"], row["split"], total, counts, *reasons.items())
            before = found[alike].places if alike in found else ()
            found[alike] = Fault((*before, _place(row)), failed, total, reasons, counts)
    return list(found.values())


def _place(row: Mapping[str, Any]) -> Place:
    return (row["config"], row["split"], row["metric"], row["key"])

"""Items of metrics that failed: how many of which, why most likely, and what to do, a line for each cause.

Replies of a model that are empty, or were cut by length, have failed too.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quadrag.metric_record import metric_record, show_key
from quadrag.records import Answer
from quadrag.run_record import RunRecord
from quadrag.stats import NOT_APPLICABLE

from ..core.benchmark import load
from ..core.result import PROFILES
from .rows import ALL, reason_of

EMPTY, CUT = "empty reply", "cut reply"
_REASONS = {"empty": EMPTY, "cut": CUT}  # by their kind in `RunRecord.short`
Split = tuple[str, str]  # config, split
Short = tuple[str, Mapping[str, Any]]  # why it fails, and its line of ``items.jsonl``
FAILED = ("api_error", "raised", "unparsable", "truncated", "misaligned", "null", EMPTY, CUT)
_ALLOW = "or allow a share of them with --max-failed"
_CAUSES = {
    "api_error": "calls failed",
    "raised": f'correct the function and run again with retry="failed", {_ALLOW}',
    "truncated": "replies were cut: raise --max-tokens or --judge-max-tokens",
    "unparsable": "replies are not of the form that was asked for: try another judge",
    "misaligned": "a judge answered more or fewer questions than it was asked: try another judge",
    "null": f"the file of answers has null in their place: answer these and score again, {_ALLOW}",
    EMPTY: "the model replied with nothing",
    CUT: "name a larger --max-tokens and another --out, or take them as they are with --max-failed 1",
}
JUDGE = {  # by the reason of an answer's verdict
    "api_error": "the judge's call failed",
    "truncated": "the judge's reply was cut",
    "unparsable": "the judge's verdict could not be read",
    "misaligned": "the judge answered more or fewer questions than it was asked",
}
VERDICTS = ("unparsable", "misaligned")  # of a judge alone
_MORE_ROOM = "give the model more tokens"  # in a harness
_SHORT_COUNT = "they are scored as they are"
_WRONG = "they count as wrong"
_READ = "official makes values of them, corrected counts them as wrong"
_LEFT_OUT = "official leaves them out, corrected counts them as wrong"
_PARTLY = "official leaves {left} out and {kept} {other}, corrected counts all as wrong"
_BY_ITSELF = "they are left out"  # of official alone
_JSON = "try --judge-format json, or "
_SHOWN = 4  # keys in a line
_FEW = 3  # keys that are named, be they shown elsewhere or not
Place = tuple[str, str, str, str]  # config, split, metric, key


class Fault(NamedTuple):
    """Metrics of one split of which too many items failed, the same of each.

    Attributes:
        places: config, split, metric and key of each.
        failed: how many items failed.
        total: of how many that the metrics apply to, and no rule decided; of replies alone, of all.
        reasons: how many failed, by reason.
        counts: how those that failed count where a value is shown, but for those that are scored as they are.
        lost: how many of them failed by the metric's own reasons.
        scored: how many are scored as they are, by reason: replies of a model that are empty or cut.
        profile: under which they failed; "" under both alike.
        every: whether these are all metrics that ran.
    """

    places: tuple[Place, ...]
    failed: int
    total: int
    reasons: dict[str, int]
    counts: str
    lost: dict[str, int]
    scored: dict[str, int]
    profile: str = ""
    every: bool = False

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles under which they failed."""
        return (self.profile,) if self.profile else PROFILES

    def tell(self, run: RunRecord, alike: Sequence["Fault"]) -> str:
        """Say in one line what failed, here and in others of the same cause, with a reply of the judge's, and why."""
        config, split = self.places[0][:2]
        most = max((self, *alike), key=lambda fault: fault.failed)
        what = "up to " * any(fault.failed < most.failed for fault in (self, *alike)) + most.tell_shortly()
        places = [place for fault in (self, *alike) for place in fault.places]
        limit = f"more than --max-failed {run.max_failed:g}"
        cause = "" if [*self.reasons] == [EMPTY] else f"; {self.find_cause(run)}"
        return f"{config} {split}: {what}, {limit}: {list_keys(places, run)}{cause}"

    def _say(self, reasons: Mapping[str, int]) -> str:
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
        return describe_short(reasons) or f"items failed ({f'{self.profile}: ' * bool(self.profile)}{why})"

    def tell_shortly(self) -> str:
        """Say how many failed, by reason."""
        return f"{self.failed} of {self.total} {self._say(self.reasons)}"

    def tell_judge(self, run: RunRecord) -> str:
        """Say in a few words that it was the judge, where all was answered; else ""."""
        most = max(self.reasons, key=lambda reason: self.reasons[reason])
        return f": {JUDGE[most]}" if self._find_form(run) and most in JUDGE and not run.failures else ""

    def find_cause(self, run: RunRecord) -> str:
        """Say why most failed, as far as it is known, and what to do."""
        most = max(self.reasons, key=lambda reason: self.reasons[reason])
        cause = _CAUSES[most]
        form = self._find_form(run)
        if most == "unparsable" and form and run.verdict is not None:
            cause = f"a judge said {run.verdict!r}, where a verdict is like {form!r}: {find_cure(form, run)}"
        elif most in ("api_error", "raised", "unparsable") and run.failures:
            said = next(iter(run.failures.values()))
            cause = f"{cause}; {said}" if most == "raised" else said
        elif most == "truncated" and run.judge is None:
            cause = cause.replace(" or --judge-max-tokens", "")
        elif most == "truncated" and not run.count_short("cut"):
            cause = cause.replace("--max-tokens or ", "")  # no answer was: the judge's replies were
        elif most == CUT and run.log:
            cause = _MORE_ROOM
        return cause

    def _find_form(self, run: RunRecord) -> str:
        return metric_record(self.places[0][2]).verdict if run.judge is not None else ""

    def tell_counted(self, run: RunRecord) -> str:
        """Say in one line how many failed of a value that is shown, and how they count."""
        config, split = self.places[0][:2]
        what = self._say(self.lost)
        if [*self.lost] == ["unparsable"] and not self.profile:
            what = f"{'verdicts' if self._find_form(run) else 'results'} could not be read"
        told = [f"{sum(self.lost.values())} of {self.total} {what}, {self.counts}"] if self.lost else []
        short, what = sum(self.scored.values()), describe_short(self.scored)
        if self.scored and self.lost:
            told.append(f"{what.replace('are', 'that are', 1)} are scored as they are ({short} more)")
        elif self.scored:
            told.append(f"{short} of {self.total} {what}, {_SHORT_COUNT}")
        keys = "all metrics" if self.every and len(self.places) > _SHOWN else list_keys(self.places, run)
        return f"{config} {split}: {', '.join(told)}: {keys}"


class _Failed(NamedTuple):
    """Of how many items how many failed under one profile, as `Fault` has it."""

    total: int
    reasons: dict[str, int]
    lost: dict[str, int]
    scored: dict[str, int]


def find_faults(scores: Sequence[Mapping[str, Any]], run: RunRecord, items: Sequence[Mapping[str, Any]]) -> list[Fault]:
    """Find the metrics of which any item failed, under both profiles or under one: what a rule decides differs."""
    short = list_short(items, run)
    found: dict[tuple[Any, ...], Fault] = {}
    by_place: dict[Place, dict[str, Mapping[str, Any]]] = {}
    for row in scores:
        if row.get("slice", ALL) == ALL and "not_run" not in row:
            by_place.setdefault(place_of(row), {})[row["profile"]] = row
    for place, rows in by_place.items():
        here = short.get(place[:2], ())
        failed = {profile: _count_failed(pick_read(row, rows.get("corrected")), here) for profile, row in rows.items()}
        alike = len({*map(str, failed.values())}) == 1
        for profile in [""] if alike else failed:
            one = failed[profile or next(iter(failed))]
            if one.reasons and one.total:
                counts = _say_counts(profile, rows, one.total - sum(one.lost.values())) if one.lost else ""
                key = (*place[:2], counts, profile, str(one))
                before = found[key].places if key in found else ()
                count = min(sum(one.reasons.values()), one.total)
                found[key] = Fault((*before, place), count, one.total, one.reasons, counts, *one[2:], profile)
    ran = Counter(place[:2] for place in by_place)
    return [fault._replace(every=len(fault.places) == ran[fault.places[0][:2]]) for fault in found.values()]


def count_failed(row: Mapping[str, Any]) -> int:
    """Count the items of which a metric has no value because they failed."""
    return sum(_list_failed(row).values())


def pick_read(row: Mapping[str, Any], corrected: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the row that tells what failed of a row's items: itself, or that of `corrected` where it reads fewer."""
    failed = [count_failed(one) if one else 0 for one in (row, corrected)]
    return corrected if corrected and failed[1] > failed[0] else row


def _list_failed(row: Mapping[str, Any]) -> dict[str, int]:
    return {why: count for why, count in (row.get("unscored") or {}).items() if why in FAILED}


def settle_ruled(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row whose value a rule decides as if its judge's verdicts could be read: it rests on none."""
    unscored = row.get("unscored") or {}
    lost = {why: unscored[why] for why in VERDICTS if why in unscored}
    if not lost or not is_by_rule(row["metric"], row["key"]):
        return row
    kept = {why: count for why, count in unscored.items() if why not in lost}
    return {**row, "unscored": kept, "n_scored": row["n_scored"] + sum(lost.values()), "n_filled": 0}


def is_by_rule(metric: str, key: str) -> bool:
    """Whether a rule alone decides a value of a metric that asks a judge for others, as truthfulness's `missing`."""
    record = metric_record(metric)
    judged = "judge" not in record.needs and any(one.needs == "judge" for one in record.keys.values())
    return judged and not record.key(key).needs and not record.key(key).among


def _count_failed(row: Mapping[str, Any], short: Sequence[Short]) -> _Failed:
    """Count the items that could fail, and by reason those that did, each once.

    What a reply of a model that is empty or cut makes of its verdict, is by this reply. It may be left out by the
    metric's own rules, as the authors of CRUD-RAG do with empty ones.
    """
    reasons, lost, profile = Counter(_list_failed(row)), Counter(_list_failed(row)), row["profile"]
    name, by_answer = f"{row['metric']}.{row['key'].removesuffix('_weighted')}", _is_by_answer(row)
    as_is, by_reply, ruled = Counter[str](), Counter[str](), row.get("n_ruled", 0)
    for kind, item in short:
        entry = item.get(name, {})
        why = reason_of(entry, profile)
        if why == NOT_APPLICABLE and not by_answer:
            continue
        by_reply[kind] += 1
        if why and reasons[why]:
            reasons[why] -= 1
        else:
            (lost if entry and entry.get(PROFILES[0]) is None else as_is)[kind] += 1
        ruled -= profile in entry.get("ruled", ())  # a rule may have called it missing
    # What a rule decided could not fail.
    found = {**+reasons, **by_reply}
    return _Failed(count_tried(row) - (0 if describe_short(found) else max(ruled, 0)), found, dict(lost), dict(as_is))


def _say_counts(profile: str, rows: Mapping[str, Mapping[str, Any]], readable: int) -> str:
    """Say how items that failed and are not scored as they are count: under one profile, or under both."""
    official = rows.get("official", {})
    if profile == "corrected" or official.get("n_filled"):
        return _WRONG
    if profile:
        return _BY_ITSELF
    left, failed = (sum(_list_failed(row).values()) for row in (official, pick_read(official, rows.get("corrected"))))
    kept = "makes values of" if official.get("n_scored", 0) > readable else "does not apply to"
    if 0 < left < failed:
        return _PARTLY.format(left=left, kept=kept, other=failed - left)
    return _READ if official.get("n_scored", 0) > readable else _LEFT_OUT


def count_tried(row: Mapping[str, Any]) -> int:
    """Count the items that a metric was tried on: those that have no such value by their answer are among them."""
    return int(row["n_total"]) - (0 if _is_by_answer(row) else row.get("n_not_applicable", 0))


def _is_by_answer(row: Mapping[str, Any]) -> bool:
    return bool(metric_record(row["metric"]).key(row["key"]).among)


def tell_faults(faults: Sequence[Fault], run: RunRecord) -> list[str]:
    """Say what failed, a line for all metrics of a split that failed for the same cause."""
    alike: dict[tuple[Any, ...], list[Fault]] = {}
    for fault in faults:
        cause = (*fault.places[0][:2], fault.total, fault.profile, *fault.reasons, fault.find_cause(run))
        alike.setdefault(cause, []).append(fault)
    return [first.tell(run, others) for first, *others in alike.values()]


def find_cure(form: str, run: RunRecord) -> str:
    """Say what to do about verdicts that cannot be read: kept ones stay so until they are asked for again."""
    if any(used.get("earlier") for role, used in run.usage.items() if role.startswith("judge")):
        return "these are kept verdicts: --retry unreadable asks this judge again, or name another"
    return f"{_JSON * form.startswith('{')}name another judge, or ask this one again with --retry unreadable"


def list_keys(places: Sequence[Place], run: RunRecord) -> str:
    """List the keys of metrics that a summary shows, or a few where it shows fewer, and count the others."""
    heads = {name: at for at, name in enumerate(load(run.benchmark).headlines)}
    ranks = {place: heads.get(metric_record(place[2]).key(place[3]).name, len(heads)) for place in places}
    shown = sum(rank < len(heads) for rank in ranks.values()) or _SHOWN
    keys = [show_key(*place[2:]) for place in sorted(places, key=ranks.__getitem__)]
    return shorten_list(keys, max(shown, _FEW))


def shorten_list(names: Sequence[str], few: int = _SHOWN) -> str:
    """List names, the first few alone where there are many, and how many are left: never one, which is named."""
    shown = names[: min(few, _SHOWN)]
    left = len(names) - len(shown)
    return ", ".join(names if left == 1 else shown) + f" and {left} more" * (left > 1)


def place_of(row: Mapping[str, Any]) -> Place:
    """Return where a row of scores belongs."""
    return (row["config"], row["split"], row["metric"], row["key"])


def find_short(answers: Iterable[Answer]) -> dict[str, str]:
    """Find the replies of a model that are ``empty``, or were ``cut`` by length, by ``config/split/id/sample``."""
    found = {}
    for one in answers:
        if one.is_cut or one.is_empty:
            found["/".join((*one.key, str(one.sample)))] = "cut" if one.is_cut else "empty"
    return found


def list_short(items: Sequence[Mapping[str, Any]], run: RunRecord) -> dict[Split, list[Short]]:
    """Find the items of replies of a model that are empty or cut, by config and split."""
    found: dict[Split, list[Short]] = {}
    for item in items if run.short else ():
        if kind := tell_short(item, run):
            found.setdefault((item["config"], item["split"]), []).append((kind, item))
    return found


def tell_short(item: Mapping[str, Any], run: RunRecord) -> str:
    """Say of a line of ``items.jsonl`` that its reply of a model is empty or was cut; "" of others."""
    kind = run.short.get(f"{item['config']}/{item['split']}/{item['id']}/{item.get('sample', 0)}")
    return _REASONS[kind] if kind else ""


def describe_short(reasons: Mapping[str, int]) -> str:
    """Say of items that failed by the replies of a model alone what is wrong with these; "" of others."""
    kinds = [word for name, word in ((EMPTY, "empty"), (CUT, "cut by length")) if name in reasons]
    return f"replies are {' or '.join(kinds)}" if len(kinds) == len(reasons) else ""

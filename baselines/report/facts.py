"""What a reader must know of runs beside their values: models, data, calls, cost, times."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quadrag.stats import spread

from ..core.run_record import RunRecord
from ..results.run import Result
from ..tables.names import keep_name, keep_names
from .spent import describe_stages

_NONE = "none given"
_UNJUDGED = "none: judged metrics are not run"


def list_facts(results: Sequence[Result]) -> list[tuple[str, str]]:
    """List what a reader must know of runs, by name; what is not known is left out."""

    def join(values: Iterable[str]) -> str:
        return "; ".join(dict.fromkeys(value for value in values if value))

    runs = [result.run for result in results]
    inputs = [run for run in runs]
    seconds = sum(run.seconds for run in runs)
    rows = [
        ("model", join(keep_name(one.llm) for one in inputs)),
        ("model of the entities", join(keep_name(one.entity["model"]) for one in inputs if one.entity)),
        ("judge", join(keep_names(one.judge) if one.judge else _UNJUDGED for one in inputs)),
        ("data", join(run.source for run in runs)),
        ("parameters", join(", ".join(f"{k} {v}" for k, v in run.sent.items()) or _NONE for run in runs)),
        ("calls", describe_calls(results)),
        ("cost", describe_stages(results)),
        ("kept replies", describe_kept(results)),
        ("latency", describe_latency(results)),
        ("run", f"{show_time(runs[0].started)}, {seconds:.1f} s" if runs[0].started else ""),
        ("command", join(" ".join(run.command) for run in runs)),
        ("folder", join(str(result.folder or "") for result in results)),
        ("signatures", join(row.signature for result in results for row in result.scores)),
    ]
    return [(name, value) for name, value in rows if value]


def show_time(moment: str) -> str:
    """Write a moment of a run's record as people read it: ``2026-11-23 03:10 UTC`` for ``2026-11-23T03:10:22Z``."""
    day, _, clock = moment.partition("T")
    return f"{day} {clock[:5]} UTC" if clock else moment


def describe_latency(results: Sequence[Result]) -> str:
    """Say how long a model took for an answer, as each was first made; "" where none was asked."""
    found = spread([seconds for result in results for seconds in result.run.latency_seconds.values()])
    return f"median {found['median']} s, 95th percentile {found['p95']} s" if found else ""


def describe_calls(results: Sequence[Result]) -> str:
    """Say how many calls the commands behind runs made last, and how many kept replies were used."""
    parts = []
    usages = [result.run.usage for result in results]
    for role in dict.fromkeys(role for usage in usages for role in usage):
        spent = [usage[role] for usage in usages if role in usage]
        made, again = (sum(value.get(name, 0) for value in spent) for name in ("calls", "retries"))
        known = sum(one.get("cached", 0) for one in spent)
        tried = f" ({again} tried again)" if again else ""
        parts.append(f"{'' if role == 'llm' else f'{role} '}{made} made{tried}, {known} kept replies used")
    return "; ".join(parts)


def tell_reused(results: Sequence[Result]) -> list[str]:
    """Say that runs of a command were finished before, so that nothing was asked for them, and of when they are."""
    runs = [result.run for result in results if result.reused]
    if not runs:
        return []
    asked, whole = any(run.usage for run in runs), len(runs) == len(results)
    told = "the run was finished before and is shown again"
    if len(results) > 1:
        told = f"{'all' if whole else f'{len(runs)} of'} {len(results)} runs were finished before and are shown again"
    told = f"{'Nothing was asked' if asked and whole else 'Not done again'}: {told}."
    return [told, *[f"The answers shown again are of {date_answers(runs)}; --fresh asks anew."] * asked]


def date_answers(runs: Sequence[RunRecord]) -> str:
    """Say when the answers of finished runs were made, the first of them where a command took kept ones."""
    times = [run.usage.get("llm", {}).get("oldest") or run.started for run in runs]
    return show_time(min(filter(None, times), default="")) or "an unknown time"


def tell_calls(results: Sequence[Result]) -> list[str]:
    """Say how many calls a command made and, in a line of its own, what runs had made that it only shows again."""
    made, before = (describe_calls([one for one in results if one.reused is reused]) for reused in (False, True))
    if not before:
        return [f"calls: {made}"] if made else []
    what = "the run" if len(results) == 1 else "the runs finished before"
    return [f"calls: {made or '0 made by this command'}", f"calls of {what}: {before}"]


def tell_kept(results: Sequence[Result]) -> str:
    """Say how many answers are kept ones, so that a change of what answered is not in them; "" where none is."""
    # Of a model that was asked about the questions first, replies are more than answers.
    what = "replies" if any(one.run.found for one in results) else "answers"
    spent = [one.run.usage["llm"] for one in results if "llm" in one.run.usage and not one.reused]
    counted = _tell_counted(spent, what)
    return counted and f"{counted}; --fresh asks anew"


def tell_verdicts(results: Sequence[Result], every: bool = False) -> str:
    """Say how many verdicts are kept ones, of runs of which some cannot be read, and what asks those again; "" if none.

    Of a run that is shown again all are.

    Args:
        results: the runs.
        every: also of runs whose verdicts can all be read, as no count of calls stands below them; not of those that
            are shown again.
    """
    unread = [one for one in results if one.run.unreadable or one.run.unread_judge]
    spent = []
    for one in unread or [one for one in results if every and not one.reused]:
        for usage in (usage for role, usage in one.run.usage.items() if role.startswith("judge")):
            known = usage.get("cached", 0) + usage["calls"]
            again = {"cached": known, "calls": 0, "oldest": usage.get("oldest") or one.run.started}
            spent.append({**usage, **again} if one.reused else usage)
    counted = _tell_counted(spent, "verdicts")
    way = ".\n--retry unreadable asks those again that could not be read" if unread else "; --fresh asks anew"
    return counted and counted + way


def _tell_counted(spent: Sequence[Mapping[str, Any]], what: str) -> str:
    """Say how many of what was asked for are kept, and from when on."""
    known = sum(one.get("cached", 0) for one in spent)
    times = [one["oldest"] for one in spent if one.get("oldest")]
    since = f", from {show_time(min(times))} on" if times else ""
    total = known + sum(one.get("calls", 0) for one in spent)
    count = f"{known} of {total}" if known < total else f"All {total}"
    return f"{count} {what} are kept ones{since}" if known else ""


def describe_kept(results: Sequence[Result]) -> str:
    """Say whose kept replies were used, and when the oldest was made; "" where none did."""
    found: dict[str, list[str]] = {}
    for run in (result.run for result in results):
        for role, spent in run.usage.items():
            if spent.get("cached") and spent.get("oldest"):
                found.setdefault(run.services.get(role, "here"), []).append(spent["oldest"])
    return "; ".join(f"{place}, oldest of {show_time(min(times))}" for place, times in found.items())

"""What a reader must know of runs beside their values: models, data, calls, cost, times."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quadrag.stats import spread

from ..core.run_record import RunRecord
from ..results.run import Result

_ROLES = {"llm": "answers", "entity": "entities"}


def list_facts(results: Sequence[Result]) -> list[tuple[str, str]]:
    """List what a reader must know of runs, by name; what is not known is left out."""

    def join(values: Iterable[str]) -> str:
        return "; ".join(dict.fromkeys(value for value in values if value))

    runs = [result.run for result in results]
    rows = [
        ("model", join(run.llm for run in runs)),
        ("model of the entities", join(run.entity["model"] for run in runs if run.entity)),
        ("judge", join(run.judge if run.judge else "none: judged metrics are not run" for run in runs)),
        ("data", join(run.source for run in runs)),
        ("parameters", join(", ".join(f"{k} {v}" for k, v in run.sent.items()) or "none given" for run in runs)),
        ("calls", describe_calls(results)),
        ("cost", describe_cost(results)),
        ("kept replies", describe_kept(results)),
        ("latency", describe_latency(results)),
        ("run", f"{show_time(runs[0].started)}, {sum(run.seconds for run in runs):.1f} s" if runs[0].started else ""),
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
    times = spread([seconds for result in results for seconds in result.run.latency_seconds.values()])
    return f"median {times['median']} s, 95th percentile {times['p95']} s" if times else ""


def describe_calls(results: Sequence[Result]) -> str:
    """Say how many calls the commands behind runs made last, and how many kept replies were used."""
    parts = []
    for role, total in _sum_up(results).items():
        tried = f" ({total['retries']} tried again)" if total["retries"] else ""
        name = "" if role == "llm" else f"{role} "
        parts.append(f"{name}{total['calls']} made{tried}, {total['cached']} kept replies used")
    return "; ".join(parts)


def describe_cost(results: Sequence[Result]) -> str:
    """Say what tokens and money the commands behind runs spent last, by stage; "" where no tokens were counted."""
    stages = {_ROLES.get(role, role): total for role, total in _sum_up(results).items()}
    stages = {stage: total for stage, total in stages.items() if total["prompt_tokens"] + total["completion_tokens"]}
    if len(stages) > 1:
        stages["all"] = _add(list(stages.values()))
    parts = []
    for stage, total in stages.items():
        cost = f", cost {total['cost']:.4g} {total['currency']}".rstrip() if "cost" in total else ""
        parts.append(f"{stage} {total['prompt_tokens']:,} in, {total['completion_tokens']:,} out{cost}")
    return "; ".join(parts)


def _sum_up(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    usages = [result.run.usage for result in results]
    roles = dict.fromkeys(role for usage in usages for role in usage)
    return {role: _add([usage[role] for usage in usages if role in usage]) for role in roles}


def _add(spent: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = "calls", "retries", "cached", "prompt_tokens", "completion_tokens"
    total: dict[str, Any] = {name: sum(one.get(name) or 0 for one in spent) for name in names}
    if priced := [one for one in spent if one.get("cost") is not None]:
        total |= {"cost": sum(one["cost"] for one in priced), "currency": priced[0].get("currency", "")}
    return total


def tell_calls(results: Sequence[Result]) -> list[str]:
    """Say how many calls a command made and, in a line of its own, what runs had made that it only shows again."""
    made, before = (describe_calls([one for one in results if one.reused is reused]) for reused in (False, True))
    lines = [f"calls: {made or '0 made by this command'}"] * bool(made or before)
    return [*lines, f"calls of the runs finished before: {before}"] if before else lines


def tell_reused(results: Sequence[Result]) -> list[str]:
    """Say that runs of a command were finished before, so that nothing was asked for them, and of when they are."""
    runs = [result.run for result in results if result.reused]
    told = f"{len(runs)} of {len(results)} runs were finished before and are shown again"
    return [f"{told}; their answers are of {date_answers(runs)}: --fresh asks anew."] if runs else []


def date_answers(runs: Sequence[RunRecord]) -> str:
    """Say when the answers of finished runs were made, the first of them where a command took kept ones."""
    times = [run.usage.get("llm", {}).get("oldest") or run.started for run in runs]
    return show_time(min(filter(None, times), default="")) or "an unknown time"


def tell_kept(results: Sequence[Result]) -> str:
    """Say how many answers are kept ones, so that a change of what answered is not in them; "" where none is."""
    spent = [one.run.usage["llm"] for one in results if "llm" in one.run.usage and not one.reused]
    kept = sum(one.get("cached", 0) for one in spent)
    total = kept + sum(one.get("calls", 0) for one in spent)
    since = min((one["oldest"] for one in spent if one.get("oldest")), default="")
    told = f"{kept} of {total} answers are kept ones, from {show_time(since)} on; --fresh asks anew"
    return told if kept else ""


def describe_kept(results: Sequence[Result]) -> str:
    """Say whose kept replies were used, and when the oldest was made; "" where none did."""
    places: dict[str, list[str]] = {}
    for run in (result.run for result in results):
        for role, spent in run.usage.items():
            if spent.get("cached") and spent.get("oldest"):
                places.setdefault(run.services.get(role, "here"), []).append(spent["oldest"])
    return "; ".join(f"{place}, oldest of {show_time(min(times))}" for place, times in places.items())

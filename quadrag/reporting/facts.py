"""What a reader must know of runs beside their values: models, data, calls, cost, times."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quadrag.results.run import Run
from quadrag.stats import spread

_ROLES = {"llm": "answers", "entity": "entities"}


def list_facts(results: Sequence[Run]) -> list[tuple[str, str]]:
    """List what a reader must know of runs, by name; what is not known is left out."""

    def join(values: Iterable[str]) -> str:
        return "; ".join(dict.fromkeys(value for value in values if value))

    runs = [result.record for result in results]
    times = spread([seconds for run in runs for seconds in run.latency_seconds.values()])
    rows = [
        ("model", join(run.llm for run in runs)),
        ("model of the entities", join(run.entity["model"] for run in runs if run.entity)),
        ("judge", join(run.judge if run.judge else "none: judged metrics are not run" for run in runs)),
        ("data", join(run.source for run in runs)),
        ("parameters", join(", ".join(f"{k} {v}" for k, v in run.sent.items()) or "none given" for run in runs)),
        ("calls", describe_calls(results)),
        ("cost", describe_cost(results)),
        ("latency", f"median {times['median']} s, 95th percentile {times['p95']} s" if times else ""),
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


def describe_calls(results: Sequence[Run]) -> str:
    """Say how many calls the commands behind runs made last, and how many kept replies were used, and since when."""
    parts = []
    for role, total in _sum_up(results).items():
        tried = f" ({total['retries']} tried again)" if total["retries"] else ""
        since = f", the oldest of {show_time(total['oldest'])}" if total["oldest"] else ""
        name = "" if role == "llm" else f"{role} "
        parts.append(f"{name}{total['calls']} made{tried}, {total['cached']} kept replies used{since}")
    return "; ".join(parts)


def describe_cost(results: Sequence[Run]) -> str:
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


def _sum_up(results: Sequence[Run]) -> dict[str, dict[str, Any]]:
    usages = [result.record.usage for result in results]
    roles = dict.fromkeys(role for usage in usages for role in usage)
    return {role: _add([usage[role] for usage in usages if role in usage]) for role in roles}


def _add(spent: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = "calls", "retries", "cached", "prompt_tokens", "completion_tokens"
    total: dict[str, Any] = {name: sum(one.get(name) or 0 for one in spent) for name in names}
    total["oldest"] = min((one["oldest"] for one in spent if one.get("cached") and one.get("oldest")), default="")
    if priced := [one for one in spent if one.get("cost") is not None]:
        total |= {"cost": sum(one["cost"] for one in priced), "currency": priced[0].get("currency", "")}
    return total


def tell_calls(results: Sequence[Run]) -> list[str]:
    """Say how many calls a command made, how many kept replies it used, and what it spent; [] where nobody is asked."""
    asked = [result for result in results if not result.reused]
    told = {"calls": describe_calls(asked), "tokens": describe_cost(asked)}
    return [f"{name}: {text}" for name, text in told.items() if text]


def tell_reused(results: Sequence[Run]) -> list[str]:
    """Say that runs of a command were finished before, so that nothing was asked for them, and of when they are."""
    runs = [result.record for result in results if result.reused]
    times = [run.usage.get("llm", {}).get("oldest") or run.started for run in runs]
    told = f"{len(runs)} of {len(results)} runs were finished before and are shown again"
    since = show_time(min(filter(None, times), default="an unknown time"))
    return [f"{told}; their answers are of {since}: --fresh asks anew."] if runs else []


def tell_kept(results: Sequence[Run]) -> str:
    """Say how many answers are kept ones, so that a change of what answered is not in them; "" where none is."""
    total = _sum_up([result for result in results if not result.reused]).get("llm", {"cached": 0})
    told = f"{total['cached']} of {total['cached'] + total.get('calls', 0)} answers are kept ones"
    return f"{told}, from {show_time(total['oldest'])} on; --fresh asks anew." if total["cached"] else ""

"""What a reader must know of runs beside their values: models, data, calls, cost, times; and what a run will take."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quadrag.chat.estimate import RULE, Estimate, Stage
from quadrag.results.run import Run
from quadrag.stats import spread
from quadrag.systems.models import JUDGE

from .names import NOTHING
from .table import Cell, Row, Table

_ROLES = {"llm": "answers", "entity": "entities"}
_LENGTHS = (
    "Answers are taken to be as long as the accepted ones, verdicts as a usual one; a model that writes more, or "
    "thinks first, costs more. Where --max-tokens bounds a reply, `at most` has it."
)
_JUDGED = "Where there are no answers yet a judge is asked this often at most: rules may settle some answers."


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
        ("calls", describe_calls([run.usage for run in runs])),
        ("cost", describe_cost([run.usage for run in runs])),
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


Usages = Sequence[Mapping[str, Mapping[str, Any]]]  # what each of several commands spent last, by role


def describe_calls(usages: Usages) -> str:
    """Say how many calls were made, and how many kept replies were used, and since when."""
    parts = []
    for role, total in _usage_by_role(usages).items():
        tried = f" ({total['retries']} tried again)" if total["retries"] else ""
        since = f", the oldest of {show_time(total['oldest'])}" if total["oldest"] else ""
        name = "" if role == "llm" else f"{role} "
        parts.append(f"{name}{total['calls']} made{tried}, {total['cached']} kept replies used{since}")
    return "; ".join(parts)


def describe_cost(usages: Usages) -> str:
    """Say what tokens and money were spent, by stage; "" where no tokens were counted."""
    stages = {_ROLES.get(role, role): total for role, total in _usage_by_role(usages).items()}
    stages = {stage: total for stage, total in stages.items() if total["prompt_tokens"] + total["completion_tokens"]}
    if len(stages) > 1:
        stages["all"] = _add(list(stages.values()))
    parts = []
    for stage, total in stages.items():
        cost = f", cost {total['cost']:.4g} {total['currency']}".rstrip() if "cost" in total else ""
        parts.append(f"{stage} {total['prompt_tokens']:,} in, {total['completion_tokens']:,} out{cost}")
    return "; ".join(parts)


def _usage_by_role(usages: Usages) -> dict[str, dict[str, Any]]:
    roles = dict.fromkeys(role for usage in usages for role in usage)
    return {role: _add([usage[role] for usage in usages if role in usage]) for role in roles}


def _add(spent: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = "calls", "retries", "cached", "prompt_tokens", "completion_tokens"
    total: dict[str, Any] = {name: sum(one.get(name) or 0 for one in spent) for name in names}
    total["oldest"] = min((one["oldest"] for one in spent if one.get("cached") and one.get("oldest")), default="")
    if priced := [one for one in spent if one.get("cost") is not None]:
        total |= {"cost": sum(one["cost"] for one in priced), "currency": priced[0].get("currency", "")}
    return total


def describe_kept(results: Sequence[Run]) -> list[str]:
    """Say what was not asked again, a line each: runs that were finished before, answers that are kept ones."""
    kept = []
    again = [result.record for result in results if result.reused]
    if again:
        times = [run.usage.get("llm", {}).get("oldest") or run.started for run in again]
        since = show_time(min(filter(None, times), default="an unknown time"))
        part = f"{len(again)} of {len(results)} runs were finished before and are shown again"
        kept.append(f"{part}; their answers are of {since}: --fresh asks anew.")
    usages = [result.record.usage for result in results if not result.reused]
    total = _usage_by_role(usages).get("llm", {"cached": 0})
    if total["cached"]:
        part = f"{total['cached']} of {total['cached'] + total['calls']} answers are kept ones"
        kept.append(f"{part}, from {show_time(total['oldest'])} on; --fresh asks anew.")
    return kept


# What a run will take of its models, as it is estimated before.


def tabulate_estimate(estimate: Estimate, currency: str | None) -> Table:
    """Make the table of an estimate; `currency` is that of the prices, None where there are none."""
    stages = estimate.stages
    rows = {f"{one.name}, {one.model}": [one] for one in stages}
    rows |= {"all": stages} if len(stages) > 1 else {}
    lines = [Row(name, _cells(group, currency is not None), rule=name == "all") for name, group in rows.items()]
    asked = {one.name for one in stages if one.calls}
    notes = [
        "calls: to be made; kept: replies that the ledger holds, which cost nothing; out: in the replies.",
        f"Tokens are reckoned: {RULE}.",
        *[_LENGTHS] * bool(asked),
        *[_JUDGED] * (JUDGE in asked),
        *estimate.notes,
        *["No price: --prices FILE names what tokens cost."] * (currency is None),
    ]
    columns = ["calls", "kept", "tokens in", "out", "at most", *([currency, "at most"] if currency is not None else [])]
    return Table("What it will take; no model was asked", "stage", columns, lines, notes)


def _cells(stages: Sequence[Stage], priced: bool) -> list[Cell]:
    counts = [[getattr(one, name) for one in stages] for name in ("calls", "kept", "prompt_tokens", "reply_tokens")]
    counts.append([one.most_tokens for one in stages])
    costs = [[one.cost(n) for one in stages for n in [getattr(one, name)]] for name in ("reply_tokens", "most_tokens")]
    texts = [(values, ",") for values in counts] + [(values, ".4g") for values in costs if priced]
    return [Cell(NOTHING if None in values else f"{sum(values):{form}}") for values, form in texts]


def describe_estimate(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate as a program reads it."""
    stages = []
    for one in estimate.stages:
        cost, most = one.cost(one.reply_tokens), one.cost(one.most_tokens)
        stages.append(
            {
                "stage": one.name,
                "model": one.model,
                "calls": one.calls,
                "kept": one.kept,
                "prompt_tokens": one.prompt_tokens,
                "completion_tokens": one.reply_tokens,
                "most_completion_tokens": one.most_tokens,
                "cost": None if cost is None else float(cost),
                "most_cost": None if most is None else float(most),
            }
        )
    tokens = dict.fromkeys((one.model for one in estimate.stages), f"reckoned, {RULE}")
    return {"stages": stages, "tokens": tokens, **({"notes": estimate.notes} if estimate.notes else {})}

"""What a reader must know of runs beside their values: models, data, calls, cost, times; and what a run will take."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.chat.estimate import Estimate
from quadrag.chat.tokens import RULE
from quadrag.provenance import join
from quadrag.results import NoteCode, Run, Status
from quadrag.results.items import with_pooled
from quadrag.stats import spread
from quadrag.systems.models import JUDGE

from .messages import say, say_invalid
from .notes import note_validity
from .published import list_reasons
from .table import NOTHING, Cell, Row, Table, count_all, count_both
from .tables import spread_samples

_ROLES = {"llm": "answers", "entity": "entities"}
_LENGTHS = (
    "Answers are taken to be as long as the accepted ones, verdicts as a usual one; a model that writes more, or "
    "thinks first, costs more. Where --max-tokens bounds a reply, `at most` has it."
)
_JUDGED = "Where there are no answers yet a judge is asked this often at most: rules may settle some answers."


def list_facts(results: Sequence[Run]) -> list[tuple[str, str]]:
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
        if not total["calls"] and not total["cached"]:
            continue
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
    stages = describe_estimate(estimate)["stages"]
    rows = {f"{stage['stage']}, {stage['model']}": [stage] for stage in stages}
    rows |= {"all": stages} if len(stages) > 1 else {}
    forms = dict.fromkeys(("calls", "kept", "prompt_tokens", "completion_tokens", "most_completion_tokens"), ",")
    forms |= {"cost": ".4g", "most_cost": ".4g"} if currency is not None else {}
    lines = []
    for name, group in rows.items():
        columns = [([stage[part] for stage in group], form) for part, form in forms.items()]
        cells = [Cell(NOTHING if None in values else f"{sum(values):{form}}") for values, form in columns]
        lines.append(Row(name, cells, rule=name == "all"))
    asked = {stage["stage"] for stage in stages if stage["calls"]}
    notes = [
        "calls: to be made; kept: replies that the ledger holds, which cost nothing; out: in the replies.",
        f"Tokens are reckoned: {RULE}.",
        *[_LENGTHS] * bool(asked),
        *[_JUDGED] * (JUDGE in asked),
        *estimate.notes,
        *["No price: --prices FILE names what tokens cost."] * (currency is None),
    ]
    heads = ["calls", "kept", "tokens in", "out", "at most", *([currency, "at most"] if currency is not None else [])]
    return Table("What it will take; no model was asked", "stage", heads, lines, notes)


def describe_estimate(estimate: Estimate) -> dict[str, Any]:
    stages = []
    for stage in estimate.stages:
        cost, most = stage.cost(stage.reply_tokens), stage.cost(stage.most_tokens)
        stages.append(
            {
                "stage": stage.name,
                "model": stage.model,
                "calls": stage.calls,
                "kept": stage.kept,
                "prompt_tokens": stage.prompt_tokens,
                "completion_tokens": stage.reply_tokens,
                "most_completion_tokens": stage.most_tokens,
                "cost": None if cost is None else float(cost),
                "most_cost": None if most is None else float(most),
            }
        )
    tokens = dict.fromkeys((stage.model for stage in estimate.stages), f"reckoned, {RULE}")
    return {"stages": stages, "tokens": tokens, **({"notes": estimate.notes} if estimate.notes else {})}


def describe_results(results: Sequence[Run], profiles: Sequence[str], folder: Path | None) -> dict[str, Any]:
    """Return runs of one benchmark as an object for JSON, values in the metrics' own units, mostly 0 to 1.

    Args:
        results: of the runs.
        profiles: those whose rows are wanted.
        folder: where the runs lie; None of answers that were scored without one.

    Returns:
        ``benchmark``, ``config``, ``name`` (what answered) and ``recipe``, null where runs differ; ``folder``;
        ``valid``, and why not (``invalid``); ``notes``, what stands above a table; what is partial (``stopped``,
        ``coverage``); whose the data are (``provenance``); what keeps the runs from
        their recipe's row (``not_replicated``); and ``rows``, a metric over all questions of a split each, before them
        those over all splits. One that could not be computed says why (``not_run``), one of several samples
        has their spread.
    """
    runs = [result.record for result in results]

    def shared(values: Sequence[str | None]) -> str | None:
        return values[0] if len(set(values)) == 1 else None

    several = len({run.llm for run in runs}) > 1
    reasons = [(name, say(reason)) for name, reason in list_reasons(results, profiles[0])]
    return {
        "benchmark": runs[0].benchmark,
        "config": shared([run.config for run in runs]),
        "name": shared([run.llm for run in runs]),
        "folder": None if folder is None else str(folder),
        "valid": not any(run.find_notes(NoteCode.INVALID) for run in runs),
        "invalid": [f"{run.llm}: {line}" if several else line for run in runs for line in say_invalid(run)],
        "notes": [say(note) for note in note_validity(results)],
        "stopped": next((say(result.stopped) for result in results if result.stopped), None),
        "coverage": next((str(run.coverage) for run in runs if run.coverage), None),
        "provenance": join(run.provenance for run in runs).value,
        "recipe": shared([_name_recipe(result) for result in results]),
        "not_replicated": [f"{name}: {why}" if len({*dict(reasons)}) > 1 else why for name, why in reasons],
        "rows": [row for result in results for row in _rows(result, profiles)],
    }


def _name_recipe(result: Run) -> str | None:
    return result.record.spec.replica.recipe if result.record.spec.replica else None


def _rows(result: Run, profiles: Sequence[str]) -> Iterator[dict[str, Any]]:
    scores = [score for score in result.whole() if score.profile in profiles]
    for score in with_pooled(result, scores, *profiles):
        spread = spread_samples(result, score)
        yield {
            "name": result.record.llm,
            "recipe": _name_recipe(result),
            "retriever": result.record.retriever,
            **{name: getattr(score.key, name) for name in ("config", "split", "metric", "key")},
            **{name: getattr(score, name) for name in ("profile", "value", "interval")},
            "n": count_both(score)[0],
            "n_total": count_all(score),
            "signature": score.signature,
            **({"samples": spread} if spread else {}),
            "valid": score.status is not Status.INVALID,
            **({} if score.ran else {"not_run": score.reason}),
        }

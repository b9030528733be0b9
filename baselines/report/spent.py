"""What models took: in a line, and by stage."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..results.run import Result
from ..tables.cells import NOTHING
from ..tables.grid import Cell, Grid, Line

_ROLES = {"llm": "answers", "entity": "entities"}
_COUNTERS = ("calls", "cached", "prompt_tokens", "completion_tokens")


def _sum_up(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """Return by stage what the commands behind runs spent last; prices are lacking where there were none."""
    usages = [result.run.usage for result in results]
    found: dict[str, dict[str, Any]] = {}
    for role in dict.fromkeys(role for usage in usages for role in usage):
        spent = [usage[role] for usage in usages if role in usage]
        total: dict[str, Any] = {name: sum(one.get(name) or 0 for one in spent) for name in _COUNTERS}
        if priced := [one for one in spent if one.get("cost") is not None]:
            total |= {"cost": sum(one["cost"] for one in priced), "currency": priced[0].get("currency", "")}
        found[_ROLES.get(role, role)] = total
    return found


def _tell(total: Mapping[str, Any]) -> str:
    """Say what was spent, in words; "" where nothing was."""
    if not total["prompt_tokens"] + total["completion_tokens"]:
        return ""
    said = f"{total['prompt_tokens']:,} in, {total['completion_tokens']:,} out"
    return f"{said}; cost {total['cost']:.4g} {total['currency']}".rstrip() if "cost" in total else said


def describe_cost(results: Sequence[Result]) -> str:
    """Say what the commands behind runs spent last; "" where no tokens were counted."""
    stages = list(_sum_up(results).values())
    if not stages:
        return ""
    names = dict.fromkeys(name for stage in stages for name in stage)
    total = {name: sum(one.get(name, 0) for one in stages) for name in names if name != "currency"}
    return _tell(total | {"currency": next((one["currency"] for one in stages if "currency" in one), "")})


def describe_stages(results: Sequence[Result]) -> str:
    """Say the same of each stage."""
    found = {stage: _tell(total) for stage, total in _sum_up(results).items()}
    return "; ".join(f"{stage}: tokens {told}" for stage, told in found.items() if told)


def tabulate_cost(results: Sequence[Result]) -> Grid:
    """Make the table of what was spent by stage."""
    stages = _sum_up(results)
    currency = next((one["currency"] or "cost" for one in stages.values() if "currency" in one), None)
    columns = ["calls", "kept", "tokens in", "out"]
    lines = []
    for stage, total in stages.items():
        cells = [Cell(f"{total[name]:,}") for name in _COUNTERS]
        if currency:
            cells.append(Cell(f"{total['cost']:.4g}" if "cost" in total else NOTHING))
        lines.append(Line(stage, cells))
    notes = ["kept: replies that the ledger held."]
    return Grid("Spent by stage", "stage", [*columns, *([currency] if currency else [])], lines, notes)

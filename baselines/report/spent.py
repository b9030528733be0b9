"""What models took, and what kept replies saved: in a line, and by stage."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.result import Result
from ..tables.cells import NOTHING
from ..tables.grid import Cell, Grid, Line

_ROLES = {"llm": "answers", "entity": "entities"}
_COUNTERS = ("calls", "cached", "prompt_tokens", "completion_tokens", "saved_prompt_tokens", "saved_completion_tokens")


def count_kept(spent: Mapping[str, Any]) -> int:
    """Count the kept replies that were used, of a model behind a server those from before the command."""
    return int(spent.get("earlier", spent.get("cached", 0)))


def _sum_up(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """Return by stage what the commands behind runs spent last; prices are lacking where there were none."""
    usages = [result.run.usage for result in results]
    found: dict[str, dict[str, Any]] = {}
    for role in dict.fromkeys(role for usage in usages for role in usage):
        spent = [usage[role] for usage in usages if role in usage]
        total: dict[str, Any] = {name: sum(one.get(name) or 0 for one in spent) for name in _COUNTERS}
        total["kept"] = sum(map(count_kept, spent))
        priced = [one for one in spent if one.get("cost") is not None]
        if priced:
            total |= {name: sum(one.get(name) or 0 for one in priced) for name in ("cost", "saved_cost")}
            total["currency"] = priced[0].get("currency", "")
        found[_ROLES.get(role, role)] = total
    return found


def _tell(total: dict[str, Any]) -> str:
    """Say what was spent and saved, in words; "" where nothing was."""
    spent, saved = ([total[f"{prefix}{side}_tokens"] for side in ("prompt", "completion")] for prefix in ("", "saved_"))
    if not any(spent + saved):
        return ""
    parts = ["{:,} in, {:,} out".format(*spent)]
    if "cost" in total:
        parts.append(f"cost {total['cost']:.4g} {total['currency']}".rstrip())
    if any(saved):
        kept = f"{total['saved_cost']:.4g} {total['currency']}".rstrip() if "cost" in total else f"{sum(saved):,}"
        parts.append(f"{'the ledger' if total['kept'] else 'asking once'} saved {kept}")
    return "; ".join(parts)


def describe_cost(results: Sequence[Result]) -> str:
    """Say what the commands behind runs spent last, and what the ledger saved; "" where no tokens were counted."""
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
    columns = ["calls", "kept", "tokens in", "out", "saved in", "out"]
    lines = []
    for stage, total in stages.items():
        cells = [Cell(f"{total[name]:,}") for name in _COUNTERS]
        for name in ("cost", "saved_cost") if currency else ():
            cells.append(Cell(f"{total[name]:.4g}" if name in total else NOTHING))
        lines.append(Line(stage, cells))
    notes = ["kept: replies that the ledger held; saved: what these would have taken."]
    return Grid("Spent by stage", "stage", [*columns, *([currency, "saved"] if currency else [])], lines, notes)

"""What a run will take of its models, as it is estimated before, by stage and model."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from quadrag.chat.estimate import Estimate, Stage

from ..systems.estimated import JUDGE
from ..tables.cells import NOTHING
from ..tables.grid import Cell, Grid, Line
from ..tables.names import keep_name

_LENGTHS = (
    "Answers are taken to be as long as the accepted ones, verdicts as a usual one; a model that writes more, or "
    "thinks first, costs more. Where --max-tokens bounds a reply, `at most` has it."
)
_JUDGED = "Where there are no answers yet a judge is asked this often at most: rules may settle some answers."


def tabulate_estimate(estimate: Estimate, currency: str | None) -> Grid:
    """Make the table of an estimate; `currency` is that of the prices, None where there are none."""
    stages = estimate.stages
    columns = ["calls", "kept", "tokens in", "out", "at most", *([currency, "at most"] if currency else [])]
    lines = [Line(f"{one.name}, {keep_name(one.model)}", _estimate_cells([one], bool(currency))) for one in stages]
    if len(stages) > 1:
        lines.append(Line("all", _estimate_cells(stages, bool(currency)), rule=True))
    title = "What it will take; no model was asked"
    notes = ["calls: to be made; kept: replies that the ledger holds, which cost nothing; out: in the replies."]
    for how in dict.fromkeys(estimate.how.values()):
        models = ", ".join(keep_name(one) for one in estimate.how if estimate.how[one] == how)
        notes.append(f"Tokens of {models}: {how}.")
    asked = {one.name for one in stages if one.calls}
    notes += [_LENGTHS] if asked else []
    notes += [_JUDGED] if JUDGE in asked else []
    notes += estimate.notes
    if currency is None:
        notes.append("No price: --prices FILE names what tokens cost.")
    return Grid(title, "stage", columns, lines, notes)


def describe_estimate(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate as a program reads it."""
    return {
        "stages": [
            {
                "stage": one.name,
                "model": one.model,
                "calls": one.calls,
                "kept": one.kept,
                "prompt_tokens": one.prompt_tokens,
                "completion_tokens": one.reply_tokens,
                "most_completion_tokens": one.most_tokens,
                "cost": _plain(one.cost(one.reply_tokens)),
                "most_cost": _plain(one.cost(one.most_tokens)),
            }
            for one in estimate.stages
        ],
        "tokens": dict(estimate.how),
        **({"notes": estimate.notes} if estimate.notes else {}),
    }


def _plain(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)


def _estimate_cells(stages: Sequence[Stage], priced: bool) -> list[Cell]:
    numbers = [sum(one.calls for one in stages), sum(one.kept for one in stages)]
    numbers += [sum(one.prompt_tokens for one in stages), sum(one.reply_tokens for one in stages)]
    most = [one.most_tokens for one in stages]
    cells = [Cell(f"{number:,}") for number in numbers] + [_cell(most, ",")]
    if priced:
        cells += [_cell([one.cost(one.reply_tokens) for one in stages], ".4g")]
        cells += [_cell([one.cost(one.most_tokens) for one in stages], ".4g")]
    return cells


def _cell(values: Sequence[Any], form: str) -> Cell:
    """Make the cell of a sum, of which one part may not be known."""
    return Cell(NOTHING if None in values else f"{sum(values):{form}}")

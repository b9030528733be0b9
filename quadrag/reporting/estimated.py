"""What a run will take of its models, as it is estimated before, by stage and model."""

from collections.abc import Sequence
from typing import Any

from quadrag.chat.estimate import RULE, Estimate, Stage
from quadrag.systems.estimated import JUDGE

from .cells import NOTHING
from .table import Cell, Row, Table

_LENGTHS = (
    "Answers are taken to be as long as the accepted ones, verdicts as a usual one; a model that writes more, or "
    "thinks first, costs more. Where --max-tokens bounds a reply, `at most` has it."
)
_JUDGED = "Where there are no answers yet a judge is asked this often at most: rules may settle some answers."


def tabulate_estimate(estimate: Estimate, currency: str | None) -> Table:
    """Make the table of an estimate; `currency` is that of the prices, None where there are none."""
    stages = estimate.stages
    rows = {f"{one.name}, {one.model}": [one] for one in stages}
    rows |= {"all": stages} if len(stages) > 1 else {}
    lines = [Row(name, _cells(group, currency is not None), rule=name == "all") for name, group in rows.items()]
    notes = ["calls: to be made; kept: replies that the ledger holds, which cost nothing; out: in the replies."]
    notes.append(f"Tokens are reckoned: {RULE}.")
    asked = {one.name for one in stages if one.calls}
    notes += [_LENGTHS] * bool(asked) + [_JUDGED] * (JUDGE in asked) + estimate.notes
    notes += ["No price: --prices FILE names what tokens cost."] * (currency is None)
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

    def price(stage: Stage, tokens: int | None) -> float | None:
        cost = stage.cost(tokens)
        return None if cost is None else float(cost)

    stages = [
        {
            "stage": one.name,
            "model": one.model,
            "calls": one.calls,
            "kept": one.kept,
            "prompt_tokens": one.prompt_tokens,
            "completion_tokens": one.reply_tokens,
            "most_completion_tokens": one.most_tokens,
            "cost": price(one, one.reply_tokens),
            "most_cost": price(one, one.most_tokens),
        }
        for one in estimate.stages
    ]
    tokens = dict.fromkeys((one.model for one in estimate.stages), f"reckoned, {RULE}")
    return {"stages": stages, "tokens": tokens, **({"notes": estimate.notes} if estimate.notes else {})}

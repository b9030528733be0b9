"""Fields of a request that not every server or model takes: found out once, left out, told.

One short question is asked, with the fields that a run is to send. Its reply is kept in the ledger under what was sent:
so a resumed run and a replay leave out what the first one did, and ask nothing. A server that takes a field and does
nothing with it looks like one that uses it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

from quadrag.chat.prices import BudgetReached
from quadrag.progress import say

if TYPE_CHECKING:
    from quadrag.chat.client import ChatClient

_BEYOND = ("top_k", "repetition_penalty", "stop")
_OPTIONAL = (*_BEYOND, "seed")
_REFUSALS = (400, 422)
_QUESTION = [{"role": "user", "content": "1 + 1 = ?"}]


def leave_out_refused(client: ChatClient, ask: bool = True) -> None:
    """Take those fields out of a client's parameters that its server refuses, and say so in one line.

    Without `ask` only what the ledger knows of it counts.

    Raises:
        QuadragError: the server is dead, or refuses the question for another reason.
    """
    whole = client.parameters
    optional = [name for name in _OPTIONAL if name in whole]
    if not set(optional) & set(_BEYOND):
        return
    left, why = _look_up(client, optional), "it was refused before"
    if left is None and ask and not client.calling.replay:
        left, why = _find_out(client, optional)
    if left:
        client.parameters = {name: value for name, value in whole.items() if name not in left}
        say(f"{', '.join(left)}: left out, {why}")


def _look_up(client: ChatClient, optional: Sequence[str]) -> list[str] | None:
    """Return what was left out when the question was asked before; None where the ledger does not know."""
    every = chain.from_iterable(combinations(optional, count) for count in range(len(optional) + 1))
    for left in every:
        if client.is_kept(_QUESTION, _short(client.parameters, left)):
            return list(left)
    return None


def _find_out(client: ChatClient, optional: Sequence[str]) -> tuple[list[str], str]:
    """Ask the question until nothing of it is refused; return what was left out, and what the server said last."""
    from quadrag.chat.faults import DeadServer

    whole, left, why = client.parameters, list[str](), ""
    try:
        while True:
            client.parameters = _short(whole, left)
            try:
                client.complete([_QUESTION])
            except DeadServer as dead:
                fault = dead.fault
                named = [name for name in optional if name not in left and re.search(rf"\b{name}\b", fault.detail)]
                if fault.status not in _REFUSALS or not named:
                    raise
                left, why = [*left, *named], fault.detail
            else:
                return left, why
    except BudgetReached:  # the run's own first question says it
        return [], ""
    finally:
        client.parameters = whole


def _short(parameters: Mapping[str, Any], left: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of the question: those of the run, for an answer of one token."""
    return {name: value for name, value in parameters.items() if name not in left} | {"max_tokens": 1}

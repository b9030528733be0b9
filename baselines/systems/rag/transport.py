"""How a RAG service is asked: a plain POST in place of a chat completion, and replies read by its contract.

A reply is read before it is kept, so that the ledger holds none that cannot be; what is kept is the whole of it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quadrag.chat.faults import Fault, explain_dead_server, explain_faults, worst_fault
from quadrag.chat.http import Server, Transport, post_json
from quadrag.chat.keys import KEY_VARIABLES, Keys
from quadrag.chat.prices import Rate
from quadrag.chat.reply import Failure, Outcome, Reply, Row
from quadrag.chat.spec import Spec
from quadrag.errors import QuadragError
from quadrag.reading import Unreadable

from .reply import UNREADABLE, NoAnswer, Served, read_reply

_FORMS = {
    "json": 'expected {"answer": "...", "passages": [...]}, see docs/own-system.md',
    "openai": "expected a chat completion",
}
OTHER_FORM = {
    "json": "a model's or a service's chat endpoint is typed as --rag http://HOST:PORT/v1#MODEL",
    "openai": "a service of the JSON form is typed with its whole address, as --rag http://HOST:PORT/rag",
}
_SENT = {
    "json": 'a JSON object with "id", "question", "benchmark", "config", "split", "language"',
    "openai": "a chat completion request without a stream",
}


class RagTransport(Transport):
    """Calls of a service by one contract: a call's messages are its request's body, and what else is in the key."""

    timeout_option = "--rag-timeout"
    timeout = 300.0  # a service searches, ranks and writes
    unsent = ("contract", "body")
    stalls = 1  # its time is long, and who hangs on a question once mostly does so again

    def __init__(self, contract: str) -> None:
        """Take the contract: ``json`` or ``openai``."""
        self.contract = contract

    def find_keys(self, spec: Spec) -> Keys:
        """Return the key to send and what to hide; a service of the JSON contract is sent `QUADRAG_API_KEY` alone."""
        keys = super().find_keys(spec)
        if self.contract == "json" and keys.variable != KEY_VARIABLES[0]:
            # A token for the Hub or a model's provider is none of this service's business.
            return replace(keys, value=None, variable=None)
        return keys

    async def attempt(
        self, session: Any, server: Server, messages: Sequence[Mapping[str, Any]], model: str, body: dict[str, Any]
    ) -> Row:
        """Make one attempt; see `Transport.attempt`.

        Returns:
            The ledger's row: ``reply`` (all of it) and ``usage``.
        """
        reply = await self._post(session, server, {**messages[0], **body})
        return {"reply": reply, "usage": read_reply(self.contract, reply)["usage"]}

    async def _post(self, session: Any, server: Server, body: Mapping[str, Any]) -> Any:
        content = await post_json(session, server, server.address, body)
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            shown = server.keys.line(content.decode("utf-8", "replace"))[:80]
            fault = "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"no JSON ({shown!r})"
            detail = f"{server.shown}: the reply is {fault}; {_FORMS[self.contract]}"
            # It has answered: neither to start it nor another address is the remedy, but the form that is expected.
            raise Fault(detail, status=200, billed=True) from None

    def said(self, row: Row) -> str:
        """Return what a service said; see `Transport.said`."""
        return json.dumps(row["reply"], ensure_ascii=False)

    def read_fault(self, error: Exception, server: Server, seconds: float) -> Fault:
        """Read what an attempt raised; see `Transport.read_fault`."""
        line = server.keys.line
        if isinstance(error, Unreadable):
            # Another attempt would bring the same; with a status, it tells nothing of a service that has answered.
            detail = f"{UNREADABLE} ({server.shown}): {error}; {_FORMS[self.contract]}"
            return Fault(line(detail), status=200, retry=False, billed=True)
        if isinstance(error, NoAnswer):
            status = None if error.retry else 200
            return Fault(line(f"{server.shown}: {error}"), status=status, retry=error.retry, billed=True)
        return super().read_fault(error, server, seconds)

    async def explain_dead(
        self, faults: Sequence[Fault], model: str, keys: Keys, list_models: Callable[[], Awaitable[list[str]]]
    ) -> QuadragError:
        """Return the error for a service of which nothing came but faults: it says what a service wants."""
        fault = worst_fault(faults)
        if fault.status is None or fault.status >= 500:
            return explain_dead_server(faults, model, [], keys, self.timeout_option)
        wants = _FORMS[self.contract]
        if fault.status in (401, 403):
            wants = keys.explain_refusal(KEY_VARIABLES[0])
        elif fault.status in (404, 405):
            wants = f"correct the address, which is asked as it stands; {OTHER_FORM[self.contract]}"
        elif fault.detail.startswith(UNREADABLE):  # which says already what is expected
            wants = OTHER_FORM[self.contract]
        elif fault.status >= 400:
            wants = f"it was sent {_SENT[self.contract]}; {OTHER_FORM[self.contract]}"
        return explain_faults(faults, "" if wants in fault.detail else wants)

    def read_outcome(self, outcome: Outcome, cached: bool, rate: Rate | None) -> Reply | Failure:
        """Return a `Served`, or why there is none; see `Transport.read_outcome`."""
        if isinstance(outcome, str):
            return Failure("unparsable" if outcome.startswith(UNREADABLE) else "api_error", outcome)
        read = read_reply(self.contract, outcome["reply"])
        if read["finish_reason"] == "length" and not read["text"]:
            return Failure("truncated", "the reply was cut before the answer began; raise max_tokens")
        return Served(**read, cached=cached, latency=outcome["latency"], cost=None)

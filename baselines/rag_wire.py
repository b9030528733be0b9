"""How a RAG service is reached: the chat client's dispatcher, with a plain POST in place of a chat completion.

Retries, pauses, rests, group commit and finding a server dead are `quadrag.dispatch`'s and `quadrag.wire`'s work. A
reply is read before it is kept, so that the ledger holds none that cannot be; what is kept is the whole of it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from huggingface_hub import get_async_session

from quadrag.dispatch import Dispatcher
from quadrag.engine import Engine
from quadrag.errors import QuadragError
from quadrag.faults import Fault, dead_server
from quadrag.ledger import Ledger
from quadrag.spec import Keys, Spec
from quadrag.wire import Endpoint, Wire, within

from .rag_reply import UNREADABLE, NoAnswer, Unreadable, read_reply

_FORMS = {
    "json": 'expected {"answer": "...", "passages": [...]}, see --rag in the README',
    "openai": "expected a chat completion",
}


_SENT = {
    "json": 'a JSON object with "id", "question", "benchmark", "config", "split", "language"',
    "openai": "a chat completion request without a stream",
}


class _Client:
    """A connection pool as `Wire` closes it."""

    def __init__(self) -> None:
        self.session = get_async_session()
        # HF_HUB_OFFLINE speaks of the Hub, but its hook stops calls to a server on this machine as well.
        self.session.event_hooks = {}

    async def close(self) -> None:
        await self.session.aclose()


class RagWire(Wire):
    """The way to a service; a call's messages are its request's body, and what else is in the key."""

    def __init__(self, spec: Spec, keys: Keys, timeout: float, contract: str) -> None:
        """Prepare the way; see `Wire`."""
        super().__init__(spec, keys, timeout)
        self.contract = contract

    def client(self, endpoint: Endpoint) -> _Client:
        """Open a connection pool; see `Wire.client`."""
        return _Client()

    async def attempt(
        self, client: Any, endpoint: Endpoint, messages: Sequence[Mapping[str, Any]], model: str, body: dict[str, Any]
    ) -> dict[str, Any]:
        """Make one attempt; see `Wire.attempt`.

        Returns:
            The ledger's row: ``reply`` (all of it, keys hidden), ``usage``, ``latency`` (seconds), ``created``.
        """
        started = time.perf_counter()
        reply = await within(self.timeout, self._post(client.session, endpoint, messages[0]))
        latency = time.perf_counter() - started
        usage = read_reply(self.contract, reply)["usage"]
        return {"reply": reply, "usage": usage, "latency": round(latency, 6), "created": round(time.time(), 3)}

    async def _post(self, session: Any, endpoint: Endpoint, body: Mapping[str, Any]) -> Any:
        headers = {"content-type": "application/json"}
        if self.keys.value:
            headers["authorization"] = f"Bearer {self.keys.value}"
        response = await session.post(
            endpoint.url,
            content=json.dumps(body, ensure_ascii=False).encode(),
            headers=headers,
            timeout=self.limits,
        )
        response.raise_for_status()
        content: bytes = response.content
        if any(secret.encode() in content for secret in self.keys.secrets):
            content = self.keys.hide(content.decode("utf-8", "replace")).encode()
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            shown = content[:80].decode("utf-8", "replace")
            detail = f"{endpoint.shown}: the reply is no JSON ({shown!r}); {_FORMS[self.contract]}"
            raise Fault(self.keys.line(detail), billed=True) from None

    def fault(self, error: Exception, endpoint: Endpoint) -> Fault:
        """Read what an attempt raised; see `Wire.fault`."""
        if isinstance(error, Fault):
            return error
        if isinstance(error, Unreadable):
            # Another attempt would bring the same; with a status, it tells nothing of a service that has answered.
            detail = f"{UNREADABLE} ({endpoint.shown}): {error}; {_FORMS[self.contract]}"
            return Fault(self.keys.line(detail), status=200, retry=False, billed=True)
        if isinstance(error, NoAnswer):
            status = None if error.retry else 200
            return Fault(self.keys.line(f"{endpoint.shown}: {error}"), status=status, retry=error.retry, billed=True)
        return super().fault(error, endpoint)


class _RagDispatcher(Dispatcher):
    """A dispatcher that says of a dead service what a service wants."""

    async def _dead(self, faults: list[Fault]) -> QuadragError:
        wire = cast(RagWire, self.wire)
        fault = max(faults, key=lambda one: (one.status is not None and not one.retry, one.status or 0))
        if fault.status is None or fault.status >= 500:
            return dead_server(faults, self.model, [], wire.keys)
        wants = _FORMS[wire.contract]
        if fault.status in (401, 403):
            had = f"the key in {wire.keys.variable} is refused" if wire.keys.value else "it was asked without a key"
            wants = f"{had}; set QUADRAG_API_KEY to a valid one"
        elif fault.status in (404, 405):
            wants = f"correct the address, which is asked as it stands (POST, {wire.contract} contract)"
        elif fault.status >= 400:
            wants = f"it was sent {_SENT[wire.contract]}"
        count = f"the first {len(faults)} calls all failed" if len(faults) > 1 else "the first call failed"
        return QuadragError(f"{count}: {fault.detail}" + ("" if wants in fault.detail else f"; {wants}"))


class RagEngine(Engine):
    """The running side of a RAG service's client."""

    def __init__(self, spec: Spec, keys: Keys, timeout: float, contract: str) -> None:
        """Start the loop; no connection is opened."""
        super().__init__(spec, keys, timeout, RagWire(spec, keys, timeout, contract))

    def start(self, model: str, parameters: Mapping[str, Any], ledger: Ledger | None, spent: dict[str, Any]) -> None:
        """Bind the engine to a service; see `Dispatcher`."""
        self.dispatcher = _RagDispatcher(self.wire, model, parameters, ledger, spent)

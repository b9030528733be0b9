"""How a chat completion is asked of a server, and what comes of it.

`Transport` is all of the chat client that knows the form of requests and replies. A service of another form is a
subclass of it that `ChatClient` is given. Choosing servers, retries, budget and ledger are the work of others.
Importing this file loads no network code.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quadrag.chat.keys import Keys, find_keys
from quadrag.chat.prices import Rate
from quadrag.chat.reply import CUT, EMPTY, Failure, Outcome, Reply, Row, read_completion, read_row
from quadrag.chat.server import Server
from quadrag.chat.spec import Spec, page_url
from quadrag.errors import QuadragError

if TYPE_CHECKING:
    from huggingface_hub import ChatCompletionOutput

    from quadrag.chat.faults import Fault


class Transport:
    """Chat completions over `huggingface_hub.AsyncInferenceClient`."""

    timeout_option = "--timeout"
    timeout = 120.0  # seconds, where the user names none
    stalls = 1_000  # new attempts of a call that got no reply in time, of those that any other has too
    page = "/chat/completions"
    form = "a chat completion"
    unsent: tuple[str, ...] = ()  # parameters that stand in keys and are no fields of the request

    def find_keys(self, spec: Spec) -> Keys:
        """Return the key to send and what to hide; see `quadrag.chat.keys.find_keys`."""
        return find_keys(spec)

    def compose(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return a call's messages as they are sent, and as they stand in its key."""
        return [dict(message) for message in messages]

    def open_client(self, server: Server) -> Any:
        """Open a client of a server; it has a coroutine `close`."""
        from huggingface_hub import AsyncInferenceClient

        limits: Any = server.connect_limits
        if server.url is None:
            return AsyncInferenceClient(provider="auto", token=server.keys.value, timeout=limits)
        # A header of None keeps the client from sending a saved Hub login to any server.
        headers: Any = {"authorization": None, **server.headers}
        return AsyncInferenceClient(
            base_url=page_url(server.address, "chat/completions"), timeout=limits, headers=headers
        )

    async def attempt(
        self, client: Any, server: Server, messages: Sequence[Mapping[str, Any]], model: str, body: dict[str, Any]
    ) -> Row:
        """Make one attempt by a client of `open_client`; `Wire.ask` bounds its time and says what the rest is.

        Returns:
            The ledger's row, with ``usage`` at least.

        Raises:
            Exception: there is no reply that can be read; `read_fault` says why.
        """
        if client._async_client is None:
            from quadrag.chat.network.guard import guard

            guard(await client._get_async_client(), server, _without_nan)
        output: ChatCompletionOutput = await client.chat_completion(messages, model=model, extra_body=body)
        return read_completion(output)

    def said(self, row: Row) -> str:
        """Return what a server said in a reply, in which it may have repeated a secret."""
        return f"{row['text']}\n{row['reasoning']}"

    def read_fault(self, error: Exception, server: Server, seconds: float) -> Fault:
        """Read what an attempt raised that was given so many seconds."""
        from quadrag.chat.faults import read_fault

        return read_fault(error, server.shown, seconds, server.keys, server.url is None, self.form)

    async def explain_dead(
        self, faults: Sequence[Fault], model: str, keys: Keys, list_models: Callable[[], Awaitable[list[str]]]
    ) -> QuadragError:
        """Return the error for servers of which nothing came but faults."""
        from quadrag.chat.faults import Fault, explain_dead_server

        served: list[str] | Fault = []
        if any(fault.status == 404 for fault in faults):
            try:
                served = await list_models()
            except Fault as unlisted:
                served = unlisted
        return explain_dead_server(faults, model, served, keys, self.timeout_option, self.page)

    def read_outcome(self, outcome: Outcome, cached: bool, rate: Rate | None) -> Reply | Failure:
        """Make of a ledger row, or of the line why there is none, what callers get."""
        if isinstance(outcome, str):
            return Failure("api_error", outcome)
        usage = outcome["usage"]
        cost = 0.0 if cached else None
        if cost is None and rate is not None and usage is not None:
            cost = float(rate.cost(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)))
        return read_row(outcome, cached, cost)

    def kind_of(self, row: Row) -> str | None:
        """Tell whether a reply was cut, or is empty."""
        result = self.read_outcome(row, True, None)
        if isinstance(result, Failure) or result.finish_reason == "length":
            return CUT
        return None if result.text.strip() else EMPTY


def open_session(server: Server) -> Any:
    """Open a connection pool of the HTTP library itself, for what the inference client has no call for."""
    from huggingface_hub import get_async_session

    from quadrag.chat.network.guard import guard

    session = guard(get_async_session(), server)
    session.close = session.aclose
    return session


async def post_json(session: Any, server: Server, address: str, body: Any) -> bytes:
    """Send JSON by a session of `open_session`, with the server's key; return the body of a good reply.

    Raises:
        Exception: there is no good reply; `Transport.read_fault` says why.
    """
    headers = {"content-type": "application/json", **server.headers}
    sent = json.dumps(body, ensure_ascii=False).encode()
    response = await session.post(address, content=sent, headers=headers, timeout=server.connect_limits)
    content: bytes = response.content
    return content


def _without_nan(content: bytes) -> bytes:
    """Return a reply's JSON with null for NaN, on which the inference client's own parser goes round for ever."""
    if b"NaN" not in content:
        return content
    try:
        return json.dumps(json.loads(content, parse_constant=lambda _: None)).encode()
    except (ValueError, RecursionError):
        return content

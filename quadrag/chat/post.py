"""A plain POST of JSON over a guarded session, for what the inference client has no call for."""

import json
from typing import Any

from quadrag.chat.guard import guard
from quadrag.chat.server import Server


def open_session(server: Server) -> Any:
    """Open a connection pool; it has a coroutine `close`."""
    from huggingface_hub import get_async_session

    session = guard(get_async_session(), server)
    session.close = session.aclose
    return session


async def post(session: Any, server: Server, address: str, body: Any) -> bytes:
    """Send JSON, with the server's key; return the body of a good reply.

    Raises:
        Exception: there is no good reply; `quadrag.chat.faults.read_fault` says why.
    """
    headers = {"content-type": "application/json"}
    if server.authorization:
        headers["authorization"] = server.authorization
    sent = json.dumps(body, ensure_ascii=False).encode()
    response = await session.post(address, content=sent, headers=headers, timeout=server.connect_limits)
    content: bytes = response.content
    return content

"""What is plain is answered before FastAPI looks at it, which takes longer than most functions do.

Plain is a body that came whole, is said to be JSON and is of the right form. Whatever else comes FastAPI gets, as if
nothing had been read of it, and refuses it in its own words.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from quadrag.kg.server.refusing import LONGEST, Receive

if TYPE_CHECKING:
    from pydantic import BaseModel

Plain = Mapping[str, tuple["type[BaseModel]", Callable[[Any], Awaitable[Any]]]]
_JSON = [b"application/json"]


class Shortcut:
    """A layer of the application, its outermost."""

    def __init__(self, app: Any, plain: Plain) -> None:
        """Take the application within, and by path the model of a body with what responds to it."""
        self._inner, self._plain = app, plain

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Any) -> None:
        """Answer a request, or hand it on."""
        route = self._plain.get(scope["path"]) if scope.get("method") == "POST" else None
        if route is None or [value for name, value in scope["headers"] if name == b"content-type"] != _JSON:
            await self._inner(scope, receive, send)
            return
        model, respond = route
        first = await receive()
        read = [first]

        async def again() -> dict[str, Any]:
            return read.pop() if read else await receive()

        sent = first.get("body", b"")
        if not first.get("more_body") and len(sent) <= LONGEST:
            body = None
            with suppress(ValueError, RecursionError):  # pydantic's errors are such
                body = model.model_validate(json.loads(sent))
            if body is not None:
                await (await respond(body))(scope, again, send)
                return
        await self._inner(scope, again, send)

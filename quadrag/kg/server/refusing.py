"""What the knowledge graph's server refuses: bodies that are too long, and wrong ones, whatever is in them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from quadrag.kg.server.answers import dump

if TYPE_CHECKING:
    from fastapi import FastAPI

LONGEST = 1_000_000  # bytes of a body; what a function takes is a name
Receive = Callable[[], Awaitable[dict[str, Any]]]


class _Bounded:
    """A layer of the application that stops reading a body where it passes `LONGEST`."""

    def __init__(self, app: Any) -> None:
        self._inner = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Any) -> None:
        from fastapi import HTTPException

        read = 0

        async def bounded() -> dict[str, Any]:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > LONGEST:
                raise HTTPException(413, f"a body may have {LONGEST} bytes")
            return message

        await self._inner(scope, bounded, send)


def refuse(application: FastAPI) -> None:
    """Let an application answer 413 to a body that is too long, and 422 to every wrong one."""
    from fastapi import Response
    from fastapi.encoders import jsonable_encoder
    from fastapi.exceptions import RequestValidationError

    # FastAPI's own words repeat the body, and fail where NaN is in it.
    async def explain(_: Any, error: Any) -> Response:
        return Response(dump({"detail": jsonable_encoder(error.errors())}), 422, media_type="application/json")

    application.add_exception_handler(RequestValidationError, explain)
    application.add_middleware(_Bounded)

"""`quadrag kg serve`: a built graph, the application around it, and an address to listen at."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from pathlib import Path

from quadrag.errors import QuadragError
from quadrag.kg.clock import at
from quadrag.kg.graph import Graph
from quadrag.kg.seal import check
from quadrag.kg.server.app import app, needed


def serve(
    path: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    query_time: str | None = None,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a built knowledge graph until the process is told to stop: what is behind ``quadrag kg serve``.

    Args:
        path: the file that ``quadrag kg build`` wrote.
        host: address to listen at.
        port: port to listen at; 0 takes a free one. 8000 is that of upstream's clients.
        query_time: hide what is later (see `quadrag.kg.clock`); None hides nothing, as upstream.
        ready: called with the server's address once it listens.

    Raises:
        QuadragError: FastAPI or uvicorn is not installed, the file is no knowledge graph, or the address is taken.
    """
    uvicorn = needed("uvicorn")
    graph = Graph(path)
    check(graph.path)
    application = app(at(graph, query_time) if query_time is not None else graph)
    config = uvicorn.Config(application, log_level="warning", access_log=False)
    listening = _listen(host, port)
    ready(f"http://{host}:{listening.getsockname()[1]}")
    # Ctrl-C is how a server is stopped, not an interruption of it.
    with listening, contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; uvicorn would end the process where it cannot have the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off, which would hold up small answers by 40 ms, only where TCP is named.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise QuadragError(f"cannot listen at {host}:{port}: {reason}; choose another address or port") from None
    return listening

"""Small servers of one test: a thread that serves for as long as it is wanted, and a handler that writes no log."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any


class Quiet(BaseHTTPRequestHandler):
    """A handler that does not tell stderr of every request."""

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(server: HTTPServer) -> Iterator[str]:
    with server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()

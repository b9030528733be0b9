"""Small servers of one test: a thread that serves for as long as it is wanted, and a handler that writes no log."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, Self


class Quiet(BaseHTTPRequestHandler):
    """A handler that does not tell stderr of every request."""

    disable_nagle_algorithm = True  # or each reply waits 40 ms

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(server: HTTPServer) -> Iterator[str]:
    with server:
        server.socket.listen(128)  # of five that wait, as is usual, the sixth would try again after a second
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class LoopServer:
    """A server of asyncio in a thread of this process, from `listen`; `stop` cuts its connections."""

    port = 0

    async def listen(self) -> asyncio.base_events.Server:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self.listen(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._loop.is_closed():
            return

        async def down() -> None:
            self._server.close()
            for transport in list(getattr(self._loop, "_transports", {}).values()):
                transport.abort()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(down(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

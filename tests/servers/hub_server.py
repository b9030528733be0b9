"""One model repository on this machine, served as the Hub serves one: what a loader asks of it, and nothing else."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@contextmanager
def hub_serving(folder: Path, name: str, commit: str) -> Iterator[str]:
    """Serve a folder as the repository `name` at one commit, and yield what HF_ENDPOINT is to be."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path in (f"/api/models/{name}", f"/api/models/{name}/revision/{commit}"):
                self._send(200, json.dumps({"id": name, "sha": commit, "siblings": []}).encode())
            elif path.startswith(f"/api/models/{name}/revision/"):
                self._send(404, b"{}", "RevisionNotFound")
            elif path.startswith(f"/api/models/{name}/tree/"):
                self._send(404, b"{}", "EntryNotFound")
            elif path.startswith(f"/{name}/resolve/"):
                file = folder / path.removeprefix(f"/{name}/resolve/").partition("/")[2]
                if file.is_file():
                    self._send(200, file.read_bytes())
                else:
                    self._send(404, b"", "EntryNotFound")
            else:
                self._send(404, b"{}", "RepoNotFound")

        do_HEAD = do_GET

        def _send(self, code: int, body: bytes, error: str | None = None) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Repo-Commit", commit)
            self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
            if error is not None:
                self.send_header("X-Error-Code", error)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()

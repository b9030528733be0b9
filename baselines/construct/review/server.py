"""A page on this machine for one or several annotators: a question at a time, a grade, at grade 3 a correction.

Served by the standard library to this machine alone. The page's own script and style are all that runs; what a model
or a document says only ever becomes text. A grade is on the disk before the page hears that it was taken, and the page
keeps nothing: read again, it shows what is on record. Other pages cannot reach it: what is asked under another host's
name is refused, and so is a grade that is no JSON or comes from elsewhere. Gradio would do the same in an environment
of its own, with inline scripts and with fonts from another host, which the policy of this page forbids.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import yaml

from quadrag.errors import QuadragError

from ...tables.language import speak
from .grades import GRADES, check_annotator, give_grade, read_grades
from .items import Item, Review, as_text

HERE = Path(__file__).parent
_FILES = {
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_LONGEST = 1 << 20  # bytes of a grade with its corrections


class Pages:
    """What the page asks for: who graded what, an item, a grade taken."""

    def __init__(self, dataset: Path, review: Review, items: Mapping[str, Item], labels: str) -> None:
        """Take the items in the order in which they are shown, and the language of the page."""
        self._dataset, self._review, self._items, self._labels = dataset, review, items, labels
        self._lock = threading.Lock()

    def front(self) -> bytes:
        """Return the page itself, with its words."""
        from jinja2 import Environment, FileSystemLoader

        found = yaml.safe_load((HERE / "words.yaml").read_text(encoding="utf-8"))
        words = {name: entry[self._labels] for name, entry in found.items()}
        environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True)
        return environment.get_template("page.html").render(words=words, language=self._labels).encode()

    def say(self, text: str) -> str:
        """Return what is to be told, in the language of the page."""
        return speak(text, self._labels)

    def list(self, annotator: str) -> dict[str, Any]:
        """Return the items with an annotator's grades, and what is to be asked of each."""
        who = check_annotator(annotator)
        grades = read_grades(self._dataset, who)
        items = [{"id": name, "grade": grades[name].grade if name in grades else 0} for name in self._items]
        return {"dataset": self._dataset.name, "annotator": who, "asks": self._review.asks, "items": items}

    def item(self, annotator: str, name: str) -> dict[str, Any]:
        """Return an item with what the annotator said of it last."""
        item = self._item(name)
        said = read_grades(self._dataset, check_annotator(annotator)).get(name)
        correction = said.correction if said else {}
        return {
            "cell": item.cell,
            "source": item.source,
            "fields": {key: as_text(value) for key, value in item.fields.items()},
            "several": [key for key, value in item.fields.items() if not isinstance(value, str)],
            "correction": {key: as_text(value) for key, value in correction.items()},
            "marks": item.marks,
            "passages": item.passages,
            "grade": said.grade if said else 0,
        }

    def grade(self, given: Any) -> dict[str, Any]:
        """Take a grade, and say why its correction was not taken."""
        if not isinstance(given, dict) or type(given.get("grade")) is not int or given["grade"] not in GRADES:
            raise QuadragError("a grade is a whole number from 1 to 5")
        texts = given.get("texts") or {}
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            raise QuadragError("a correction is a text for each field")
        item, who = self._item(str(given.get("item"))), check_annotator(str(given.get("annotator")))
        with self._lock:
            fault = give_grade(self._dataset, self._review, item, who, given["grade"], texts)
        return {"fault": fault and self.say(fault)}

    def _item(self, name: str) -> Item:
        if name not in self._items:
            raise QuadragError(f"no item {name[:40]!r}; the dataset was made anew, start the page again")
        return self._items[name]


def open_server(
    dataset: Path, review: Review, items: Mapping[str, Item], port: int = 0, labels: str = "en"
) -> ThreadingHTTPServer:
    """Return a server for this machine alone.

    Args:
        dataset: where the grades go.
        review: how its items are reviewed.
        items: those to show, in this order.
        port: 0 is any free one.
        labels: the language of the page.

    Raises:
        QuadragError: the port is taken.
    """
    pages = Pages(dataset, review, items, labels)

    class Handler(_Handler):
        """The requests of one dataset."""

        front = pages.front()

        def answer(self, path: str, asked: Mapping[str, str]) -> dict[str, Any] | None:
            if path == "/items":
                return pages.list(asked.get("annotator", ""))
            return pages.item(asked.get("annotator", ""), asked.get("item", "")) if path == "/item" else None

        def take(self, given: Any) -> dict[str, Any]:
            return pages.grade(given)

        def say(self, text: str) -> str:
            return pages.say(text)

    try:
        return ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise QuadragError(f"port {port} cannot be had ({error.strerror}); name another with --port") from None


class _Handler(ABC, BaseHTTPRequestHandler):
    """Files and JSON over HTTP, for this machine's browser and nothing else."""

    front: bytes

    @abstractmethod
    def answer(self, path: str, asked: Mapping[str, str]) -> dict[str, Any] | None:
        """Return what is asked for; None where there is no such thing."""

    @abstractmethod
    def take(self, given: Any) -> dict[str, Any]:
        """Take what is given."""

    @abstractmethod
    def say(self, text: str) -> str:
        """Return an error's text as the page shows it."""

    def do_GET(self) -> None:
        """Answer a file of the page, or JSON."""
        url = urlsplit(self.path)
        if not self._is_ours():
            return
        if url.path == "/":
            self._send(HTTPStatus.OK, self.front, "text/html")
            return
        if url.path in _FILES:
            name, kind = _FILES[url.path]
            self._send(HTTPStatus.OK, (HERE / name).read_bytes(), kind)
            return
        asked = {name: values[-1] for name, values in parse_qs(url.query).items()}
        self._send_json(lambda: self.answer(url.path, asked))

    def do_POST(self) -> None:
        """Take a grade."""
        if not self._is_ours():
            return
        length = self.headers.get("Content-Length", "")
        if self.path != "/grade" or self.headers.get_content_type() != "application/json":
            self._send(HTTPStatus.NOT_FOUND, b"", "text/plain")
        elif not length.isdigit() or int(length) > _LONGEST:
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"", "text/plain")
        else:
            body = self.rfile.read(int(length))
            self._send_json(lambda: self.take(_parse(body)))

    def _is_ours(self) -> bool:
        """Refuse what comes under another host's name, as a page does that resolves its own name to this machine."""
        port = cast(ThreadingHTTPServer, self.server).server_port
        hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        origin = self.headers.get("Origin")
        if self.headers.get("Host") in hosts and (origin is None or origin.removeprefix("http://") in hosts):
            return True
        self._send(HTTPStatus.FORBIDDEN, b"", "text/plain")
        return False

    def _send_json(self, made: Any) -> None:
        try:
            found = made()
        except QuadragError as error:
            self._send(HTTPStatus.BAD_REQUEST, json.dumps({"error": self.say(str(error))}).encode(), "application/json")
            return
        status = HTTPStatus.NOT_FOUND if found is None else HTTPStatus.OK
        self._send(status, json.dumps(found).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        headers = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))}
        headers |= {
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of every request."""


def _parse(body: bytes) -> Any:
    from quadrag.reading import parse_json

    return parse_json(body, "the grade")

"""A page on this machine for people: one item at a time, a grade or a label by keys, where it may be a correction.

Served by the standard library to this machine alone. The page's own script and style are all that runs; what a model
or a document says only ever becomes text. A grade is on the disk before the page hears that it was taken, and the page
keeps nothing: read again, it shows what is on record. Other pages cannot reach it: what is asked under another host's
name is refused, and so is a grade that is no JSON or comes from elsewhere.
"""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import yaml

from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.sheet import read_sheet, write_sheet

from ...judges.labels import Graded, read_texts
from ...tables.language import speak
from .items import GRADES, MEND, Item, Review, as_text, check_annotator, give_grade, read_grades

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


class Page(ABC):
    """What the page asks for: its words, the items, one item, a grade taken."""

    named = True  # whether each person gives a name
    grades: Sequence[str | int]  # what an item may be given, for the keys 1, 2 and so on

    def __init__(self, labels: str) -> None:
        self.labels = labels
        self.lock = threading.Lock()

    def front(self) -> bytes:
        """Return the page itself, with its words."""
        from jinja2 import Environment, FileSystemLoader

        found = yaml.safe_load((HERE / "words.yaml").read_text(encoding="utf-8"))
        words = {name: entry[self.labels] for name, entry in found.items()}
        buttons = [words.get(name) or self.say(name) for name in self.buttons()]
        environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True)
        given = {"words": {**words, "grades": list(self.grades)}, "buttons": buttons, "named": self.named}
        return environment.get_template("page.html").render(**given, language=self.labels).encode()

    def say(self, text: str) -> str:
        """Return what is to be told, in the language of the page."""
        return speak(text, self.labels)

    @abstractmethod
    def buttons(self) -> Sequence[str]:
        """Return what each grade is called."""

    @abstractmethod
    def list(self, annotator: str) -> dict[str, Any]:
        """Return the items with what a person said of them, and what is to be asked of each."""

    @abstractmethod
    def item(self, annotator: str, name: str) -> dict[str, Any]:
        """Return an item with what a person said of it last."""

    @abstractmethod
    def grade(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Take a grade, and say why its correction was not taken."""


class ReviewPage(Page):
    """Made questions, graded 1 to 5 by several people, corrected at 3."""

    grades = GRADES

    def __init__(self, dataset: Path, review: Review, items: Mapping[str, Item], labels: str = "en") -> None:
        super().__init__(labels)
        self._dataset, self._review, self._items = dataset, review, items

    def buttons(self) -> Sequence[str]:
        """Return the decision that each grade is."""
        return ("discard", "discard", "correct", "keep", "keep")

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
            "mend": MEND,
        }

    def grade(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Take a grade with its correction."""
        if type(given.get("grade")) is not int or given["grade"] not in GRADES:
            raise QuadragError("a grade is a whole number from 1 to 5")
        texts = given.get("texts") or {}
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            raise QuadragError("a correction is a text for each field")
        item, who = self._item(str(given.get("item"))), check_annotator(str(given.get("annotator")))
        with self.lock:
            fault = give_grade(self._dataset, self._review, item, who, given["grade"], texts)
        return {"fault": fault and self.say(fault)}

    def _item(self, name: str) -> Item:
        if name not in self._items:
            raise QuadragError(f"no item {name[:40]!r}; the dataset was made anew, start the page again")
        return self._items[name]


class LabelPage(Page):
    """The rows of a sheet that `quadrag label` drew, labelled by one person; every label is in the sheet at once."""

    named = False

    def __init__(self, path: Path, graded: Graded, labels: str = "en") -> None:
        super().__init__(labels)
        sheet = read_sheet(path, "id", "label")
        self._path, self._graded, self._columns = path, graded, sheet.columns
        self._rows = {line.row["id"]: dict(line.row) for line in sheet.lines}
        self.grades = list(graded.grades)

    def buttons(self) -> Sequence[str]:
        """Return what a label may be."""
        return [str(grade) for grade in self.grades]

    def list(self, annotator: str) -> dict[str, Any]:
        """Return the rows with their labels."""
        items = [{"id": name, "grade": self._graded.read(row["label"]) or ""} for name, row in self._rows.items()]
        return {"dataset": self._path.name, "annotator": "", "asks": [self.say(self._graded.asks)], "items": items}

    def item(self, annotator: str, name: str) -> dict[str, Any]:
        """Return a row."""
        row = self._row(name)
        golds = read_texts(row.get("gold", ""))
        fields = {"question": row.get("question", ""), "gold": " / ".join(golds), "answer": row.get("answer", "")}
        passages = [text for text in row.get("passages", "").split("\n\n") if text]
        shown = {key: text for key, text in fields.items() if text}
        return {"fields": shown, "several": [], "correction": {}, "marks": golds, "passages": passages}

    def grade(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Write a label into the sheet."""
        row = self._row(str(given.get("item")))
        if given.get("grade") not in self.grades:
            raise QuadragError(f"a label is {self._graded.spelled}")
        with self.lock:
            row["label"] = str(given["grade"])
            rows = [[row.get(name, "") for name in self._columns] for row in self._rows.values()]
            write_sheet(self._path, [self._columns, *rows], again=True)
        return {"fault": None}

    def _row(self, name: str) -> dict[str, str]:
        if name not in self._rows:
            raise QuadragError(f"no item {name[:40]!r}; the sheet was made anew, start the page again")
        return self._rows[name]


def open_server(page: Page, port: int = 0) -> ThreadingHTTPServer:
    """Return a server for this machine alone."""
    handler = type("Handler", (_Handler,), {"page": page, "front": page.front()})
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise QuadragError(f"port {port} cannot be had ({error.strerror}); name another with --port") from None


class _Handler(BaseHTTPRequestHandler):
    page: Page
    front: bytes

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
        who, item = asked.get("annotator", ""), asked.get("item", "")
        if url.path == "/items":
            self._send_json(lambda: self.page.list(who))
        elif url.path == "/item":
            self._send_json(lambda: self.page.item(who, item))
        else:
            self._send(HTTPStatus.NOT_FOUND, b"", "text/plain")

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
            self._send_json(lambda: self.page.grade(_parse(body)))

    def _is_ours(self) -> bool:
        """Refuse what comes under another host's name, as a page does that resolves its own name to this machine."""
        port = cast(ThreadingHTTPServer, self.server).server_port
        hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        origin = self.headers.get("Origin")
        if self.headers.get("Host") in hosts and (origin is None or origin.removeprefix("http://") in hosts):
            return True
        self._send(HTTPStatus.FORBIDDEN, b"", "text/plain")
        return False

    def _send_json(self, made: Callable[[], dict[str, Any]]) -> None:
        status = HTTPStatus.OK
        try:
            found = made()
        except QuadragError as error:
            status, found = HTTPStatus.BAD_REQUEST, {"error": self.page.say(str(error))}
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


def _parse(body: bytes) -> dict[str, Any]:
    found = parse_json(body, "the grade")
    if not isinstance(found, dict):
        raise QuadragError("a grade is a whole number from 1 to 5")
    return found

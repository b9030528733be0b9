"""A page on this machine for people who label: one item at a time, a choice by keys, where it may be a correction.

It is served to this machine alone. A choice is on the disk before the page hears that it was taken; read again, the
page shows what is on record. Other pages cannot reach it: what is asked under another host's name is refused, and so
is a choice that is no JSON or comes from elsewhere.
"""

import json
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, cast

from quadrag.errors import QuadragError, parse_json
from quadrag.sheet import read_sheet, write_sheet

from .page import fill_template, read_words

_LONGEST = 1 << 20  # bytes of a choice with its corrections


class Shown(NamedTuple):
    """An item as a person sees it: texts by field, passages, what is marked in them, and the last choice, "" for none.

    Of a field in `lists` each line is an entry.
    """

    fields: Mapping[str, str]
    passages: Sequence[str] = ()
    marks: Sequence[str] = ()
    note: str = ""
    choice: str = ""
    lists: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Labelling:
    """What is labelled: its title, what to ask oneself, the choices with their names, the items by id.

    Attributes:
        read: returns the items by id as they are on record.
        save: writes a choice, with the texts of corrected fields; returns why these were not taken, "" where they were.
        correct: the choice at which fields may be corrected; "" where none are.
        labels: the language of the page.
    """

    title: str
    asks: Sequence[str]
    choices: Mapping[str, str]
    read: Callable[[], Mapping[str, Shown]]
    save: Callable[[str, str, Mapping[str, str]], str]
    correct: str = ""
    labels: str = "en"
    lock: threading.Lock = field(default_factory=threading.Lock)

    def render(self) -> str:
        words = read_words(self.labels)
        items = [
            {
                "id": name,
                "choice": item.choice,
                "note": item.note,
                "fields": [[key, _name_field(key, item, words), text] for key, text in item.fields.items()],
                "passages": [[text, _find_marks(text, item.marks)] for text in item.passages],
            }
            for name, item in self.read().items()
        ]
        return fill_template("label.html", ("parts.js", "label.js"), page=self, words=words, items=items)

    def take(self, body: bytes) -> str:
        sent = parse_json(body, "the choice")
        sent = sent if isinstance(sent, dict) else {}
        name, choice, texts = sent.get("item"), sent.get("choice"), sent.get("texts") or {}
        are_texts = isinstance(texts, dict) and all(isinstance(text, str) for text in (name, choice, *texts.values()))
        if not are_texts or choice not in self.choices:
            expected = f"one of {', '.join(self.choices)}, and a text for each corrected field"
            raise QuadragError(f"this is no choice: {choice!r:.40}; expected {expected}")
        with self.lock:
            if name not in self.read():
                raise QuadragError(f"no item {name!r:.40}; the items were made anew, start the page again")
            return self.save(str(name), str(choice), texts)


def _name_field(key: str, item: Shown, words: Mapping[str, str]) -> str:
    name, _, number = key.rpartition("_") if key[-1:].isdigit() else (key, "", "")
    return " ".join(filter(None, (words.get(name, name), number, words["entries"] * (key in item.lists))))


def _find_marks(text: str, marks: Sequence[str]) -> list[tuple[int, int]]:
    ways = "|".join(re.escape(mark) for mark in sorted(filter(None, marks), key=len, reverse=True))
    return [found.span() for found in re.finditer(ways, text, re.IGNORECASE)] if ways else []


def change_row(path: Path, name: str, cells: Mapping[str, str]) -> None:
    """Change cells of the row of an id in a sheet; it is on the disk when this returns."""
    sheet = read_sheet(path, "id")
    rows = [{**line.row, **cells} if line.row["id"] == name else line.row for line in sheet.lines]
    write_sheet(path, [sheet.columns, *([row.get(one, "") for one in sheet.columns] for row in rows)], again=True)


def open_server(page: Labelling, port: int = 0) -> ThreadingHTTPServer:
    """Return a server for this machine alone."""
    page.render()  # what is wrong with the items is told before the page is opened
    try:
        return _Server(("127.0.0.1", port), type("Handler", (_Handler,), {"page": page}))
    except OSError as error:
        raise QuadragError(f"port {port} cannot be had ({error.strerror}); name another with --port") from None


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    page: Labelling

    def do_GET(self) -> None:
        if self._is_ours("/"):
            self._send(HTTPStatus.OK, self.page.render(), "text/html")

    def do_POST(self) -> None:
        if not self._is_ours("/choice"):
            return
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            self._send(HTTPStatus.NOT_FOUND)
        elif not length.isdigit() or int(length) > _LONGEST:
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            try:
                status, told = HTTPStatus.OK, {"fault": self.page.take(self.rfile.read(int(length)))}
            except QuadragError as error:
                status, told = HTTPStatus.BAD_REQUEST, {"error": str(error)}
            self._send(status, json.dumps(told), "application/json")

    def _is_ours(self, path: str) -> bool:
        """Refuse another path, and what comes under another host's name, as a page does that resolves its own to us."""
        port = cast(ThreadingHTTPServer, self.server).server_port
        hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        origin = self.headers.get("Origin")
        ours = self.headers.get("Host") in hosts and (origin is None or origin.removeprefix("http://") in hosts)
        if ours and self.path == path:
            return True
        self._send(HTTPStatus.NOT_FOUND if ours else HTTPStatus.FORBIDDEN)
        return False

    def _send(self, status: HTTPStatus, text: str = "", kind: str = "text/plain") -> None:
        body = text.encode("utf-8", "surrogatepass")
        self.send_response(status)
        headers = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))}
        headers |= {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Frame-Options": "DENY"}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of every request."""

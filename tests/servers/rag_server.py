"""A small RAG service for tests: BM25 over texts, the most similar sentence for an answer, over real HTTP on loopback.

It speaks both contracts of `quadrag run --rag`: ``POST /rag`` (JSON) and ``POST /v1/chat/completions`` (OpenAI's form,
with ``GET /v1/models``), on which the passages stand where `place` says. Faults are put into its replies by rules.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import bm25s

from quadrag.records import Passage
from quadrag.systems import extractive

CHUNK = 120  # characters of a passage


@dataclass
class Rule:
    """What to do with the next requests whose question holds `match`.

    ``action``: ``status`` (answer `status` with `body` and `headers`), ``body`` (200 with `body`, a text as it is, else
    JSON), ``merge`` (lay `body` over the true reply), ``drop`` (close the connection), ``stall`` (wait `seconds`).
    """

    action: str
    match: str = ""
    times: int = 1_000_000
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


class RagServer:
    """The service in threads of this process; `bodies` is what it was sent, `authorizations` with which keys."""

    def __init__(self, documents: Sequence[tuple[str, str, str]], **settings: Any) -> None:
        """Index documents of id, title and text, cut into passages; the settings are attributes."""
        self.answers: dict[str, str] = {}  # by a question's id, in place of its own
        self.ids, self.texts = True, True  # whether passages bear them
        self.place = "context"  # of passages in a chat completion
        self.models, self.key, self.top_k, self.latency = ["small"], None, 5, 0.0
        vars(self).update(settings)
        self.rules: list[Rule] = []
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []  # to which they were sent
        self.any_path = False
        self.authorizations: set[str] = set()
        self.in_flight = self.most_in_flight = 0
        self._lock = threading.Lock()
        self._passages = [
            Passage(f"{ident}#{at // CHUNK}", title, text[at : at + CHUNK])
            for ident, title, text in documents
            for at in range(0, len(text), CHUNK)
        ]
        self._index = bm25s.BM25()
        self._index.index([_terms(passage.text) for passage in self._passages], show_progress=False)

    @property
    def requests(self) -> int:
        return len(self.bodies)

    def search(self, question: str) -> list[Passage]:
        scores = self._index.get_scores(_terms(question))
        best = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[: self.top_k]
        return [self._passages[at]._replace(score=round(float(scores[at]), 4)) for at in best]

    def reply(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        chat = path.partition("?")[0].endswith("/chat/completions")
        question = body["messages"][-1]["content"] if chat else body["question"]
        found = self.search(question)
        chinese = any("\u4e00" <= sign <= "\u9fff" for sign in question)
        answer = extractive.best_sentence(question, found, "zh" if chinese else "en")
        answer = self.answers.get(body.get("id", ""), answer)
        rows: list[dict[str, Any]] = [one._asdict() for one in found]
        for row in rows:
            row |= {} if self.texts else {"text": ""}
            if not self.ids:
                del row["id"]
        return _completion(answer, rows, body, self.place) if chat else {"answer": answer, "passages": rows}

    def __enter__(self) -> RagServer:
        outer = self

        class Handler(_Handler):
            server_of = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.socket.listen(128)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"{self.base}/rag"

    @property
    def chat(self) -> str:
        return f"{self.base}/v1"

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server_of: RagServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        known = self.path == "/v1/models" and self.server_of.models
        found = {"object": "list", "data": [{"id": name} for name in self.server_of.models]}
        self.send(200 if known else 404, found if known else {"detail": "Not Found"})

    def do_POST(self) -> None:
        server = self.server_of
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if not server.any_path and self.path.partition("?")[0] not in ("/rag", "/v1/chat/completions"):
            self.send(404, {"detail": "Not Found"})
            return
        body = json.loads(content)
        authorization = self.headers.get("Authorization", "")
        with server._lock:
            server.authorizations.add(authorization)
            server.bodies.append(body)
            server.paths.append(self.path)
            server.in_flight += 1
            server.most_in_flight = max(server.most_in_flight, server.in_flight)
            said = body["question"] if "question" in body else body["messages"][-1]["content"]
            rule = next((one for one in server.rules if one.times > 0 and one.match in said), None)
            if rule:
                rule.times -= 1
        try:
            self.answer(server, body, authorization, rule)
        finally:
            with server._lock:
                server.in_flight -= 1

    def answer(self, server: RagServer, body: dict[str, Any], authorization: str, rule: Rule | None) -> None:
        if server.key is not None and authorization != f"Bearer {server.key}":
            self.send(401, {"error": {"message": f"bad key: {authorization}"}})
            return
        if server.latency:
            time.sleep(server.latency)
        action = rule.action if rule else ""
        if rule and action == "status":
            self.send(rule.status, rule.body if rule.body is not None else {"detail": "injected"}, rule.headers)
        elif rule and action == "body":
            self.send(200, rule.body)
        elif action == "drop":
            self.close_connection = True
            self.connection.close()
        else:
            if rule and action == "stall":
                time.sleep(rule.seconds)
            whole = server.reply(self.path.partition("?")[0], body)
            self.send(200, {**whole, **rule.body} if rule and action == "merge" else whole)


def _terms(text: str) -> list[str]:
    found: list[str] = []
    for word in text.lower().split():
        wide = any(ord(sign) > 0x2E7F for sign in word)
        found += [word[at : at + 2] for at in range(max(1, len(word) - 1))] if wide else [word.strip(".,?!\"'")]
    return found


def _completion(answer: str, rows: list[dict[str, Any]], body: dict[str, Any], place: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer}
    whole: dict[str, Any] = {
        "id": "1",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }
    if place == "context":
        cited = [{"content": r["text"], "title": r["title"], "filepath": r.get("id"), "chunk_id": "0"} for r in rows]
        message["context"] = {"citations": cited, "intent": "[]"}
    elif place == "search_results":
        whole["citations"] = [row.get("id", "https://host/page") for row in rows]
        whole["search_results"] = [{"title": r["title"], "url": r.get("id"), "snippet": r["text"]} for r in rows]
    elif place == "citations":
        whole["citations"] = [f"https://host/{row['id']}" for row in rows]
    elif place == "source_documents":
        named = [{"source": row["id"]} if "id" in row else {} for row in rows]
        whole["source_documents"] = [
            {"page_content": row["text"], "metadata": one} for row, one in zip(rows, named, strict=True)
        ]
    elif place == "sources":
        whole["sources"] = rows
    elif place == "annotations":
        message["annotations"] = [
            {"type": "url_citation", "url_citation": {"url": r.get("id"), "title": r["title"], "content": r["text"]}}
            for r in rows
        ]
    return whole

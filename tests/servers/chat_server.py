"""A chat-completions server for tests and benchmarks: real HTTP over a real socket, scripted replies, injected faults.

It echoes the last message, or the prompt, and runs no model. A raw asyncio protocol keeps it cheap: it must not be the
slow side of a throughput measurement. ``python tests/servers/chat_server.py --latency 0.05`` prints its base URL.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from small_servers import LoopServer


@dataclass
class Rule:
    """What to do with the next requests whose last message holds `match`, and to `model` alone, in place of the echo.

    ``action``: ``status`` (answer `status` with `body`, `headers`), ``rate`` (429 with `retry_after`), ``stall``
    (say nothing), ``drip`` (a byte now and then), ``drop`` (close the connection), ``truncate`` (close it within the
    body), ``garbage`` (200 with no JSON), ``no_choices``, ``stream`` (the echo in events), ``reply`` (the echo, with
    `reply` laid over its choice and `message` over its message, `usage` in place of its usage), ``echo_key`` (an error
    that quotes the Authorization header).
    """

    action: str
    times: int = 1_000_000_000
    match: str = ""
    model: str = ""
    status: int = 500
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    retry_after: str = "0.2"
    reply: dict[str, Any] = field(default_factory=dict)
    message: dict[str, Any] = field(default_factory=dict)
    usage: Any = "echo"


@dataclass
class State:
    """Settings of the server and what it saw."""

    models: list[str] = field(default_factory=lambda: ["m"])
    facts: dict[str, Any] = field(default_factory=dict)  # listed of each model beside its name
    any_model: bool = False  # answer in the name of others too, which are not listed
    latency: float | Callable[[dict[str, Any]], float] = 0.0  # seconds, of every request or by its body
    key: str | None = None
    key_header: str = "authorization"
    rules: list[Rule] = field(default_factory=list)
    manner: Callable[[dict[str, Any]], Rule | None] | None = None  # a rule made of a request's body
    text: str | Callable[[dict[str, Any]], str] | None = None  # said to every request, or made of its body
    calls: Counter[str] = field(default_factory=Counter)
    authorizations: set[str] = field(default_factory=set)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # address and headers of each request
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keep_bodies: bool = True
    requests: int = 0
    listed: int = 0
    connections: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def chats(count: int, start: int = 0) -> list[list[dict[str, str]]]:
    return [[{"role": "user", "content": f"question {n}"}] for n in range(start, start + count)]


def echo(body: dict[str, Any]) -> str:
    """Return the text that the server answers: it depends on the whole request, so that mixed-up replies show."""
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:8]
    return f"{digest} {asked_of(body)}"


def asked_of(body: dict[str, Any]) -> str:
    """Return the text of a request: the prompt, or the last message."""
    return str(body["prompt"] if "prompt" in body else body["messages"][-1]["content"])


class _Protocol(asyncio.Protocol):
    def __init__(self, state: State) -> None:
        self.state = state
        self.buffer = b""
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.state.connections += 1

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while True:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if not found:
                return
            lines = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            length = int(headers.get("content-length", 0))
            if len(rest) < length:
                return
            self.buffer = rest[length:]
            method, path, _ = lines[0].split(" ", 2)
            if self.state.keep_bodies:
                self.state.asked.append((path, headers))
            self.answer(method, path.partition("?")[0], headers, rest[:length])

    def send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        extra = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n{extra}\r\n"
        self.transport.write(head.encode() + content)

    def answer(self, method: str, path: str, headers: dict[str, str], content: bytes) -> None:
        state = self.state
        authorization = headers.get("authorization", "")
        state.authorizations.add(authorization)
        wanted = f"Bearer {state.key}" if state.key_header == "authorization" else state.key
        if state.key is not None and headers.get(state.key_header) != wanted:
            self.send(401, {"error": {"message": f"bad key: {authorization}"}})
            return
        if path.endswith("/models"):
            state.listed += 1
            self.send(200, {"object": "list", "data": [{"id": name, **state.facts} for name in state.models]})
            return
        if not path.endswith("/completions") or method != "POST":
            self.send(404, {"error": {"message": "no such page"}})
            return
        body = json.loads(content)
        if ("messages" in body) != path.endswith("/chat/completions"):
            self.send(400, {"error": {"message": "messages are of /chat/completions, a prompt of /completions"}})
            return
        asked = asked_of(body)
        state.requests += 1
        state.calls[asked] += 1
        if state.keep_bodies:
            state.bodies.append(body)
        state.in_flight += 1
        state.most_in_flight = max(state.most_in_flight, state.in_flight)
        if seconds := state.latency(body) if callable(state.latency) else state.latency:
            asyncio.get_running_loop().call_later(seconds, self.finish, body, asked, authorization)
        else:
            self.finish(body, asked, authorization)

    def rule(self, asked: str, model: str) -> Rule | None:
        for rule in self.state.rules:
            if rule.times > 0 and rule.match in asked and rule.model in ("", model):
                rule.times -= 1
                return rule
        return None

    def finish(self, body: dict[str, Any], asked: str, authorization: str) -> None:
        state = self.state
        state.in_flight -= 1
        rule = self.rule(asked, body["model"]) or (state.manner(body) if state.manner else None)
        action = rule.action if rule else ""
        if self.transport.is_closing() or action == "stall":
            return
        if body["model"] not in state.models and not state.any_model:
            self.send(404, {"error": {"message": f"the model {body['model']} does not exist"}})
            return
        if rule and action == "status":
            fallback = {"error": {"message": f"injected {rule.status}"}}
            self.send(rule.status, fallback if rule.body is None else rule.body, rule.headers)
            return
        if rule and action == "rate":
            self.send(429, {"error": "slow down"}, {"Retry-After": rule.retry_after})
            return
        if action == "echo_key":
            self.send(400, {"error": {"message": f"cannot serve the caller with {authorization}"}})
            return
        if action == "drop":
            self.transport.abort()
            return
        text = echo(body) if state.text is None else state.text if isinstance(state.text, str) else state.text(body)
        message = {"role": "assistant", "content": text}
        said: dict[str, Any] = {"text": text} if "prompt" in body else {"message": message}
        choice: dict[str, Any] = {"index": 0, **said, "finish_reason": "stop"}
        usage: Any = {
            "prompt_tokens": len(json.dumps(body.get("messages") or body["prompt"])) // 4,
            "completion_tokens": len(text.split()),
        }
        if rule and action == "reply":
            choice.update(rule.reply)
            message.update(rule.message)
            usage = usage if rule.usage == "echo" else rule.usage
        reply = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]}
        if usage:
            state.prompt_tokens += usage.get("prompt_tokens", 0)
            state.completion_tokens += usage.get("completion_tokens", 0)
            reply["usage"] = {**usage, "total_tokens": sum(usage.values())}
        if action == "garbage":
            self.send(200, "<html>it works</html>")
            return
        if action == "no_choices":
            self.send(200, {"error": {"message": "upstream is gone"}})
            return
        if action == "stream":
            events = "".join(f"data: {json.dumps(part)}\n\n" for part in (reply, reply))
            self.send(200, f"{events}data: [DONE]\n\n", {"Content-Type": "text/event-stream"})
            return
        if action in ("truncate", "drip"):
            whole = json.dumps(reply).encode()
            self.transport.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(whole)}\r\n\r\n".encode())
            if action == "drip":
                self.drip(whole)
                return
            self.transport.write(whole[: len(whole) // 2])
            self.transport.close()
            return
        self.send(200, reply)

    def drip(self, rest: bytes) -> None:
        self.transport.write(rest[:1])
        if rest[1:] and not self.transport.is_closing():
            asyncio.get_running_loop().call_later(0.1, self.drip, rest[1:])


class ChatServer(LoopServer):
    """The server in a thread of this process; its settings and counts are attributes (see `State`)."""

    def __init__(self, **settings: Any) -> None:
        self.state = State(**settings)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["state"], name)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def listen(self) -> asyncio.base_events.Server:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Protocol(self.state), "127.0.0.1", self.port, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        return server


@contextmanager
def server_process(*arguments: str) -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).resolve()), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--text", help="answer this in place of the echo")
    options = parser.parse_args()
    server = ChatServer(latency=options.latency, text=options.text, keep_bodies=False)

    async def serve() -> None:
        listening = await server.listen()
        print(server.url, flush=True)
        await listening.serve_forever()

    asyncio.run(serve())


if __name__ == "__main__":
    main()

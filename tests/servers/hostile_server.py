"""A server that answers with whatever a row of a table says: real HTTP, or bytes that are none, on loopback.

A row of `tests/attacks/replies.yaml` is chosen by the words ``attack:NAME`` in the path or the body of a request; a
body without them gets the next row of `deal`, the same one each time it comes. A request without a body takes no row.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from small_servers import LoopServer

KEY = "sk-attack-0123456789abcdef"
USER, PASSWORD, QUERY = "ann", "pa55-w0rd-of-ann", "qk-0123456789abcdef"
SECRETS = {
    "key": KEY,
    "password": PASSWORD,
    "query": QUERY,
    "basic": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode(),
}
GOOD = "quadrag is well"  # what an honest reply says
_NAMED = re.compile(r"attack:([\w-]+)")
_BLOCK = 1 << 16


class HostileServer(LoopServer):
    """The server in a thread of this process; `asked` counts the requests of each row by name."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.rows = {row["name"]: row for row in rows}
        self.deal: list[str] = []
        self.asked: dict[str, int] = {}
        self._dealt: dict[bytes, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def secret_url(self) -> str:
        return f"http://{USER}:{PASSWORD}@127.0.0.1:{self.port}"

    async def listen(self) -> asyncio.base_events.Server:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 24)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"(?i)\r\ncontent-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                if not await self._answer(head.split(" ")[1], body, writer):
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            writer.close()

    async def _answer(self, path: str, body: bytes, writer: asyncio.StreamWriter) -> bool:
        plain = b'"question"' in body
        name = self._choose(path, body)
        if name is None:
            return await _send(writer, {"status": 404, "body": ""}, plain)
        row = self.rows[name]
        self.asked[row["name"]] = self.asked.get(row["name"], 0) + 1
        return await _send(writer, row, plain)

    def _choose(self, path: str, body: bytes) -> str | None:
        named = _NAMED.search(path + body.decode("utf-8", "replace"))
        if named:
            return named[1]
        if not body:
            return None
        if body not in self._dealt:
            self._dealt[body] = self.deal[len(self._dealt) % len(self.deal)]
        return self._dealt[body]


async def _send(writer: asyncio.StreamWriter, row: Mapping[str, Any], plain: bool) -> bool:
    if "bytes" in row:
        writer.write(fill(row["bytes"]).encode("latin-1"))
        await writer.drain()
        return False
    content = b"".join(_content(row, plain)) if "endless" not in row else b""
    headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), **row.get("headers", {})}
    if "endless" in row:
        headers = {"Transfer-Encoding": "chunked", **{k: v for k, v in headers.items() if k != "Content-Length"}}
    status = row.get("status", 200)
    lines = [f"HTTP/1.1 {status} {fill(row.get('reason', 'X'))}"]
    for name, values in headers.items():
        for value in values if isinstance(values, list) else [values]:
            if value is not None:
                lines.append(f"{name}: {fill(str(value))}")
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))
    if row.get("stall"):
        await asyncio.sleep(60)
    if "endless" in row:
        block = (fill(row["endless"]) * _BLOCK)[:_BLOCK].encode()
        while not writer.is_closing():
            writer.write(b"%x\r\n%s\r\n" % (len(block), block))
            await writer.drain()
    if row.get("drip"):
        for place in range(len(content)):
            writer.write(content[place : place + 1])
            await asyncio.sleep(0.1)
    sent = content[: row.get("cut", len(content))]
    for place in range(0, len(sent), 1 << 20):
        writer.write(sent[place : place + (1 << 20)])
        await writer.drain()
    return "cut" not in row


def _content(row: Mapping[str, Any], plain: bool) -> Iterator[bytes]:
    pieces: Iterator[bytes] = iter(() if {"repeat", "bomb"} & row.keys() else [_body(row, plain)])
    if "repeat" in row:
        pieces = _repeated(*row["repeat"])
    if "bomb" in row:
        pieces = _bomb(row["bomb"])
    for _ in range(row.get("gzip", 0)):
        pieces = _packed(pieces)
    yield from pieces


def _body(row: Mapping[str, Any], plain: bool) -> bytes:
    if "body" in row:
        return fill(row["body"]).encode(row.get("encoding", "utf-8"), "surrogatepass")
    if "whole" in row:
        return fill(json.dumps(row["whole"])).encode()
    whole: dict[str, Any]
    if plain:
        whole = {"answer": GOOD, "passages": [{"id": "d#1", "text": "t", "score": 1.0}], **row.get("plain", {})}
    else:
        choice = {"index": 0, "message": {"role": "assistant", "content": GOOD, **row.get("message", {})}}
        choice |= {"finish_reason": "stop", **row.get("choice", {})}
        usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
        whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        whole |= {"usage": usage, **row.get("top", {})}
    text = json.dumps(whole, ensure_ascii=False)
    for old, new in row.get("swap", {}).items():
        text = text.replace(old, new if isinstance(new, str) else new[0] * new[1])
    return fill(text).encode(row.get("encoding", "utf-8"), "surrogatepass")


def _repeated(text: str, times: int) -> Iterator[bytes]:
    block = fill(text).encode()
    many = max(1, (1 << 20) // len(block))
    for done in range(0, times, many):
        yield block * min(many, times - done)


def _bomb(mebibytes: int) -> Iterator[bytes]:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield packer.compress(b" ") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    for _ in range(mebibytes):
        yield block


def _packed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def fill(text: str) -> str:
    """Put what they name into the slots: the secrets, and ``<<deep>>``."""
    for name, secret in {**SECRETS, "deep": "[" * 600 + "]" * 600}.items():
        text = text.replace(f"<<{name}>>", secret)
    return text

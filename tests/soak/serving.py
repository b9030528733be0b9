"""An attack on `quadrag kg serve`: hostile requests, many at once, and the end of its process while it answers.

It takes the world, a job and a seed of its own, and yields findings, as those of `attacks.py` do.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from random import Random

from attacks import find_bad_end
from hostile import UNICODE
from jobs import Job
from world import Process, World, sha256

from quadrag.kg.tools import FUNCTIONS

PATIENCE = 60.0  # seconds for an answer, on a machine that others use
REPLY = 3.0  # seconds that a hostile request waits: it may have none
MOST_MEMORY = 200_000_000  # bytes that the process may grow by, whatever it is sent
GOOD = [
    ("/finance/get_company_name", b'{"query": "quillmark"}'),
    ("/open/get_entity", b'{"query": "Lindholt Bridge"}'),
    ("/movie/get_year_info", b'{"query": "2016"}'),
]
Send = Callable[[socket.socket, Random], None]


def _post(route: str, body: bytes, *headers: str, length: int | None = None) -> bytes:
    head = [f"POST {route} HTTP/1.1", "Host: x", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


def _huge(line: socket.socket, draw: Random) -> None:
    """Send a body of 300 MB, by its length or in chunks, as JSON."""
    part, count = b"x" * 1_000_000, 300
    if draw.random() < 0.5:
        line.sendall(_post(GOOD[0][0], b'{"query": "', length=len(part) * count + 13))
        framed = part
    else:
        line.sendall(_post(GOOD[0][0], b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        framed = b"%x\r\n%b\r\n" % (len(part), part)
    for _ in range(count):
        line.sendall(framed)


def _broken(line: socket.socket, draw: Random) -> None:
    """Send what is no HTTP, or HTTP that contradicts itself."""
    good = _post(*GOOD[0])
    line.sendall(
        draw.choice(
            [
                draw.randbytes(5000),
                good[: draw.randrange(len(good))],
                good.replace(b"HTTP/1.1", b"HTTP/9.9"),
                good.replace(b"Content-Length: 22", b"Content-Length: -1"),
                good.replace(b"Host: x", b"Content-Length: 3"),
                good.replace(b"Host: x", b"Transfer-Encoding: chunked"),
                good.replace(b"Host: x", b"X: " + b"y" * 1_000_000),
                good.replace(b"Host: x", b"\r\n".join(b"X%d: y" % number for number in range(20_000))),
                good.replace(b"Host: x", b"Transfer-Encoding: gzip, chunked\r\nExpect: 100-continue"),
                good.replace(GOOD[0][0].encode(), b"/" + b"../" * 5000),
                good.replace(b"POST", draw.choice([b"GET", b"DELETE", b"CONNECT", b"\x1b[2J"])),
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            ]
        )
    )


def _wrong(line: socket.socket, draw: Random) -> None:
    """Send JSON that is none, or not what a function takes, and texts of every kind."""
    function = draw.choice([*FUNCTIONS.values()])
    text = draw.choice([*UNICODE, "%" * 10_000, "' OR 1=1 --", "(a+)+" * 1000, "9" * 5000, "a " * 50_000])
    whole = {one.name: [text] if one.kind == "strs" else text for one in function.parameters}
    bodies = [
        b"[" * 100_000,
        b'{"query": NaN}',
        b'{"query": 1e999}',
        b"\xff\xfe",
        b"",
        b"null",
        b'{"query": {"a": []}}',
    ]
    bodies += [b'{"query": ' + b"9" * 100_000 + b"}", b'{"query": "\\ud800"}', *[json.dumps(whole).encode()] * 8]
    line.sendall(_post(function.route, draw.choice(bodies)))


def _slow(line: socket.socket, draw: Random) -> None:
    """Send a part, and nothing more for as long as the others take."""
    good = _post(*GOOD[0])
    line.sendall(good[: draw.randrange(1, len(good))])
    line.settimeout(draw.uniform(0.1, 1.0))


def _rude(line: socket.socket, draw: Random) -> None:
    """Ask a hundred times on one line, and hang up at once."""
    line.sendall(_post(*draw.choice(GOOD)) * 100)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.settimeout(0.0)


SENDS: list[Send] = [_huge, _broken, _wrong, _wrong, _slow, _rude]


def _send(port: int, send: Send, draw: Random) -> str:
    """Send something hostile; returns the status of the reply, if there is one."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE) as line:
        line.settimeout(REPLY)
        with suppress(ConnectionError):  # it may hang up before all is sent; what it said can be read
            send(line, draw)
        return line.recv(100).partition(b"\r\n")[0].decode("latin-1")
    return ""


def _ask(port: int) -> list[tuple[int, bytes]]:
    """Ask what has an answer."""
    found = []
    for route, body in GOOD:
        line = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        line.request("POST", route, body)
        reply = line.getresponse()
        found.append((reply.status, reply.read()))
        line.close()
    return found


def _port(process: Process) -> int:
    """Return where it listens, once it does."""
    while process.run.poll() is None:
        if told := re.search(r"http://127.0.0.1:(\d+)", process.said("stdout")):
            return int(told[1])
        time.sleep(0.02)
    return 0


def _memory(pid: int) -> int:
    """Return the most memory that a process ever had, in bytes."""
    told = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return 1024 * int(told[1]) if told else 0


def kg_server(world: World, job: Job, draw: Random) -> Iterator[str]:
    """Hostile requests, twenty at once; then its end while it answers, by a signal, and another start."""
    graph = world.whole(job).folder / "out" / "kg.sqlite"
    place = world.place(job)
    shutil.copy(graph, place / "kg.sqlite")
    command = ("kg", "serve", "kg.sqlite", "--port", "0")
    process = world.start(place, job, command)
    port = _port(process)
    if not port:
        yield from (f"no server: {finding}" for finding in [*find_bad_end(process.end()), "it ended"])
        return
    answered, before = _ask(port), _memory(process.run.pid)
    if [status for status, _ in answered] != [200] * len(GOOD):
        yield f"good requests came to {answered}"
    with ThreadPoolExecutor(20) as pool:
        dealt = [(send, Random(draw.random())) for send in draw.choices(SENDS, k=60)]
        sent = [pool.submit(_send, port, *one) for one in dealt]
        for (send, _), one in zip(dealt, sent, strict=True):
            # One that `finance_get_company_name` or another cannot work with is said by upstream's server as 500.
            if not re.fullmatch(r"(HTTP/1\.\d (200|4\d\d|500) .*)?", one.result()):
                yield f"{send.__name__}: {one.result()!r}"
        try:
            if _ask(port) != answered:
                yield "good requests are answered otherwise after hostile ones"
        except (OSError, HTTPException) as error:
            yield f"good requests are not answered after hostile ones: {error!r}"
        if process.run.poll() is None and (grown := _memory(process.run.pid) - before) > MOST_MEMORY:
            yield f"it took {grown / 1e6:.0f} MB for what it was sent"
        for send in (_rude, _slow, _wrong):
            pool.submit(_send, port, send, Random(draw.random()))
        how = draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
        process.run.kill(how)
        ended = process.end()
    if ended.code != (-how if how == signal.SIGKILL else 0):
        yield f"after {how.name} it ended with code {ended.code}: {ended.err[-300:]}"
    if "Traceback" in ended.err or "\x1b[2J" in ended.err or max(map(len, ended.err.splitlines()), default=0) > 2000:
        yield f"said: {ended.err[-300:]!r}, the longest line of {max(map(len, ended.err.splitlines()))} characters"
    if sha256((place / "kg.sqlite").read_bytes()) != sha256(graph.read_bytes()):
        yield "the graph is another"
    again = world.start(place, job, command)
    if not (port := _port(again)) or _ask(port) != answered:
        yield "another start answers otherwise"
    again.run.kill()
    again.end()

"""How many mixed requests a second `quadrag kg serve` answers, over a made graph in upstream's formats.

The server runs in a process of its own, as users start it; the load comes from another one, over connections that stay
open, each sending its next request when the answer is there. The mix is all 38 functions, equally often, with arguments
that mostly find something: searches among as many names as `--entities` says, price histories of a year and of some
days by the minute, games, plays. The peer is a bare FastAPI with the same 38 routes and bodies, each of which answers
null: what the framework alone costs. Printed are requests a second, latency, and the functions
that take longest. Every answer is read; one that is not 200 stops the run. It does not measure the network.

    python benchmarks/kg_server.py
    python benchmarks/kg_server.py --entities 10000 --seconds 2     # a quick look
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from made.graph import write_source
from measuring import resident

from quadrag.kg.build import build
from quadrag.kg.tools import FUNCTIONS

START_SERVER = """
import sys
from quadrag.kg.server.serve import serve
serve(sys.argv[1], port=0, ready=lambda address: print(address, flush=True))
"""
START_PEER = """
import contextlib
import fastapi
import uvicorn
from quadrag.kg.server.app import _body
from quadrag.kg.server.serve import _listen
from quadrag.kg.tools import FUNCTIONS
bare = fastapi.FastAPI()
for function in FUNCTIONS.values():
    async def nothing(body=None):
        return fastapi.Response(b'{"result":null}', media_type="application/json")
    if function.parameters:
        nothing.__annotations__["body"] = _body(function)
    bare.add_api_route(function.route, nothing, methods=["POST"])
listening = _listen("127.0.0.1", 0)
print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
server = uvicorn.Server(uvicorn.Config(bare, log_level="warning", access_log=False))
with contextlib.suppress(KeyboardInterrupt):
    server.run(sockets=[listening])
"""


@contextmanager
def running(code: str, *arguments: str) -> Any:
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


async def one_connection(
    host: str, port: int, requests: list[tuple[str, bytes]], until: float, seen: list[Any]
) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    draw = random.Random(len(seen))
    while time.perf_counter() < until:
        name, request = draw.choice(requests)
        started = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{name}: {head.decode()}")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        size = int(length.split(b":")[1])
        await reader.readexactly(size)
        seen.append((name, time.perf_counter() - started, size))
    writer.close()


async def load(address: str, requests: list[tuple[str, bytes]], connections: int, seconds: float) -> dict[str, Any]:
    host, port = address.removeprefix("http://").split(":")
    seen: list[Any] = []
    started = time.perf_counter()
    until = started + seconds
    await asyncio.gather(*(one_connection(host, int(port), requests, until, seen) for _ in range(connections)))
    took = time.perf_counter() - started
    cost = np.array([each[1] for each in seen]) * 1000
    by_name = defaultdict(list)
    for name, second, size in seen:
        by_name[name].append((second * 1000, size))
    return {"rate": len(seen) / took, "cost": cost, "by_name": by_name}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=100_000, help="titles, people, artists and songs, each")
    parser.add_argument("--seconds", type=float, default=8, help="of each round")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 32])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as place:
        bodies = write_source(Path(place) / "source", options.entities)
        started = time.perf_counter()
        built = build(Path(place) / "source", Path(place) / "kg.sqlite")
        print(f"graph of {sum(built.rows.values()):,} rows in {time.perf_counter() - started:.0f} s")
        requests = []
        for name, several in bodies.items():
            # Equally often, however many bodies a function has.
            for body in (several * 300)[:300]:
                content = json.dumps(body).encode()
                head = f"POST {FUNCTIONS[name].route} HTTP/1.1\r\nHost: kg\r\nContent-Type: application/json\r\n"
                requests.append((name, f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content))
        print("\n| server | connections | requests a second | to the peer | p50, ms | p99, ms | longest, ms |")
        print("|---|---|---|---|---|---|---|")
        with running(START_PEER) as (peer, _), running(START_SERVER, str(built.path)) as (ours, pid):
            last: dict[str, Any] = {}
            for address in (ours, peer):
                asyncio.run(load(address, requests, 4, 2))
            for connections in options.connections:
                rates: dict[str, list[float]] = {peer: [], ours: []}
                costs: dict[str, list[Any]] = {peer: [], ours: []}
                for _ in range(options.rounds):
                    for address in (peer, ours):
                        last = asyncio.run(load(address, requests, connections, options.seconds))
                        rates[address].append(last["rate"])
                        costs[address].append(last["cost"])
                for who, address in (("bare FastAPI", peer), ("quadrag kg serve", ours)):
                    rate, cost = statistics.median(rates[address]), np.concatenate(costs[address])
                    share = rate / statistics.median(rates[peer])
                    p50, p99 = np.percentile(cost, [50, 99])
                    print(f"| {who} | {connections} | {rate:.0f} | {share:.2f} ", end="")
                    print(f"| {p50:.1f} | {p99:.1f} | {cost.max():.0f} |", flush=True)
            print(f"\nmemory of the server afterwards: {resident(pid) * 1000:.0f} MB")
            alone = asyncio.run(load(ours, requests, 1, options.seconds))["by_name"]
            print("\n| longest, one connection | mean, ms | mean answer, kB |\n|---|---|---|")
            means = {name: np.mean(values, axis=0) for name, values in alone.items()}
            for name in sorted(means, key=lambda name: -means[name][0])[:6]:
                print(f"| {name} | {means[name][0]:.1f} | {means[name][1] / 1000:.1f} |")


if __name__ == "__main__":
    main()

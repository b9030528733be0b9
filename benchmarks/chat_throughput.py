"""Calls per second of `quadrag.chat.client.ChatClient` beside its peers, on one local server process.

Peers: the bare `huggingface_hub.AsyncInferenceClient` under a semaphore, as its documentation shows it; the `openai`
client the same way, where installed. The server only sleeps and echoes, so the numbers are the clients' own cost.
Rounds are interleaved and medians are shown; the ledger is on for quadrag alone. It does not measure a model.

    python benchmarks/chat_throughput.py --calls 5000 --concurrency 64 --latency 0.2 0.05
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from measuring import options_of, table, timed

from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger

Chats = list[list[dict[str, str]]]
PARAMETERS = {"temperature": 0.0, "max_tokens": 64}


def quadrag(url: str, chats: Chats, width: int) -> float:
    with (
        tempfile.TemporaryDirectory() as folder,
        Ledger(Path(folder, "l.sqlite")) as ledger,
        ChatClient(url + "#m", ledger=ledger, concurrency=width, parameters=PARAMETERS) as client,
    ):
        seconds, replies = timed(client, chats)
    assert all(isinstance(reply, str) for reply in replies), replies[:3]
    return seconds


def bare(url: str, chats: Chats, width: int) -> float:
    from huggingface_hub import AsyncInferenceClient

    return together(AsyncInferenceClient(base_url=url, api_key="none"), chats, width)


def openai(url: str, chats: Chats, width: int) -> float:
    from openai import AsyncOpenAI

    return together(AsyncOpenAI(base_url=url, api_key="none"), chats, width)


def together(client: Any, chats: Chats, width: int) -> float:
    """Return the seconds that a client of OpenAI's interface takes for all calls, so many of them at once."""

    async def run() -> float:
        gate = asyncio.Semaphore(width)

        async def call(messages: list[dict[str, str]]) -> str | None:
            async with gate:
                output = await client.chat.completions.create(messages=messages, model="m", **PARAMETERS)
                return output.choices[0].message.content

        async with client:
            started = time.perf_counter()
            await asyncio.gather(*map(call, chats))
            return time.perf_counter() - started

    return asyncio.run(run())


def main() -> None:
    from chat_server import server_process

    parser = options_of(__doc__, calls=5000, concurrency=64, rounds=3)
    parser.add_argument("--latency", type=float, nargs="+", default=[0.2, 0.05], help="seconds")
    options = parser.parse_args()
    for name in ("QUADRAG_API_KEY", "OPENAI_API_KEY", "HF_TOKEN", "HF_HUB_OFFLINE"):
        os.environ.pop(name, None)
    system = {"role": "system", "content": "Answer briefly."}
    asked = (f"question {n}: " + "text " * 100 for n in range(options.calls))
    chats: Chats = [[system, {"role": "user", "content": text}] for text in asked]

    clients = [bare, quadrag, *([openai] if find_spec("openai") else [])]
    body = []
    for latency in options.latency:
        with server_process("--latency", str(latency)) as url:
            rounds = [[client(url, chats, options.concurrency) for client in clients] for _ in range(options.rounds)]
        rates = [[len(chats) / seconds for seconds in column] for column in zip(*rounds, strict=True)]
        middle = [statistics.median(column) for column in rates]
        for client, rate, each in zip(clients, middle, rates, strict=True):
            shown = " ".join(f"{one:.0f}" for one in each)
            body.append([f"{latency * 1000:.0f} ms", client.__name__, f"{rate:.0f}", f"{rate / middle[0]:.2f}", shown])
    print(f"{options.calls} calls, concurrency {options.concurrency}, median of {options.rounds}\n")
    print(table("latency | client | calls a second | to bare | rounds", body))


if __name__ == "__main__":
    main()

"""Calls per second of `quadrag.chat.client.ChatClient` beside its peers, on one local server process.

Peers: the bare `huggingface_hub.AsyncInferenceClient` under a semaphore, as its documentation shows it; the `openai`
client the same way, where installed. The server only sleeps and echoes, so the numbers are the clients' own cost.
Rounds are interleaved and medians are shown; the ledger is on for quadrag alone. It does not measure a model.

    python benchmarks/chat_throughput.py --calls 5000 --concurrency 64 --latency 0.2 0.05
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "servers"))

from chat_server import server_process

from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger

Chats = list[list[dict[str, str]]]
PARAMETERS = {"temperature": 0.0, "max_tokens": 64}


def quadrag(url: str, chats: Chats, concurrency: int, ledger: Path) -> float:
    """Return the seconds that the chat client takes, the ledger included."""
    with (
        Ledger(ledger) as book,
        ChatClient(url + "#m", ledger=book, concurrency=concurrency, parameters=PARAMETERS) as client,
    ):
        started = time.perf_counter()
        replies = client(chats)
        seconds = time.perf_counter() - started
    assert all(isinstance(reply, str) for reply in replies), replies[:3]
    return seconds


def bare(url: str, chats: Chats, concurrency: int) -> float:
    """Return the seconds that the bare inference client takes."""
    from huggingface_hub import AsyncInferenceClient

    client = AsyncInferenceClient(base_url=url, api_key="none")
    return _together(client, client.chat_completion, chats, concurrency)


def openai(url: str, chats: Chats, concurrency: int) -> float:
    """Return the seconds that the openai client takes."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none")
    return _together(client, client.chat.completions.create, chats, concurrency)


def _together(client: Any, ask: Callable[..., Any], chats: Chats, concurrency: int) -> float:
    """Return the seconds that a client takes for all calls, so many of them at once."""

    async def run() -> float:
        gate = asyncio.Semaphore(concurrency)

        async def one(messages: list[dict[str, str]]) -> str | None:
            async with gate:
                output = await ask(messages=messages, model="m", **PARAMETERS)
                return output.choices[0].message.content

        started = time.perf_counter()
        await asyncio.gather(*map(one, chats))
        seconds = time.perf_counter() - started
        await client.close()
        return seconds

    return asyncio.run(run())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, nargs="+", default=[0.2, 0.05], help="seconds")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for name in ("QUADRAG_API_KEY", "OPENAI_API_KEY", "HF_TOKEN", "HF_HUB_OFFLINE"):
        os.environ.pop(name, None)
    chats: Chats = [
        [
            {"role": "system", "content": "Answer briefly."},
            {"role": "user", "content": f"question {n}: " + "text " * 100},
        ]
        for n in range(options.calls)
    ]
    has_openai = importlib.util.find_spec("openai") is not None
    if not has_openai:
        print("openai is not installed: its row is left out")
    print(f"{options.calls} calls, concurrency {options.concurrency}, median of {options.rounds}, calls per second")
    print(f"{'latency':>8}  {'client':<28}{'median':>9}{'to bare':>9}   rounds")
    with tempfile.TemporaryDirectory() as folder:
        for latency in options.latency:
            rates: dict[str, list[float]] = {}

            def note(name: str, seconds: float, rates: dict[str, list[float]] = rates) -> None:
                rates.setdefault(name, []).append(len(chats) / seconds)

            with server_process("--latency", str(latency)) as url:
                width = options.concurrency
                for round_ in range(options.rounds):
                    ledger = Path(folder) / f"{latency}-{round_}.sqlite"
                    note("AsyncInferenceClient, bare", bare(url, chats, width))
                    note("quadrag", quadrag(url, chats, width, ledger))
                    if has_openai:
                        note("openai", openai(url, chats, width))
            reference = statistics.median(rates["AsyncInferenceClient, bare"])
            for name, found in rates.items():
                median = statistics.median(found)
                each = " ".join(f"{rate:.0f}" for rate in found)
                print(f"{latency * 1000:>6.0f}ms  {name:<28}{median:>9.0f}{median / reference:>9.2f}   {each}")


if __name__ == "__main__":
    main()

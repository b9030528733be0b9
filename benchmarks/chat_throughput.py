"""Calls per second of `quadrag.chat.client.ChatClient` beside its peers, on one local server process.

Peers: the bare `huggingface_hub.AsyncInferenceClient` under a semaphore, as its documentation shows it; the `openai`
client the same way, where installed; a loop that asks one call after the other. The server only sleeps and echoes, so
the numbers are the clients' own cost. Rounds are interleaved and medians are shown; the ledger is on for quadrag
alone. A replay asks no server, so it is timed by the processor and has no ratio. It does not measure a model.

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
REPLAY = "quadrag, replay (processor)"


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


def replay(url: str, chats: Chats, ledger: Path) -> float:
    """Return the seconds of processor time that a replay of the same calls takes, which waits for nothing.

    It is over in a tenth of a second: by the clock, another process on the machine halves the rate.
    """
    with Ledger(ledger) as book, ChatClient(url + "#m", ledger=book, replay=True, parameters=PARAMETERS) as client:
        started = time.process_time()
        client(chats)
        return time.process_time() - started


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


def sequential(url: str, chats: Chats) -> float:
    """Return the seconds that one call after the other takes."""
    from huggingface_hub import InferenceClient

    client = InferenceClient(base_url=url, api_key="none")
    started = time.perf_counter()
    for messages in chats:
        client.chat_completion(messages, model="m", **PARAMETERS)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, nargs="+", default=[0.2, 0.05], help="seconds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sequential-calls", type=int, default=50, help="the loop's calls; its rate is extrapolated")
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

            def note(name: str, calls: int, seconds: float, rates: dict[str, list[float]] = rates) -> None:
                rates.setdefault(name, []).append(calls / seconds)

            with server_process("--latency", str(latency)) as url:
                few = chats[: options.sequential_calls]
                width = options.concurrency
                for round_ in range(options.rounds):
                    ledger = Path(folder) / f"{latency}-{round_}.sqlite"
                    note("AsyncInferenceClient, bare", len(chats), bare(url, chats, width))
                    note("quadrag", len(chats), quadrag(url, chats, width, ledger))
                    if has_openai:
                        note("openai", len(chats), openai(url, chats, width))
                    note(f"sequential ({len(few)}, extrap.)", len(few), sequential(url, few))
                    note(REPLAY, len(chats), replay(url, chats, ledger))
            reference = statistics.median(rates["AsyncInferenceClient, bare"])
            for name, found in rates.items():
                median = statistics.median(found)
                each = " ".join(f"{rate:.0f}" for rate in found)
                ratio = "" if name == REPLAY else f"{median / reference:.2f}"
                print(f"{latency * 1000:>6.0f}ms  {name:<28}{median:>9.0f}{ratio:>9}   {each}")


if __name__ == "__main__":
    main()

"""Calls to a server."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peers.peer import CONCURRENCY, OURS, Given, Peer


def by_quadrag(given: Given) -> Callable[[], Any]:
    from quadrag.chat.client import ChatClient
    from quadrag.chat.ledger import Ledger

    def do() -> list[Any]:
        with (
            tempfile.TemporaryDirectory() as folder,
            Ledger(Path(folder, "l")) as ledger,
            ChatClient(f"{given['url']}#m", ledger=ledger, concurrency=CONCURRENCY) as client,
        ):
            return client(given["chats"])

    return do


def by_openai(given: Given) -> Callable[[], Any]:
    import openai

    async def all_of() -> list[str]:
        gate = asyncio.Semaphore(CONCURRENCY)
        async with openai.AsyncOpenAI(base_url=given["url"], api_key="x") as client:

            async def one(chat: Any) -> str:
                async with gate:
                    made = await client.chat.completions.create(model="m", messages=chat)
                return made.choices[0].message.content or ""

            return await asyncio.gather(*map(one, given["chats"]))

    return lambda: asyncio.run(all_of())


def by_requests(given: Given) -> Callable[[], Any]:
    import requests

    def do() -> list[str]:
        with requests.Session() as session:
            url, bodies = f"{given['url']}/chat/completions", [{"model": "m", "messages": c} for c in given["chats"]]
            return [session.post(url, json=one).json()["choices"][0]["message"]["content"] for one in bodies]

    return do


PEERS = (
    Peer(OURS, by_quadrag),
    Peer("openai", by_openai, ("openai",)),
    Peer("requests, one after the other", by_requests, part=0.05),
)

"""HTML to text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peers.peer import OURS, Given, Peer


def by_quadrag(given: Given) -> Callable[[], Any]:
    from quadrag.retrieval.webpage import text

    text("<p>loads what loads once")
    return lambda: [text(page) for page in given["pages"]]


def by_beautifulsoup(given: Given) -> Callable[[], Any]:
    from bs4 import BeautifulSoup

    return lambda: [BeautifulSoup(page, "lxml").get_text(" ", strip=True) for page in given["pages"]]


PEERS = (
    Peer(OURS, by_quadrag),
    Peer("BeautifulSoup, lxml", by_beautifulsoup, ("beautifulsoup4", "lxml")),
)

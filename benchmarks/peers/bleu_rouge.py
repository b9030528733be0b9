"""BLEU and ROUGE-L of Chinese."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peers.peer import OURS, Given, Peer, load


def by_quadrag(given: Given) -> Callable[[], Any]:
    module = load("crud_overlap")
    module.compute(predictions=["读取"], references=["词典"])

    def do() -> list[float]:
        rows = module.compute(predictions=given["answers"], references=given["golds"])["per_item"]
        return [row[key] for row in rows for key in ("bleu", "rouge_l")]

    return do


def by_pairs(given: Given) -> Callable[[], Any]:
    def do() -> list[float]:
        pairs = zip(given["answers"], given["golds"], strict=True)
        rows = [load("crud_overlap").compute(predictions=[a], references=[b]) for a, b in pairs]
        return [row["per_item"][0][key] for row in rows for key in ("bleu", "rouge_l")]

    return do


PEERS = (
    Peer(OURS, by_quadrag),
    Peer("evaluate, a pair at a time", by_pairs),
)

"""Exact match and F1 of answers in English, which FlashRAG cuts at blanks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peers.peer import OURS, Given, Peer, load


def by_quadrag(given: Given) -> Callable[[], Any]:
    module = load("omnieval_overlap")
    module.compute(predictions=["loads"], references=[["what loads once"]])

    def do() -> list[float]:
        made = module.compute(predictions=given["english"], references=[[gold] for gold in given["accepted"]])
        return [row[key] for row in made["per_item"] for key in ("em", "f1")]

    return do


def by_flashrag(given: Given) -> Callable[[], Any]:
    from types import SimpleNamespace

    from flashrag.evaluator.metrics import ExactMatch, F1_Score

    settings = {"dataset_name": "own", "metric_setting": {}}
    measures = [ExactMatch(settings), F1_Score(settings)]

    def do() -> list[float]:
        golds = [[gold] for gold in given["accepted"]]
        data = SimpleNamespace(pred=given["english"], golden_answers=golds, choices=[[]])
        both = [measure.calculate_metric(data)[1] for measure in measures]
        return [float(value) for pair in zip(*both, strict=True) for value in pair]

    return do


PEERS = (
    Peer(OURS, by_quadrag),
    Peer("FlashRAG", by_flashrag, ("flashrag-dev",), bare=True),
)

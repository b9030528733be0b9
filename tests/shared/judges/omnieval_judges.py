"""Judges of omnieval that reply by metric and answer, and how tests read what was asked and found."""

import json
import re
from collections.abc import Callable
from typing import Any

PROFILES = ("official", "corrected")
KEYS = ("acc", "hal", "com", "utl", "nac")
NAMES = {
    "acc": "accuracy",
    "hal": "hallucination",
    "com": "completeness",
    "utl": "utilization",
    "nac": "numerical_accuracy",
}
# What `corrected` takes; the prompts ask for the same, but for hallucination's -1, which is the paper's.
SCALES = {"acc": {0, 1, 2}, "hal": {-1, 0, 1}, "com": {-1, 0, 1, 2}, "utl": {0, 1, 2}, "nac": {-1, 0, 1}}
HALVED = {"acc", "com", "utl"}
TITLES = {"正确性": "acc", "幻觉": "hal", "完整性": "com", "检索内容的利用": "utl", "数值准确性": "nac"}


def says(verdict: Any) -> str:
    return json.dumps({"prediction": verdict})


def material(request: list[dict[str, str]]) -> dict[str, Any]:
    (line,) = [line for line in request[-1]["content"].splitlines() if line.startswith('{"question": ')]
    return dict(json.loads(line))


def metric_of(request: list[dict[str, str]]) -> str:
    (title,) = re.findall(r"^这次评的是“(.+?)”", request[-1]["content"], re.MULTILINE)
    return TITLES[title]


class Judge:
    """Replies by metric and answer, and keeps what it was asked."""

    model = "table"

    def __init__(self, replies: Callable[[str, str], Any]) -> None:
        self.replies = replies
        self.batches: list[list[list[dict[str, str]]]] = []

    def __call__(self, requests: list[list[dict[str, str]]]) -> list[Any]:
        self.batches.append(requests)
        return [self.replies(metric_of(request), material(request)["answer"]) for request in requests]


def always(reply: Any) -> Judge:
    return Judge(lambda key, answer: reply)


def column(got: Any, key: str) -> list[float | None]:
    return [row[key] for row in got["per_item"]]


def worth(verdict: int | None, key: str) -> float | None:
    return None if verdict is None or verdict < 0 else verdict / 2 if key in HALVED else float(verdict)

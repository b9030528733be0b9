"""A judge of ragquesteval that replies by the text it is asked about, its replies, and how tests read the result."""

import json
from typing import Any

import pytest

PROFILES = ("official", "corrected")
U = "无法推断"
ASKING, ANSWERING = "ASKING {text}", "ANSWERING {text}\n{questions}"


def blocks(answers: list[str], numbered: bool = True) -> str:
    return "\n".join(
        (f"问题 {n}\n" if numbered else "") + f"<response>\n{text}\n</response>" for n, text in enumerate(answers, 1)
    )


def asking(questions: list[str]) -> str:
    return json.dumps({"key_info": questions, "question": questions}, ensure_ascii=False)


def approx(values: list[Any]) -> list[Any]:
    return [value if isinstance(value, str) else pytest.approx(value, abs=1e-6) for value in values]


def cells(got: Any, i: int = 0) -> list[Any]:
    row = got["per_item"][i]
    return [row["reasons"].get(key, row[key]) for key in ("precision", "recall")]


class Judge:
    """Replies by the text that a request is about (its second word), and keeps every batch."""

    model = "by-text"

    def __init__(self, replies: dict[str, Any]) -> None:
        self.replies = replies
        self.batches: list[list[str]] = []

    def __call__(self, requests: list[list[dict[str, str]]]) -> list[Any]:
        asked = [request[-1]["content"].splitlines()[0] for request in requests]
        self.batches.append(asked)
        return [self.replies[line] for line in asked]


SHORT = {"questions": ASKING, "answers": ANSWERING}

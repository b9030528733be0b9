"""Judges of truthfulness that reply by a rule, a tokenizer of words, and how tests read what was asked and found."""

import json
from typing import Any

PROFILES = ("official", "corrected")
KEYS = ("truthfulness", "accuracy", "hallucination", "missing")
YES, NO = '{"score": 1, "explanation": "ok"}', '{"score": 0, "explanation": "no"}'


def material(request: list[dict[str, str]]) -> dict[str, str]:
    (line,) = [line for line in request[-1]["content"].splitlines() if line.startswith('{"question": ')]
    texts = json.loads(line)
    assert list(texts) == ["question", "reference", "answer"]
    return dict(texts)


class Substring:
    """The judge of the worked examples: accepts an answer that contains the accepted one. Keeps what it was asked."""

    model = "substring"

    def __init__(self) -> None:
        self.batches: list[list[dict[str, str]]] = []

    def __call__(self, requests: list[list[dict[str, str]]]) -> list[str]:
        self.batches.append([material(request) for request in requests])
        return [YES if one["reference"].lower() in one["answer"].lower() else NO for one in self.batches[-1]]


class Says:
    """A judge with one reply to everything."""

    def __init__(self, reply: Any, model: str | None = None) -> None:
        self.reply, self.model = reply, model

    def __call__(self, requests: list[Any]) -> list[Any]:
        return [self.reply] * len(requests)


class Words:
    """A tokenizer of words; ids as its kind has them: BOS before and EOS after, or neither."""

    def __init__(self, bos: bool = True, eos: bool = False) -> None:
        self.words: list[str] = ["<s>", "</s>"]
        self.bos, self.eos = [0] * bos, [1] * eos

    def encode(self, text: str) -> list[int]:
        self.words += text.split()
        return self.bos + [self.words.index(word, 2) for word in text.split()] + self.eos

    def decode(self, ids: list[int]) -> str:
        return " ".join(self.words[i] for i in ids)


def column(got: Any, key: str = "truthfulness") -> list[float | None]:
    return [row[key] for row in got["per_item"]]


def means(got: Any) -> list[float | None]:
    return [got[key] for key in KEYS]

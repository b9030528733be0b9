"""What a question is about, read from a model's reply; ``replies.jsonl`` has replies and what is read of them."""

import json
import random
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from quadrag.baselines.crag.language.entities import DOMAINS, PROMPT_SCHEMA, Entities, read

FULL = {
    "domain": "finance",
    "companies": ["Quillmark Systems"],
    "tickers": ["QMRK"],
    "dates": ["2024-02-20", "yesterday"],
    "times": ["10:30"],
    "aspects": ["closing price"],
}
PIECES = [
    *'{}[]",:\n\t\\/ 019-.eE',
    *("\u201c", "\u2019", "'", "null", "None", "true", "NaN", "```json", "//", "/*", "*/", "movies", "\ud83d", "1e999"),
    *('"movie"', '"Titanic"', "'O'Brien'", "9" * 30, "yesterday", '"2024-02-20"', "\x00", "\\ud800", '"10:30"', '"#1"'),
    *(f'"{field.name}"' for field in fields(Entities)),
]

REPLIES = list(map(json.loads, Path(__file__).with_name("replies.jsonl").read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize(("reply", "expected"), REPLIES)
def test_slips_of_a_reply_are_mended_and_the_papers_fields_are_read(reply, expected):
    assert read(reply) == Entities(**{k: tuple(v) if isinstance(v, list) else v for k, v in expected.items()})


@pytest.mark.parametrize(
    "reply",
    [
        *("", " ", "I do not know.", "{}", "[]", '["Titanic"]', '{"answer": "Titanic"}', "{", "}{", "null", '"movies"'),
        *("{" * 3000, '{"a":' * 3000, "[" * 100_000, '{"movies"}', "{movies}", "\ud800", "{\x00}"),
    ],
    ids=lambda reply: repr(reply[:20]),
)
def test_a_reply_without_an_object_of_ours_is_none(reply):
    assert read(reply) is None


def test_a_field_holds_twelve_names_and_none_is_longer_than_200_characters():
    found = read(json.dumps({"names": [f"n{number}" for number in range(50)] + ["x" * 201]}))
    assert found is not None and found.names == tuple(f"n{number}" for number in range(12))
    assert read(json.dumps({"names": ["x" * 201, "y" * 200]})) == Entities(names=("y" * 200,))


def test_deep_nesting_is_given_up_not_followed():
    deep: Any = "Titanic"
    for _ in range(4):
        deep = [deep]
    assert read(json.dumps({"movies": deep})) == Entities(movies=("Titanic",))
    assert read(json.dumps({"movies": [[deep]]})) == Entities()
    assert read('{"movies": ' + "[" * 2000 + "]" * 2000 + "}") in (None, Entities())  # as deep as Python's reader goes
    assert read('{"movies": ["Up"], "x": ' + "[" * 5000) is None


@pytest.mark.slow(1_000, 6_000, 500_000)
def test_read_survives_malformed_replies(rounds):
    draw = random.Random(45)
    whole = json.dumps({**FULL, "movies": [["Up", {"name": "Titanic"}], 1917], "ranks": [1, "2"], "names": None})
    readable = 0
    for number in range(rounds):
        at, noise = draw.randrange(len(whole)), "".join(draw.choices(PIECES, k=draw.randrange(40) if number % 3 else 3))
        reply = (noise, whole[:at] + noise[:6] + whole[at + draw.randrange(6) :], "Here: " + whole[:at])[number % 3]
        found = read(reply)
        if found is not None:
            readable += 1
            for field in fields(Entities):
                value = getattr(found, field.name)
                if field.name != "domain":
                    assert type(value) is tuple and len(value) <= 31, reply
                    assert all(type(part) is (int if field.name == "ranks" else str) for part in value), reply
            assert found.domain is None or found.domain in DOMAINS
    assert readable > 0.3 * rounds


def test_the_prompt_names_every_field_that_is_read():
    for field in fields(Entities):
        assert (f'"{field.name}"' in PROMPT_SCHEMA) == (field.name != "relative")
    for domain in DOMAINS:
        assert f'"{domain}"' in PROMPT_SCHEMA
    assert "{" not in PROMPT_SCHEMA, "braces would be taken for slots"

"""What a question is about, read from a model's reply (``replies.jsonl``), and the dates in it (``dates.yaml``)."""

import json
import random
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from quadrag.baselines.crag.entities import DOMAINS, PROMPT_SCHEMA, Entities, find_dates, read

HERE = Path(__file__).parent
REPLIES = list(map(json.loads, (HERE / "replies.jsonl").read_text(encoding="utf-8").splitlines()))
DATES = yaml.safe_load((HERE / "dates.yaml").read_text(encoding="utf-8"))
PIECES = [
    *'{}[]",:\n\t\\/ 019-.eE',
    *("\u201c", "\u2019", "'", "null", "None", "true", "NaN", "```json", "//", "/*", "*/", "movies", "\ud83d", "1e999"),
    *('"movie"', '"Titanic"', "'O'Brien'", "9" * 30, "yesterday", '"2024-02-20"', "\x00", "\\ud800", '"10:30"', '"#1"'),
    *(f'"{field.name}"' for field in fields(Entities)),
]


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
    found = read(json.dumps({"names": [f"n{number}" for number in range(50)] + ["x" * 201, "y" * 200]}))
    assert found is not None and found.names == tuple(f"n{number}" for number in range(12))
    assert read(json.dumps({"names": ["x" * 201, "y" * 200]})) == Entities(names=("y" * 200,))


@pytest.mark.slow(1_000, 6_000, 500_000)
def test_any_text_is_read_or_refused(rounds):
    draw, readable = random.Random(3), 0
    for _ in range(rounds):
        whole = json.dumps({"domain": "finance", "companies": ["Quillmark Systems"], "dates": ["2024-02-20"]})
        place = draw.randrange(len(whole))
        reply: Any = whole[:place] + "".join(draw.choices(PIECES, k=draw.randrange(6))) + whole[place:]
        found = read(reply if draw.random() < 0.7 else "".join(draw.choices(PIECES, k=draw.randrange(30))))
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
    assert all(f'"{name}"' in PROMPT_SCHEMA for name in (*DOMAINS, *(field.name for field in fields(Entities))))
    assert "{" not in PROMPT_SCHEMA, "braces would be taken for slots"


@pytest.mark.parametrize(("text", "dates"), [*DATES["dates"].items(), *((text, "") for text in DATES["none"])])
def test_dates_of_a_text(text, dates):
    assert find_dates(text) == tuple(dates.split())


def test_dates_of_long_texts():
    assert len(find_dates(" ".join(f"{year}" for year in range(1900, 2000)))) == 31
    for text in ("30 feb " * 5000, "1 and " * 5000, "1:1 " * 5000):
        assert find_dates(text) == ()

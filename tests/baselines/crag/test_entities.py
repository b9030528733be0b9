"""What a question is about, read from a model's reply."""

from __future__ import annotations

import json
import random
from dataclasses import fields
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


def test_a_plain_reply_is_read():
    assert read(json.dumps(FULL)) == Entities(
        domain="finance",
        companies=("Quillmark Systems",),
        tickers=("QMRK",),
        dates=("2024-02-20",),
        relative=("yesterday",),
        times=("10:30",),
        aspects=("closing price",),
    )


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('```json\n{"movies": ["Titanic"]}\n```', {"movies": ("Titanic",)}),
        ('Sure! Here it is: {"movies": ["Titanic"]} Hope that helps {smile}', {"movies": ("Titanic",)}),
        (
            '{"movies": ["Titanic",], "people": ["Kate Winslet",],}',
            {"movies": ("Titanic",), "people": ("Kate Winslet",)},
        ),
        ('{"movies": "Titanic"}', {"movies": ("Titanic",)}),
        ('{"movies": "Yes, Minister; No"}', {"movies": ("Yes, Minister; No",)}),
        ('{"movies": 1917}', {"movies": ("1917",)}),
        ('{"movies": null, "domain": "movie"}', {"domain": "movie"}),
        ('{"movies": [["Titanic", ["Up"]], null, true, {}]}', {"movies": ("Titanic", "Up")}),
        ('{"movies": [{"title": "Titanic", "year": 1997}]}', {"movies": ("Titanic",)}),
        ("{'movies': ['Schindler's List', 'Up'], 'domain': None}", {"movies": ("Schindler's List", "Up")}),
        ("{movies: ['Titanic'], domain: 'movie'}", {"movies": ("Titanic",), "domain": "movie"}),
        ("{\u201cmovies\u201d: [\u201cTitanic\u201d]}", {"movies": ("Titanic",)}),
        ('{"movies": ["Titanic"], "people": ["Kate Win', {"movies": ("Titanic",), "people": ("Kate Win",)}),
        ('{"movies": ["Titanic"], "people":', {"movies": ("Titanic",)}),
        ('{"movies": ["Titanic"] // the film\n, /* and */ "ranks": [1]}', {"movies": ("Titanic",), "ranks": (1,)}),
        ('{"movies": ["Line\nbreak"]}', {"movies": ("Line break",)}),
        ('{"entities": {"movies": ["Titanic"]}}', {"movies": ("Titanic",)}),
        ('{"thought": 1} {"movies": ["Draft"]} so: {"movies": ["Titanic"]}', {"movies": ("Titanic",)}),
        ('{"Movies": ["Titanic"], "movies": ["Up"]}', {"movies": ("Titanic",)}),
        ('{"movie_name": "Titanic", "person": "Kate Winslet"}', {"movies": ("Titanic",), "people": ("Kate Winslet",)}),
        ('{"movies": ["titanic", "Titanic", " TITANIC "]}', {"movies": ("titanic",)}),
        ('{"names": ["N/A", "", "none", "Null", "unknown", "-"]}', {}),
        (
            '{"tickers": ["NA", "$tsla", "NASDAQ: META", "not a ticker", "BRK.B"]}',
            {"tickers": ("NA", "TSLA", "META", "BRK.B")},
        ),
        ('{"domain": "Films"}', {"domain": "movie"}),
        ('{"domain": ["sports"]}', {"domain": "sports"}),
        ('{"domain": "cooking", "names": ["Soup"]}', {"names": ("Soup",)}),
        ('{"ranks": ["#1", "number two", 40, 101, 0, -3, "ten"]}', {"ranks": (1, 2, 40, 10)}),
        (
            '{"dates": [2019, "2024-02", "02/20/2024", "2024-02-30", "March 9, 2024"]}',
            {"dates": ("2019", "2024-02", "2024-02-20", "2024-03-09"), "relative": ("2024-02-30",)},
        ),
        ('{"dates": ["yesterday", "March 9", "last Friday"]}', {"relative": ("yesterday", "March 9", "last Friday")}),
        ('{"dates": "2024-02-20T00:00:00"}', {"dates": ("2024-02-20",)}),
        ('{"times": ["10:30 am", "4 pm", "25:99", "noon"]}', {"times": ("10:30", "16:00")}),
        ('{"songs": ["\\ud83d", "Caf\\u00e9"]}', {"songs": ("Caf\u00e9",)}),
        ('{"songs": [NaN, Infinity, 1e400, 99, 1.5]}', {"songs": ("99", "1.5")}),
    ],
)
def test_slips_of_a_reply_are_mended(reply, expected):
    assert read(reply) == Entities(**expected)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            {"domain": "finance", "market_identifier": "QMRK", "metric": "P/E ratio", "datetime": "03/12/2024"},
            {"domain": "finance", "companies": ("QMRK",), "aspects": ("P/E ratio",), "dates": ("2024-03-12",)},
        ),
        (
            {
                "domain": "movie",
                "movie_name": "Titanic",
                "movie_aspect": "budget",
                "person": "Kate Winslet",
                "person_aspect": "oscar_awards",
                "year": 1997,
            },
            {
                "domain": "movie",
                "movies": ("Titanic",),
                "people": ("Kate Winslet",),
                "aspects": ("budget", "oscar_awards"),
                "dates": ("1997",),
            },
        ),
        (
            {
                "domain": "music",
                "artist_name": "Adele",
                "artist_aspect": "lifespan",
                "song_name": "25",
                "song_aspect": "author",
            },
            {"domain": "music", "artists": ("Adele",), "songs": ("25",), "aspects": ("lifespan", "author")},
        ),
        (
            {
                "domain": "sports",
                "sport_type": "basketball",
                "tournament": "NBA",
                "team": "Bulls",
                "datetime": "yesterday",
            },
            {"domain": "sports", "teams": ("Bulls",), "aspects": ("basketball", "NBA"), "relative": ("yesterday",)},
        ),
        ({"domain": "encyclopedia", "main_entity": "Oslo"}, {"domain": "open", "names": ("Oslo",)}),
        ({"domain": "other", "main_entity": "Oslo", "datetime": None}, {"domain": "open", "names": ("Oslo",)}),
    ],
)
def test_every_field_of_the_papers_prompt_is_read(reply, expected):
    assert read(json.dumps(reply)) == Entities(**expected)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " ",
        "I do not know.",
        "{}",
        "[]",
        '["Titanic"]',
        '{"answer": "Titanic"}',
        "{",
        "}{",
        "null",
        '"movies"',
        "{" * 3000,
        '{"a":' * 3000,
        "[" * 100_000,
        '{"movies"}',
        "{movies}",
        "\ud800",
        "{\x00}",
    ],
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

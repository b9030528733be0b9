"""What a question is about, read from a model's reply or guessed by rules."""

from __future__ import annotations

import bz2
import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from quadrag.baselines.crag.language.entities import DOMAINS, PROMPT_SCHEMA, Entities, guess, read
from quadrag.errors import QuadragError

WEDNESDAY = "03/13/2024, 08:29:59 PT"
DATE = re.compile(r"\d{4}(-\d{2}){0,2}")


def proper(entities: Entities) -> bool:
    """Whether every field has the type and form that the class promises."""
    texts = [field.name for field in fields(Entities) if field.name not in ("domain", "ranks")]
    for name in texts:
        values = getattr(entities, name)
        assert type(values) is tuple and len(values) <= 31, name
        assert all(type(one) is str and one.strip() and len(one) <= 200 for one in values), (name, values)
        for one in values:
            one.encode()
    assert entities.domain is None or entities.domain in DOMAINS
    assert all(DATE.fullmatch(one) for one in entities.dates), entities.dates
    assert all(re.fullmatch(r"[0-2]\d:[0-5]\d", one) for one in entities.times), entities.times
    assert all(type(one) is int and 1 <= one <= 100 for one in entities.ranks), entities.ranks
    assert all(re.fullmatch(r"[A-Z]{1,6}([.-][A-Z]{1,2})?", one) for one in entities.tickers), entities.tickers
    return True


# A model's reply

FULL = {
    "domain": "finance",
    "companies": ["Quillmark Systems"],
    "tickers": ["QMRK"],
    "dates": ["2024-02-20", "yesterday"],
    "times": ["10:30"],
    "aspects": ["closing price"],
}


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
    found = read(reply)
    assert found == Entities(**expected)
    assert proper(found)


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


def test_a_market_identifier_is_a_symbol_where_no_company_bears_it():
    from quadrag.baselines.crag.facts.find import find_facts
    from quadrag.baselines.crag.graph import sample_graph
    from quadrag.kg.graph import Graph

    with Graph(sample_graph()) as graph:
        found = [
            find_facts(
                graph, read(json.dumps({"domain": "finance", "market_identifier": name})), "pe ratio?", WEDNESDAY
            )
            for name in ("QMRK", "Quillmark Systems")
        ]
    assert [passage.text for passage in found[0]] and all("QMRK" in "".join(map(str, one)) for one in found)


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


PIECES = [
    *'{}[]",:\n\t\\/ 019-.eE',
    "\u201c",
    "\u2019",
    "'",
    "null",
    "None",
    "true",
    "NaN",
    "```json",
    "```",
    "//",
    "/*",
    "*/",
    *(f'"{field.name}"' for field in fields(Entities)),
    "movies",
    "domain",
    '"movie"',
    '"Titanic"',
    "'O'Brien'",
    "\ud83d",
    "1e999",
    "9" * 30,
    "yesterday",
    '"2024-02-20"',
    '"March 9, 2024"',
    "\x00",
    "\\ud800",
    '"10:30"',
    "Qu\u00e9bec",
    '"#1"',
]


@pytest.mark.slow(2_000, 6_000, 500_000)
def test_read_survives_malformed_replies(rounds):
    draw = random.Random(45)
    whole = json.dumps({**FULL, "movies": [["Up", {"name": "Titanic"}], 1917], "ranks": [1, "2"], "names": None})
    readable, began = 0, time.process_time()
    for number in range(rounds):
        kind = number % 4
        if kind == 0:
            reply = "".join(draw.choices(PIECES, k=draw.randrange(40)))
        elif kind == 1:  # pieces in the place of some of a good reply
            at = draw.randrange(len(whole))
            reply = whole[:at] + "".join(draw.choices(PIECES, k=3)) + whole[at + draw.randrange(6) :]
        elif kind == 2:  # cut short
            reply = "Here: " + whole[: draw.randrange(len(whole))]
        else:  # any JSON under our names
            reply = json.dumps({draw.choice(list(FULL)): _value(draw, 0) for _ in range(4)})
        found = read(reply)
        if found is not None:
            readable += 1
            assert proper(found), reply
    assert readable > 0.4 * rounds
    assert time.process_time() - began < 0.003 * rounds


def _value(draw: random.Random, depth: int) -> Any:
    kind = draw.randrange(9 if depth < 8 else 7)
    if kind == 7:
        return [_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    if kind == 8:
        return {draw.choice(["name", "date", "x"]): _value(draw, depth + 1) for _ in range(draw.randrange(3))}
    return [
        None,
        True,
        draw.randrange(-5, 3000),
        draw.uniform(-1e20, 1e20),
        "",
        "last week",
        "x" * draw.randrange(300),
    ][kind]


def test_the_prompt_names_every_field_that_is_read():
    for field in fields(Entities):
        assert (f'"{field.name}"' in PROMPT_SCHEMA) == (field.name != "relative")
    for domain in DOMAINS:
        assert f'"{domain}"' in PROMPT_SCHEMA
    assert "{" not in PROMPT_SCHEMA, "braces would be taken for slots"


# By rules

GUESSES = [
    (
        "what was the closing price of quillmark systems on february 20, 2024?",
        "finance",
        "quillmark systems",
        "2024-02-20",
    ),
    (
        "which company has the larger market cap, velbrook dairy or ostra lumen?",
        "finance",
        "velbrook dairy|ostra lumen",
        "",
    ),
    ("how much did apple pay in dividends in 2023?", "finance", "apple", "2023"),
    ("What is Apple's P/E ratio?", "finance", "Apple", ""),
    ("what was microsoft's trading volume yesterday?", "finance", "microsoft", "2024-03-12"),
    ("did tesla stock go up last friday?", "finance", "tesla", "2024-03-08"),
    ("what is the eps of meta platforms as of today", "finance", "meta platforms", "2024-03-13"),
    ("who directed the glass orchard?", "movie", "glass orchard", ""),
    ("Who directed The Lord of the Rings?", "movie", "The Lord of the Rings", ""),
    (
        "which movie earned more at the box office, the glass orchard or tin parade?",
        "movie",
        "glass orchard|tin parade",
        "",
    ),
    ("which movies released in 2015 did hollis brandeaux act in?", "movie", "hollis brandeaux", "2015"),
    ("who plays the lighthouse keeper in night ferry to osk?", None, "lighthouse keeper in night ferry to osk|osk", ""),
    ("who won the oscar for best actress in 2016?", "movie", "", "2016"),
    ("who directed kepler's gardener?", "movie", "kepler's gardener", ""),
    ('what is the budget of the film "Up"?', "movie", "Up", ""),
    ("when was the marlo fenwicke song salt on the sill released?", "music", "marlo fenwicke|salt on the sill", ""),
    (
        "how many weeks had brass and clover been on the hot 100 as of march 2, 2024?",
        "music",
        "brass and clover",
        "2024-03-02",
    ),
    ("how many grammy awards has idra vanleer won?", "music", "idra vanleer", ""),
    ("who wrote the song 'Hey Jude'?", "music", "Hey Jude", ""),
    ("which band released the album lantern weather?", "music", "lantern weather", ""),
    ("what song is number one on the billboard hot 100 this week?", "music", "", "2024-03-11 2024-03-12 2024-03-13"),
    ("which album won the grammy for album of the year in 2018?", "music", "", "2018"),
    (
        "what was the final score when dunmoor hosted harrow vale on march 2, 2024?",
        "sports",
        "dunmoor|harrow vale",
        "2024-03-02",
    ),
    ("when is the next saltmarsh herons game?", "sports", "saltmarsh herons", ""),
    ("did the chicago bulls win their nba game last night?", "sports", "chicago bulls", "2024-03-12"),
    ("who scored the winning goal in the 2021 pell cup final?", "sports", "pell cup", "2021"),
    ("how many premier league games did everton play in february 2024?", "sports", "everton", "2024-02"),
    ("in what year did the lindholt bridge open to traffic?", None, "lindholt bridge", ""),
    (
        "is the cape orlan lighthouse taller than the pinnock head lighthouse?",
        None,
        "cape orlan lighthouse|pinnock head lighthouse",
        "",
    ),
    ("what is taylor swift's birthday?", None, "taylor swift", ""),
    ("is microsoft office 2019 newer than microsoft office 2013?", None, "microsoft office", "2019 2013"),
    ("How tall is the Eiffel Tower?", None, "Eiffel Tower", ""),
    (
        "which is older, Oxford University or the University of Bologna?",
        None,
        "Oxford University|University of Bologna",
        "",
    ),
    ("", None, "", ""),
    ("what is it?", None, "", ""),
]


@pytest.mark.parametrize(("query", "domain", "names", "dates"), GUESSES, ids=[one[0][:40] for one in GUESSES])
def test_rules_find_domain_names_and_dates(query, domain, names, dates):
    found = guess(query, WEDNESDAY)
    assert proper(found)
    assert found.domain == domain
    assert set(filter(None, names.split("|"))) <= set(found.names), found.names
    assert found.dates == tuple(dates.split())


@pytest.mark.parametrize(
    ("query", "tickers"),
    [
        ("What did TSLA close at?", "TSLA"),
        ("price of $meta today", "META"),
        ("the ticker symbol qmrk", "QMRK"),
        ("Is NVDA above AMD?", "NVDA AMD"),
        ("Who is the CEO of the USA TODAY?", "TODAY"),
        ("WHO SHOUTS SO", ""),
        ("BRK.B price", "BRK.B"),
        ("what is the ticker symbol of apple", ""),
        ("(NASDAQ: GOOG) volume", "GOOG"),
    ],
)
def test_rules_find_tickers_by_their_shape(query, tickers):
    assert guess(query, WEDNESDAY).tickers == tuple(tickers.split())


@pytest.mark.parametrize(
    ("query", "ranks"),
    [
        ("number one song", (1,)),
        ("ranked 5 on the hot 100", (5,)),
        ("the no. 3 and no. 7 singles", (3, 7)),
        ("#1 hit", (1,)),
        ("which song topped the billboard hot 100?", (1,)),
        ("top song of 2023", (1,)),
        ("100 songs", ()),
        ("number 300", ()),
    ],
)
def test_rules_find_ranks(query, ranks):
    assert guess(query, WEDNESDAY).ranks == ranks


def test_a_question_of_no_time_is_an_error():
    with pytest.raises(QuadragError, match=r"the question's time is 'soon'; expected MM/DD/YYYY, HH:MM:SS PT"):
        guess("what now?", "soon")


def test_rules_on_the_real_questions(real_data: Callable[[str], Path]):
    """Upstream's example file: none of its questions loses what it is about; those without a name have none to find."""
    with bz2.open(real_data("CRAG") / "example_data" / "dev_data.jsonl.bz2", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    found = {row["query"]: guess(row["query"], row["query_time"]) for row in rows}
    assert all(map(proper, found.values()))
    expected = {
        "microsoft office": (None, {"microsoft office 2019", "microsoft office 2013"}, ("2019", "2013")),
        "dow jones": ("finance", set(), ("2024-03-05",)),
        "heaven and hell": (None, {"heaven and hell"}, ()),
        "rory mcilroy": (None, {"rory mcilroy"}, ()),
        "dividend yield": ("finance", set(), ()),
        "beauty brands": (None, {"beauty brands"}, ()),
    }
    for part, (domain, names, dates) in expected.items():
        (one,) = [entities for query, entities in found.items() if part in query]
        assert one.domain == domain and names <= set(one.names) and one.dates == dates, (part, one)


@pytest.mark.slow(400, 2_000, 100_000)
def test_rules_survive_any_question(rounds):
    draw = random.Random(7)
    for _ in range(rounds):
        query = "".join(
            draw.choices([*PIECES, "the ", "of ", "What ", " Bulls", " on ", "last week ", "s' ", "\u2019s "], k=25)
        )
        query = query.encode("utf-8", "ignore").decode()
        assert proper(guess(query, WEDNESDAY)), query

"""What a question is about, guessed by rules."""

from __future__ import annotations

import bz2
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from crag_entities import PIECES, WEDNESDAY, proper

from quadrag.baselines.crag.language.entities import guess
from quadrag.errors import QuadragError

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

"""The knowledge graph of the sample as a whole: what it gives, within what bounds, and how names are compared."""

from __future__ import annotations

import ast
import bz2
import json
import pickle
import random
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample_graph import SOURCE

from quadrag.baselines.crag.facts.calls import CALLS, LINES, LOOKUPS, WIDTH, flatten, format_value
from quadrag.baselines.crag.facts.find import choose_functions, find_facts, make_calls
from quadrag.baselines.crag.facts.question import match_names, occurs_in, split_name
from quadrag.baselines.crag.language.entities import DOMAINS, Entities, guess
from quadrag.baselines.crag.language.wording import expand_query, stem, stems
from quadrag.baselines.crag.window import fill
from quadrag.data.files import sample_dir
from quadrag.errors import QuadragError
from quadrag.kg.build import build
from quadrag.kg.clock import at
from quadrag.kg.graph import Graph
from quadrag.kg.tools import FUNCTIONS

LATE = "03/20/2024, 10:00:00 PT"


def questions() -> list[dict[str, Any]]:
    """The sample's 30 questions."""
    path = sample_dir("crag") / "data" / "crag_task_1_and_2_dev_v5.jsonl.bz2"
    with bz2.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# The whole


def test_every_function_is_called_for_some_question(graph):
    asked = [
        *((row["query"], row["query_time"]) for row in questions()),
        ("price of quillmark systems stock at 9:31 am on february 22, 2024", LATE),
        ("play by play of the saltmarsh herons game on february 9, 2024", LATE),
        ("which artists won the grammy for best new artist in 2016?", LATE),
        ("how many grammys did the song glass weather win?", LATE),
    ]
    called = set()
    for query, query_time in asked:
        entities = guess(query, query_time)
        made = {
            title.partition("(")[0] for title in make_calls(at(graph, query_time), entities, query, query_time).titles
        }
        called |= made
        anywhere = Entities(names=entities.names, dates=entities.dates, ranks=entities.ranks, times=entities.times)
        assert made <= {*choose_functions(entities, query), *choose_functions(anywhere, query)}
    assert called == set(FUNCTIONS) and len(called) == 38


def test_applicable_goes_by_domain_names_and_words():
    assert choose_functions(Entities()) == []
    assert choose_functions(Entities(domain="open", names=("x",))) == ["open_search_entity_by_name", "open_get_entity"]
    assert "movie_get_year_info" in choose_functions(Entities(dates=("2016",)), "oscars of 2016")
    assert "movie_get_year_info" not in choose_functions(Entities(dates=("2016",)), "songs of 2016")
    detailed = "finance_get_detailed_price_history"
    assert detailed in choose_functions(Entities(tickers=("X",), times=("10:00",)))
    assert detailed in choose_functions(Entities(tickers=("X",)), "price today")
    assert detailed not in choose_functions(Entities(tickers=("X",)), "price yesterday")
    plays = "sports_nba_get_play_by_play_data_by_game_ids"
    assert plays in choose_functions(Entities(teams=("x",), aspects=("play-by-play",)))
    assert plays not in choose_functions(Entities(teams=("x",)), "who played?")
    assert [name for name in choose_functions(Entities(artists=("x",))) if "billboard" in name] == []


def test_relative_dates_of_a_reply_are_resolved(asked):
    found = asked("the close", "02/21/2024, 09:14:05 PT", companies=("Quillmark Systems",), relative=("yesterday",))
    assert "| 2024-02-20 |" in found['finance_get_price_history("QMRK")'][0]
    found = asked("the close yesterday", "02/21/2024, 09:14:05 PT", companies=("Quillmark Systems",))
    assert "| 2024-02-20 |" in found['finance_get_price_history("QMRK")'][0], "the question's own, where none is named"


def test_what_lies_after_the_question_is_hidden(graph):
    def lines(query: str, query_time: str, hide: bool) -> str:
        source = at(graph, query_time) if hide else graph
        return "\n".join(one.text for one in find_facts(source, guess(query, query_time), query, query_time))

    early = "02/12/2024, 10:00:00 PT"
    for query, later in (
        ("closing price of ostra lumen on february 16, 2024", "2024-02-16 |"),
        ("score of dunmoor against harrow vale on march 2, 2024", "Dunmoor 3"),
        ("who directed the movie orchard lane?", "Junia Okparo"),
        ("market cap of ostra lumen", "7751250432.5"),
        ("number one song on the billboard hot 100 of march 2, 2024", "Window Season"),
        ("points of the saltmarsh herons game on march 10, 2024", "110 points"),
    ):
        assert later in lines(query, early, hide=False), query
        assert later not in lines(query, early, hide=True), query


def test_an_unknown_domain_takes_only_names_that_are_the_same_or_stand_in_the_question(asked):
    assert asked("tell me of glass", names=("glass",)) == {}
    assert asked("tell me of hollis", names=("hollis",)) == {}
    assert list(asked("tell me of hollis brandt", names=("hollis brandt",))) == [
        'movie_get_person_info("hollis brandt")'
    ]
    found = asked("tell me of hollis brandeau", people=("Hollis Brandeau of Osk",))
    assert found == {}, "less than half of the words agree"


def test_a_question_of_no_time_is_an_error(graph):
    with pytest.raises(QuadragError, match="the question's time is 'now'"):
        find_facts(graph, Entities(), "what?", "now")


def test_nothing_asked_gives_nothing(graph):
    assert find_facts(graph, Entities(), "what is it?", LATE) == []
    assert find_facts(graph, Entities(names=("no such thing",)), "", LATE) == []


def test_a_graph_built_in_part_gives_what_it_has(tmp_path):
    for part in ("open", "music/artist_dict_simplified.pickle"):
        (tmp_path / "src" / part).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (SOURCE / part).is_dir() else shutil.copy
        copy(SOURCE / part, tmp_path / "src" / part)
    build(tmp_path / "src", tmp_path / "kg.sqlite")
    with Graph(tmp_path / "kg.sqlite") as partial:
        found = {
            passage.title
            for row in questions()
            for passage in find_facts(partial, guess(row["query"], row["query_time"]), row["query"], row["query_time"])
        }
    assert 'music_get_members("The Copper Lanterns")' in found and 'open_get_entity("Lindholt Bridge")' in found
    assert {title.partition("_")[0] for title in found} == {"open", "music"}


def test_an_error_of_upstream_is_no_result_and_any_other_is_raised(tmp_path):
    shutil.copytree(SOURCE / "music", tmp_path / "src" / "music")
    short = {"Brass and Clover": {"2024-03-02": ["2024-03-02", "Brass and Clover"]}}
    (tmp_path / "src" / "music" / "song_dict_hot100.pickle").write_bytes(pickle.dumps(short, 4))
    build(tmp_path / "src", tmp_path / "kg.sqlite")
    query = "how many weeks had brass and clover been on the hot 100 as of march 2, 2024?"
    opened = Graph(tmp_path / "kg.sqlite")
    with pytest.raises(IndexError):
        opened.music_get_billboard_attributes("2024-03-02", "rank", "Brass and Clover")
    titles = {passage.title.partition("(")[0] for passage in find_facts(opened, guess(query, LATE), query, LATE)}
    assert "music_get_song_author" in titles and "music_get_billboard_attributes" not in titles
    opened.close()
    with pytest.raises(Exception, match="closed"):
        find_facts(opened, guess(query, LATE), query, LATE)


@pytest.mark.slow(60, 300, 10_000)
def test_work_and_length_are_bounded_whatever_is_named(graph, rounds):
    rows = (
        graph.rows("song", "name FROM {}") + graph.rows("artist", "name FROM {}") + graph.rows("open", "name FROM {}")
    )
    pool = [name for (name,) in rows if isinstance(name, str)]
    pool += [
        *(f"team {n}" for n in range(9)),
        "",
        "the",
        "\x00",
        "x" * 200,
        "'; DROP TABLE open; --",
        '"',
        "QMRK",
        "NA",
    ]
    pool += [
        "Hollis Brandeaux",
        "The Glass Orchard",
        "Quillmark Systems",
        "Saltmarsh Herons",
        "Dunmoor",
        "\u0130\u00df",
    ]
    dates = ["2024-02-30", "2024-02-09", "2024-02", "2023", "2016", "1990", "2999", "soon", "2024-03-02"]
    draw, longest = random.Random(11), 0.0
    for _ in range(rounds):

        def some(values: list[Any], most: int = 6) -> tuple[Any, ...]:
            return tuple(draw.sample(values, draw.randrange(most)))

        entities = Entities(
            domain=draw.choice([None, *DOMAINS]),
            companies=some(pool),
            tickers=some(["QMRK", "TRNW", "NA", "VLBK", "X"]),
            movies=some(pool),
            people=some(pool),
            artists=some(pool),
            songs=some(pool),
            teams=some(pool),
            names=some(pool, 12),
            dates=some(dates),
            relative=some(["yesterday", "last week"], 2),
            times=some(["09:31"], 2),
            ranks=some([1, 2, 99], 3),
            aspects=some(["members", "closing price", "play by play", "grammy", "oscar"], 3),
        )
        query = " ".join(draw.choices([*pool[:50], "grammy", "oscars", "billboard", "best new artist", "today"], k=8))
        began = time.process_time()
        calls = make_calls(graph, entities, query, LATE)
        found = calls.passages()
        longest = max(longest, time.process_time() - began)
        by_id = sum("_by_id(" in title for title in calls.titles)
        assert by_id <= LOOKUPS == 40 and len(calls.titles) - by_id <= CALLS == 40
        for passage in found:
            assert passage.text and passage.text == passage.text.strip()
            lines = passage.text.split("\n")
            assert len(lines) <= LINES == 40 and all(" | " in line and len(line) <= WIDTH == 600 for line in lines)
        assert find_facts(graph, entities, query, LATE) == found, "the same again"
    assert longest < 1


def test_the_median_question_takes_less_than_50_ms(graph):
    spent = []
    for row in questions():
        began = time.process_time()
        query, query_time = row["query"], row["query_time"]
        find_facts(at(graph, query_time), guess(query, query_time), query, query_time)
        spent.append(time.process_time() - began)
    assert sorted(spent)[len(spent) // 2] < 0.05


# What of the sample's gold answers does not stand in the facts by rules, and why not. Of the others two are names in
# the question, and one, `25` percent, is a price of 25 by chance.
NOT_THERE = {
    "computed": ("whole of 2023", "points in total", "taller than", "how old was"),
    "false premise": ("two-for-one", "won the grammy for song of the year in 2017", "2018 sequel", "pell cup"),
    "not known": ("how long is the movie paper comets", "next saltmarsh herons game"),
    "a list, differently joined": ("members of the copper lanterns", "which movies released in 2015"),
}


@pytest.mark.parametrize("window", [2000, 8000])
def test_gold_answers_of_18_of_the_30_questions_stand_in_the_facts(graph, window):
    missing = []
    for row in questions():
        query, query_time = row["query"], row["query_time"]
        found = find_facts(at(graph, query_time), guess(query, query_time), query, query_time)
        text = "\n".join(passage.text for passage in fill(found, window)).lower()
        others = row.get("alt_ans") or row.get("alternative_answers") or []
        golds = [row["answer"], *(ast.literal_eval(others) if isinstance(others, str) else others)]
        if not any(re.search(rf"(?<!\w){re.escape(gold.lower())}(?!\w|\.\d)", text) for gold in golds):
            missing.append(query)
    expected = [part for parts in NOT_THERE.values() for part in parts]
    assert len(missing) == len(expected) == 12
    assert all(any(part in query for query in missing) for part in expected)


class Recorded:
    """Answers as upstream's server did, by the recorded calls; None to any other."""

    def __init__(self, path: Path) -> None:
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        self._known = {(row["call"], str(row["args"])): row["response"]["result"] for row in rows}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: self._known.get((name, str([*arguments])))


@pytest.mark.parametrize(
    ("query", "entities", "expected"),
    [
        ("eps of meta", {"tickers": ("META",)}, "META | forward EPS (earnings per share): 22.95"),
        ("revenue of meta", {"tickers": ("META",)}, "META | totalRevenue: 134901997568"),
        (
            "who founded meta",
            {"tickers": ("META",)},
            "META | Founder, Chairman & CEO: Mr. Mark Elliot Zuckerberg, aged 39",
        ),
        ("last dividend of meta", {"tickers": ("META",)}, "META | lastDividendDate: 2024-02-21"),
        (
            "close of meta on march 1, 2023",
            {"tickers": ("META",)},
            "META | 2023-03-01 | Open: 174.4049, High: 177.6615, Low: 172.8666, Close: 173.2362, Volume: 30998400",
        ),
        ("how old is adele", {"artists": ("Adele",)}, "Adele | date of birth or beginning: 1987"),
        (
            "result of monaco",
            {"teams": ("Monaco",), "dates": ("2024-03-01",)},
            "Monaco - Paris S-G | 2024-03-01 Fri 21:00 | FRA-Ligue 1, Matchweek 24 | final score: Monaco 0, Paris S-G",
        ),
        (
            "rebounds of the bulls",
            {"teams": ("Bulls",), "dates": ("2022-10-11",)},
            "Chicago Bulls - Milwaukee Bucks | 2022-10-11 | Chicago Bulls (home) | points: 127, rebounds: 57,",
        ),
        (
            "grammy for song of the year in 1998",
            {"dates": ("1998",)},
            "Grammys of 1998 | song of the year: My Heart Will Go On (Love Theme From Titanic)",
        ),
        (
            "who had the number one hit",
            {"ranks": (1,), "dates": ("2024-02-28",)},
            "Billboard Hot 100 of 2024-02-28 | rank 1: Texas Hold 'Em by Beyonce",
        ),
        (
            "oscar for best picture of 1992",
            {"dates": ("1992",)},
            "Oscars of 1992 | BEST PICTURE, winner: Edward Saxon, Kenneth Utt and Ron Bozman, Producers for The",
        ),
    ],
)
def test_genuine_responses_become_lines(real_data, query, entities, expected):
    recorded: Any = Recorded(real_data("CRAG") / "kg_examples.jsonl")
    found = find_facts(recorded, Entities(**entities), query, LATE)
    lines = [line for passage in found for line in passage.text.split("\n")]
    assert all(" | " in line and len(line) <= WIDTH for line in lines)
    assert any(line.startswith(expected) for line in lines), lines[:5]


# Lines and names


def test_values_as_text():
    assert [
        format_value(one)
        for one in (41.87, 18412000256.0, 0.00412345678, -1e-9, 12345.678949, 1e22, 3, True, " a ", None, [1])
    ] == [
        "41.87",
        "18412000256",
        "0.00412346",
        "-1e-09",
        "12345.6789",
        "10000000000000000000000",
        "3",
        "yes",
        "a",
        "",
        "",
    ]
    assert format_value(float("nan")) == format_value(float("inf")) == ""
    assert list(flatten({"a": {"b": [1, {"c": None}]}, "d": "x"})) == [("a b", 1), ("a b c", None), ("d", "x")]


def test_names_are_compared_without_articles_accents_and_punctuation():
    assert (
        split_name("The F\u00e1elan's End!") == ("faelans", "end")
        and split_name("The") == ("the",)
        and split_name("...") == ()
    )
    assert occurs_in(("b",), ("a", "b")) and not occurs_in((), ("a",)) and not occurs_in(("a", "c"), ("a", "b", "c"))
    assert match_names("the glass orchard", ["Orchard of Glass", "Glass Orchard"], near=False) == ["Glass Orchard"]
    assert match_names("keeper in night ferry to osk", ["Night Ferry", "Night Ferry to Osk", "Osk"], near=False) == [
        "Night Ferry to Osk"
    ]
    assert match_names("glass orchards", ["Glass Orchard"], near=True) == []
    assert match_names("big glass orchard", ["Small Glass Orchard"], near=True) == ["Small Glass Orchard"]
    assert match_names("how long is it", ["How Long"], near=False) == [], "words of asking are no name"


def test_words_of_a_question_and_of_fields_meet():
    assert stem("directed") == stem("director") == stem("directing") and stem("osk") == "osk"
    assert {"market", "cap"} <= stems("marketCap: 3") and {"2024-02-20", "2024-02", "2024"} <= stems("| 2024-02-20 |")
    assert "revenue"[:5] in {one[:5] for one in expand_query("how much did it earn at the box office?")}
    assert (
        stem("length") in expand_query("how long is it?")
        and "pe" in expand_query("its p/e ratio")
        and "2023" in expand_query("", (), ["2023"])
    )

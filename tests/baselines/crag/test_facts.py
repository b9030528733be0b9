"""What the knowledge graph of the sample gives for questions of the five domains, and within what bounds."""

from __future__ import annotations

import ast
import bz2
import json
import pickle
import random
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quadrag.baselines.crag.facts.calls import CALLS, LINES, LOOKUPS, WIDTH, flatten, format_value
from quadrag.baselines.crag.facts.encyclopedia import strip_markup
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
SOURCE = sample_dir("crag") / "mock_api" / "cragkg"


@pytest.fixture(scope="session")
def graph(tmp_path_factory: Any) -> Iterator[Graph]:
    """The sample's graph."""
    path = tmp_path_factory.mktemp("facts") / "kg.sqlite"
    build(SOURCE, path)
    with Graph(path) as opened:
        yield opened


@pytest.fixture
def asked(graph: Graph) -> Callable[..., dict[str, list[str]]]:
    """A function from a question to the lines of its passages by their titles, best first, as of its time."""

    def ask(query: str, query_time: str = LATE, **entities: Any) -> dict[str, list[str]]:
        known = Entities(**entities) if entities else guess(query, query_time)
        found = find_facts(at(graph, query_time), known, query, query_time)
        assert [passage.id for passage in found] == [f"kg/{number}" for number in range(len(found))]
        assert [passage.score for passage in found] == sorted((passage.score for passage in found), reverse=True)
        assert len({passage.title for passage in found}) == len(found)
        return {passage.title: passage.text.split("\n") for passage in found}

    return ask


def first(found: dict[str, list[str]]) -> str:
    """The very first line."""
    return next(iter(found.values()))[0]


def questions() -> list[dict[str, Any]]:
    """The sample's 30 questions."""
    path = sample_dir("crag") / "data" / "crag_task_1_and_2_dev_v5.jsonl.bz2"
    with bz2.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# Finance


def test_the_price_of_a_day_comes_first(asked):
    found = asked("what was the closing price of quillmark systems on february 20, 2024?", "02/21/2024, 09:14:05 PT")
    assert next(iter(found)) == 'finance_get_price_history("QMRK")'
    assert found['finance_get_price_history("QMRK")'] == [
        "Quillmark Systems Inc. (QMRK) | 2024-02-20 | "
        "Open: 43.5599, High: 43.8212, Low: 41.6606, Close: 41.87, Volume: 790600"
    ]


def test_without_a_date_the_last_five_trading_days_before_the_question_are_told(asked):
    title = 'finance_get_price_history("OSTL")'
    days = [f"2024-02-{day}" for day in (22, 21, 20, 16)]  # the 19th was a holiday
    lines = asked("stock price of ostra lumen", "02/23/2024, 05:31:00 PT")[title]
    assert [line.split(" | ")[1] for line in lines] == [*days, "2024-02-23 (asked before trading closed)"]
    lines = asked("stock price of ostra lumen", "02/23/2024, 13:00:00 PT")[title]
    assert [line.split(" | ")[1] for line in lines] == ["2024-02-23", *days]


def test_a_day_without_trading_is_answered_by_the_day_before(asked):
    found = asked("closing price of quillmark systems on february 18, 2024")  # a Sunday
    (line,) = found['finance_get_price_history("QMRK")']
    assert line.startswith(
        "Quillmark Systems Inc. (QMRK) | 2024-02-16 (no trading on 2024-02-18; the last day before) |"
    )


def test_of_a_long_time_its_ends_and_extremes_are_told(asked, graph):
    lines = asked("highest closing price of quillmark systems stock in 2024")['finance_get_price_history("QMRK")']
    assert 4 <= len(lines) <= 6
    rows = {day[:10]: row for day, row in graph.finance_get_price_history("QMRK").items() if day.startswith("2024")}
    best = max(rows, key=lambda day: rows[day]["Close"])
    (highest,) = [line for line in lines if "(highest Close of 2024)" in line]
    assert f"| {best}" in highest and f"Close: {format_value(rows[best]['Close'])}," in highest
    assert highest == lines[0], "it says most of the question's words"
    assert any("(first day of 2024)" in line for line in lines) and any("(last day of 2024)" in line for line in lines)


def test_a_month_is_told_day_by_day(asked):
    assert len(asked("share price of tarnwell freight in january 2024")['finance_get_price_history("TRNW")']) == 21


def test_figures_of_a_company(asked):
    found = asked("what is the forward p/e ratio of tarnwell freight as of today?", "03/04/2024, 14:40:51 PT")
    assert first(found) == "Tarnwell Freight Corp. (TRNW) | forward P/E (price-to-earnings ratio): 14.6"
    assert found['finance_get_eps("TRNW")'] == [
        "Tarnwell Freight Corp. (TRNW) | forward EPS (earnings per share): 4.35"
    ]
    info = found['finance_get_info("TRNW")']
    assert "Tarnwell Freight Corp. (TRNW) | President & CEO: Mr. Baxter Lindqvold, aged 61" in info
    assert not any("forwardPE" in line or "maxAge" in line for line in info)
    ticker = 'finance_get_ticker_by_name("Tarnwell Freight Corp. Common Stock")'
    assert found[ticker] == ["Tarnwell Freight Corp. Common Stock | ticker: TRNW"]


def test_two_companies_are_compared_by_the_figure_asked_about(asked):
    found = asked("which company has the larger market cap, velbrook dairy or ostra lumen?", "03/06/2024, 20:02:33 PT")
    assert [lines[0] for lines in found.values()][:2] == [
        "Velbrook Dairy Group (VLBK) | market capitalization: 2604118016",
        "Ostra Lumen Ltd. (OSTL) | market capitalization: 7751250432.5",
    ]
    assert not any("OSTLW" in title for title in found), "a warrant is no share"


def test_dividends_of_the_year_asked_about(asked):
    query = "how much did quillmark systems pay per share in dividends over the whole of 2023?"
    (title, lines), *_ = asked(query).items()
    assert title == 'finance_get_dividends_history("QMRK")'
    assert [line.rpartition("dividend per share of ")[2] for line in lines] == [
        "2023-11-16: 0.32",
        "2023-08-17: 0.3",
        "2023-05-18: 0.25",
        "2023-02-16: 0.25",
    ]


def test_prices_by_the_minute_only_where_a_time_or_today_is_asked_about(asked):
    detailed = 'finance_get_detailed_price_history("QMRK")'
    assert detailed not in asked("closing price of quillmark systems on february 22, 2024")
    lines = asked("price of quillmark systems stock at 9:31 am on february 22, 2024")[detailed]
    assert len(lines) == 1 and "| 2024-02-22 09:31 New York time | Open: 40.9148," in lines[0]
    lines = asked("what is the share price of quillmark systems now", "02/22/2024, 06:35:00 PT")[detailed]
    assert [line.split(" | ")[1] for line in lines] == [f"2024-02-22 09:{minute} New York time" for minute in (35, 30)]


@pytest.mark.parametrize(
    ("entities", "ticker"),
    [
        ({"companies": ("Quillmark Systems Inc.",)}, "QMRK"),
        ({"companies": ("quillmark",)}, "QMRK"),
        ({"companies": ("Nordalia Agrar",)}, "NA"),
        ({"companies": ("Pallister Holdings",)}, "PALH"),
        ({"tickers": ("OLQ",)}, "OLQ"),
        ({"names": ("ostl",), "domain": "finance"}, "OSTL"),
        ({"names": ("O'Lachlan Quarries",), "domain": None}, "OLQ"),
    ],
)
def test_a_company_is_known_by_its_name_its_begin_or_its_ticker(asked, entities, ticker):
    found = asked("its figures", **entities)
    assert any(title.startswith("finance_get_price_history") or ticker in title for title in found)
    assert any(f'("{ticker}")' in title for title in found)


def test_a_word_that_only_looks_like_a_ticker_costs_three_calls(graph):
    made = make_calls(graph, Entities(domain="finance", names=("zzz",)), "price of zzz", LATE).titles
    assert [one for one in made if "finance" in one] == [
        'finance_get_company_name("zzz")',
        'finance_get_price_history("ZZZ")',
        'finance_get_info("ZZZ")',
    ]


# Movie


def test_who_directed(asked):
    found = asked("who directed the glass orchard?")
    assert found['movie_get_movie_info("glass orchard")'][0] == "The Glass Orchard | Director: Mireille Castagnac"
    film = found['movie_get_movie_info("glass orchard")']
    assert {
        "The Glass Orchard | release_date: 2015-09-18",
        "The Glass Orchard | length in minutes: 128",
        "The Glass Orchard | genres: Drama",
        "The Glass Orchard | revenue in dollars (box office): 96300000",
        "The Glass Orchard | rating: 7.91",
        "The Glass Orchard | cast: Hollis Brandeaux as Abel Thorne",
        "The Glass Orchard | Oscar of 2016, DIRECTING: winner (Mireille Castagnac)",
        "The Glass Orchard | Oscar of 2016, ACTOR IN A LEADING ROLE: nominated (Hollis Brandeaux)",
    } <= set(film)
    assert not any("Orchard of Glass Birds" in line or "A Making" in line for lines in found.values() for line in lines)


def test_a_part_leads_to_the_actor_and_so_to_a_birthday(asked):
    query = "what is the birthday of the actor who plays the lighthouse keeper in night ferry to osk?"
    found = asked(query)
    assert first(found) == "Night Ferry to Osk | cast: Hollis Brandeaux as The Lighthouse Keeper"
    assert found["movie_get_person_info_by_id(502)"][0] == "Hollis Brandeaux | birthday: 1979-11-02"


def test_ids_of_films_become_names(asked):
    found = asked("which movies released in 2015 did hollis brandeaux act in?")
    assert found['movie_get_person_info("hollis brandeaux")'][:3] == [
        "Hollis Brandeaux | acted in: The Glass Orchard (released 2015-09-18)",
        "Hollis Brandeaux | acted in: Night Ferry to Osk (released 2015-02-27)",
        "Hollis Brandeaux | acted in: Kepler's Gardener (released 2009-01-23)",
    ]
    assert not any(re.search(r"\b90\d\d\b", line) for lines in found.values() for line in lines)


def test_oscars_of_a_year(asked):
    found = asked("who won the oscar for directing in 2016?")
    assert first(found) == "Oscars of 2016 | DIRECTING, winner: Mireille Castagnac for The Glass Orchard"


def test_films_of_a_year_are_told_where_nothing_else_is_asked(asked):
    lines = asked("name a movie of 2020")['movie_get_year_info("2020")']
    assert lines == ["2020 | film released: Perihelion 9"]


def test_what_is_unknown_gives_no_line(asked):
    lines = asked("how long is the movie paper comets in minutes?")['movie_get_movie_info("paper comets")']
    assert not any("length" in line or "budget" in line or "rating" in line for line in lines)


# Music


def test_the_song_of_a_rank_leads_to_its_author(asked):
    query = "who wrote the song that was number one on the billboard hot 100 dated february 10, 2024?"
    found = asked(query)
    assert first(found) == "Billboard Hot 100 of 2024-02-10 | rank 1: Slow Harbor by Idra Vanleer"
    author = ["Slow Harbor | author or artist of the song: Teodor Quistgard"]
    assert found['music_get_song_author("Slow Harbor")'] == author


def test_a_day_between_charts_is_answered_by_the_saturday_before(asked):
    found = asked("what song is number one on the billboard hot 100 this week?", "02/28/2024, 10:04:31 PT")
    assert first(found) == "Billboard Hot 100 of 2024-02-24 | rank 1: Brass and Clover by The Copper Lanterns"


def test_weeks_in_the_chart(asked):
    found = asked("how many weeks had brass and clover been on the hot 100 as of march 2, 2024?")
    assert first(found) == "Brass and Clover | weeks in the chart, Billboard Hot 100 of 2024-03-02: 8"
    for attribute, value in (("rank", 2), ("rank_last_week", 1), ("top_position", 1)):
        title = f'music_get_billboard_attributes("2024-03-02", "{attribute}", "Brass and Clover")'
        assert found[title][0].endswith(f": {value}")


def test_a_rank_without_a_date_counts_charts(asked):
    found = asked("which songs were number one on the billboard chart in 2024?")
    lines = found["music_get_billboard_rank_date(1)"]
    assert "Billboard Hot 100 at rank 1 | charts counted: Slow Harbor by Idra Vanleer, 2" in lines
    assert "Billboard Hot 100 at rank 1 | charts counted: Window Season by Brass & Clover, 3" in lines


def test_members_and_origin_of_a_band(asked):
    found = asked("who are the members of the copper lanterns?")
    assert first(found) == (
        "The Copper Lanterns | member of the band: Bryn Askarov, Lotte Wendelin, Omri Sandoval-Pike, Petra Lumesson"
    )
    birth = found['music_get_artist_birth_date("The Copper Lanterns")']
    assert birth == ["The Copper Lanterns | date of birth or beginning: 2008"]
    place = found['music_get_artist_birth_place("The Copper Lanterns")']
    assert place == ["The Copper Lanterns | country of birth or origin (code): IE"]
    works = found['music_get_artist_all_works("The Copper Lanterns")']
    assert works == ["The Copper Lanterns | works: Brass and Clover; Lantern Weather; Copper"]


def test_an_ended_band_has_a_lifespan(asked):
    found = asked("when did the old kestrel choir band end?", artists=("Old Kestrel Choir",), domain="music")
    (line,) = found['music_get_lifespan("Old Kestrel Choir")']
    assert line.endswith(": 1961 to 1994-12-31")


def test_grammys_of_an_artist_and_of_a_year(asked):
    found = asked("how many grammy awards has idra vanleer won?")
    assert first(found) == "Idra Vanleer | number of Grammy awards: 3"
    years = found['music_grammy_get_award_date_by_artist("Idra Vanleer")']
    assert years == ["Idra Vanleer | years of Grammy awards: 2016, 2018, 2019"]
    found = asked("which song won the grammy for song of the year in 2017?")
    assert first(found) == "Grammys of 2017 | song of the year: Paper Moonrise"
    assert found["music_grammy_get_best_album_by_year(2017)"] == [
        "Grammys of 2017 | album of the year: Tin Roof Psalms"
    ]
    found = asked("did zoe pask ever win the grammy for best new artist?")
    lines = found["music_grammy_get_all_awarded_artists()"]
    assert "Idra Vanleer" in " ".join(lines) and "Zo\u00eb P\u00e5sk" in " ".join(lines)


def test_songs_of_one_name_are_told_apart_by_their_author(asked):
    found = asked("when was the marlo fenwicke song salt on the sill released?")
    assert found['music_get_song_release_date("Salt on the Sill")'] == [
        "Salt on the Sill | date of release: 2019-05-17"
    ]
    assert 'music_get_song_release_date("Salt On The Sill!")' not in found
    found = asked(
        "when did z\u00f6e p\u00e5sk release salt on the sill?",
        songs=("Salt on the Sill",),
        artists=("Zo\u00eb P\u00e5sk",),
    )
    assert found['music_get_song_release_date("Salt On The Sill!")'] == ["Salt On The Sill! | date of release: 2022-08"]
    assert 'music_get_song_release_date("Salt on the Sill")' not in found


# Sports


def test_the_score_of_a_soccer_game(asked):
    found = asked("what was the final score when dunmoor hosted harrow vale on march 2, 2024?")
    assert first(found) == (
        "Dunmoor - Harrow Vale | 2024-03-02 Sat 15:00 | VAL-Premier Division, Matchweek 27 | "
        "final score: Dunmoor 3, Harrow Vale 1 (Dunmoor won)"
    )
    lines = found['sports_soccer_get_games_on_date("2024-03-02")']
    assert "Dunmoor - Harrow Vale | 2024-03-02 | Attendance of Dunmoor: 21082" in lines
    assert sum("final score" in line for line in lines) == 1, "both teams' rows are of one game"
    assert not any("Osk 04" in line for line in lines)


def test_captains_of_both_teams(asked):
    found = asked("who captained the team that beat larkstone on march 9, 2024?")
    lines = found['sports_soccer_get_games_on_date("2024-03-09")']
    assert "Larkstone - F\u00e1elan | 2024-03-09 | Captain of F\u00e1elan: Cian Mulrooney-Vale" in lines
    assert "Larkstone - F\u00e1elan | 2024-03-09 | Captain of Larkstone: Emil Ostrander" in lines


def test_games_of_basketball(asked):
    query = "how many points did the saltmarsh herons score in their games of february 9 and february 11, 2024?"
    found = asked(query)
    assert list(found) == [f'sports_nba_get_games_on_date("2024-02-{day}")' for day in ("09", "11")]
    lines = [line for lines in found.values() for line in lines]
    assert any(
        line.endswith("Saltmarsh Herons 112 points, Gannet Falls Millers 104 points (Saltmarsh Herons won)")
        for line in lines
    )
    assert any(
        re.search(r"\| Saltmarsh Herons \(away\) \| points: 118, rebounds: 31, assists: 16,", line) for line in lines
    )
    assert not any("Port Averly" in line for line in lines)


@pytest.mark.parametrize("name", ["Saltmarsh Herons", "herons", "saltmarsh"])
def test_a_team_is_known_by_its_name_or_either_end_of_it(asked, name):
    assert 'sports_nba_get_games_on_date("2024-02")' in asked(
        "games in february 2024", teams=(name,), dates=("2024-02",)
    )


def test_without_a_date_the_latest_games_come_first(asked):
    found = asked("when is the next saltmarsh herons game?", "03/12/2024, 11:02:37 PT")
    assert list(found) == [f'sports_nba_get_games_on_date("2024-{month}")' for month in ("03", "02")]
    assert "2024-03-10" in first(found)


def test_a_year_of_games_is_asked_of_one_team(asked):
    found = asked("which nba games did the saltmarsh herons win in 2024?")
    assert 'sports_nba_get_games_on_date("2024", "Saltmarsh Herons")' in found


def test_all_games_of_a_day_where_no_team_is_named(asked):
    lines = asked("how many nba games were played on february 9, 2024?")['sports_nba_get_games_on_date("2024-02-09")']
    assert sum("final score" in line for line in lines) == 2


def test_plays_only_where_they_are_asked_for(asked):
    plays = 'sports_nba_get_play_by_play_data_by_game_ids(["0022300701"])'
    assert plays not in asked("did the saltmarsh herons win their game on february 9, 2024?")
    lines = asked("play by play of the saltmarsh herons game on february 9, 2024: first jump shot")[plays]
    assert any("Okello-Ray 14' Jump Shot (2 PTS)" in line and "score: 0 - 2" in line for line in lines)


# Open


def test_an_entry_by_its_title(asked):
    found = asked("in what year did the lindholt bridge open to traffic?")
    assert found == {
        'open_get_entity("Lindholt Bridge")': [
            "Lindholt Bridge | Work began in 1927 and the bridge was opened to traffic in 1931.",
            "Lindholt Bridge | open: 1931",
            "Lindholt Bridge | The Lindholt Bridge is a steel arch bridge over the Brae in Orrin County.",
            "Lindholt Bridge | name: Lindholt Bridge",
            "Lindholt Bridge | crosses: Brae",
            "Lindholt Bridge | begin: 1927",
            "Lindholt Bridge | length: 412 m",
            "Lindholt Bridge | A walkway was added in 1958.",
        ]
    }


def test_a_telling_field_leads_to_the_entry_it_links_to(asked):
    found = asked("who is the mayor of the town where the poet anselm rookley was born?")
    assert list(found) == ['open_get_entity("Anselm Rookley")', 'open_get_entity("Tarrow")']
    assert "Anselm Rookley | birth_date: 1914-05-03" in found['open_get_entity("Anselm Rookley")']
    assert "Tarrow | leader_name: Dagny Ferroux" in found['open_get_entity("Tarrow")']


def test_the_exact_title_comes_before_one_that_qualifies_it(asked):
    assert list(asked("what is moss?", names=("Moss",), domain="open")) == ['open_get_entity("Moss (river)")']
    found = asked("what is glass orchard?", names=("Glass Orchard",), domain="open")
    assert next(iter(found)) == 'open_get_entity("The Glass Orchard")' and not any(
        "disambiguation" in one for one in found
    )


def test_a_name_of_another_domain_falls_back_to_the_encyclopedia(asked):
    found = asked("where is it?", domain="movie", people=("Pinnock Head Lighthouse",))
    assert list(found) == ['open_get_entity("Pinnock Head Lighthouse")']
    found = asked("who directed it?", domain="open", names=("Tin Parade",))
    assert first(found) == "Tin Parade | Director: Aurelio Banfi-Strand", "then to the other domains"


def test_wiki_markup_becomes_text():
    assert strip_markup("[[River Brae|Brae]]<ref>x</ref><br/>'''Moss'''<ref name=a />") == "Brae, Moss"
    assert strip_markup("{{birth date|1914|5|3|df=y}} (aged {{nowrap|[[a|b]] 9}})") == "1914-05-03 (aged b 9)"
    assert strip_markup("{{plainlist|\n* one\n* two}} [https://x.y site]<!-- no -->") == "one, two site"
    assert strip_markup("") == "" and strip_markup("{{") == "{{"


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

"""What the knowledge graph of the sample gives for questions of each of the five domains."""

from __future__ import annotations

import re

import pytest

from quadrag.baselines.crag.facts.calls import format_value
from quadrag.baselines.crag.facts.encyclopedia import strip_markup
from quadrag.baselines.crag.facts.find import make_calls
from quadrag.baselines.crag.language.entities import Entities

LATE = "03/20/2024, 10:00:00 PT"


def first(found: dict[str, list[str]]) -> str:
    """The very first line."""
    return next(iter(found.values()))[0]


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

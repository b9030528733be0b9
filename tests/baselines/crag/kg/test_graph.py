"""The 38 functions on small graphs: every rule of look-up, date, null and error that the specification has."""

import datetime
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quadrag.baselines.crag.kg.build import build
from quadrag.baselines.crag.kg.graph import Graph
from quadrag.baselines.crag.kg.search import normalise
from quadrag.errors import QuadragError

FILLER = {f"filler{number}": {} for number in range(400)}
INJECTIONS = ["' OR '1'='1", "'; DROP TABLE soccer; --", '" OR 1=1 --', "%", "_", "*", "a\x00b", "\ud800", "Everton'--"]
# open


@pytest.fixture
def open_graph(graph_of: Callable[..., Graph]) -> Graph:
    titles = ["Orlando, Florida", "FLORIDA", "Phantom", "florida!", "Star Wars", "La bohème", "Florida_Keys"]
    titles += [f"Place {name}" for name in FILLER]
    return graph_of({"open/kg.0.jsonl.bz2": [[title, {"summary_text": title}] for title in titles]})


def test_titles_of_one_normal_form_stand_together_in_file_order(open_graph: Graph) -> None:
    found = open_graph.open_search_entity_by_name("florida")
    assert found[:2] == ["FLORIDA", "florida!"]
    # Equal scores by descending index of the sorted normal forms: orlando florida, florida keys.
    assert found[2:] == ["Orlando, Florida", "Florida_Keys"]


def test_an_entity_is_asked_for_by_its_exact_title(open_graph: Graph) -> None:
    assert open_graph.open_get_entity("FLORIDA") == {"summary_text": "FLORIDA"}
    assert open_graph.open_get_entity("florida") is None
    assert open_graph.open_get_entity("La bohème") == {"summary_text": "La bohème"}
    for title in ("", "nowhere", *INJECTIONS):
        assert open_graph.open_get_entity(title) is None


def test_at_most_ten_titles_are_found(graph_of: Callable[..., Graph]) -> None:
    titles = [f"{mark}star{mark}" for mark in "!#$%&*+,-./:;"] + ["star a", "b", "c d", "e", "f"]
    graph = graph_of({"open/kg.1.jsonl.bz2": [[title, 1] for title in titles]})
    assert graph.open_search_entity_by_name("star") == titles[:10]


@given(query=st.text(max_size=30))
def test_any_text_may_be_asked_for(shared: Graph, query: str) -> None:
    for name in ("open_search_entity_by_name", "finance_get_company_name", "music_search_song_entity_by_name"):
        found = getattr(shared, name)(query)
        assert len(found) <= 10
        assert all(set(normalise(query).split()) & set(normalise(title).split()) for title in found)
    assert shared.open_get_entity(query) == ({} if query in FILLER else None)
    assert shared.finance_get_info(query) == ({} if query == "A" else None)
    assert shared.music_get_members(query) is None
    assert shared.sports_soccer_get_games_on_date(query) is None
    assert (shared.sports_nba_get_games_on_date("2024", query or "x") is None) == (query not in ("A", "B"))


NAMES = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=8, unique=True)


@settings(max_examples=30)
@given(names=NAMES)
def test_every_name_is_found_by_itself_and_by_its_normal_form(write_upstream: Any, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        titles = [[name, {"n": n}] for n, name in enumerate(names)]
        write_upstream(root / "src/open/kg.0.jsonl.bz2", titles + [[name, {}] for name in FILLER])
        build(root / "src", root / "kg.sqlite")
        with Graph(root / "kg.sqlite") as graph:
            for n, name in enumerate(names):
                assert graph.open_get_entity(name) == {"n": n}
                alike = [other for other in names if normalise(other) == normalise(name)]
                if normalise(name):  # a name of punctuation alone has no term to be found by
                    for query in (name, normalise(name)):
                        found = graph.open_search_entity_by_name(query)
                        assert set(alike) <= set(found)
                        assert [other for other in found if other in alike] == alike


# movie


@pytest.fixture
def movies(graph_of: Callable[..., Graph]) -> Graph:
    return graph_of(
        {
            "movie/movie_db.json": {
                "up": {"id": 1, "title": "Up"},
                "star wars": {"id": 2, "title": "Star Wars"},
                "wars": {"id": 3},
                "up and away": {"id": 1, "title": "another"},
                "no id": {"title": "none"},
            }
            | {name: {"id": 100} for name in FILLER},
            "movie/person_db.json": {f"{name} jackson": {"id": n} for n, name in enumerate("zyxwvutsrqponm")}
            | {name: {} for name in FILLER},
            "movie/year_db.json": {str(year): {"movie_list": [year]} for year in range(1989, 2024)},
        }
    )


def test_people_of_equal_scores_keep_the_order_of_the_file(movies: Graph) -> None:
    assert [person["id"] for person in movies.movie_get_person_info("JACKSON!")] == list(range(10))


def test_films_come_best_first(movies: Graph) -> None:
    assert movies.movie_get_movie_info("Star Wars") == [{"id": 2, "title": "Star Wars"}, {"id": 3}]
    assert movies.movie_get_movie_info("nothing of it") == []
    assert movies.movie_get_movie_info("") == []


def test_ids_are_numbers_or_digits(movies: Graph) -> None:
    assert movies.movie_get_movie_info_by_id(2) == {"id": 2, "title": "Star Wars"}
    assert movies.movie_get_movie_info_by_id("2") == {"id": 2, "title": "Star Wars"}  # type: ignore[arg-type]
    assert movies.movie_get_movie_info_by_id(1) == {"id": 1, "title": "another"}  # the last of an id
    for number in (0, -1, 10**30, -(10**30), 2**63, -(2**63)):
        assert movies.movie_get_movie_info_by_id(number) is None
        assert movies.movie_get_person_info_by_id(number) in (None, {"id": 0})
    for text in ("", "two", "2.5"):
        with pytest.raises(ValueError, match="int"):
            movies.movie_get_movie_info_by_id(text)  # type: ignore[arg-type]


def test_years_are_those_from_1990_to_2021(movies: Graph) -> None:
    assert movies.movie_get_year_info("1990") == {"movie_list": [1990]}
    assert movies.movie_get_year_info("2021") == {"movie_list": [2021]}
    for year in ("1989", "2022", "", "nineteen", "-1990", "1990.0", "１９９２", "1" * 5000):
        with pytest.raises(QuadragError, match="expected one from 1990 to 2021"):
            movies.movie_get_year_info(year)


# finance


@pytest.fixture
def finance(graph_of: Callable[..., Graph]) -> Graph:
    companies = [["Apple Inc.", "AAPL"], ["Twin", "ONE"], ["Nano Labs", "NA"], ["Twin", "TWO"], ["No, Ticker", ""]]
    history = {f"2024-02-{day} 00:00:00 EST": {"Open": day / 7, "Volume": day} for day in (27, 28)}
    return graph_of(
        {
            "finance/company_name.dict": [*companies, *([name, "X"] for name in FILLER)],
            "finance/finance_price.sqlite": {"AAPL": history},
            "finance/finance_detailed_price.sqlite": {"AAPL": history},
            "finance/finance_dividend.sqlite": {"AAPL": {"2024-02-09 00:00:00 EST": 0.24}, "NA": {}},
            "finance/finance_marketcap.sqlite": {"AAPL": 2.8e12, "NA": None, "BIG": 10**20},
            "finance/finance_info.sqlite": {
                "AAPL": {"forwardEps": 7.1, "forwardPE": 25.5},
                "NA": {"city": "x"},
                "ODD": 1,
            },
        }
    )


def test_companies_are_found_with_their_homonyms(finance: Graph) -> None:
    assert finance.finance_get_company_name("apple") == ["Apple Inc."]
    assert finance.finance_get_company_name("twin") == ["Twin", "Twin"]
    assert finance.finance_get_company_name("") == []


def test_tickers_are_exact_and_the_last_row_of_a_name_wins(finance: Graph) -> None:
    assert finance.finance_get_ticker_by_name("Apple Inc.") == "AAPL"
    assert finance.finance_get_ticker_by_name("Twin") == "TWO"
    assert finance.finance_get_ticker_by_name("Nano Labs") == "NA"  # text, not a missing value
    for name in ("apple inc", "No, Ticker", "", *INJECTIONS):
        assert finance.finance_get_ticker_by_name(name) is None


def test_figures_are_those_of_the_ticker(finance: Graph) -> None:
    prices = {f"2024-02-{day} 00:00:00 EST": {"Open": day / 7, "Volume": day} for day in (27, 28)}
    assert finance.finance_get_price_history("AAPL") == prices
    assert list(finance.finance_get_detailed_price_history("AAPL")) == list(prices)
    assert finance.finance_get_dividends_history("AAPL") == {"2024-02-09 00:00:00 EST": 0.24}
    assert finance.finance_get_dividends_history("NA") == {}
    assert finance.finance_get_market_capitalization("AAPL") == 2.8e12
    assert finance.finance_get_market_capitalization("BIG") == 10**20
    assert (finance.finance_get_eps("AAPL"), finance.finance_get_pe_ratio("AAPL")) == (7.1, 25.5)
    assert finance.finance_get_info("NA") == {"city": "x"}
    for ticker in ("aapl", "", "AAPL ", *INJECTIONS):
        for name in ("price_history", "detailed_price_history", "dividends_history", "market_capitalization", "info"):
            assert getattr(finance, f"finance_get_{name}")(ticker) is None
    for ticker in ("NA", "ODD", "aapl"):
        assert finance.finance_get_eps(ticker) is finance.finance_get_pe_ratio(ticker) is None


# music

AWARDS = pd.DataFrame(
    [
        (1957, "Album Of The Year", "First", None, None),
        (2019, "Best New Artist", "Billie Eilish", None, None),
        (2018, "Best New Artist", "Dua Lipa", None, None),
        (2018, "Best New Artist", None, None, None),
        (2017, "Best New Artist", "Billie Eilish", None, None),
        (2016, "Song Of The Year", "Hello", "Adele", "Adele Adkins, songwriter (Adele)"),
        (2016, "Song Of The Year", "Hello Again", "adele", "Adele & others"),
        (2011, "Record", "Adele", "Adele", "Adele"),
        (2020, "Song Of The Year", "Late", "x", None),
        (1956, "Song Of The Year", "Early", "x", None),
    ],
    columns=["year", "category", "nominee", "artist", "workers"],
)


@pytest.fixture
def music(graph_of: Callable[..., Graph]) -> Graph:
    artists = {
        "Adele": {"country": "GB", "birth_date": "1988-05-05", "end_date": None, "members": []},
        "Band": {"country": "", "birth_date": "", "end_date": "1990", "members": ["Zoe", "Al", "Zoe", "Mo"]},
        "Odd": None, "The Beatles": {"members": None}, "the the": {}, None: {}, 7: {},
    }  # fmt: skip
    row = ["2024-02-28", "Texas", "Beyonce", "1", "last", "top", "weeks"]
    shifted = ["2024-02-21", "Texas", "Beyonce", "3", "top", "weeks", "-"]
    chart = [
        {"Date": "2024-02-28", "Song": "Texas", "Artist": "Beyonce"},
        {"Date": "2024-02-21", "Song": "Lovin", "Artist": "Jack"},
        {"Date": "2024-02-28", "Song": "Second", "Artist": "Other"},
    ]
    return graph_of(
        {
            "music/artist_dict_simplified.pickle": artists | FILLER,
            "music/song_dict_simplified.pickle": {
                "Hello": {"author": "Adele", "country": "GB", "date": "2015"},
                "H": {},
            }
            | FILLER,
            "music/artist_work_dict.pickle": {"Adele": ["19", "21"], "Band": []},
            "music/rank_dict_hot100.pickle": {"1": chart, "2": []},
            "music/song_dict_hot100.pickle": {"Texas": {"2024-02-28": row, "2024-02-21": shifted, "2024": row[:5]}},
            "music/grammy_df.pickle": AWARDS,
        }
    )


def test_the_charts_columns_shift_where_there_is_no_last_week(music: Graph) -> None:
    def ask(date: str) -> list[Any]:
        names = ("rank", "rank_last_week", "weeks_in_chart", "top_position", "whatever", "")
        return [music.music_get_billboard_attributes(date, name, "Texas") for name in names]

    assert ask("2024-02-28") == ["1", "last", "weeks", "top", "1", "1"]
    # Index 6 is `-`: last week, weeks and top are at 6, 5, 4.
    assert ask("2024-02-21") == ["3", "-", "weeks", "top", "3", "3"]


def test_an_unknown_song_or_date_is_null_and_a_short_row_an_error(music: Graph) -> None:
    assert music.music_get_billboard_attributes("2024-02-28", "rank", "texas") is None
    assert music.music_get_billboard_attributes("2024-02-27", "rank", "Texas") is None
    with pytest.raises(IndexError):
        music.music_get_billboard_attributes("2024", "rank", "Texas")


def test_ranks_give_the_first_match_of_a_date_or_all(music: Graph) -> None:
    assert music.music_get_billboard_rank_date(1, "2024-02-28") == [["Texas"], ["Beyonce"]]
    assert music.music_get_billboard_rank_date(1) == [["Texas", "Lovin", "Second"], ["Beyonce", "Jack", "Other"]]
    assert music.music_get_billboard_rank_date(1, "2024-02") == [[], []]
    for rank in (0, 3, -1, 101, 10**30):
        assert music.music_get_billboard_rank_date(rank) == [None, None]
        assert music.music_get_billboard_rank_date(rank, "2024-02-28") == [None, None]


def test_best_ones_are_of_their_category_and_years(music: Graph) -> None:
    assert music.music_grammy_get_best_artist_by_year(2018) == ["Dua Lipa", None]
    assert music.music_grammy_get_best_artist_by_year(2016) == []
    assert music.music_grammy_get_best_song_by_year(2016) == ["Hello", "Hello Again"]
    assert music.music_grammy_get_best_album_by_year(1957) == ["First"]
    assert music.music_grammy_get_best_artist_by_year(2019) == ["Billie Eilish"]
    for year in (1956, 2020, 0, -1, 10**30):
        assert music.music_grammy_get_best_song_by_year(year) is None
        assert music.music_grammy_get_best_artist_by_year(year) is None
        assert music.music_grammy_get_best_album_by_year(year) is None


def test_awards_of_an_artist_count_nominee_artist_and_workers(music: Graph) -> None:
    # Two fields of "Hello", one of "Hello Again" (case counts), three of the record.
    assert music.music_grammy_get_award_count_by_artist("Adele") == 6
    assert music.music_grammy_get_award_count_by_artist("dele") == 7
    assert music.music_grammy_get_award_count_by_artist("nobody") == 0
    assert music.music_grammy_get_award_date_by_artist("Adele") == [2011, 2016]
    assert music.music_grammy_get_award_date_by_artist("nobody") == []
    for name in INJECTIONS[:6]:
        assert music.music_grammy_get_award_count_by_artist(name) == 0


def test_awards_of_a_song_count_its_whole_name(music: Graph) -> None:
    assert music.music_grammy_get_award_count_by_song("Hello") == 1
    assert music.music_grammy_get_award_count_by_song("hello") == 0
    assert music.music_grammy_get_award_count_by_song("Hel") == 0


def test_awarded_artists_are_distinct_and_in_file_order(music: Graph) -> None:
    assert music.music_grammy_get_all_awarded_artists() == ["Billie Eilish", "Dua Lipa"]


def test_an_absent_or_empty_field_is_null(music: Graph) -> None:
    assert music.music_get_artist_birth_place("Adele") == "GB"
    assert music.music_get_artist_birth_date("Adele") == "1988-05-05"
    assert music.music_get_lifespan("Adele") == ["1988-05-05", None]
    assert music.music_get_lifespan("Band") == [None, "1990"]
    assert music.music_get_members("Band") == ["Zoe", "Al", "Mo"]
    assert music.music_get_artist_all_works("Adele") == ["19", "21"]
    assert music.music_get_song_author("Hello") == "Adele"
    assert music.music_get_song_release_country("Hello") == "GB"
    assert music.music_get_song_release_date("Hello") == "2015"
    assert music.music_get_artist_birth_place("Band") is None
    assert music.music_get_artist_birth_date("Band") is None
    assert music.music_get_artist_all_works("Band") is None
    for name in ("adele", "Odd", "The Beatles", "H", "", *INJECTIONS):
        assert music.music_get_lifespan(name) == [None, None]
        for field in ("artist_birth_place", "artist_birth_date", "members", "song_author", "song_release_country",
                      "song_release_date", "artist_all_works"):  # fmt: skip
            assert getattr(music, f"music_get_{field}")(name) is None


def test_members_keep_the_order_of_a_pickled_set(graph_of: Callable[..., Graph]) -> None:
    members = {"James", "Matt", "Ryan", "Mickey", "Jesse", "Adam"}
    graph = graph_of({"music/artist_dict_simplified.pickle": {"Maroon 5": {"members": members}}})
    assert graph.music_get_members("Maroon 5") == list(members)


def test_music_is_found_by_any_of_its_spellings(music: Graph) -> None:
    assert music.music_search_artist_entity_by_name("ADELE!") == ["Adele"]
    assert music.music_search_artist_entity_by_name("the beatles") == ["The Beatles", "the the"]
    assert music.music_search_song_entity_by_name("nothing") == []


DAYS = [datetime.date(2022, 1, 1) + datetime.timedelta(days=11 * n) for n in range(100)]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, write_upstream: Any) -> Iterator[Graph]:
    """A graph for properties, which ask it many times."""
    root = tmp_path_factory.mktemp("shared")
    index = pd.MultiIndex.from_tuples(
        [("L", "s", "A", str(day)) for day in DAYS], names=["league", "season", "team", "game"]
    )
    files: dict[str, Any] = {
        "open/kg.0.jsonl.bz2": [[name, {}] for name in FILLER],
        "finance/company_name.dict": [[name, "X"] for name in FILLER],
        "finance/finance_info.sqlite": {"A": {}},
        "music/song_dict_simplified.pickle": FILLER,
        "music/artist_dict_simplified.pickle": FILLER,
        "sports/soccer_team_match_stats.pkl": pd.DataFrame({"date": pd.to_datetime(DAYS)}, index=index),
        "sports/nba.sqlite": {
            "game": [
                {"game_id": str(n), "game_date": f"{day} 00:00:00", "team_name_home": "A", "team_name_away": "B"}
                for n, day in enumerate(DAYS)
            ],
            "play_by_play": [{"game_id": "0"}],
        },
    }
    for name, value in files.items():
        write_upstream(root / "src" / name, value)
    build(root / "src", root / "kg.sqlite")
    with Graph(root / "kg.sqlite") as graph:
        yield graph


ASKED = st.one_of(
    st.sampled_from(DAYS).map(str),
    st.dates(datetime.date(2021, 6, 1), datetime.date(2025, 6, 1)).map(str),
    st.dates(datetime.date(2021, 6, 1), datetime.date(2025, 6, 1)).map(lambda day: str(day)[:7]),
    st.integers(2020, 2026).map(str),
    st.from_regex(r"\A[0-9]{0,5}(-[0-9]{0,3}){0,2}\Z"),
)


@given(date=ASKED)
def test_a_date_stands_for_the_rows_whose_date_begins_with_its_parts(shared: Graph, date: str) -> None:
    length = {1: 4, 2: 7, 3: 10}[len(date.split("-"))]
    expected = [str(day) for day in DAYS if str(day)[:length] == date]
    soccer = shared.sports_soccer_get_games_on_date(date)
    nba = shared.sports_nba_get_games_on_date(date)
    assert [value[:10] for value in (soccer or {"date": {}})["date"].values()] == expected
    assert [value[:10] for value in (nba or {"game_date": {}})["game_date"].values()] == expected
    assert (soccer is None) == (nba is None) == (not expected)
    assert shared.sports_nba_get_games_on_date(date, "C") is None

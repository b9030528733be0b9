"""The 40 genuine calls: a small graph in the upstream file formats, rebuilt from their responses, gives them back."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from quadrag.baselines.crag.kg.build import build
from quadrag.baselines.crag.kg.graph import Graph
from quadrag.baselines.crag.kg.search import normalise

FILLER = [f"filler{number}" for number in range(2000)]  # names enough for every term's idf to be what it is at large
# Their candidates are not all known, and Okapi's scores hang on every name there is.
FUZZY = {
    "open_search_entity_by_name",
    "movie_get_person_info",
    "movie_get_movie_info",
    "finance_get_company_name",
    "music_search_artist_entity_by_name",
    "music_search_song_entity_by_name",
}
# Awards: a row for each hit, so that counts and years come out; nothing else is known of them.
AWARDS = "music_grammy_get_award_count_by_artist"


@pytest.fixture(scope="module")
def calls(real_data: Callable[[str], Path]) -> list[dict[str, Any]]:
    path = real_data("CRAG") / "kg_examples.jsonl"
    if not path.is_file():
        pytest.skip("no kg_examples.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def graph(calls: list[dict[str, Any]], write_upstream: Any, tmp_path_factory: Any) -> Iterator[Graph]:
    root, known = tmp_path_factory.mktemp("genuine"), Known(calls)
    files = {**encyclopedia(known), **movies(known), **finance(known), **music(known), **sports(known)}
    for name, value in files.items():
        write_upstream(root / "cragkg" / name, value)
    _, lacking = build(root / "cragkg", root / "kg.sqlite")
    assert lacking == []
    with Graph(root / "kg.sqlite") as opened:
        yield opened


class Known:
    """What the responses tell."""

    def __init__(self, calls: list[dict[str, Any]]) -> None:
        self.calls = calls

    def all(self, name: str) -> list[tuple[list[Any], Any]]:
        return [(call["args"], call["response"]["result"]) for call in self.calls if call["call"] == name]

    def one(self, name: str) -> Any:
        ((_, result),) = self.all(name)
        return result


def encyclopedia(known: Known) -> dict[str, Any]:
    ((title,), entity) = known.all("open_get_entity")[0]
    names = [*FILLER, *known.one("open_search_entity_by_name")]
    entities = {name: {"summary_text": ""} for name in names} | {title: entity}
    return {f"open/kg.{number}.jsonl.bz2": list(entities.items())[number::2] for number in range(2)}


def movies(known: Known) -> dict[str, Any]:
    ((year,), result) = known.all("movie_get_year_info")[0]
    files: dict[str, Any] = {"movie/year_db.json": {year: result}}
    for table, name in (("person", "name"), ("movie", "title")):
        entities = [*known.one(f"movie_get_{table}_info"), known.one(f"movie_get_{table}_info_by_id")]
        named = {normalise(entity[name]): entity for entity in entities}
        files[f"movie/{table}_db.json"] = named | {name: {"id": 10**8 + number} for number, name in enumerate(FILLER)}
    return files


def finance(known: Known) -> dict[str, Any]:
    ((name,), ticker) = known.all("finance_get_ticker_by_name")[0]
    companies = [*([name, "X"] for name in [*known.one("finance_get_company_name"), *FILLER]), [name, ticker]]
    files: dict[str, Any] = {"finance/company_name.dict": companies}
    for file, call in (
        ("price", "price_history"),
        ("detailed_price", "detailed_price_history"),
        ("dividend", "dividends_history"),
        ("marketcap", "market_capitalization"),
        ("info", "info"),
    ):
        files[f"finance/finance_{file}.sqlite"] = {key: value for (key,), value in known.all(f"finance_get_{call}")}
    return files


def music(known: Known) -> dict[str, Any]:
    artists: dict[str, dict[str, Any]] = {name: {} for name in known.one("music_search_artist_entity_by_name") + FILLER}
    songs: dict[str, dict[str, Any]] = {name: {} for name in known.one("music_search_song_entity_by_name") + FILLER}
    for entities, call, field in (
        (artists, "artist_birth_place", "country"),
        (artists, "artist_birth_date", "birth_date"),
        (artists, "members", "members"),
        (songs, "song_author", "author"),
        (songs, "song_release_country", "country"),
        (songs, "song_release_date", "date"),
    ):
        for (name,), value in known.all(f"music_get_{call}"):
            entities.setdefault(name, {})[field] = value
    for (name,), (begin, end) in known.all("music_get_lifespan"):
        artists[name] |= {"birth_date": begin, "end_date": end}
    (((rank, date), ((song,), (artist,))),) = known.all("music_get_billboard_rank_date")
    (((day, _, charted), weeks),) = known.all("music_get_billboard_attributes")
    files = {
        "artist_dict_simplified": artists,
        "song_dict_simplified": songs,
        "artist_work_dict": {name: works for (name,), works in known.all("music_get_artist_all_works")},
        "rank_dict_hot100": {str(rank): [{"Date": date, "Song": song, "Artist": artist}]},
        "song_dict_hot100": {charted: {day: [day, charted, artist, "1", "1", "1", weeks]}},
        "grammy_df": awards(known),
    }
    return {f"music/{name}.pickle": value for name, value in files.items()}


def awards(known: Known) -> pd.DataFrame:
    (((name,), count),) = known.all(AWARDS)
    years = known.one("music_grammy_get_award_date_by_artist")
    best = [
        (year, category, nominee, None, None)
        for kind, category in (
            ("artist", "Best New Artist"),
            ("song", "Song Of The Year"),
            ("album", "Album Of The Year"),
        )
        for (year,), nominees in known.all(f"music_grammy_get_best_{kind}_by_year")
        for nominee in nominees
    ]
    named = {nominee for _, category, nominee, *_ in best if category == "Best New Artist"}
    everyone = known.one("music_grammy_get_all_awarded_artists")
    new = [
        next(row for row in best if row[2] == nominee)
        if nominee in named
        else (min(years) if nominee == name else 2050, "Best New Artist", nominee, None, None)
        for nominee in everyone
    ]
    others = [row for row in best if row[1] != "Best New Artist"]
    hits = sum(name in nominee for nominee in everyone)
    years = years + [years[0]] * (count - hits - len(years))
    rest = [(year, "Some Award", "Some Song", name, None) for year in years[: count - hits]]
    columns = ["year", "category", "nominee", "artist", "workers"]
    frame = pd.DataFrame(new + others + rest, columns=pd.Index(columns, dtype=object))
    return frame.astype(dict.fromkeys(columns[1:], object))


def sports(known: Known) -> dict[str, Any]:
    table: dict[tuple[Any, ...], dict[str, Any]] = {}
    for _, result in known.all("sports_soccer_get_games_on_date"):
        for column, cells in result.items():
            for label, value in cells.items():
                parts = tuple(part.strip("'") for part in label.strip("()").split("', '"))
                table.setdefault(parts, {})[column] = pd.Timestamp(value) if column == "date" else value
    table[(float("nan"), "2324", "Everton", "no league")] = next(iter(table.values()))
    index = pd.MultiIndex.from_tuples(table, names=["league", "season", "team", "game"])
    columns = {"game": known.all("sports_nba_get_games_on_date")[1][1]}
    columns["play_by_play"] = known.one("sports_nba_get_play_by_play_data_by_game_ids")
    nba = {}
    for name, result in columns.items():
        rows = zip(*(cells.values() for cells in result.values()), strict=True)
        nba[name] = [dict(zip(result, row, strict=True)) for row in rows]
    soccer = pd.DataFrame(table.values(), index=index)
    return {"sports/soccer_team_match_stats.pkl": soccer, "sports/nba.sqlite": nba}


def test_every_function_is_called(calls: list[dict[str, Any]]) -> None:
    assert len(calls) == 40
    functions = {name for name in dir(Graph) if name.split("_")[0] in ("open", "movie", "finance", "music", "sports")}
    assert {call["call"] for call in calls} == functions
    assert len(functions) == 38


def test_all_functions_give_the_genuine_responses_back(graph: Graph, calls: list[dict[str, Any]]) -> None:
    compared = 0
    for call in calls:
        if call["call"] not in FUZZY:
            result = getattr(graph, call["call"])(*call["args"])
            expected = call["response"]["result"]
            if call["call"] == "music_grammy_get_award_date_by_artist":
                expected = sorted(expected)  # upstream's order is that of a set
            assert json.dumps(result) == json.dumps(expected), call["call"]
            compared += 1
    assert compared == 34


@pytest.mark.parametrize("name", sorted(FUZZY))
def test_fuzzy_functions_find_what_was_found(graph: Graph, calls: list[dict[str, Any]], name: str) -> None:
    for args, expected in Known(calls).all(name):
        result = getattr(graph, name)(*args)
        assert sorted(map(json.dumps, result)) == sorted(map(json.dumps, expected))

"""The 40 genuine calls: a small graph in the upstream file formats, rebuilt from their responses, gives them back."""

import bz2
import csv
import json
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from quadrag.kg.build import build
from quadrag.kg.graph import Graph
from quadrag.kg.names import normalise

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
def graph(calls: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    root = tmp_path_factory.mktemp("genuine")
    write_upstream(Known(calls), root / "cragkg")
    built = build(root / "cragkg", root / "kg.sqlite")
    assert built.lacking == []
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


def write_upstream(known: Known, root: Path) -> None:
    for domain in ("finance", "movie", "music", "open", "sports"):
        (root / domain).mkdir(parents=True)
    write_open(known, root / "open")
    write_movie(known, root / "movie")
    write_finance(known, root / "finance")
    write_music(known, root / "music")
    write_sports(known, root / "sports")


def write_open(known: Known, folder: Path) -> None:
    ((title,), entity) = known.all("open_get_entity")[0]
    names = [*FILLER, *known.one("open_search_entity_by_name")]
    entities = {name: {"summary_text": ""} for name in names} | {title: entity}
    lines = [json.dumps(item) + "\n" for item in entities.items()]
    for number in range(2):
        with bz2.open(folder / f"kg.{number}.jsonl.bz2", "wt", encoding="utf-8") as stream:
            stream.writelines(lines[number::2])


def write_movie(known: Known, folder: Path) -> None:
    for table, name in (("person", "name"), ("movie", "title")):
        entities = [*known.one(f"movie_get_{table}_info"), known.one(f"movie_get_{table}_info_by_id")]
        named = {normalise(entity[name]): entity for entity in entities}
        filled = named | {filler: {"id": 10**8 + number} for number, filler in enumerate(FILLER)}
        (folder / f"{table}_db.json").write_text(json.dumps(filled), encoding="utf-8")
    ((year,), result) = known.all("movie_get_year_info")[0]
    (folder / "year_db.json").write_text(json.dumps({year: result}), encoding="utf-8")


def write_finance(known: Known, folder: Path) -> None:
    with (folder / "company_name.dict").open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["Name", "Symbol"])
        rows.writerows([name, "X"] for name in [*known.one("finance_get_company_name"), *FILLER])
        ((name,), ticker) = known.all("finance_get_ticker_by_name")[0]
        rows.writerow([name, ticker])
    for file, call in (
        ("price", "price_history"),
        ("detailed_price", "detailed_price_history"),
        ("dividend", "dividends_history"),
        ("marketcap", "market_capitalization"),
        ("info", "info"),
    ):
        write_sqlite_dict(folder / f"finance_{file}.sqlite", {k: v for (k,), v in known.all(f"finance_get_{call}")})


def write_sqlite_dict(path: Path, values: dict[str, Any]) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute('CREATE TABLE "unnamed" (key TEXT PRIMARY KEY, value BLOB)')
        rows = [(key, pickle.dumps(value, pickle.HIGHEST_PROTOCOL)) for key, value in values.items()]
        db.executemany('INSERT INTO "unnamed" VALUES (?, ?)', rows)
        db.commit()


def write_music(known: Known, folder: Path) -> None:
    def dump(name: str, value: Any) -> None:
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(value, 4))

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
    dump("artist_dict_simplified", artists)
    dump("song_dict_simplified", songs)
    dump("artist_work_dict", {name: works for (name,), works in known.all("music_get_artist_all_works")})
    (((rank, date), ((song,), (artist,))),) = known.all("music_get_billboard_rank_date")
    dump("rank_dict_hot100", {str(rank): [{"Date": date, "Song": song, "Artist": artist}]})
    (((date, _, song), weeks),) = known.all("music_get_billboard_attributes")
    dump("song_dict_hot100", {song: {date: [date, song, artist, "1", "1", "1", weeks]}})
    dump("grammy_df", awards(known))


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


def write_sports(known: Known, folder: Path) -> None:
    table: dict[tuple[Any, ...], dict[str, Any]] = {}
    for _, result in known.all("sports_soccer_get_games_on_date"):
        for column, cells in result.items():
            for label, value in cells.items():
                parts = tuple(part.strip("'") for part in label.strip("()").split("', '"))
                table.setdefault(parts, {})[column] = pd.Timestamp(value) if column == "date" else value
    table[(float("nan"), "2324", "Everton", "no league")] = next(iter(table.values()))
    index = pd.MultiIndex.from_tuples(
        [tuple(pd.array(parts, dtype=object)) for parts in table], names=["league", "season", "team", "game"]
    )
    levels = [level.astype(object) for level in index.levels]
    frame = pd.DataFrame(list(table.values()), index=index.set_levels(levels))
    frame = frame.astype({name: object for name in frame if frame[name].dtype.name in ("str", "object")})
    frame.columns = frame.columns.astype(object)
    frame.to_pickle(folder / "soccer_team_match_stats.pkl")
    with closing(sqlite3.connect(folder / "nba.sqlite")) as db:
        for name, results in (
            ("game", [known.all("sports_nba_get_games_on_date")[1][1]]),
            ("play_by_play", [known.one("sports_nba_get_play_by_play_data_by_game_ids")]),
        ):
            for result in results:
                rows = list(zip(*(cells.values() for cells in result.values()), strict=True))
                db.execute(f"CREATE TABLE {name} ({', '.join(result)})")
                db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(result))})", rows)
        db.commit()


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


def test_people_of_one_name_keep_the_order_of_the_file(graph: Graph, calls: list[dict[str, Any]]) -> None:
    ((args, expected),) = Known(calls).all("movie_get_person_info")
    assert graph.movie_get_person_info(*args) == expected

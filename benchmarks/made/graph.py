"""A knowledge graph in upstream's formats, made up, and bodies to ask for by function."""

from __future__ import annotations

import bz2
import json
import pickle
import random
import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from quadrag.kg.tools import FUNCTIONS

SEED = 2333
TICKERS, DETAILED, MINUTES = 500, 50, 1170  # three trading days by the minute, about 160 kB as upstream's longest
GAMES, PLAYS = 2000, 100
DAY = date(2023, 3, 1)


def made_names(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    words = count // 2

    def name() -> str:
        parts = [f"w{int(words ** draw.random())}" for _ in range(draw.choice((1, 2, 2, 2, 3, 3, 4, 5)))]
        return " ".join(["the", *parts] if draw.random() < 0.25 else parts)

    return [name() for _ in range(count)]


def write_source(root: Path, entities: int) -> dict[str, list[dict[str, Any]]]:
    """Write upstream's files, and return bodies to ask for by function."""
    draw = random.Random(SEED)
    names = made_names(entities, SEED)
    days = [DAY + timedelta(n) for n in range(365)]
    for domain in ("open", "movie", "finance", "music", "sports"):
        (root / domain).mkdir(parents=True)

    text = "Some words about what this is, where it lies, who made it and why. " * 30
    lines = (json.dumps([f"{name} {n}", {"summary_text": text, "raw_mediawiki": text}]) for n, name in enumerate(names))
    (root / "open" / "kg.0.jsonl.bz2").write_bytes(bz2.compress("\n".join(lines).encode(), 1))

    cast = [{"id": n, "name": f"Actor {n}", "character": "Someone", "order": n} for n in range(40)]
    films = {
        f"{name} f{n}": {"id": n, "title": name, "release_date": "2010-01-01", "cast": cast}
        for n, name in enumerate(names[: entities // 5])
    }
    people = {f"{name} p{n}": {"id": n, "name": name, "acted_movies": [n, n + 1]} for n, name in enumerate(names)}
    years = {str(year): {"movie_list": list(range(2000)), "oscar_awards": []} for year in range(1990, 2022)}
    for file, value in (("movie_db", films), ("person_db", people), ("year_db", years)):
        (root / "movie" / f"{file}.json").write_text(json.dumps(value))

    companies = [f"{name} Inc. Common Stock" for name in names[:8000]]
    listed = "".join(f"{name},T{n}\n" for n, name in enumerate(companies))
    (root / "finance" / "company_name.dict").write_text("Name,Symbol\n" + listed)
    row = {
        "Open": 171.71780629294318,
        "High": 177.3618273058982,
        "Low": 171.68783930774697,
        "Close": 174.754,
        "Volume": 5,
    }
    daily = {f"{day} 00:00:00 EST": row for day in days[:252]}
    start = datetime(2024, 2, 22, 9, 30)
    minutes = {f"{start + timedelta(minutes=n):%Y-%m-%d %H:%M:%S} EST": row for n in range(MINUTES)}
    info = {"forwardEps": 22.95, "forwardPE": 21.2, "longBusinessSummary": text, **{f"field{n}": n for n in range(120)}}
    stored = {"price": daily, "dividend": {"2024-02-21 00:00:00 EST": 0.5}, "marketcap": 1e12, "info": info}
    for name, value in {**stored, "detailed_price": minutes}.items():
        with closing(sqlite3.connect(root / "finance" / f"finance_{name}.sqlite")) as db, db:
            db.execute('CREATE TABLE "unnamed" (key TEXT PRIMARY KEY, value BLOB)')
            count = DETAILED if name == "detailed_price" else TICKERS
            db.executemany(
                'INSERT INTO "unnamed" VALUES (?, ?)', [(f"T{n}", pickle.dumps(value)) for n in range(count)]
            )

    artists = {
        f"{name} a{n}": {"country": "US", "birth_date": "1987", "end_date": None, "members": ["A", "B"]}
        for n, name in enumerate(names)
    }
    songs = {f"{name} s{n}": {"author": "A", "country": "US", "date": "2023"} for n, name in enumerate(names)}
    works = {name: [f"Work {n}" for n in range(100)] for name in list(artists)[:5000]}
    charts = {f"song{n}": {str(day): [str(day), "s", "a", "1", "2", "3", "4"] for day in days[::7]} for n in range(100)}
    ranks = {
        str(rank): [{"Date": str(day), "Song": f"song{rank}", "Artist": "a"} for day in days[::7]] * 10
        for rank in range(1, 101)
    }
    columns = {
        "year": [1960 + n % 60 for n in range(4800)],
        "category": [f"category {n % 80}" if n % 80 else "Best New Artist" for n in range(4800)],
        "nominee": [f"nominee {n}" for n in range(4800)],
        "artist": names[:4800],
        "workers": names[:4800],
    }
    frame = pd.DataFrame(columns).astype({name: object for name in columns if name != "year"})
    frame.columns = frame.columns.astype(object)
    pickles = {
        "artist_dict_simplified": artists,
        "song_dict_simplified": songs,
        "artist_work_dict": works,
        "song_dict_hot100": charts,
        "rank_dict_hot100": ranks,
        "grammy_df": frame,
    }
    for name, value in pickles.items():
        (root / "music" / f"{name}.pickle").write_bytes(pickle.dumps(value, 4))

    index = pd.MultiIndex.from_tuples(
        [("L", "2324", f"Team {n % 20}", f"game {n}") for n in range(4000)], names=["league", "season", "team", "game"]
    )
    index = index.set_levels([level.astype(object) for level in index.levels])
    stamps = pd.to_datetime([str(days[n % 365]) for n in range(4000)])
    soccer = pd.DataFrame({"date": stamps, **{f"column{n}": np.arange(4000.0) for n in range(16)}}, index=index)
    soccer.columns = soccer.columns.astype(object)
    (root / "sports" / "soccer_team_match_stats.pkl").write_bytes(pickle.dumps(soccer, 4))
    with closing(sqlite3.connect(root / "sports" / "nba.sqlite")) as db, db:
        db.execute(
            "CREATE TABLE game (game_id TEXT, game_date TEXT, team_name_home TEXT, team_name_away TEXT, "
            + ", ".join(f"figure{n} REAL" for n in range(50))
            + ")"
        )
        rows = (
            (f"{n:010}", f"{days[n % 365]} 00:00:00", f"Team {n % 30}", f"Team {(n + 7) % 30}", *range(50))
            for n in range(GAMES)
        )
        db.executemany(f"INSERT INTO game VALUES ({', '.join('?' * 54)})", rows)
        db.execute("CREATE TABLE play_by_play (game_id TEXT, " + ", ".join(f"figure{n} TEXT" for n in range(33)) + ")")
        plays = ((f"{n:010}", *(f"text {n}" for n in range(33))) for n in range(GAMES) for _ in range(PLAYS))
        db.executemany(f"INSERT INTO play_by_play VALUES ({', '.join('?' * 34)})", plays)

    def picks(values: list[Any], key: str = "query") -> list[dict[str, Any]]:
        return [{key: draw.choice(values)} for _ in range(300)]

    def asked(name: str) -> list[dict[str, Any]]:
        kinds = {
            "open_get_entity": [f"{name} {n}" for n, name in enumerate(names)],
            "movie_get_year_info": [str(year) for year in range(1990, 2022)],
            "movie_get_movie_info_by_id": list(range(entities // 5)),
            "movie_get_person_info_by_id": list(range(entities)),
            "finance_get_company_name": companies,
            "finance_get_ticker_by_name": companies,
            "finance_get_detailed_price_history": [f"T{n}" for n in range(DETAILED)],
            "music_get_artist_all_works": list(works),
            "music_grammy_get_award_count_by_song": columns["nominee"],
        }
        if name == "music_get_billboard_rank_date":
            dated = [{"rank": draw.randint(1, 100), "date": str(draw.choice(days[::7]))} for _ in range(200)]
            return [*dated, *picks(list(range(1, 101)), "rank")]
        if name == "music_get_billboard_attributes":
            return [
                {"date": str(draw.choice(days[::7])), "attribute": "rank", "song_name": f"song{draw.randrange(100)}"}
                for _ in range(300)
            ]
        if name.startswith("sports") and "games_on" in name:
            return [
                *picks([str(day) for day in days], "date"),
                *({"date": str(day), "team_name": f"Team {n % 20}"} for n, day in enumerate(days)),
            ]
        if name.startswith("sports"):
            return [{"game_ids": [f"{draw.randrange(GAMES):010}"]} for _ in range(300)]
        if not FUNCTIONS[name].parameters:
            return [{}]
        if name in kinds:
            return picks(kinds[name])
        if name.startswith("finance"):
            return picks([f"T{n}" for n in range(TICKERS)])
        if "by_year" in name:
            return picks(list(range(1960, 2020)))
        if name.startswith("music_get"):
            return picks(list(songs if "song" in name else artists))
        return picks(names)

    return {name: asked(name) for name in FUNCTIONS}

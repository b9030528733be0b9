"""How many mixed requests a second `quadrag kg serve` answers, over a made graph in upstream's formats.

The server runs in a process of its own, as users start it; the load comes from another one, over connections that stay
open, each sending its next request when the answer is there. The mix is all 38 functions, equally often, with arguments
that mostly find something: searches among as many names as `--entities` says, price histories of a year and of some
days by the minute, games, plays. The peer is a bare FastAPI with the same 38 routes and bodies, each of which answers
null: what the framework alone costs. Printed are requests a second, latency, and the functions
that take longest. Every answer is read; one that is not 200 stops the run. It does not measure the network.

    python benchmarks/kg_server.py
    python benchmarks/kg_server.py --entities 10000 --seconds 2     # a quick look
"""

from __future__ import annotations

import argparse
import asyncio
import bz2
import json
import pickle
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import closing, contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from quadrag.kg.build import build
from quadrag.kg.tools import FUNCTIONS

SEED = 2333
TICKERS, DETAILED, MINUTES = 500, 50, 1170  # three trading days by the minute, about 160 kB as upstream's longest
GAMES, PLAYS = 2000, 100
DAY = date(2023, 3, 1)
START_SERVER = """
import sys
from quadrag.kg.serve import serve
serve(sys.argv[1], port=0, ready=lambda address: print(address, flush=True))
"""
START_PEER = """
import contextlib
import fastapi
import uvicorn
from quadrag.kg import serve
from quadrag.kg.tools import FUNCTIONS
bare = fastapi.FastAPI()
for function in FUNCTIONS.values():
    async def nothing(body=None):
        return fastapi.Response(b'{"result":null}', media_type="application/json")
    if function.parameters:
        nothing.__annotations__["body"] = serve._body(function)
    bare.add_api_route(function.route, nothing, methods=["POST"])
listening = serve._listen("127.0.0.1", 0)
print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
server = uvicorn.Server(uvicorn.Config(bare, log_level="warning", access_log=False))
with contextlib.suppress(KeyboardInterrupt):
    server.run(sockets=[listening])
"""


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


@contextmanager
def running(code: str, *arguments: str) -> Any:
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


async def one_connection(
    host: str, port: int, requests: list[tuple[str, bytes]], until: float, seen: list[Any]
) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    draw = random.Random(len(seen))
    while time.perf_counter() < until:
        name, request = draw.choice(requests)
        started = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{name}: {head.decode()}")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        size = int(length.split(b":")[1])
        await reader.readexactly(size)
        seen.append((name, time.perf_counter() - started, size))
    writer.close()


async def load(address: str, requests: list[tuple[str, bytes]], connections: int, seconds: float) -> dict[str, Any]:
    host, port = address.removeprefix("http://").split(":")
    seen: list[Any] = []
    started = time.perf_counter()
    until = started + seconds
    await asyncio.gather(*(one_connection(host, int(port), requests, until, seen) for _ in range(connections)))
    took = time.perf_counter() - started
    cost = np.array([each[1] for each in seen]) * 1000
    by_name = defaultdict(list)
    for name, second, size in seen:
        by_name[name].append((second * 1000, size))
    return {"rate": len(seen) / took, "cost": cost, "by_name": by_name}


def resident(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=100_000, help="titles, people, artists and songs, each")
    parser.add_argument("--seconds", type=float, default=8, help="of each round")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 32])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as place:
        bodies = write_source(Path(place) / "source", options.entities)
        started = time.perf_counter()
        built = build(Path(place) / "source", Path(place) / "kg.sqlite")
        print(f"graph of {sum(built.rows.values()):,} rows in {time.perf_counter() - started:.0f} s")
        requests = []
        for name, several in bodies.items():
            # Equally often, however many bodies a function has.
            for body in (several * 300)[:300]:
                content = json.dumps(body).encode()
                head = f"POST {FUNCTIONS[name].route} HTTP/1.1\r\nHost: kg\r\nContent-Type: application/json\r\n"
                requests.append((name, f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content))
        print("\n| server | connections | requests a second | to the peer | p50, ms | p99, ms | longest, ms |")
        print("|---|---|---|---|---|---|---|")
        with running(START_PEER) as (peer, _), running(START_SERVER, str(built.path)) as (ours, pid):
            last: dict[str, Any] = {}
            for address in (ours, peer):
                asyncio.run(load(address, requests, 4, 2))
            for connections in options.connections:
                rates: dict[str, list[float]] = {peer: [], ours: []}
                costs: dict[str, list[Any]] = {peer: [], ours: []}
                for _ in range(options.rounds):
                    for address in (peer, ours):
                        last = asyncio.run(load(address, requests, connections, options.seconds))
                        rates[address].append(last["rate"])
                        costs[address].append(last["cost"])
                for who, address in (("bare FastAPI", peer), ("quadrag kg serve", ours)):
                    rate, cost = statistics.median(rates[address]), np.concatenate(costs[address])
                    share = rate / statistics.median(rates[peer])
                    p50, p99 = np.percentile(cost, [50, 99])
                    print(f"| {who} | {connections} | {rate:.0f} | {share:.2f} ", end="")
                    print(f"| {p50:.1f} | {p99:.1f} | {cost.max():.0f} |", flush=True)
            print(f"\nmemory of the server afterwards: {resident(pid):.0f} MB")
            alone = asyncio.run(load(ours, requests, 1, options.seconds))["by_name"]
            print("\n| longest, one connection | mean, ms | mean answer, kB |\n|---|---|---|")
            means = {name: np.mean(values, axis=0) for name, values in alone.items()}
            for name in sorted(means, key=lambda name: -means[name][0])[:6]:
                print(f"| {name} | {means[name][0]:.1f} | {means[name][1] / 1000:.1f} |")


if __name__ == "__main__":
    main()

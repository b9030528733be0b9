"""The knowledge graph of CRAG's sample, and calls of each of its functions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quadrag.baselines.crag.kg.build import build
from quadrag.baselines.crag.kg.graph import Graph
from quadrag.data.files import sample_dir

SOURCE = sample_dir("crag") / "mock_api" / "cragkg"  # upstream's files, of which it is built

# Two calls of each function, the first of which finds something in the sample.
CALLS: dict[str, list[dict[str, Any]]] = {
    "open_search_entity_by_name": [{"query": "Lindholt"}, {"query": "zzz"}],
    "open_get_entity": [{"query": "Lindholt Bridge"}, {"query": "zzz"}],
    "movie_get_person_info": [{"query": "Brandeaux"}, {"query": "zzz"}],
    "movie_get_movie_info": [{"query": "Glass Orchard"}, {"query": ""}],
    "movie_get_year_info": [{"query": "2016"}, {"query": "1990"}],
    "movie_get_movie_info_by_id": [{"query": 9001}, {"query": "1"}],
    "movie_get_person_info_by_id": [{"query": "501"}, {"query": -1}],
    "finance_get_company_name": [{"query": "quillmark"}, {"query": "'"}],
    "finance_get_ticker_by_name": [{"query": "Quillmark Systems Inc. Common Stock"}, {"query": "quillmark"}],
    "finance_get_price_history": [{"query": "QMRK"}, {"query": "zzz"}],
    "finance_get_detailed_price_history": [{"query": "QMRK"}, {"query": "zzz"}],
    "finance_get_dividends_history": [{"query": "QMRK"}, {"query": "TRNW"}],
    "finance_get_market_capitalization": [{"query": "QMRK"}, {"query": "zzz"}],
    "finance_get_eps": [{"query": "QMRK"}, {"query": "zzz"}],
    "finance_get_pe_ratio": [{"query": "QMRK"}, {"query": "zzz"}],
    "finance_get_info": [{"query": "QMRK"}, {"query": "zzz"}],
    "music_search_artist_entity_by_name": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_search_song_entity_by_name": [{"query": "salt on the sill"}, {"query": "zzz"}],
    "music_get_billboard_rank_date": [{"rank": 1}, {"rank": 1, "date": "2024-01-27"}, {"rank": 0, "date": None}],
    "music_get_billboard_attributes": [
        {"date": "2024-02-17", "attribute": "weeks_in_chart", "song_name": "Brass and Clover"},
        {"date": "2024-02-17", "attribute": "rank", "song_name": "zzz"},
    ],
    "music_grammy_get_best_artist_by_year": [{"query": 2019}, {"query": "1900"}],
    "music_grammy_get_award_count_by_artist": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_grammy_get_award_count_by_song": [{"query": "Glass Weather"}, {"query": "zzz"}],
    "music_grammy_get_best_song_by_year": [{"query": 2018}, {"query": 2030}],
    "music_grammy_get_award_date_by_artist": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_grammy_get_best_album_by_year": [{"query": 2019}, {"query": 1900}],
    "music_grammy_get_all_awarded_artists": [{}],
    "music_get_artist_birth_place": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_get_artist_birth_date": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_get_members": [{"query": "The Copper Lanterns"}, {"query": "zzz"}],
    "music_get_lifespan": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_get_song_author": [{"query": "Slow Harbor"}, {"query": "zzz"}],
    "music_get_song_release_country": [{"query": "Slow Harbor"}, {"query": "zzz"}],
    "music_get_song_release_date": [{"query": "Slow Harbor"}, {"query": "zzz"}],
    "music_get_artist_all_works": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "sports_soccer_get_games_on_date": [{"date": "2024-03"}, {"date": "2024-03-02", "team_name": "Nieuwmeer"}],
    "sports_nba_get_games_on_date": [{"date": "2024-02-09"}, {"date": "1900", "team_name": None}],
    "sports_nba_get_play_by_play_data_by_game_ids": [{"game_ids": ["0022300701"]}, {"game_ids": []}],
}


EACH = [(name, arguments) for name, calls in CALLS.items() for arguments in calls]


@contextmanager
def sample_graph(folder: Path) -> Iterator[Graph]:
    path = folder / "kg.sqlite"
    build(SOURCE, path)
    with Graph(path) as opened:
        yield opened

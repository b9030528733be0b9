"""What the sample's graph gives for questions: the very lines, within what bounds, how names are compared.

``facts.jsonl`` has 93 questions: what each is about, the passages that the graph gives (title, first line, number of
lines) and a sum of their whole text.
"""

import ast
import bz2
import hashlib
import json
import pickle
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample_graph import SOURCE

from quadrag.baselines.crag.facts.calls import CALLS, LINES, LOOKUPS, WIDTH, flatten, format_value
from quadrag.baselines.crag.facts.encyclopedia import strip_markup
from quadrag.baselines.crag.facts.find import choose_functions, find_facts, make_calls
from quadrag.baselines.crag.facts.question import match_names, occurs_in, split_name
from quadrag.baselines.crag.finder import fill
from quadrag.baselines.crag.kg.build import build
from quadrag.baselines.crag.kg.clock import at
from quadrag.baselines.crag.kg.graph import Graph
from quadrag.baselines.crag.kg.tools import FUNCTIONS
from quadrag.baselines.crag.language.entities import DOMAINS, Entities
from quadrag.baselines.crag.language.wording import expand_query, stem, stems
from quadrag.data.files import sample_dir
from quadrag.errors import QuadragError

LATE = "03/20/2024, 10:00:00 PT"
CASES = [json.loads(line) for line in Path(__file__).with_name("facts.jsonl").read_text("utf-8").splitlines()]


def entities_of(case: dict[str, Any]) -> Entities:
    return Entities(**{k: tuple(v) if isinstance(v, list) else v for k, v in case["entities"].items()})


def known(query: str) -> Entities:
    return next(entities_of(case) for case in CASES if case["query"] == query)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["query"][:60])
def test_the_facts_of_a_question(graph, case):
    found = find_facts(at(graph, case["time"]), entities_of(case), case["query"], case["time"])
    assert {one.title: [one.text.split("\n")[0], one.text.count("\n") + 1] for one in found} == case["facts"]
    assert list(case["facts"]) == [one.title for one in found]
    text = "\n\n".join(f"{one.title}\n{one.text}" for one in found)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == case["sum"]
    assert [one.id for one in found] == [f"kg/{number}" for number in range(len(found))]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_every_function_is_called_for_some_question(graph):
    called = set()
    for case in CASES:
        entities = entities_of(case)
        made = make_calls(at(graph, case["time"]), entities, case["query"], case["time"]).titles
        called |= {title.partition("(")[0] for title in made}
    assert called == set(FUNCTIONS) and len(called) == 38


@pytest.mark.parametrize(
    ("entities", "query", "name", "applies"),
    [
        ({}, "", "open_get_entity", False),
        ({"domain": "open", "names": ("x",)}, "", "open_get_entity", True),
        ({"domain": "open", "names": ("x",)}, "", "movie_get_movie_info", False),
        ({"dates": ("2016",)}, "oscars of 2016", "movie_get_year_info", True),
        ({"dates": ("2016",)}, "songs of 2016", "movie_get_year_info", False),
        ({"tickers": ("X",), "times": ("10:00",)}, "", "finance_get_detailed_price_history", True),
        ({"tickers": ("X",)}, "price today", "finance_get_detailed_price_history", True),
        ({"tickers": ("X",)}, "price yesterday", "finance_get_detailed_price_history", False),
        ({"teams": ("x",), "aspects": ("play-by-play",)}, "", "sports_nba_get_play_by_play_data_by_game_ids", True),
        ({"teams": ("x",)}, "who played?", "sports_nba_get_play_by_play_data_by_game_ids", False),
        ({"artists": ("x",)}, "", "music_get_billboard_attributes", False),
    ],
)
def test_applicable_goes_by_domain_names_and_words(entities, query, name, applies):
    assert (name in choose_functions(Entities(**entities), query)) == applies


def test_what_lies_after_the_question_is_hidden(graph):
    early = [case for case in CASES if case["time"].startswith("02/12/2024")]
    later = ("2024-02-16 |", "Dunmoor 3", "Junia Okparo", "7751250432.5", "Window Season", "110 points")
    for case, text in zip(early, later, strict=True):
        query, time = case["query"], case["time"]
        hidden, shown = (
            "\n".join(one.text for one in find_facts(source, entities_of(case), query, time))
            for source in (at(graph, time), graph)
        )
        assert text in shown and text not in hidden, query


@pytest.mark.parametrize("window", [2000, 8000])
def test_gold_answers_of_18_of_the_30_questions_stand_in_the_facts(graph, window):
    path = sample_dir("crag") / "data" / "crag_task_1_and_2_dev_v5.jsonl.bz2"
    with bz2.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    there = 0
    for row in rows:
        query, query_time = row["query"], row["query_time"]
        found = find_facts(at(graph, query_time), known(query), query, query_time)
        text = "\n".join(passage.text for passage in fill(found, window)).lower()
        others = row.get("alt_ans") or row.get("alternative_answers") or []
        golds = [row["answer"], *(ast.literal_eval(others) if isinstance(others, str) else others)]
        there += any(re.search(rf"(?<!\w){re.escape(gold.lower())}(?!\w|\.\d)", text) for gold in golds)
    assert (there, len(rows)) == (18, 30)


def test_a_question_of_no_time_is_an_error_and_nothing_asked_gives_nothing(graph):
    with pytest.raises(QuadragError, match="now"):
        find_facts(graph, Entities(), "what?", "now")
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
            for case in CASES
            for passage in find_facts(partial, entities_of(case), case["query"], case["time"])
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
    titles = {passage.title.partition("(")[0] for passage in find_facts(opened, known(query), query, LATE)}
    assert "music_get_song_author" in titles and "music_get_billboard_attributes" not in titles
    opened.close()
    with pytest.raises(Exception, match="closed"):
        find_facts(opened, known(query), query, LATE)


@pytest.mark.slow(20, 300, 10_000)
def test_work_and_length_are_bounded_whatever_is_named(graph, rounds):
    rows = [row for table in ("song", "artist", "open") for row in graph.rows(table, "name FROM {}")]
    pool = [name for (name,) in rows if isinstance(name, str)]
    pool += [*(f"team {n}" for n in range(9)), "", "the", "\x00", "x" * 200, "'; DROP TABLE open; --", '"', "QMRK"]
    pool += ["Hollis Brandeaux", "The Glass Orchard", "Quillmark Systems", "Saltmarsh Herons", "Dunmoor", "\u0130"]
    dates = ["2024-02-30", "2024-02-09", "2024-02", "2023", "2016", "1990", "2999", "soon", "2024-03-02"]
    draw = random.Random(11)
    for _ in range(rounds):

        def some(values: list[Any], most: int = 6) -> tuple[Any, ...]:
            return tuple(draw.sample(values, draw.randrange(most)))

        named = ("companies", "movies", "people", "artists", "songs", "teams")
        entities = Entities(
            domain=draw.choice([None, *DOMAINS]),
            **{name: some(pool) for name in named},
            tickers=some(["QMRK", "TRNW", "NA", "VLBK", "X"]),
            names=some(pool, 12),
            dates=some(dates),
            relative=some(["yesterday", "last week"], 2),
            times=some(["09:31"], 2),
            ranks=some([1, 2, 99], 3),
            aspects=some(["members", "closing price", "play by play", "grammy", "oscar"], 3),
        )
        query = " ".join(draw.choices([*pool[:50], "grammy", "oscars", "billboard", "best new artist", "today"], k=8))
        calls = make_calls(graph, entities, query, LATE)
        by_id = sum("_by_id(" in title for title in calls.titles)
        assert by_id <= LOOKUPS == 40 and len(calls.titles) - by_id <= CALLS == 40
        found = calls.passages()
        for passage in found:
            assert passage.text and passage.text == passage.text.strip()
            lines = passage.text.split("\n")
            assert len(lines) <= LINES == 40 and all(" | " in line and len(line) <= WIDTH == 600 for line in lines)
        assert find_facts(graph, entities, query, LATE) == found, "the same again"


class Recorded:
    """Answers as upstream's server did, by the recorded calls; None to any other."""

    def __init__(self, path: Path) -> None:
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        self._known = {(row["call"], str(row["args"])): row["response"]["result"] for row in rows}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: self._known.get((name, str([*arguments])))


META = {"tickers": ("META",)}
PRICES = "Open: 174.4049, High: 177.6615, Low: 172.8666, Close: 173.2362, Volume: 30998400"


@pytest.mark.parametrize(
    ("query", "entities", "expected"),
    [
        ("eps of meta", META, "META | forward EPS (earnings per share): 22.95"),
        ("revenue of meta", META, "META | totalRevenue: 134901997568"),
        ("who founded meta", META, "META | Founder, Chairman & CEO: Mr. Mark Elliot Zuckerberg, aged 39"),
        ("last dividend of meta", META, "META | lastDividendDate: 2024-02-21"),
        ("close of meta on march 1, 2023", META, f"META | 2023-03-01 | {PRICES}"),
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


def test_values_as_text():
    values = (41.87, 18412000256.0, 0.00412345678, -1e-9, 12345.678949, 1e22, 3, True, " a ", None, [1])
    texts = ["41.87", "18412000256", "0.00412346", "-1e-09", "12345.6789", "10000000000000000000000", "3", "yes", "a"]
    assert [format_value(one) for one in values] == [*texts, "", ""]
    assert format_value(float("nan")) == format_value(float("inf")) == ""
    assert list(flatten({"a": {"b": [1, {"c": None}]}, "d": "x"})) == [("a b", 1), ("a b c", None), ("d", "x")]
    assert strip_markup("[[River Brae|Brae]]<ref>x</ref><br/>'''Moss'''<ref name=a />") == "Brae, Moss"
    assert strip_markup("{{birth date|1914|5|3|df=y}} (aged {{nowrap|[[a|b]] 9}})") == "1914-05-03 (aged b 9)"
    assert strip_markup("{{plainlist|\n* one\n* two}} [https://x.y site]<!-- no -->") == "one, two site"
    assert strip_markup("") == "" and strip_markup("{{") == "{{"


def test_names_are_compared_without_articles_accents_and_punctuation():
    assert split_name("The F\u00e1elan's End!") == ("faelans", "end")
    assert (split_name("The"), split_name("...")) == (("the",), ())
    assert occurs_in(("b",), ("a", "b")) and not occurs_in((), ("a",)) and not occurs_in(("a", "c"), ("a", "b", "c"))


@pytest.mark.parametrize(
    ("asked", "found", "near", "chosen"),
    [
        ("the glass orchard", ["Orchard of Glass", "Glass Orchard"], False, ["Glass Orchard"]),
        ("keeper in night ferry to osk", ["Night Ferry", "Night Ferry to Osk", "Osk"], False, ["Night Ferry to Osk"]),
        ("glass orchards", ["Glass Orchard"], True, []),
        ("big glass orchard", ["Small Glass Orchard"], True, ["Small Glass Orchard"]),
        ("how long is it", ["How Long"], False, []),  # words of asking are no name
    ],
)
def test_names_that_a_search_found(asked, found, near, chosen):
    assert match_names(asked, found, near=near) == chosen


def test_words_of_a_question_and_of_fields_meet():
    assert stem("directed") == stem("director") == stem("directing") and stem("osk") == "osk"
    assert {"market", "cap"} <= stems("marketCap: 3") and {"2024-02-20", "2024-02", "2024"} <= stems("| 2024-02-20 |")
    assert "reven" in {one[:5] for one in expand_query("how much did it earn at the box office?")}
    assert stem("length") in expand_query("how long is it?") and "pe" in expand_query("its p/e ratio")
    assert "2023" in expand_query("", (), ["2023"])

"""CRAG's recipe over the sample's table: answers computed anew, equal thirds, the same again, every config run."""

import csv
import datetime
import itertools
import json
import re
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from quadrag import cli
from quadrag.baselines.crag.construct.templates import write_forms
from quadrag.data.builders import open_builder, rows
from quadrag.retrieval.webpage import text as text_of_html

SAMPLE = Path(__file__).parents[3] / "baselines" / "crag" / "construct" / "sample"
BUCKETS = ("head", "torso", "tail")


def command(table, templates, out, documents=SAMPLE / "pages"):
    files = ["--table", str(table), "--templates", str(templates)]
    return ["construct", "crag", *files, "--documents", str(documents), "--out", str(out)]


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def load(folder, config):
    found = {}
    for split in ("validation", "public"):
        builder, _ = open_builder("crag", config, str(folder), None, split)
        found[split] = list(rows(builder, split))
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("crag") / "mine"
    assert cli.main(command(SAMPLE / "table.csv", SAMPLE / "templates.yaml", out)) == 0
    return out


def oracle():
    """Every question that the sample's templates could ask, with its type, answer and dynamism, of the table alone."""
    with (SAMPLE / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    of = {row["name"]: row for row in rows}
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in ("film", "person", "studio")}
    slow, joined = "slow-changing", ", ".join
    expected = {}
    for film in by_kind["film"]:
        name, director, genres = film["name"], of[film["director"]], sorted(film["genres"].split("; "))
        day = datetime.date.fromisoformat(film["released"])
        shown = f"{day:%B} {day.day}, {day.year}"
        expected |= {
            f"Who directed the film {name}?": ("simple", film["director"], "static"),
            f"How much has the film {name} taken worldwide?": ("simple", f"${int(film['gross'] or 0):,}", slow),
            f"Which film by {film['director']} came out on {shown}?": ("simple_w_condition", name, "static"),
            f"To which genres does the film {name} belong?": ("set", joined(genres), "static"),
            f"Where was the director of {name} born?": ("multi-hop", director["birthplace"], "static"),
            f"Who is the chair of the company that produced {name}?": ("multi-hop", of[film["studio"]]["chair"], slow),
        }
        if not film["award"]:
            expected[f"Which prize did the film {name} win?"] = "false_premise", "invalid question", "static"
    for one, two in itertools.permutations(by_kind["film"], 2):
        pair, days = (
            f"{one['name']} or {two['name']}?",
            [datetime.date.fromisoformat(x["released"]) for x in (one, two)],
        )
        longer, worse = (
            sorted((one, two), key=lambda x, k=k: float(x[k]))[-at] for k, at in (("minutes", 1), ("rating", 2))
        )
        expected[f"Which film is longer, {pair}"] = "comparison", longer["name"], "static"
        expected[f"Which film has the lower rating, {pair}"] = "comparison", worse["name"], "fast-changing"
        between = f"How many days passed between the releases of {one['name']} and {two['name']}?"
        expected[between] = "post-processing", f"{abs((days[0] - days[1]).days):,} days", "static"
    for studio in by_kind["studio"]:
        name, films = studio["name"], [film for film in by_kind["film"] if film["studio"] == studio["name"]]
        expected[f"In which year was the film company {name} founded?"] = "simple", studio["founded"], "static"
        expected[f"How many films has {name} produced?"] = "aggregation", str(len(films)), slow
    for person in by_kind["person"]:
        name, films = person["name"], [film for film in by_kind["film"] if film["director"] == person["name"]]
        born = datetime.date.fromisoformat(person["born"])
        age = sum(born.replace(year=year) <= datetime.date(2025, 3, 10) for year in range(born.year + 1, 2026))
        minutes = f"{sum(int(film['minutes']) for film in films)} minutes"
        expected |= {
            f"Which films did {name} direct?": ("set", joined(sorted(film["name"] for film in films)), slow),
            f"How many minutes do the films of {name} last together?": ("aggregation", minutes, slow),
            f"How old is {name}?": ("post-processing", f"{age} years", slow),
        }
        if not person["instrument"]:
            expected[f"Which instrument does {name} play?"] = "false_premise", "invalid question", "static"
    return expected


def test_every_answer_is_what_the_table_says(made):
    expected, found = oracle(), [row for rows in load(made, "qa").values() for row in rows]
    assert len(found) > 100 and len({row["question_type"] for row in found}) == 8
    for row in found:
        assert (row["question_type"], row["answer"], row["static_or_dynamic"]) == expected[row["query"]], row["query"]
        assert row["answer"] not in row["alternatives"]
        assert (row["domain"], row["query_time"]) == ("movie", "03/10/2025, 09:30:00 PT")
    assert len({row["query"] for row in found}) == len(found)


def test_head_torso_and_tail_are_thirds_and_come_equally(made):
    splits = load(made, "qa")
    for found in splits.values():
        counts = Counter((re.split(r" [A-Z]", row["query"])[0], row["popularity"]) for row in found)
        for words in ("Who directed the film", "How old is", "Which film is longer,"):
            assert len({counts[words, bucket] for bucket in BUCKETS}) == 1
    with (SAMPLE / "table.csv").open(encoding="utf-8", newline="") as file:
        films = [row for row in csv.DictReader(file) if row["kind"] == "film"]
    ranked = sorted(films, key=lambda row: (-int(row["popularity"]), row["name"]))
    thirds = {f"Who directed the film {row['name']}?": BUCKETS[at * 3 // len(films)] for at, row in enumerate(ranked)}
    asked = [row for found in splits.values() for row in found if row["query"] in thirds]
    assert asked and all(row["popularity"] == thirds[row["query"]] for row in asked)
    assert abs(len(splits["validation"]) - len(splits["public"])) < 10


def test_pages_are_the_documents_five_and_fifty(made):
    lines = (SAMPLE / "pages" / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {one["id"]: one for one in map(json.loads, lines)}
    five, fifty = (load(made, config)["public"] for config in ("task_1_2", "task_3"))
    for few, many in zip(five, fifty, strict=True):
        assert few["id"] == many["id"]
        assert len(few["search_results"]) == min(5, len(many["search_results"]))
        urls = [page["page_url"] for page in many["search_results"]]
        best = urls[:10]
        assert len(set(urls)) == len(urls) > 0
        assert all(page["page_url"] in best for page in few["search_results"])
        for page, html in zip(many["search_results"], many["page_result"], strict=True):
            document = texts[page["page_url"].removeprefix("document:").replace("%26", "&")]
            assert page["page_name"] == document["title"]
            body = text_of_html(html).removeprefix(document["title"]).strip()
            assert body == " ".join(document["text"].split())
            assert page["page_snippet"] in document["text"]
    # What shares no word with a question is not found.
    assert max(len(row["search_results"]) for row in fifty) == 50


@pytest.mark.slow
def test_it_is_the_same_again_from_another_place_and_other_with_another_seed(made, tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "moved")
    moved = command(tmp_path / "moved/table.csv", tmp_path / "moved/templates.yaml", tmp_path / "again")
    assert cli.main(moved) == 0
    assert files_of(tmp_path / "again") == files_of(made)
    assert cli.main([*moved[:-1], str(tmp_path / "other"), "--seed", "1"]) == 0
    assert load(tmp_path / "other", "qa") != load(made, "qa")


@pytest.mark.parametrize("config", [pytest.param("qa", marks=pytest.mark.slow), "task_1_2", "task_3"])
def test_every_config_runs(config, made, tmp_path):
    line = ["run", "crag", config, "--data-dir", str(made), "--out", str(tmp_path / "run")]
    assert cli.main([*line, *(["--retriever", "none"] if config == "qa" else [])]) == 0


@pytest.mark.parametrize(
    ("number", "unit", "forms"),
    [
        ("1250000", "$", ["$1,250,000", "$1250000", "$1.25 million", "1,250,000", "1250000", "1.25 million"]),
        ("2012", None, ["2012"]),
        ("3.0", None, ["3", "three"]),
        ("12345", None, ["12,345", "12345"]),
        ("1234567", None, ["1,234,567", "1234567"]),
        ("6.50", None, ["6.5"]),
        ("1000", "metres", ["1,000 metres", "1000 metres", "1,000", "1000"]),
        ("-2E+9", None, ["-2,000,000,000", "-2000000000", "-2 billion"]),
    ],
)
def test_the_forms_of_a_number(number, unit, forms):
    assert write_forms(Decimal(number), unit) == forms


THINGS = [{"kind": "lake", "name": f"Lake {letter}", "fame": at} for at, letter in enumerate("ABCDEF")]
COLUMNS = {"depth": {"type": "number"}, "found": {"type": "date"}, "fish": {"type": "list"}, "river": {"link": "river"}}
TWO = {"ask": "Of {first} and {second}?", "type": "comparison", "column": "depth", "wanted": "most"}
DAYS = {"ask": "Between {first} and {second}?", "type": "post-processing", "column": "found", "compute": "days_between"}
AGE = {"ask": "How old is {name}?", "type": "post-processing", "column": "found", "compute": "years_since"}
DEPTH = {"ask": "How deep is {name}?", "type": "simple", "column": "depth"}
FISH = {"ask": "What swims in {name}?", "type": "set", "column": "fish"}
SEA = {"ask": "Where does the water of {name} end?", "type": "multi-hop", "path": ["river", "sea"]}
DRY = {"ask": "When did {name} fall dry?", "type": "false_premise", "column": "depth"}
COUNT = {"ask": "How many fish has {name}?", "type": "aggregation", "column": "fish", "compute": "count"}
RIVER = {"kind": "river", "name": "Low", "sea": "North Sea"}


def construct(tmp_path, things, *templates):
    kinds = {"lake": {"popularity": "fame", "columns": COLUMNS}, "river": {"columns": {"sea": {}}}}
    whole = {"domain": "open", "query_time": "03/10/2025, 09:30:00 PT", "kinds": kinds}
    whole["templates"] = [{"of": "lake", **template} for template in templates]
    (tmp_path / "templates.yaml").write_text(json.dumps(whole))
    full = [dict.fromkeys([*COLUMNS, "sea"]) | thing for thing in [*things, RIVER]]
    (tmp_path / "table.jsonl").write_text("".join(f"{json.dumps(thing)}\n" for thing in full))
    return run(tmp_path, tmp_path / "table.jsonl", tmp_path / "templates.yaml")


def run(tmp_path, table, templates, *more):
    return cli.main([*command(table, templates, tmp_path / "out"), *more])


@pytest.mark.parametrize(
    ("template", "cells", "why"),
    [
        (TWO, [{"depth": 7}] * 6, "a tie"),
        (AGE, [{"found": "2025-03-11"}] * 6, "less than a year before the query time"),
        (DEPTH, [{"depth": 5, "name": f"Lake {n} of 5"} for n in "ABCDEF"], "the question gives the answer away"),
        (DEPTH, [{"depth": n, "name": "Lake Same"} for n in range(6)], "several things of that description"),
        (FISH, [{"fish": ["pike"]}] * 6, "a set of fewer than 2 values or more than 10"),
        (FISH, [{"fish": list("abcdefghijk")}] * 6, "a set of fewer than 2 values or more than 10"),
        (COUNT, [{"fish": ["pike"]}] * 6, "fewer than two values"),
        (SEA, [{"river": "High"}] * 6, "no river of that name"),
        (SEA, [{"river": "Low", "name": f"Low Lake {n}"} for n in "ABCDEF"], "the question gives the answer away"),
        (DRY, [{"depth": 0}] * 6, "the premise holds"),
        (DEPTH, [{"depth": 1, "fame": None}] * 6, "nothing to ask about"),
        # The three most popular alone have a value: the other thirds would be empty.
        (DEPTH, [{}, {}, {}, {}, {"depth": 1}, {"depth": 2}], "too few in another third of popularity"),
    ],
)
def test_what_is_not_crisp_is_not_asked(template, cells, why, tmp_path, capsys):
    things = [thing | cell for thing, cell in zip(THINGS, cells, strict=True)]
    assert construct(tmp_path, things, template) == 2
    assert "no question came of" in capsys.readouterr().err
    (step,) = [one for one in json.loads((tmp_path / "out/construct.json").read_text())["steps"] if one["rows"] == 1]
    assert step["step"] == "questions" and step["kept"] == 0
    assert why in step["dropped"]


def test_the_same_templates_ask_where_things_are_crisp(tmp_path):
    cells = [
        {"depth": 100 + at, "found": f"190{at}-02-03", "fish": ["pike", f"eel {at}"], "river": "Low"} for at in range(6)
    ]
    things = [thing | cell for thing, cell in zip(THINGS, cells, strict=True)]
    assert construct(tmp_path, things, TWO, DAYS, AGE, DEPTH, FISH, COUNT, SEA) == 0
    (step,) = [one for one in json.loads((tmp_path / "out/construct.json").read_text())["steps"] if one["rows"] == 7]
    assert step["dropped"] == {} and step["kept"] == 3 * (2 * 1 + 5 * 2)


@pytest.mark.parametrize(
    ("name", "old", "new", "named"),
    yaml.safe_load(Path(__file__).with_name("crag_faults.yaml").read_text(encoding="utf-8")),
)
def test_a_fault_in_the_templates_or_the_table_is_one_line(name, old, new, named, tmp_path, capsys):
    text = (SAMPLE / name).with_suffix(".yaml" if "templates" in name else ".csv").read_text(encoding="utf-8")
    assert old in text
    changed = tmp_path / name
    changed.write_text(text.replace(old, new, 1), encoding="utf-8")
    files = (SAMPLE / "table.csv", changed) if "templates" in name else (changed, SAMPLE / "templates.yaml")
    assert run(tmp_path, *files) == 2
    (found,) = capsys.readouterr().err.strip().splitlines()
    assert named in found and name in found
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "more",
    ["--limit 3", "--llm http://127.0.0.1:9/v1#m", "--table none.csv", "--topics t.yaml", "--documents in"],
)
def test_what_does_nothing_and_pages_in_another_language_are_refused(more, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("这一篇是中文的，不能作英文问题的网页。" * 5, encoding="utf-8")
    assert run(tmp_path, SAMPLE / "table.csv", SAMPLE / "templates.yaml", *more.split()) == 2
    assert capsys.readouterr().err.strip().count("\n") == 0
    assert more == "--documents in" or not (tmp_path / "out").exists()

"""What CRAG's recipe does not ask, and why; and tables and templates with faults, each one clear line."""

import json
from pathlib import Path
from typing import Any

import pytest

from quadrag import cli

SAMPLE = Path(__file__).parents[3] / "baselines" / "crag" / "construct" / "sample"
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


def construct(tmp_path: Path, things: list[dict[str, Any]], *templates: dict[str, Any]) -> int:
    kinds = {"lake": {"popularity": "fame", "columns": COLUMNS}, "river": {"columns": {"sea": {}}}}
    whole = {"domain": "open", "query_time": "03/10/2025, 09:30:00 PT", "kinds": kinds}
    whole["templates"] = [{"of": "lake", **template} for template in templates]
    (tmp_path / "templates.yaml").write_text(json.dumps(whole))
    full = [dict.fromkeys([*COLUMNS, "sea"]) | thing for thing in [*things, RIVER]]
    (tmp_path / "table.jsonl").write_text("".join(f"{json.dumps(thing)}\n" for thing in full))
    return run(tmp_path, tmp_path / "table.jsonl", tmp_path / "templates.yaml")


def run(tmp_path: Path, table: Path, templates: Path, *more: str) -> int:
    files = ["--table", str(table), "--templates", str(templates), "--documents", str(SAMPLE / "pages")]
    return cli.main(["construct", "crag", *files, "--out", str(tmp_path / "out"), *more])


@pytest.mark.parametrize(
    ("template", "cells", "why"),
    [
        (TWO, [{"depth": 7}] * 6, "a tie"),
        (TWO, [{}] * 6, "no value"),
        (DAYS, [{"found": "2001-05-05"}] * 6, "a tie"),
        (AGE, [{"found": "2025-03-11"}] * 6, "less than a year before the query time"),
        (DEPTH, [{"depth": 5, "name": f"Lake {n} of 5"} for n in "ABCDEF"], "the question gives the answer away"),
        (DEPTH, [{"depth": n, "name": "Lake Same"} for n in range(6)], "several things of that description"),
        (FISH, [{"fish": ["pike"]}] * 6, "a set of fewer than 2 values or more than 10"),
        (FISH, [{"fish": list("abcdefghijk")}] * 6, "a set of fewer than 2 values or more than 10"),
        (FISH, [{}] * 6, "no value"),
        (COUNT, [{"fish": ["pike"]}] * 6, "fewer than two values"),
        (SEA, [{"river": "High"}] * 6, "no river of that name"),
        (SEA, [{"river": "Low", "name": f"Low Lake {n}"} for n in "ABCDEF"], "the question gives the answer away"),
        (SEA, [{}] * 6, "no value"),
        (DRY, [{"depth": 0}] * 6, "the premise holds"),
        (DEPTH, [{"depth": 1, "fame": None}] * 6, "nothing to ask about"),
        # The three most popular alone have a value: the other thirds would be empty.
        (DEPTH, [{}, {}, {}, {}, {"depth": 1}, {"depth": 2}], "too few in another third of popularity"),
    ],
)
def test_what_is_not_crisp_is_not_asked(
    template: dict[str, Any], cells: list[dict[str, Any]], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    things = [thing | cell for thing, cell in zip(THINGS, cells, strict=True)]
    assert construct(tmp_path, things, template) == 2
    assert "no question came of" in capsys.readouterr().err
    (step,) = [one for one in json.loads((tmp_path / "out/construct.json").read_text())["steps"] if one["rows"] == 1]
    assert step["step"] == "questions" and step["kept"] == 0
    assert why in step["dropped"]


def test_the_same_templates_ask_where_things_are_crisp(tmp_path: Path) -> None:
    cells = [
        {"depth": 100 + at, "found": f"190{at}-02-03", "fish": ["pike", f"eel {at}"], "river": "Low"} for at in range(6)
    ]
    things = [thing | cell for thing, cell in zip(THINGS, cells, strict=True)]
    assert construct(tmp_path, things, TWO, DAYS, AGE, DEPTH, FISH, COUNT, SEA) == 0
    (step,) = [one for one in json.loads((tmp_path / "out/construct.json").read_text())["steps"] if one["rows"] == 7]
    assert step["dropped"] == {} and step["kept"] == 3 * (2 * 1 + 5 * 2)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("domain: movie", "domain: cinema", "domain is 'cinema'; expected one of finance, music, movie, sports, open"),
        ("09:30:00 PT", "9 o'clock", "the question's time is"),
        ("each: 3", "each: none", "each is 'none'; expected a whole number from 1"),
        ("each: 3", "every: 3", "unknown key 'every'; nearest: "),
        ("{link: person}", "{link: human}", "kind film: link is 'human'; expected one of film, person, studio"),
        ("slow-changing}", "slow}", "column gross: dynamism is 'slow'"),
        ("type: comparison", "type: compare", "template 7: type is 'compare'"),
        ("column: minutes\n    wanted", "column: genres\n    wanted", "template 7: column genres is of the type list"),
        ("column: director", "column: directer", "template 1: column is 'directer'"),
        ("column: director", "colum: director", "template 1: unknown key 'colum'; nearest: column"),
        ("    column: director\n", "", "template 1 lacks column"),
        ("given: [director, released]", "given: [director]", "template 4: given is ['director']; expected two"),
        ("path: [studio, chair]", "path: [studio]", "template 12: path is ['studio']; expected two columns"),
        ("path: [studio, chair]", "path: [genres, chair]", "template 12: path: column genres names no single thing"),
        ("Who directed the film {name}?", "Who directed the film?", "template 1: ask is 'Who directed the film?'"),
        ("the film {name} taken", "the film {name} {gross} taken", "expected a question with {name} and no other slot"),
        ("To which genres does the film {name} belong?", "Who directed the film {name}?", "the same as template 1"),
        ("    compute: years_since", "    compute: years", "template 14: compute is 'years'"),
        ("    popularity: popularity   # visitors of its pages\n", "", "kind studio has no popularity"),
        ("    popularity: popularity   # votes", "    popularity: vote", "kind film: unknown column 'vote'"),
        ("      award: {}", "      name: {}", "kind film: a column may not be named name"),
        ("kinds:", "kinds: [", "is not YAML"),
    ],
)
def test_a_fault_in_the_templates_is_one_line(old: str, new: str, said: str, tmp_path: Path, capsys: Any) -> None:
    text = (SAMPLE / "templates.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "t.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    assert run(tmp_path, SAMPLE / "table.csv", tmp_path / "t.yaml") == 2
    (found,) = capsys.readouterr().err.strip().splitlines()
    assert said in found and str(tmp_path / "t.yaml" if "template" in said else "") in found
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("table.csv", "kind,name", "kind,names", "kind film: unknown column 'name'"),
        ("table.csv", "film,Cold Tram", "flim,Cold Tram", "table.csv:5: unknown kind 'flim'; nearest: film"),
        ("table.csv", "film,Cold Tram", "film,", "table.csv:5 has no name"),
        ("table.csv", "film,Cold Tram,", "film,Cold Tram,9E99999", "table.csv:5: popularity is '9E99999"),
        ("table.csv", "film,Cold Tram,", "film,Cold Tram,,", "table.csv:5 has 18 cells under 17 names"),
        ("table.csv", "1997-10-12", "12.10.1997", "released is '12.10.1997'; expected a date as 2024-03-05"),
        ("table.csv", "popularity,director", "director,director", "names the column director twice"),
        ("table.csv", "studio,", "person,", "holds no studio"),
        ("table.csv", "Cold Tram", "Cold \udcff", "is not UTF-8"),
        ("table.jsonl", "kind", "kind", "is not JSON"),
        ("table.xlsx", "kind", "kind", "is no table; expected .csv, .jsonl"),
        ("table.sqlite", "kind", "SQLite format 3\0", "is no knowledge graph"),
    ],
)
def test_a_fault_in_the_table_is_one_line(
    name: str, old: str, new: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (SAMPLE / "table.csv").read_text(encoding="utf-8")
    changed = text.replace("\nstudio,", "\nperson,") if old == "studio," else text.replace(old, new, 1)
    (tmp_path / name).write_bytes(changed.encode("utf-8", "surrogateescape"))
    assert run(tmp_path, tmp_path / name, SAMPLE / "templates.yaml") == 2
    (found,) = capsys.readouterr().err.strip().splitlines()
    assert said in found and name in found
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--limit", "3"], "--limit does nothing for crag"),
        (["--llm", "http://127.0.0.1:9/v1#m"], "--llm names the model"),
        (["--table", "none.csv"], "cannot read none.csv (No such file or directory)"),
    ],
)
def test_what_does_nothing_is_refused(more: list[str], said: str, tmp_path: Path, capsys: Any) -> None:
    assert run(tmp_path, SAMPLE / "table.csv", SAMPLE / "templates.yaml", *more) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_documents_that_cannot_be_pages_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("这一篇是中文的，不能作英文问题的网页。" * 5, encoding="utf-8")
    more = ("--documents", str(tmp_path / "in"))
    assert run(tmp_path, SAMPLE / "table.csv", SAMPLE / "templates.yaml", *more) == 2
    assert "no document can be a page; expected English" in capsys.readouterr().err

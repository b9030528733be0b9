"""CRAG's recipe over the sample's table: answers computed anew, equal thirds, the same again, every config run."""

import csv
import datetime
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from quadrag import cli
from quadrag.baselines.crag.construct.table import write_forms
from quadrag.data.builders import open_builder, rows
from quadrag.retrieval.webpage import text as text_of_html

SAMPLE = Path(__file__).parents[3] / "baselines" / "crag" / "construct" / "sample"
BUCKETS = ("head", "torso", "tail")


def command(table: Path, templates: Path, out: Path, documents: Path = SAMPLE / "pages") -> list[str]:
    files = ["--table", str(table), "--templates", str(templates)]
    return ["construct", "crag", *files, "--documents", str(documents), "--out", str(out)]


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def load(folder: Path, config: str) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for split in ("validation", "public"):
        builder, _ = open_builder("crag", config, str(folder), None, split)
        found[split] = list(rows(builder, split))
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("crag") / "mine"
    assert cli.main(command(SAMPLE / "table.csv", SAMPLE / "templates.yaml", out)) == 0
    return out


class Facts:
    """The sample's table, read by its own means."""

    def __init__(self) -> None:
        with (SAMPLE / "table.csv").open(encoding="utf-8", newline="") as file:
            self.rows = list(csv.DictReader(file))

    def of(self, name: str) -> dict[str, str]:
        (row,) = [row for row in self.rows if row["name"] == name]
        return row

    def films(self, **wanted: str) -> list[dict[str, str]]:
        films = [row for row in self.rows if row["kind"] == "film"]
        return [row for row in films if all(row[key] == value for key, value in wanted.items())]

    def longer(self, first: str, second: str) -> str:
        one, other = int(self.of(first)["minutes"]), int(self.of(second)["minutes"])
        assert one != other
        return first if one > other else second

    def worse(self, first: str, second: str) -> str:
        one, other = float(self.of(first)["rating"]), float(self.of(second)["rating"])
        assert one != other
        return first if one < other else second

    def age(self, name: str) -> str:
        born = datetime.date.fromisoformat(self.of(name)["born"])
        birthdays = [born.replace(year=year) for year in range(born.year + 1, 2026)]
        return str(sum(day <= datetime.date(2025, 3, 10) for day in birthdays))

    def days(self, first: str, second: str) -> str:
        one, other = (datetime.date.fromisoformat(self.of(name)["released"]).toordinal() for name in (first, second))
        return str(abs(one - other))

    def by_director_on(self, director: str, day: str) -> str:
        iso = datetime.datetime.strptime(day, "%B %d, %Y").date().isoformat()
        (film,) = self.films(director=director, released=iso)
        return film["name"]

    def lacks(self, name: str, column: str) -> str:
        assert not self.of(name)[column]
        return "invalid question"


FACTS = Facts()
JOINED = ", ".join
# Each template of the sample by its words: the type, and the answer as the table's reader computes it.
ANSWERS: dict[str, tuple[str, Callable[..., str]]] = {
    r"Who directed the film (.+)\?": ("simple", lambda film: FACTS.of(film)["director"]),
    r"In which year was the film company (.+) founded\?": ("simple", lambda name: FACTS.of(name)["founded"]),
    r"How much has the film (.+) taken worldwide\?": ("simple", lambda film: f"${int(FACTS.of(film)['gross']):,}"),
    r"Which film by (.+) came out on (.+)\?": ("simple_w_condition", FACTS.by_director_on),
    r"Which films did (.+) direct\?": ("set", lambda p: JOINED(sorted(f["name"] for f in FACTS.films(director=p)))),
    r"To which genres does the film (.+) belong\?": (
        "set",
        lambda film: JOINED(sorted(FACTS.of(film)["genres"].split("; "))),
    ),
    r"Which film is longer, (.+) or (.+)\?": ("comparison", FACTS.longer),
    r"Which film has the lower rating, (.+) or (.+)\?": ("comparison", FACTS.worse),
    r"How many films has (.+) produced\?": ("aggregation", lambda studio: str(len(FACTS.films(studio=studio)))),
    r"How many minutes do the films of (.+) last together\?": (
        "aggregation",
        lambda person: f"{sum(int(film['minutes']) for film in FACTS.films(director=person))} minutes",
    ),
    r"Where was the director of (.+) born\?": (
        "multi-hop",
        lambda film: FACTS.of(FACTS.of(film)["director"])["birthplace"],
    ),
    r"Who is the chair of the company that produced (.+)\?": (
        "multi-hop",
        lambda film: FACTS.of(FACTS.of(film)["studio"])["chair"],
    ),
    r"How many days passed between the releases of (.+) and (.+)\?": (
        "post-processing",
        lambda one, other: f"{int(FACTS.days(one, other)):,} days",
    ),
    r"How old is (.+)\?": ("post-processing", lambda name: f"{FACTS.age(name)} years"),
    r"Which prize did the film (.+) win\?": ("false_premise", lambda film: FACTS.lacks(film, "award")),
    r"Which instrument does (.+) play\?": ("false_premise", lambda name: FACTS.lacks(name, "instrument")),
}
CHANGING = {"taken worldwide": "slow-changing", "rating": "fast-changing", "chair": "slow-changing"} | dict.fromkeys(
    ("How old", "Which films did", "How many films has", "last together"), "slow-changing"
)


def template_of(query: str) -> str:
    (found,) = [pattern for pattern in ANSWERS if re.fullmatch(pattern, query)]
    return found


def slots_of(query: str) -> tuple[str, ...]:
    """What stands in a question's slots; "and" between two films is the one that parts two names."""
    pattern = template_of(query)
    if pattern.count("(.+)") == 1 or "came out on" in pattern:
        return re.fullmatch(pattern, query).groups()  # type: ignore[union-attr]
    middle = " and " if " and (.+)" in pattern else " or "
    inside = re.fullmatch(re.sub(r"\(\.\+\).*\(\.\+\)", "(.+)", pattern), query).group(1)  # type: ignore[union-attr]
    names = {row["name"] for row in FACTS.rows}
    cuts = [at for at in range(len(inside)) if inside.startswith(middle, at)]
    (pair,) = [
        (inside[:at], inside[at + len(middle) :])
        for at in cuts
        if inside[:at] in names and inside[at + len(middle) :] in names
    ]
    return pair


def test_every_answer_is_what_the_table_says(made: Path) -> None:
    found = [row for rows in load(made, "qa").values() for row in rows]
    assert len(found) > 100
    assert {template_of(row["query"]) for row in found} == set(ANSWERS)
    for row in found:
        kind, compute = ANSWERS[template_of(row["query"])]
        assert row["question_type"] == kind
        assert row["answer"] == compute(*slots_of(row["query"])), row["query"]
        assert row["answer"] not in row["alternatives"]
        changing = [speed for words, speed in CHANGING.items() if words in row["query"]]
        assert row["static_or_dynamic"] == (changing[0] if changing else "static"), row["query"]
        assert (row["domain"], row["query_time"]) == ("movie", "03/10/2025, 09:30:00 PT")
    assert len({row["query"] for row in found}) == len(found)


def test_head_torso_and_tail_are_thirds_and_come_equally(made: Path) -> None:
    splits = load(made, "qa")
    for found in splits.values():
        counts = Counter((template_of(row["query"]), row["popularity"]) for row in found)
        for template, _ in counts:
            assert len({counts[template, bucket] for bucket in BUCKETS}) == 1
    for kind, pattern in (("film", r"Who directed the film"), ("studio", r"In which year was the film company")):
        ranked = [row for row in FACTS.rows if row["kind"] == kind]
        ranked.sort(key=lambda row: (-int(row["popularity"]), row["name"]))
        place = {row["name"]: at for at, row in enumerate(ranked)}
        for row in [row for found in splits.values() for row in found if row["query"].startswith(pattern)]:
            (name,) = slots_of(row["query"])
            assert row["popularity"] == BUCKETS[place[name] * 3 // len(ranked)]
    assert abs(len(splits["validation"]) - len(splits["public"])) < 10


def test_pages_are_the_documents_five_and_fifty(made: Path) -> None:
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


def test_documents_with_markup_and_without_words_in_common_are_pages_too(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    text = "Ampersands & <script>alert('no page of ours runs this')</script> stand here as they are, word for word."
    (tmp_path / "in" / "a b.txt").write_text(text)
    assert cli.main(command(SAMPLE / "table.csv", SAMPLE / "templates.yaml", tmp_path / "out", tmp_path / "in")) == 0
    pages = [
        (page["page_url"], text_of_html(html))
        for row in load(tmp_path / "out", "task_3")["public"]
        for page, html in zip(row["search_results"], row["page_result"], strict=True)
    ]
    assert set(pages) <= {("document:a%20b.txt", f"a b {text}")}


@pytest.mark.slow
def test_it_is_the_same_again_from_another_place_and_other_with_another_seed(made: Path, tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "moved")
    moved = command(tmp_path / "moved/table.csv", tmp_path / "moved/templates.yaml", tmp_path / "again")
    assert cli.main(moved) == 0
    assert files_of(tmp_path / "again") == files_of(made)
    assert cli.main([*moved[:-1], str(tmp_path / "other"), "--seed", "1"]) == 0
    assert load(tmp_path / "other", "qa") != load(made, "qa")


def test_another_table_of_the_same_name_is_another_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(SAMPLE, tmp_path / "moved")
    line = command(tmp_path / "moved/table.csv", tmp_path / "moved/templates.yaml", tmp_path / "out")
    assert cli.main(line) == 0
    table = tmp_path / "moved/table.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("Cold Tram", "Warm Tram"), encoding="utf-8")
    assert cli.main(line) == 2
    assert "made otherwise (table)" in capsys.readouterr().err


@pytest.mark.parametrize("config", [pytest.param("qa", marks=pytest.mark.slow), "task_1_2", "task_3"])
def test_every_config_runs(config: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["run", "crag", config, "--data-dir", str(made), "--out", str(tmp_path / "run")]
    assert cli.main([*line, *(["--retriever", "none"] if config == "qa" else [])]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "(made by rules of 70 documents)" in said


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
def test_the_forms_of_a_number(number: str, unit: str | None, forms: list[str]) -> None:
    assert write_forms(Decimal(number), unit) == forms


# What is not asked, and why; tables and templates with faults, each one clear line.

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
    return cli.main([*command(table, templates, tmp_path / "out"), *more])


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
    ("old", "new", "named"),
    [
        ("domain: movie", "domain: cinema", "cinema"),
        ("09:30:00 PT", "9 o'clock", "9 o'clock"),
        ("each: 3", "each: none", "none"),
        ("each: 3", "every: 3", "every"),
        ("{link: person}", "{link: human}", "human"),
        ("slow-changing}", "slow}", "gross"),
        ("type: comparison", "type: compare", "template 7"),
        ("column: minutes\n    wanted", "column: genres\n    wanted", "template 7"),
        ("column: director", "column: directer", "template 1"),
        ("column: director", "colum: director", "colum"),
        ("    column: director\n", "", "template 1"),
        ("given: [director, released]", "given: [director]", "template 4"),
        ("path: [studio, chair]", "path: [studio]", "template 12"),
        ("path: [studio, chair]", "path: [genres, chair]", "template 12"),
        ("Who directed the film {name}?", "Who directed the film?", "template 1"),
        ("the film {name} taken", "the film {name} {gross} taken", "{gross}"),
        ("To which genres does the film {name} belong?", "Who directed the film {name}?", "template 6"),
        ("    compute: years_since", "    compute: years", "template 14"),
        ("    popularity: popularity   # visitors of its pages\n", "", "studio"),
        ("    popularity: popularity   # votes", "    popularity: vote", "vote"),
        ("      award: {}", "      name: {}", "name"),
        ("kinds:", "kinds: [", "YAML"),
    ],
)
def test_a_fault_in_the_templates_is_one_line(old: str, new: str, named: str, tmp_path: Path, capsys: Any) -> None:
    text = (SAMPLE / "templates.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "t.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    assert run(tmp_path, SAMPLE / "table.csv", tmp_path / "t.yaml") == 2
    (found,) = capsys.readouterr().err.strip().splitlines()
    assert named in found
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "old", "new", "named"),
    [
        ("table.csv", "kind,name", "kind,names", "'name'"),
        ("table.csv", "film,Cold Tram", "flim,Cold Tram", "table.csv:5: unknown kind 'flim'"),
        ("table.csv", "film,Cold Tram", "film,", "table.csv:5"),
        ("table.csv", "film,Cold Tram,", "film,Cold Tram,9E99999", "table.csv:5: popularity"),
        ("table.csv", "film,Cold Tram,", "film,Cold Tram,,", "table.csv:5"),
        ("table.csv", "1997-10-12", "12.10.1997", "'12.10.1997'"),
        ("table.csv", "popularity,director", "director,director", "director"),
        ("table.csv", "studio,", "person,", "studio"),
        ("table.csv", "Cold Tram", "Cold \udcff", "UTF-8"),
        ("table.jsonl", "kind", "kind", "table.jsonl:1"),
    ],
)
def test_a_fault_in_the_table_is_one_line(
    name: str, old: str, new: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (SAMPLE / "table.csv").read_text(encoding="utf-8")
    changed = text.replace("\nstudio,", "\nperson,") if old == "studio," else text.replace(old, new, 1)
    (tmp_path / name).write_bytes(changed.encode("utf-8", "surrogateescape"))
    assert run(tmp_path, tmp_path / name, SAMPLE / "templates.yaml") == 2
    (found,) = capsys.readouterr().err.strip().splitlines()
    assert named in found and name in found
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "more", [["--limit", "3"], ["--llm", "http://127.0.0.1:9/v1#m"], ["--table", "none.csv"], ["--topics", "t.yaml"]]
)
def test_what_does_nothing_is_refused(more: list[str], tmp_path: Path, capsys: Any) -> None:
    assert run(tmp_path, SAMPLE / "table.csv", SAMPLE / "templates.yaml", *more) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_documents_that_cannot_be_pages_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("这一篇是中文的，不能作英文问题的网页。" * 5, encoding="utf-8")
    assert run(tmp_path, SAMPLE / "table.csv", SAMPLE / "templates.yaml", "--documents", str(tmp_path / "in")) == 2

"""`quadrag label`: a draw of a run's items, and the score corrected by people's labels."""

import codecs
import csv
import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

from quadrag.judges.labelled import write_gold
from quadrag.judges.labels import read_texts
from quadrag.records import read_jsonl
from quadrag.stats.agreement import ppi_mean

pytestmark = pytest.mark.plugins


@pytest.fixture
def judged(cli):
    """A run of 15 answers of which the judge calls all right but those about one gold."""
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        server.rules.append(Rule("reply", match="copper lanterns", message={"content": '{"score": 0}'}))
        done = cli(
            "run", "crag", "qa", "--retriever", "none", "--data-dir", "sample", "--judge", f"{server.url}#j",
            "--ledger", "ledger", "--out", "runs/a",
        )  # fmt: skip
    assert done.code == 0, done.err
    return cli


def rows_of(name):
    with Path(name).open(encoding="utf-8-sig", newline="") as text:
        return list(csv.DictReader(text))


def fill(name, label, out="filled.csv"):
    rows = rows_of(name)
    with Path(out).open("w", encoding="utf-8", newline="") as text:
        sheet = csv.DictWriter(text, rows[0])
        sheet.writeheader()
        sheet.writerows(row | {"label": label(row)} for row in rows)
    return out


def test_a_sheet_goes_out_and_comes_back(judged):
    done = judged("label", "runs/a", "--n", 8, "--out", "sheet.csv")
    assert done.code == 0, done.err
    assert Path("sheet.csv").read_bytes().startswith(codecs.BOM_UTF8), "spreadsheets show Chinese by the mark alone"
    rows = rows_of("sheet.csv")
    assert len(rows) == 8 and all(row["question"] and row["gold"] and not row["label"] for row in rows)
    back = judged("label", "runs/a", "--people", fill("sheet.csv", lambda row: "right"))
    assert back.code == 0, back.err
    assert re.search(r"^corrected by labels +100\.0 +\d+\.\d to 100\.0 +15$", back.out, flags=re.MULTILINE)
    values = {row["id"]: row["truthfulness.accuracy"] for _, row in read_jsonl(Path("runs/a/items.jsonl"))}
    said = [one["official"] for row in rows if "official" not in (one := values[row["id"]]).get("ruled", ())]
    agreed = said.count(1)
    assert 0 < agreed < len(said) < 8, "a rule decided some: these are no verdicts of the judge"
    assert f"The judge and the labels agree on {agreed} of {len(said)}." in back.out
    whole = 100 * sum(one["official"] for one in values.values()) / 15
    assert re.search(rf"^rules and the judge +{whole:.1f} +– +15$", back.out, flags=re.MULTILINE), back.out
    again = judged("label", "runs/a", "--out", "sheet.csv")
    assert again.code == 2 and "sheet.csv is there" in again.err


def test_labels_of_a_random_draw(judged):
    values = {row["id"]: row["truthfulness.accuracy"]["official"] for _, row in read_jsonl(Path("runs/a/items.jsonl"))}
    ranked = sorted(values, key=values.get)
    people = {name: 1 - values[name] if name == ranked[1] else values[name] for name in ranked[1::3] + ranked[2::3]}
    lines = [f"{name},{ {None: '', 1: 'right', 0: 'wrong'}[people.get(name)] }\n" for name in values]
    Path("mine.csv").write_text("id,label\n" + "".join(lines))
    done = judged("label", "runs/a", "--people", "mine.csv")
    assert done.code == 0, done.err
    others = [value for name, value in values.items() if name not in people]
    assert 0 < sum(others) < len(others)
    mean = ppi_mean([*people.values()], [values[name] for name in people], others)
    value, low, high = (f"{100 * number:.1f}" for number in (mean.value, *mean.interval))
    assert re.search(rf"^corrected by labels +{value} +{low} to {high} +15$", done.out, flags=re.MULTILINE), done.out
    assert "taken for a random draw" in done.out


def test_a_verdict_that_could_not_be_read_is_no_verdict_of_wrong(cli):
    run = ("run", "rgb", "negative_rejection_zh", "--data-dir", "sample", "--ledger", "ledger", "--limit", "8")
    metric = ("--metric", "rejection_rate")
    with ChatServer(models=["j"], text="lorem ipsum") as server:
        done = cli(*run, "--judge", f"{server.url}#j", "--out", "runs/a")
        assert done.code == 3, done.err
        none = cli("label", "runs/a", "--out", "sheet.csv", *metric)
        assert none.code == 2 and "no verdict could be read; ask again" in none.err, none.err
        said = "No, the question is not addressed by the documents."
        server.rules.append(Rule("reply", times=5, message={"content": said}))
        cli(*run, "--judge", f"{server.url}#j", "--out", "runs/b", "--fresh")
    drawn = cli("label", "runs/b", "--n", "8", "--out", "sheet.csv", *metric)
    assert "8 of 8 items" in drawn.out
    back = cli("label", "runs/b", "--people", fill("sheet.csv", lambda row: "yes"), *metric)
    assert re.search(r"^the judge alone +100\.0 +– +5$", back.out, flags=re.MULTILINE), back.out
    assert "The judge and the labels agree on 5 of 5." in back.out
    assert "3 of 8 items have no verdict that could be read." in back.out


def test_a_run_without_a_judge_has_nothing_to_correct(cli):
    cli("run", "crag", "qa", "--retriever", "none", "--data-dir", "sample", "--out", "runs/a")
    done = cli("label", "runs/a", "--out", "sheet.csv")
    assert done.code == 2 and "runs/a has no judged score; expected a run with --judge" in done.err


@pytest.mark.parametrize(
    ("references", "cell", "read"),
    [
        ([["1月17日"]], "1月17日", ["1月17日"]),
        ([["1月17日", "January 17"]], '["1月17日", "January 17"]', ["1月17日", "January 17"]),
        (["one", "two", "one"], '["one", "two"]', ["one", "two"]),
        ([["a", "b"], ["c"]], "a / b; c", ["a / b; c"]),
        ("[1, 2]", "[1, 2]", ["[1, 2]"]),
        ('["a", 2]', '["a", 2]', ['["a", 2]']),
        (None, "", []),
    ],
)
def test_gold_is_written_as_people_read_it_and_labels_take_it(references, cell, read):
    assert write_gold(references) == cell and [*read_texts(cell)] == read

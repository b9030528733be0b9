"""CRAG's Table 6: answers rated by people and their latency, the printed beside them."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer

from quadrag.paths import room
from quadrag.records import read_jsonl
from quadrag.reporting.tables import tabulate_run
from quadrag.run.folder import read_result

RUN = ("run", "crag", "qa", "--retriever", "none", "--split", "public", "--data-dir", "sample", "--out", "R")
SCORE = ("score", "R/answers.jsonl", "--retriever", "none", "--data-dir", "sample", "--out", "S")
# Perfect 5, acceptable 4, missing 2, incorrect 3, one not rated: 5 / 14 + 0.5 * 4 / 14 - 3 / 14.
RATINGS = ["perfect"] * 5 + ["Acceptable"] * 4 + [" missing "] * 2 + ["incorrect"] * 3 + [""]
SHARES = {"perfect": 5 / 14, "acceptable": 4 / 14, "hallucination": 3 / 14, "missing": 2 / 14, "truthfulness": 4 / 14}
WEIGHTS = {"simple": 1, "simple_w_condition": 2, "comparison": 3, "aggregation": 4, "set": 5, "false_premise": 6}
WEIGHTS |= {"post-processing": 7, "multi-hop": 8}


@pytest.fixture
def answered(cli: Any) -> list[str]:
    """The ids of the answers of a run that took 0.02 s each."""
    with ChatServer(latency=0.02) as server:
        assert cli(*RUN, "--llm", f"{server.url}#m", "--ledger", "L").code == 0
    return [row["id"] for _, row in read_jsonl(Path("R/answers.jsonl"))]


def rate(ids: list[str], name: str = "ratings.csv") -> str:
    Path(name).write_text("id,rating\n" + "".join(f"{i},{r}\n" for i, r in zip(ids, RATINGS, strict=True)))
    return name


def table(folder: str) -> dict[str, list[str]]:
    """The cells of Table 6 of a folder, by label; of several lines with a label the first."""
    grids = [grid for grid in tabulate_run(read_result(Path(folder))) if grid.title.startswith("Table 6.")]
    found: dict[str, list[str]] = {}
    for line in grids[0].rows if grids else ():
        found.setdefault(line.label.strip(), [cell.text for cell in line.cells])
    return found


def test_ratings_of_people_give_the_papers_columns(cli: Any, answered: list[str]) -> None:
    code, out, err = cli(*SCORE, "--option", f"ratings={rate(answered)}")
    assert (code, err) == (0, "")
    assert "Table 6. Systems rated by people" in out and max(map(len, out.splitlines())) <= 80
    scores = json.loads(Path("S/scores.json").read_text())
    found = {(row["key"], row["profile"]): row for row in scores if row["slice"] == "all"}
    for key, share in SHARES.items():
        assert found[key, "official"]["value"] == pytest.approx(share)
        assert found[key, "corrected"]["value"] == pytest.approx(share * 14 / 15)
    assert found["perfect", "official"]["unscored"] == {"unrated": 1}
    assert "human" in found["perfect", "official"]["signature"]
    shown = table("S")
    assert shown["answers (ours)"][:5] == [f"{share * 100:.1f}" for share in SHARES.values()]
    assert shown["n"] == ["14/15"] * 5 + ["–"], "a file of answers tells no latency"
    assert shown["copilot-pro"] == ["62.6", "11.7", "17.9", "7.8", "50.6", "11596"]
    Path("ratings.csv").unlink()
    assert cli("show", "S", "--id", answered[0]).code == 0
    assert "Table 6. Systems rated by people" in cli("report", "S").out, "a rated folder needs the sheet no more"


def test_every_printed_number_of_the_table_is_shown(cli: Any, answered: list[str]) -> None:
    Path("weights.yaml").write_text(json.dumps(WEIGHTS))
    code, out, _ = cli(*SCORE, "--option", f"ratings={rate(answered)}", "--option", "weights=weights.yaml")
    with (room("baselines") / "crag" / "published.csv").open(encoding="utf-8", newline="") as lines:
        printed = [row for row in csv.DictReader(lines) if row["table"] == "6"]
    assert code == 0 and len(printed) == 55
    for row in printed:
        setting = dict(pair.split("=") for pair in row["setting"].split(";"))
        lines = [line for line in out.splitlines() if line.strip().startswith(setting["system"])]
        assert row["value"] in " ".join(lines).split()
    scores = json.loads(Path("S/scores.json").read_text())
    (value,) = [r["value"] for r in scores if (r["key"], r["profile"]) == ("truthfulness_weighted", "official")]
    assert re.search(rf"traffic weighting\n(.*\n)+.*\(ours\).* {value * 100:.1f} +–", out)


def test_the_latency_of_a_run_stands_in_its_report(cli: Any, answered: list[str]) -> None:
    code, out, _ = cli("report", "R", "--verbose")
    assert code == 0 and "Table 6. Latency of systems" in out
    shown = table("R")
    assert shown["gemini-advanced"] == ["5246"] and shown["n"] == ["15"]
    assert 20 <= int(shown["m (ours)"][0]) < 5000
    taken = json.loads(Path("R/run.json").read_text())["latency_seconds"].values()
    assert int(shown["m (ours)"][0]) == round(sum(taken) / 15 * 1000)
    assert "Table 6" not in cli("report", "R").out, "a summary is short"


def test_two_samples_of_a_question_are_rated_apart(cli: Any, answered: list[str]) -> None:
    rows = [{"id": i, "sample": sample, "answer": "x"} for i in answered for sample in (0, 1)]
    Path("two.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    rated = [
        {"id": row["id"], "sample": row["sample"], "rating": ["perfect", "missing"][row["sample"]]} for row in rows
    ]
    Path("two_ratings.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rated))
    place = ("--benchmark", "crag", "--config", "qa", "--split", "public", "--data-dir", "sample", "--out", "S")
    assert cli("score", "two.jsonl", *place, "--option", "ratings=two_ratings.jsonl").code == 0
    items = [row for _, row in read_jsonl(Path("S/items.jsonl"))]
    assert [row["truthfulness.perfect"]["official"] for row in items] == [1.0, 0.0] * 15


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,rating\nx,splendid\n", "splendid"),
        ("id,rating\nx,perfect\nx,missing\n", "ratings.csv:3"),
        *((f"id,rating\n{name},perfect\n", "ratings.csv") for name in ("x", "\0")),
        (None, "ratings.csv"),
    ],
)
def test_ratings_that_cannot_be_read_are_one_line(cli: Any, answered: list[str], text: str | None, said: str) -> None:
    if text:
        Path("ratings.csv").write_text(text)
    code, out, err = cli(*SCORE, "--option", "ratings=ratings.csv")
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1, err
    assert not Path("S").exists()


def test_ratings_and_a_judge_are_not_asked_for_together(cli: Any, answered: list[str]) -> None:
    options = ("--option", f"ratings={rate(answered)}", "--judge", "http://127.0.0.1:9/v1#j")
    code, _, err = cli(*SCORE, *options)
    assert code == 2 and err.count("\n") == 1, err

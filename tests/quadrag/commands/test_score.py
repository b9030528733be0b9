"""`quadrag score`: files of answers, as tables and folders."""

import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.plugins

CONFIG = "negative_rejection_en"
SCORE = ("--benchmark", "rgb", "--config", CONFIG, "--data-dir", "sample")


def rows_of(right, **more):
    """Answers to twelve questions that are to be rejected, so many of them right."""
    texts = ["insufficient information"] * right + ["Oslo"] * (12 - right)
    return [{"id": at, "answer": text, **more} for at, text in enumerate(texts)]


def test_a_file_is_scored_shown_and_read_again(cli, refused, answers):
    path = answers(rows_of(9))
    code, out, err = cli("score", path, *SCORE)
    assert (code, err) == (0, "") and re.search("(?m)^rejection_rate +75.0 ", out)
    assert {str(name) for name in Path().iterdir()} == {path}, "without --out nothing is written"
    code, out, _ = cli("score", path, *SCORE, "--out", "out")
    files = {"answers.jsonl", "items.jsonl", "scores.json", "questions.jsonl", "run.json", "report.html"}
    assert code == 0 and {name.name for name in Path("out").iterdir()} - {".lock"} == files
    code, again, _ = cli("report", "out")
    assert code == 0 and out.strip().startswith(again.strip())
    code, shown, _ = cli("show", "out", "--id", "0")
    assert code == 0 and "  answer: insufficient information\n" in shown
    Path("out/scores.json").write_text("[]")
    assert "out" in refused("report", "out")


def test_a_part_is_scored_as_a_part_and_null_is_a_failed_call(cli, answers):
    rows = [*rows_of(5)[:5], {"id": 7, "answer": None}]
    code, out, _ = cli("score", answers(rows), *SCORE, "--json", "--out", "r")
    found = json.loads(out)
    (row,) = (one for one in found["rows"] if (one["key"], one["profile"]) == ("rejection_rate", "official"))
    assert (code, found["coverage"], row["value"], row["n"], row["n_total"]) == (0, "6 of 12", 1.0, 5, 6)
    assert json.loads(Path("r/run.json").read_text())["coverage"] == {"done": 6, "total": 12}


def test_several_files_are_scored_and_compared_with_the_first(cli, refused):
    for name, right in (("a/one", 3), ("a/two.1", 6), ("b/one", 12)):
        Path(name).parent.mkdir(exist_ok=True)
        text = json.dumps(rows_of(right, benchmark="rgb", config=CONFIG))  # a list does as well as JSON Lines
        Path(f"{name}.json").write_text(text)
    files = ("a/one.json", "a/two.1.json", "b/one.json")
    code, out, err = cli("score", *files, "--data-dir", "sample", "--out", "runs")
    assert (code, err) == (0, "")
    listed = r"(?m)^ (\S+) .* \+(\d+)\.0 +12 .* (not decided|better)$"
    assert re.findall(listed, out) == [("b/one", "75", "better"), ("a/two.1", "25", "not decided")], "the best first"
    folders = ("runs/a/one", "runs/a/two.1", "runs/b/one")
    assert all(Path(folder, "scores.json").is_file() for folder in folders) and Path("runs/report.html").is_file()
    assert re.findall(listed, cli("report", *folders)[1]) == re.findall(listed, out)
    assert "runs/b/one" in refused("score", "a/two.1.json", "--data-dir", "sample", "--out", "runs/b/one")
    assert "runs/b/one" in refused("score", "b/one.json", "--data-dir", "other", "--out", "runs/b/one")


def test_files_that_differ_in_their_endings_alone_keep_them(cli):
    Path("m.json").write_text(json.dumps(rows_of(12, benchmark="rgb", config=CONFIG)))
    Path("m.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows_of(0, benchmark="rgb", config=CONFIG)))
    assert cli("score", "m.json", "m.jsonl", "--data-dir", "sample", "--out", "runs")[0] == 0
    assert {path.parent.name for path in Path("runs").rglob("run.json")} == {"m.json", "m.jsonl"}


def test_a_prediction_file_of_the_authors_says_its_split_by_its_noise(cli, answers):
    rows = [{"id": i, "prediction": "Ilse Varnholt", "noise_rate": 0.4, "ans": ["x"], "label": [0]} for i in range(12)]
    asked = ("--benchmark", "rgb", "--config", "noise_robustness_en", "--data-dir", "sample", "--json")
    for more, splits in (([], {"noise_40"}), ([{**row, "noise_rate": 0} for row in rows], {"noise_0", "noise_40"})):
        code, out, err = cli("score", answers(rows + more), *asked)
        found = json.loads(out)["rows"]
        assert code == 0 and splits == {row["split"] for row in found if not row["split"].startswith("all ")}, err
        assert {row["value"] for row in found if row["key"] == "accuracy" and row["split"] == "noise_40"} == {1 / 12}

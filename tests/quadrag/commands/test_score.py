"""`quadrag score`: files of answers, as tables and folders."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from chat_server import ChatServer

CONFIG = ("run", "rgb", "negative_rejection_en")
RUN = (*CONFIG, "--data-dir", "sample", "--out", "out")
SCORE = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")


def plain(n=12):
    return [{"id": i, "answer": "insufficient information"} for i in range(n)]


def test_score_checks_its_folder_before_a_judge_is_asked(refused, answers):
    path = answers(plain())
    Path("out").mkdir()
    Path("out/thesis.tex").write_text("years of work")
    with ChatServer(models=["j"]) as judge:
        asked = ("score", path, *SCORE, "--judge", f"{judge.url}#j", "--ledger", "L")
        assert "empty" in refused(*asked, "--out", "out", makes="L")
        assert "empty" in refused(*asked, "--out", path, makes="L")
        assert judge.requests == 0


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([*plain(), {"id": 99, "answer": "x"}], "unknown id '99'"),
        ([{"id": 0}], "no answer"),
        ([{"id": 0, "answer": "x", "split": 5}], "split is 5"),
        ([{"id": 0, "answer": "x", "split": ["test"]}], "split"),
        ([{"id": 0, "answer": "x", "split": "noise_40"}], "'noise_40'"),
        ([], "is empty; expected an answer a line"),
    ],
)
def test_files_of_answers_that_do_not_fit(refused, answers, rows, word):
    assert word in refused("score", answers(rows), *SCORE)
    assert word in refused("score", "mine.jsonl", *SCORE, "--out", "out")


def test_score_takes_the_names_that_run_takes(refused, answers):
    path = answers(plain())
    assert "own or none" in refused("score", path, *SCORE, "--retriever", "nonsense")
    assert "nearest: rgb" in refused("score", path, "--benchmark", "rbg", "--config", "x")
    assert "nearest" in refused("score", path, "--benchmark", "rgb", "--config", "negative_rejection")
    assert "nearest: test" in refused("score", path, *SCORE, "--split", "tset")
    assert "name it with --config" in refused("score", path, "--benchmark", "rgb", "--data-dir", "sample")


def test_several_files_are_scored_and_compared_with_the_first(cli, refused):
    for name, right in (("a/one", 3), ("a/two.1", 6), ("b/one", 12)):
        rows = [dict(row, benchmark="rgb", config=SCORE[3]) for row in plain()]
        rows = [row if place < right else {**row, "answer": "Oslo"} for place, row in enumerate(rows)]
        Path(name).parent.mkdir(exist_ok=True)
        Path(f"{name}.json").write_text(json.dumps(rows))  # a list does as well as JSON Lines
    files = ("a/one.json", "a/two.1.json", "b/one.json")
    code, out, err = cli("score", *files, "--data-dir", "sample", "--out", "runs")
    assert (code, err) == (0, "")
    listed = r"(?m)^(\S+) .* \+(\d+)\.0 .* 12 .* (not decided|better)\n"
    differences = re.findall(listed, out)
    assert differences == [("b/one", "75", "better"), ("a/two.1", "25", "not decided")], "the best first"
    assert " ".join(out.split()).startswith("Differences from a/one, ") and ".json" not in out
    folders = ("runs/a/one", "runs/a/two.1", "runs/b/one")
    assert all(Path(folder, "scores.json").is_file() for folder in folders) and Path("runs/report.html").is_file()
    code, again, _ = cli("report", *folders)
    assert code == 0 and differences == re.findall(listed, again)
    assert "runs/b/one is there" in refused("score", *files[::-1], "--data-dir", "sample", "--out", "runs")
    Path("c.json").write_text(json.dumps([{"benchmark": "crud_rag", "config": "summary", "id": "x", "answer": ""}]))
    of_both = refused("score", "a/one.json", "c.json", "--data-dir", "sample", "--option", "noise=0.2")
    assert "answer crud_rag and rgb, and --option is of one of them" in of_both
    Path("c.json").write_text('["x"]')
    assert "c.json:1 holds a str" in refused("score", "c.json", *SCORE)


def test_score_prints_and_writes_the_tables(cli, refused, answers):
    path = answers(plain())
    code, out, err = cli("score", path, *SCORE)
    assert (code, err) == (0, "") and "rejection_rate" in out and "100.0" in out
    assert {str(name) for name in Path().iterdir()} == {path}, "without --out nothing is written"
    code, out, err = cli("score", path, *SCORE, "--out", "out")
    assert code == 0
    files = {"answers.jsonl", "items.jsonl", "scores.json", "questions.jsonl", "run.json", "report.html"}
    assert {name.name for name in Path("out").iterdir()} == files
    code, shown, _ = cli("show", "out", "--id", "0")
    assert code == 0 and "  answer    insufficient information\n" in shown, shown
    code, again, _ = cli("report", "out")
    assert code == 0 and again.strip() == out.rsplit("\n\n", 1)[0].strip()
    Path("out/scores.json").write_text("[]")
    assert "remove the folder and score again" in refused("report", "out")


def test_a_prediction_file_of_the_authors_says_its_split_by_its_noise(cli, answers):
    rows = [{"id": i, "prediction": "Ilse Varnholt", "noise_rate": 0.4, "ans": ["x"], "label": [0]} for i in range(12)]
    asked = ("--benchmark", "rgb", "--config", "noise_robustness_en", "--data-dir", "sample")
    code, out, err = cli("score", answers(rows), *asked)
    assert code == 0, err
    assert "noise_robustness_en noise_40, " in out and "noise_0" not in out and " 8.3 " in out
    code, both, _ = cli("score", answers(rows + [{**row, "noise_rate": 0} for row in rows]), *asked)
    assert code == 0 and "noise_40" in both and "noise_0" in both and "noise_20" not in both


def test_score_agrees_with_the_run_that_made_the_answers(cli):
    assert cli(*RUN)[0] == 0
    assert cli("score", "out/answers.jsonl", *SCORE, "--out", "scored")[0] == 0
    for name in ("items.jsonl", "scores.json"):
        assert Path("out", name).read_bytes() == Path("scored", name).read_bytes()


def test_help_of_score_says_what_becomes_of_questions_without_a_line(cli, tmp_path):
    _, out, _ = cli("score", "--help")
    assert "A part of the questions is scored as a part" in " ".join(out.split())
    (tmp_path / "a.jsonl").write_text('{"id": 0, "answer": "x"}\n', encoding="utf-8")
    place = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")
    code, out, _ = cli("score", str(tmp_path / "a.jsonl"), *place)
    assert code == 0 and "PARTIAL: 1 of 12 questions are answered." in out


def test_the_authors_file_of_another_noise_is_refused(refused):
    rows = [{"id": n, "prediction": "x", "noise_rate": 0.2, "label": [0]} for n in range(12)]
    Path("p.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    there = ("--benchmark", "rgb", "--config", "noise_robustness_en", "--data-dir", "sample", "--split", "noise_40")
    assert "noise_20" in refused("score", "p.json", *there)


def test_two_files_that_differ_in_their_endings_alone_keep_them(cli):
    rows = [dict(row, benchmark="rgb", config=SCORE[3]) for row in plain()]
    Path("m.json").write_text(json.dumps(rows))
    Path("m.jsonl").write_text("".join(f"{json.dumps({**row, 'answer': 'Oslo'})}\n" for row in rows))
    code, out, _ = cli("score", "m.json", "m.jsonl", "--data-dir", "sample", "--out", "runs")
    assert code == 0 and "m.jsonl minus m.json" in out
    assert {path.parent.name for path in Path("runs").rglob("run.json")} == {"m.json", "m.jsonl"}

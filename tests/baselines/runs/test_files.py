"""The files of a run's folder that the user puts in place of ours, that are gone, damaged or altered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chat_server import Rule
from rgb_runs import ONE, llm, rows

from quadrag.baselines.runs.folder import STAGES


def test_answers_put_in_place_of_ours_are_scored(cli, server, stages):
    assert cli(*ONE, *llm(server), "--out", "r").code == 0
    calls = server.requests
    mine = [{"id": i, "answer": "insufficient information" if i % 2 else "x"} for i in reversed(range(12))]
    text = "".join(json.dumps(row) + "\n" for row in mine)
    Path("r/answers.jsonl").write_text(text)
    ran = cli(*ONE, *llm(server), "--out", "r")
    assert ran.code == 0 and server.requests == calls
    assert Path("r/answers.jsonl").read_text() == text, "the user's file is left as it is"
    scores = {(row["key"], row["profile"]): row["value"] for row in json.loads(Path("r/scores.json").read_text())}
    assert scores["rejection_rate", "corrected"] == 0.5
    assert [row["id"] for row in rows("r/items.jsonl")] == [str(i) for i in range(12)]
    assert json.loads(Path("r/run.json").read_text())["latency_seconds"] == {}
    assert "shown again" in cli(*ONE, *llm(server), "--out", "r").out


def test_the_users_answers_are_never_overwritten_after_a_run_with_failures(cli, server):
    server.rules.append(Rule("status", status=400, times=2))
    assert cli(*ONE, *llm(server), "--concurrency", 8, "--out", "r").code == 0
    text = "".join(json.dumps({"id": i, "answer": "mine"}) + "\n" for i in range(12))
    Path("r/answers.jsonl").write_text(text)
    for _ in range(3):
        assert cli(*ONE, *llm(server), "--out", "r").code == 0
        assert Path("r/answers.jsonl").read_text() == text


def test_answers_that_do_not_fit_are_refused_and_the_rest_stays(cli, server, stages):
    assert cli(*ONE, *llm(server), "--out", "r").code == 0
    files = stages(Path("r"))
    Path("r/answers.jsonl").write_text('{"id": 0, "answer": "x"}\n')
    ran = cli(*ONE, *llm(server), "--out", "r")
    assert ran.code == 2 and "11 of 12" in ran.err and ran.err.count("\n") == 1
    assert stages(Path("r"))["scores.json"] == files["scores.json"]


def test_documents_put_in_place_of_ours_are_asked_about(cli, server, stages):
    assert cli(*ONE, *llm(server), "--out", "r").code == 0
    before = stages(Path("r"))
    retrieved = rows("r/retrieved.jsonl")
    for row in retrieved:
        row["passages"] = [{"id": "p", "text": f"only this {row['id']}"}]
    text = "".join(json.dumps(row) + "\n" for row in retrieved)
    Path("r/retrieved.jsonl").write_text(text)
    assert cli(*ONE, *llm(server), "--out", "r").code == 0
    assert server.requests == 24, "answers to other documents do not stand"
    assert Path("r/retrieved.jsonl").read_text() == text
    assert all(f"only this {row['id']}" in row["answer"] for row in rows("r/answers.jsonl"))
    assert stages(Path("r"))["answers.jsonl"] != before["answers.jsonl"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda row: row | {"passages": [{"id": "p", "text": 5}]},
        lambda row: row | {"passages": [{"id": "p"}]},
        lambda row: row | {"passages": None},
        lambda row: row | {"passages": ["text"]},
        lambda row: {k: v for k, v in row.items() if k != "id"},
        lambda row: row | {"id": "99"},
    ],
)
def test_documents_of_another_form_are_refused_in_one_line(cli, change):
    assert cli(*ONE, "--out", "r").code == 0
    retrieved = rows("r/retrieved.jsonl")
    retrieved[3] = change(retrieved[3])
    Path("r/retrieved.jsonl").write_text("".join(json.dumps(row) + "\n" for row in retrieved))
    ran = cli(*ONE, "--out", "r")
    assert ran.code == 2 and ran.err.count("\n") == 1 and "retrieved.jsonl" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_that_is_gone_is_done_again(cli, server, stages, stage):
    assert cli(*ONE, *llm(server), "--out", "r").code == 0
    files, calls = stages(Path("r")), server.requests
    (Path("r") / stage).unlink()
    ran = cli(*ONE, *llm(server), "--out", "r")
    assert ran.code == 0 and "shown again" not in ran.out
    assert stages(Path("r")) == files and server.requests == calls


def test_scores_that_were_tampered_with_are_made_again(cli, stages):
    assert cli(*ONE, "--out", "r").code == 0
    files = stages(Path("r"))
    Path("r/scores.json").write_text("[]\n")
    assert cli(*ONE, "--out", "r").code == 0
    assert stages(Path("r")) == files


def test_items_of_the_users_own_are_aggregated(cli, stages):
    """A file that another tool scored stands in for the score stage; only the means are ours then."""
    assert cli(*ONE, "--out", "r").code == 0
    items = rows("r/items.jsonl")
    for row in items[:3]:
        row["rejection_rate.rejection_rate"] = {"official": 1.0, "corrected": 1.0}
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in items)
    Path("r/items.jsonl").write_text(text)
    ran = cli(*ONE, "--out", "r")
    assert ran.code == 0 and " 25.0 " in ran.out, ran.out
    assert Path("r/items.jsonl").read_text() == text, "the user's file stays"
    (official,) = [
        row
        for row in json.loads(Path("r/scores.json").read_text())
        if (row["key"], row["profile"]) == ("rejection_rate", "official")
    ]
    assert official["value"] == 0.25 and "given" in official["signature"]
    Path("r/items.jsonl").write_text('{"config": "c", "split": "s", "id": "1"}\n')
    ran = cli(*ONE, "--out", "r")
    assert ran.code == 2 and "1 questions of which 0 are among the 12" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES[:3])
def test_a_file_that_may_be_damaged_is_not_taken_without_a_word(cli, stage):
    assert cli(*ONE, "--out", "r").code == 0
    path = Path("r") / stage
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    ran = cli(*ONE, "--out", "r")
    assert ran.code == 0 and ran.err.startswith(
        f"{path} is not as the run wrote it, and is taken as your own in its place"
    )


@pytest.mark.parametrize("stage", STAGES[:3])
def test_of_a_file_that_cannot_be_read_it_is_said_what_brings_it_back(cli, stages, stage):
    assert cli(*ONE, "--out", "r").code == 0
    whole, path = stages(Path("r")), Path("r") / stage
    path.write_bytes(b"\xff" + path.read_bytes())
    ran = cli(*ONE, "--out", "r")
    assert ran.code == 2 and f"{path} is not UTF-8" in ran.err
    assert ran.err.endswith("; if you did not put it there, remove it and run the same command again\n")
    path.unlink()
    assert cli(*ONE, "--out", "r").code == 0 and stages(Path("r")) == whole


def test_a_record_that_was_altered_is_not_believed(cli):
    assert cli(*ONE, "--out", "r").code == 0
    path = Path("r/run.json")
    text = path.read_text(encoding="utf-8")
    whole = json.loads(text)
    assert next(iter(whole)) == "sum"
    for altered in (
        text.replace('"seconds": ', '"seconds": 1'),
        text.replace('"sum"', '"rum"'),
        text.replace("[", "{", 1),
    ):
        path.write_text(altered, encoding="utf-8")
        ran = cli("report", "r")
        assert ran.code == 2 and "run.json is damaged" in ran.err and ran.err.count("\n") == 1
    del whole["sum"]  # as an older version wrote it
    path.write_text(json.dumps(whole), encoding="utf-8")
    assert cli("report", "r").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("damage", ['{"inputs": [], "files": [], "state": "finished"}', "[1]", "{"])
def test_a_damaged_record_is_one_line(cli, damage):
    assert cli(*ONE, "--out", "r").code == 0
    Path("r/run.json").write_text(damage)
    for ran in (cli(*ONE, "--out", "r"), cli("report", "r")):
        assert ran.code == 2 and ran.err.count("\n") == 1 and "damaged" in ran.err


def test_a_question_retrieved_for_twice_is_refused(cli):
    assert cli(*ONE, "--out", "r").code == 0
    path = Path("r/retrieved.jsonl")
    path.write_text(path.read_text() + path.read_text().split("\n")[0] + "\n")
    ran = cli(*ONE, "--out", "r")
    assert ran.code == 2 and "a second time" in ran.err

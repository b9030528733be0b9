"""One's own system, a file of its answers and a service have the same scores to the digit."""

import json
from pathlib import Path

import pytest
from own_system import SUMMARY, items, measure
from rag_server import RagServer

import quadrag
from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import Task, load_questions
from quadrag.cli import main
from quadrag.records import read_jsonl

DOCUMENTS = [
    ("d1", "", "沛溪县第七届龙舟公开赛22日在石鹭湖落下帷幕。"),
    ("d2", "", "石鹭大桥开始封闭维修，工期120天。"),
]


def test_function_file_and_service_have_the_same_scores_to_the_digit(tmp_path):
    with RagServer(DOCUMENTS) as server:
        run = ["run", *SUMMARY, "--data-dir", "sample", "--rag", server.url, "--ledger", "ledger", "--out", "http"]
        assert main(run) == 0
    answers = {row["id"]: row["answer"] for _, row in read_jsonl(Path("http/answers.jsonl"))}
    found = {row["id"]: row["passages"] for _, row in read_jsonl(Path("http/retrieved.jsonl"))}
    result = measure(lambda question: (answers[question.id], found[question.id]), name="mine", out="python")
    assert items("python") == items("http")
    assert Path("python/scores.json").read_bytes() == Path("http/scores.json").read_bytes()
    lines = [json.dumps({"id": ident, "answer": text}) for ident, text in answers.items()]
    Path("mine.jsonl").write_text("\n".join(lines))
    score = ["score", "mine.jsonl", "--benchmark", "crud_rag", "--config", "summary", "--data-dir", "sample"]
    assert main([*score, "--out", "file"]) == 0
    for mine, theirs in zip(items("python"), items("file"), strict=True):
        shared = mine.keys() & theirs.keys()
        assert "crud_overlap.rouge_l" in shared
        assert {k: mine[k] for k in shared} == {k: theirs[k] for k in shared}
    assert result["rouge_l"].value == pytest.approx(0.2, abs=0.2)


def test_a_file_made_of_questions_needs_no_flags_and_its_passages_are_measured(capsys):
    assert main(["questions", *SUMMARY, "--data-dir", "sample"]) in (0, None)
    asked = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(asked) == 8 and all({"benchmark", "config", "split", "id", "query"} <= set(row) for row in asked)
    golds, _ = load_questions(Task(*SUMMARY, data_dir="sample", retriever="bm25"), load("crud_rag"))
    assert len(golds) == 8 and not any(str(one.references) in json.dumps(asked, ensure_ascii=False) for one in golds)
    found = {row["id"]: [] for row in asked}
    relevant = {question.id: question for question in quadrag.questions(*SUMMARY, data_dir="sample")}

    def system(question):
        return question.query, found[question.id]

    for passage in quadrag.corpus("crud_rag", data_dir="sample", gold="test"):
        for ident in found:
            if passage.text[:12] in relevant[ident].query:
                found[ident].append(passage)
    result = measure(system, out="python")
    rows = [row | {"answer": row["query"], "passages": [one._asdict() for one in found[row["id"]]]} for row in asked]
    Path("mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["score", "mine.jsonl", "--data-dir", "sample", "--out", "file"]) == 0
    assert items("file") == items("python")
    assert Path("file/scores.json").read_bytes() == Path("python/scores.json").read_bytes()
    assert "No published value stands beside made-up data." in capsys.readouterr().out, "of a sample"
    assert result.valid
    Path("mine.jsonl").write_text(json.dumps(rows[0] | {"query": "a question of other data"}))
    assert main(["score", "mine.jsonl", "--data-dir", "sample"]) == 2
    assert "mine.jsonl:1 answers another question than test" in capsys.readouterr().err


def test_a_part_of_the_questions_is_scored_as_a_part(capsys):
    rows = [{"id": one.id, "answer": one.query} for one in quadrag.questions(*SUMMARY, data_dir="sample")]
    Path("part.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:5]))
    score = ["score", "part.jsonl", "--benchmark", "crud_rag", "--config", "summary", "--data-dir", "sample"]
    assert main([*score, "--out", "part"]) == 0
    assert "PARTIAL: 5 of 8 questions are answered." in capsys.readouterr().out
    assert json.loads(Path("part/run.json").read_text())["coverage"] == "5 of 8"
    assert len(items("part")) == 5
    assert measure(lambda question: question.query, limit=5)["rouge_l"].value == next(
        row["value"] for row in json.loads(Path("part/scores.json").read_text()) if row["key"] == "rouge_l"
    )


RGB = ("--benchmark", "rgb", "--config", "noise_robustness_en", "--split", "noise_0", "--data-dir")


def test_answers_by_ids_alone_are_said_to_be_and_those_with_their_questions_are_checked(capsys):
    asked = [*quadrag.questions("rgb", "noise_robustness_en", split="noise_0", data_dir="sample")]
    rows = [{"id": one.id, "answer": "Ada"} for one in asked]
    for extra, alone in ({}, True), ({"question": ""}, True), ({"question": asked[0].query}, False):
        lines = [json.dumps(rows[0] | extra), *map(json.dumps, rows[1:])]
        Path("mine.jsonl").write_text("\n".join(lines))
        assert main(["score", "mine.jsonl", *RGB, "sample"]) == 0
        assert ("Matched by ids alone, so the questions are not checked" in capsys.readouterr().out) == alone


def test_a_runs_answers_are_held_against_its_own_questions(real_data, capsys):
    assert main(["run", "rgb", "counterfactual_robustness_en", "--data-dir", "sample", "--out", "made"]) == 0
    capsys.readouterr()
    assert main(["score", "made/answers.jsonl", "--data-dir", "sample"]) == 0
    assert "Matched by ids" not in capsys.readouterr().out
    assert main(["score", "made/answers.jsonl", "--data-dir", str(real_data("RGB"))]) == 2
    assert "other questions than these data have under its ids" in capsys.readouterr().err


def test_a_comparison_says_which_run_is_on_made_up_data(real_data, capsys):
    for folder, data in ("made", "sample"), ("real", str(real_data("RGB"))), ("again", "sample"):
        assert main(["run", "rgb", "counterfactual_robustness_en", "--data-dir", data, "--out", folder]) == 0
    capsys.readouterr()
    named = {("real",): "! made: The", ("real", "again"): "! made, again: The", ("again",): "! The"}
    for others, told in named.items():
        assert main(["report", "made", *others]) == 0
        assert f"\n{told} data are the bundled sample, which is made up.\n" in capsys.readouterr().out

"""CRAG's runs by the command line: windows, slices, the paper's table, and what a run leaves behind."""

import math
from pathlib import Path

import pytest
from crag_runs import SAMPLE, lines, private, questions, scores
from exported import copy_as_authors

from quadrag.baselines.crag.context_builder import ContextBuilder


def test_task_1_shows_the_snippets_in_upstreams_order_up_to_the_window(cli):
    code, out, err = cli("run", "crag", "task_1_2", *SAMPLE, "--option", "web_window=30", "--out", "a", "-v")
    assert (code, err) == (0, "")
    known = questions()
    for row in lines("retrieved.jsonl"):
        texts = [passage["text"] for passage in row["passages"]]
        assert 0 < sum(map(len, texts)) <= 120
        whole = [passage.text for passage in known[row["id"]].passages if passage.text.strip()]
        assert "".join(whole).startswith("".join(texts))
    assert "web_window 120" in " ".join(out.split())


def test_slices_have_values_intervals_and_sizes_that_add_up(cli):
    code, out, _ = cli("run", "crag", "task_1_2", *SAMPLE, "--out", "a", "-v")
    assert code == 0
    found = scores()
    for grouping in ("domain", "question_type", "dynamism", "popularity"):
        parts = [
            row
            for (name, key, profile), row in found.items()
            if name.startswith(f"{grouping}=") and (key, profile) == ("accuracy_bounded", "official")
        ]
        assert sum(row["n_total"] for row in parts) == 15, "every question is in one slice of every grouping"
        whole = found["all", "accuracy_bounded", "official"]
        assert math.fsum(row["value"] * row["n_scored"] for row in parts) == pytest.approx(whole["value"] * 15)
        assert all(row["interval"][0] <= row["value"] <= row["interval"][1] for row in parts)
    assert found["all", "truthfulness", "official"]["not_run"] == "no judge"
    assert found["domain=music", "truthfulness", "official"]["not_run"] == "no judge"
    assert max(map(len, out.splitlines())) <= 80


def test_a_search_cut_short_goes_on_where_it_was(cli, server, monkeypatch, stages):
    entity = ("--entity-llm", f"{server.url}#k", "--ledger", "L")
    arguments = ("run", "crag", "task_1_2", *SAMPLE, "--retriever", "snippets-kg", *entity)
    assert cli(*arguments, "--out", "a").code == 0
    real = ContextBuilder.find
    seen = []

    def broken(self, asked, llm, prompts, done):
        seen.append(len(asked) - len(done))
        for number, found in enumerate(real(self, asked, llm, prompts, done)):
            if number == 6 and len(seen) == 1:
                raise KeyboardInterrupt
            yield found

    monkeypatch.setattr(ContextBuilder, "find", broken)
    assert cli(*arguments, "--out", "b").code == 130
    partial = Path("b/retrieving.jsonl")
    partial.write_text(partial.read_text() + '{"config": "task_1_2", "cut')
    assert cli(*arguments, "--out", "b").code == 0
    assert seen == [15, 9] and not partial.exists()
    assert stages(Path("a")) == stages(Path("b"))


def test_all_four_settings_make_the_papers_table(cli, server):
    entity = ("--entity-llm", f"{server.url}#k", "--ledger", "L")
    code, out, err = cli("run", "crag", "--all", "--data-dir", "sample", *entity, "--out", "a")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert "Table 5. Truthfulness of answers" in text
    for block in ("LLM only", "Task 1", "Task 2", "Task 3"):
        assert f"{block} llama-3-70b-instruct" in text.replace("gpt-4-turbo-2024-04-09", "llama-3-70b-instruct")
    assert "35.6" in text and "43.6" in text and max(map(len, out.splitlines())) <= 80
    folders = {path.parent.name for path in Path("a").glob("*/scores.json")}
    assert folders == {"task_1_2", "task_1_2-none", "task_1_2-snippets-kg", "task_3-snippets-kg"}
    assert "Table 5" in cli("report", "a").out


def test_real_questions_are_answered_from_their_real_pages_with_slices(cli, real_data):
    folder = real_data("CRAG")
    arguments = ("task_1_2", "--split", "public", "--data-dir", folder, "--llm", "extractive", "--out", "a")
    code, out, err = cli("run", "crag", *arguments)
    assert (code, err) == (0, "")
    assert len(lines("answers.jsonl")) == 6 and all(row["answer"] for row in lines("answers.jsonl"))
    assert "the example file dev_data.jsonl.bz2 in place of" in " ".join(out.split())
    assert scores()["domain=finance", "missing", "official"]["n_total"] == 2


def test_withheld_and_blank_answers_are_not_applicable(cli):
    code, _, err = cli(*private("p.jsonl", (None, ""), ("  ", ""), ("paris", "")), "--out", "a")
    assert (code, err) == (0, "")
    for key in ("missing", "accuracy_bounded"):
        row = scores()["all", key, "official"]
        assert (row["n_total"], row["n_scored"], row["n_not_applicable"]) == (3, 1, 2), key


def test_scored_answers_stand_beside_no_row_unless_their_passages_are_said(cli, monkeypatch):
    assert cli("run", "crag", "task_1_2", *SAMPLE, "--out", "a")[0] == 0
    base = ("score", "a/answers.jsonl", "--benchmark", "crag", "--config", "task_1_2", "--split", "public")
    base = (*base, "--data-dir", copy_as_authors("crag", Path("CRAG"), monkeypatch))
    code, out, _ = cli(*base)
    assert code == 0 and "Published" not in out and "so none stands beside" in " ".join(out.split())
    code, out, _ = cli(*base, "--retriever", "snippets")
    assert code == 0 and "0.5 llama-2-7b-chat" in out

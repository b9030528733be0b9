"""A larger limit extends a run: equal to an undisturbed one to the byte, and only the missing questions are asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rag_server import RagServer
from rgb_runs import ONE

from quadrag.records import read_jsonl

MANY = ("run", "rgb", "noise_robustness_zh", "--data-dir", "sample")  # five splits of 12
SEARCHED = ("run", "crud_rag", "qa_2doc", "--data-dir", "sample", "--option", "gold=test")  # 8 questions
GRAPH = ("run", "crag", "task_1_2", "--data-dir", "sample", "--retriever", "snippets-kg")  # asks about questions first


def limited(number):
    return () if number is None else ("--limit", number)


def record(folder="r"):
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("task", "judged", "limits"),
    [
        (ONE, True, (3, 5, None)),
        pytest.param(SEARCHED, False, (2, 100), marks=pytest.mark.slow),
        pytest.param(ONE, True, (20, None), marks=pytest.mark.slow),
        pytest.param(MANY, False, (2, 7), marks=pytest.mark.slow),
        pytest.param(GRAPH, True, (4, 9), marks=pytest.mark.slow),
    ],
)
def test_a_larger_limit_extends_a_finished_run(cli, server, judge, stages, task, judged, limits):
    asked = [*task, "--llm", f"{server.url}#m", *(["--judge", f"{judge.url}#j"] if judged else [])]
    assert cli(*asked, *limited(limits[-1]), "--ledger", "L0", "--out", "whole").code == 0
    alone = (server.requests, judge.requests)
    for limit in limits:
        ran = cli(*asked, *limited(limit), "--ledger", "L", "--out", "r")
        assert ran.code == 0 and ran.err == "", ran.err
    assert stages(Path("r")) == stages(Path("whole"))
    assert (server.requests, judge.requests) == (2 * alone[0], 2 * alone[1]), "only the missing questions were asked"
    assert record()["inputs"] == record("whole")["inputs"] and record()["stopped"] is None
    calls = server.requests
    again = cli(*asked, *limited(limits[-1]), "--ledger", "L", "--out", "r")
    assert "shown again" in again.out and server.requests == calls


def test_a_larger_limit_extends_a_run_of_a_rag_service(cli, stages):
    with RagServer([("d1", "", "The harbour is deep."), ("d2", "", "The mill is old.")]) as service:
        asked = ("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--rag", service.url)
        assert cli(*asked, "--ledger", "L0", "--out", "whole").code == 0
        alone = len(service.bodies)
        for limit in (3, None):
            assert cli(*asked, *limited(limit), "--ledger", "L", "--out", "r").code == 0
        assert len(service.bodies) == 2 * alone
    assert stages(Path("r")) == stages(Path("whole"))


def test_a_smaller_limit_is_refused_in_one_line(cli, server, stages):
    asked = (*ONE, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "r")
    for large, small in ((8, 5), (None, 11)):
        assert cli(*asked, *limited(large)).code == 0
        files, calls = stages(Path("r")), server.requests
        ran = cli(*asked, *limited(small))
        assert ran.code == 2 and ran.err.count("\n") == 1
        assert f"limit {large or 'none'}, not {small}; a smaller one needs a folder of its own" in ran.err
        assert stages(Path("r")) == files and server.requests == calls


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        (("--temperature", "1"), "with --temperature 0.2, not 1.0"),
        (("--option", "passage_num=3"), "options.passage_num none, not 3"),
    ],
)
def test_a_larger_limit_with_another_input_is_told_that_input(cli, server, changed, word):
    asked = (*ONE, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "r")
    assert cli(*asked, "--limit", 3).code == 0
    ran = cli(*asked, "--limit", 5, *changed)
    assert ran.code == 2 and word in ran.err, ran.err


def test_a_run_that_cannot_be_extended_stays_as_it_was(cli, server, stages):
    asked = (*ONE, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "r")
    assert cli(*asked, "--limit", 3).code == 0
    files, told = stages(Path("r")), record()
    assert cli(*ONE, "--llm", "http://127.0.0.1:9/v1#m", "--ledger", "L", "--out", "r", "--limit", 6).code == 2
    assert stages(Path("r")) == files and record() == told
    assert "shown again" in cli(*asked, "--limit", 3).out
    assert cli(*asked, "--limit", 6).code == 0
    assert len(list(read_jsonl(Path("r/answers.jsonl")))) == 6


def test_what_an_interrupt_left_is_a_part_and_goes_on(cli, server, stages, monkeypatch):
    from quadrag.baselines.systems.chat_model import ChatModel

    asked = (*ONE, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "r")
    assert cli(*ONE, "--llm", f"{server.url}#m", "--ledger", "L0", "--out", "whole").code == 0
    assert cli(*asked, "--limit", 3).code == 0
    with monkeypatch.context() as patch:

        def stop(*_):
            raise KeyboardInterrupt

        patch.setattr(ChatModel, "answer", stop)
        assert cli(*asked, "--limit", 6).code == 130
    shown = cli("report", "r")
    assert shown.code == 0 and "PARTIAL: the first 3 questions of a split." in shown.out
    assert cli(*asked).code == 0
    assert stages(Path("r")) == stages(Path("whole"))


@pytest.mark.slow
def test_the_default_folder_has_the_model_in_its_name(cli, server):
    for spec, name in (
        ("", "m"),  # the only one that the server has
        ("#Org/My-Model:7b", "My-Model_7b"),
    ):
        server.state.models = [spec.removeprefix("#") or "m"]
        asked = (*ONE, "--llm", f"{server.url}{spec}", "--ledger", "L")
        assert f"runs/rgb-negative_rejection_en-{name}/report.html" in cli(*asked).out
    assert (
        "runs/rgb-negative_rejection_en-test-none-extractive/"
        in cli(*ONE, "--split", "test", "--retriever", "none").out
    )
    server.state.models = ["m"]
    campaign = cli(
        "run", "rgb", "--all", "--data-dir", "sample", "--limit", 1, "--llm", f"{server.url}#m", "--ledger", "L"
    )
    assert "\nruns/rgb-all-m/report.html\n" in campaign.out
    searched = cli(*SEARCHED, "--limit", 1, "--top-k", 2)
    assert "runs/crud_rag-qa_2doc-top_k=2-gold=test-extractive/report.html" in searched.out

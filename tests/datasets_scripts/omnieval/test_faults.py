"""The dataset script `omnieval`: bad lines, rounds and paths are named."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from omnieval_files import FINAL, HUMAN, cell, named, one, put, record, rows

from quadrag.errors import QuadragError


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"question": "?",', ":2 is not JSON (Expecting property name enclosed in double quotes at column 1"),
        ("not json", ":2 is not JSON (Expecting value at column 1); expected one a line"),
        ("答".encode("gb18030"), ":2 is not UTF-8; expected JSON Lines in UTF-8"),
        (7, ":2 holds a int; expected a question, or a list of them"),
        ("null", ":2 holds a NoneType; expected a question, or a list of them"),
        ([record(), "二"], ":2 holds a str; expected a question, or a list of them"),
        ({"answer": "a"}, ":2: no question, only the keys answer; expected a text"),
        (record(question=None), ":2: question is None; expected a text"),
        (record(question=" "), ":2: question is ' '; expected a text"),
        (record(question=["一", "二"]), ":2: question is ['一', '二']; expected a text"),
        ({"question": "?", "evaluation": 2}, ":2 has neither answer nor golden_answers; found the keys question, eva"),
        (record(answer={"a": 1}), ":2: answer is or holds a dict; expected a text or a list of texts"),
        (record(answer=[[["a"]]]), ":2: answer is or holds a list; expected a text or a list of texts"),
        (record(relevant_node={"a": 1}), ":2: relevant_node is or holds a dict; expected a text or a list of"),
        (record(evaluation="good"), ":2: evaluation is 'good'; expected -1, 0, 1, 2 or nothing"),
        (record(evaluation=True), ":2: evaluation is True; expected -1, 0, 1, 2 or nothing"),
        (record(evaluation=1.5), ":2: evaluation is 1.5; expected -1, 0, 1, 2 or nothing"),
        (record(topic_name="金融 - 体育"), ":2: unknown topic '金融 - 体育'; expected one of OmniEval's 16"),
        (record(topic_name=["a"]), ":2: unknown topic ['a']; expected one of OmniEval's 16"),
        (record(task_name="填空"), ":2: unknown task '填空'; expected one of OmniEval's 5"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: Any, message: str) -> None:
    with pytest.raises(QuadragError) as caught:
        one(tmp_path, record(), bad)
    path = tmp_path / FINAL / "银行业务/零售银行/抽取类问答.jsonl"
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)


def test_a_bad_round_is_named(tmp_path: Path) -> None:
    with pytest.raises(QuadragError, match=r"多轮对话能力\.jsonl:1 round 2: no question, only the keys answer"):
        one(tmp_path, [record(), {"answer": "a"}], task="conversational_qa")
    other = named("fintech/ai", "conversational_qa")
    put(tmp_path, HUMAN, [named(task="conversational_qa"), other])
    with pytest.raises(QuadragError, match=r"v1022\.jsonl:1: rounds of several topics or tasks; expected one conv"):
        rows("all", "human", tmp_path)


def test_a_first_line_at_fault_is_no_reason_to_pass_over_the_file(tmp_path: Path) -> None:
    for bad, message in (({"answer": "a"}, ":1: no question"), ("7", ":1 holds a int"), ("{", ":1 is not JSON")):
        with pytest.raises(QuadragError, match=message):
            one(tmp_path, bad, record())


def test_an_unknown_topic_or_task_of_the_path_is_named_with_its_line(tmp_path: Path) -> None:
    cell(tmp_path, record())
    put(tmp_path, f"{FINAL}/银行业务/网上银行/抽取类问答.jsonl", record())
    with pytest.raises(
        QuadragError, match=r"网上银行/抽取类问答\.jsonl:1 has no topic_name, and its folder and name are"
    ):
        rows("all", "auto", tmp_path)
    shutil.rmtree(tmp_path / FINAL / "银行业务/网上银行")
    put(tmp_path, f"{FINAL}/银行业务/零售银行/填空题.jsonl", record())
    with pytest.raises(QuadragError, match=r"填空题\.jsonl:1 has no task_name, and its folder and name are of no task"):
        rows("extractive_qa", "auto", tmp_path)

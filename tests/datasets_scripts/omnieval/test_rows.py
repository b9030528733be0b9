"""The dataset script `omnieval`: configs, ids, rows, quirks of records, lines that are named since they are bad."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from omnieval_files import FINAL, HUMAN, PLACES, TASKS, cell, ids, named, one, put, record, rows

from quadrag import catalogue
from quadrag.data import builders
from quadrag.errors import QuadragError

COLUMNS = ["id", "topic", "topic_zh", "topic_en", "task", "task_zh", "question", "answers", "relevant_node_ids"]
COLUMNS += ["relevant_passages", "history", "evaluation"]


def without(*keys: str, **changes: Any) -> dict[str, Any]:
    return {key: value for key, value in record(**changes).items() if key not in keys}


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [entry.getMessage() for entry in caplog.records]


def test_configs_splits_and_columns(whole: Path) -> None:
    configs = catalogue.configs("omnieval")
    assert list(configs) == ["all", *TASKS, "corpus"]
    for name, config in configs.items():
        builder, _ = builders.open_builder("omnieval", name, str(whole))
        assert config.splits == (["corpus"] if name == "corpus" else ["train", "auto", "human"])
        assert list(builder.info.features) == (["id", "title", "contents"] if name == "corpus" else COLUMNS)


def test_what_a_row_holds(tmp_path: Path) -> None:
    expected = {
        "id": "auto/banking/retail/extractive_qa/1",
        "topic": "banking/retail",
        "topic_zh": "银行业务 - 零售银行",
        "topic_en": "Banking - Retail banking",
        "task": "extractive_qa",
        "task_zh": "抽取类问答",
        "question": "年费是多少？",
        "answers": ["30元", "三十元"],
        "relevant_node_ids": ["n-1"],
        "relevant_passages": ["年费30元。"],
        "history": [],
        "evaluation": 2,
    }
    assert one(tmp_path, record()) == [expected]
    assert one(tmp_path / "named", named()) == [expected], "fields that agree with the path"
    for key in ("though_process", "other"):
        assert one(tmp_path / key, without("thought_process") | {key: "想。"}) == [expected]


def test_every_cell_of_the_matrix_has_ids_of_the_whole_whatever_is_loaded(whole: Path) -> None:
    found = rows("all", "auto", whole)
    assert {(row["topic"], row["task"]) for row in found} == {(topic, task) for topic in PLACES for task in TASKS}
    assert len(found) == 16 * (4 * 2 + 4)
    for row in found:
        assert row["topic_zh"] == " - ".join(PLACES[row["topic"]])
        assert row["task_zh"] == TASKS[row["task"]]
        assert re.fullmatch(rf"auto/{row['topic']}/{row['task']}/[12](\.[123])?", row["id"])
    assert len({row["topic_en"] for row in found}) == 16
    assert [row["topic"] for row in found[:12:11]] == ["banking/retail"] * 2
    for split in ("train", "auto", "human"):
        everything = rows("all", split, whole)
        for task in TASKS:
            if expected := [row for row in everything if row["task"] == task]:
                assert rows(task, split, whole) == expected
    assert ids(rows("all", "human", whole)) == [
        "human/banking/retail/extractive_qa/1",
        "human/banking/retail/conversational_qa/2.1",
        "human/banking/retail/conversational_qa/2.2",
        "human/fintech/ai/contrast_qa/3",
    ]


def test_a_conversation_is_one_row_a_round_with_the_turns_before_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    talk = [record("一？", answer=["甲", "乙"]), record("二？", answer=None), record("三？", answer=[])]
    found = one(tmp_path, talk, [record("另一段？")], [], record("独"), task="conversational_qa")
    assert [name.rpartition("/")[2] for name in ids(found)] == ["1.1", "1.2", "1.3", "2.1", "4"]
    turns = [{"question": "一？", "answer": "甲"}, {"question": "二？", "answer": None}]
    assert [row["history"] for row in found] == [[], turns[:1], turns, [], []]
    assert [row["question"] for row in found] == ["一？", "二？", "三？", "另一段？", "独"]
    assert said(caplog) == ["omnieval auto: skipped 1 empty conversations"]
    put(tmp_path, HUMAN, [named(task="conversational_qa"), record("又？")])
    assert ids(rows("all", "human", tmp_path)) == [f"human/banking/retail/conversational_qa/1.{n}" for n in (1, 2)]


def test_empty_objects_are_passed_over_and_end_a_conversation(tmp_path: Path) -> None:
    turn = record()
    found = one(tmp_path, [turn, {}, turn], [{}], [turn, turn], task="conversational_qa")
    assert [name.rpartition("/")[2] for name in ids(found)] == ["1.1", "3.1", "3.2"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"answer": "30元"}, ["30元"]),
        ({"answer": "30元", "golden_answers": ["三十元"]}, ["三十元"]),
        ({"answer": "30元", "golden_answers": "三十元"}, ["三十元"]),
        ({"answer": "30元", "golden_answers": []}, ["30元"]),
        ({"answer": "30元", "golden_answers": None}, ["30元"]),
        ({"answer": [None, "", "30元", float("nan")]}, ["30元"]),
        ({"answer": 3.20}, ["3.2"]),
        ({"answer": None}, []),
        ({"answer": "\ud83d元"}, ["\ufffd元"]),
        ({"answer": [["3.2亿元", "3.20亿元"]]}, ["3.2亿元", "3.20亿元"]),
        ({"answer": "['3.2亿元', '3.20亿元']"}, ["3.2亿元", "3.20亿元"]),
        ({"answer": "[3.2亿元]"}, ["[3.2亿元]"]),
        ({"answer": "[]"}, ["[]"]),
    ],
)
def test_answers_are_a_text_or_a_list_and_golden_ones_are_preferred(
    tmp_path: Path, changes: dict[str, Any], expected: list[str]
) -> None:
    assert one(tmp_path, json.dumps(record(**changes)))[0]["answers"] == expected


@pytest.mark.parametrize(
    ("given", "expected"), [("n-1", ["n-1"]), (["n-1", "n-2"], ["n-1", "n-2"]), (None, []), ([], []), (7, ["7"])]
)
def test_relevant_nodes_and_passages_are_a_text_or_a_list(tmp_path: Path, given: Any, expected: list[str]) -> None:
    (row,) = one(tmp_path, record(relevant_node=given, relevant_passage=given))
    assert row["relevant_node_ids"] == row["relevant_passages"] == expected


def test_what_may_be_absent(tmp_path: Path) -> None:
    line = without("answer", "relevant_node", "relevant_passage", "evaluation", golden_answers=["三十元"])
    (row,) = one(tmp_path, line)
    assert [row[key] for key in ("answers", "relevant_node_ids", "relevant_passages")] == [["三十元"], [], []]
    assert row["evaluation"] is None


@pytest.mark.parametrize(
    ("given", "expected"), [(-1, -1), (1, 1), (0, 0), ("2", 2), (2.0, 2), (None, None), (float("nan"), None)]
)
def test_the_verdict_is_kept_as_given(tmp_path: Path, given: Any, expected: int | None) -> None:
    assert one(tmp_path, json.dumps(record(evaluation=given)))[0]["evaluation"] == expected


def test_min_evaluation_leaves_out_what_is_lower_and_keeps_what_has_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [record(evaluation=given) for given in (-1, 1, 2, None)]
    for least, kept in ((None, "1234"), (-1, "1234"), (0, "234"), (1, "234"), (2, "34")):
        assert "".join(name[-1] for name in ids(one(tmp_path, *lines, min_evaluation=least))) == kept
    assert said(caplog)[-1] == "omnieval auto: skipped 2 questions whose evaluation is below 2"
    talk = [record("一？", evaluation=-1), record("二？")]
    (row,) = one(tmp_path, talk, task="conversational_qa", min_evaluation=2)[2:]
    assert (row["id"][-3:], row["history"][0]["question"]) == ("1.2", "一？")


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("金融 - 银行业务 - 零售银行", "banking/retail"),
        ("金融-银行业务-零售银行", "banking/retail"),
        ("金融科技 - 大数据", "fintech/big_data"),
        ("金融 - 监管与合规 - 反洗钱（AML）", "regulation/anti_money_laundering"),
        ("金融 - 监管与合规 - 反洗钱(AML)", "regulation/anti_money_laundering"),
    ],
)
def test_the_topic_with_its_root_or_not_and_either_parentheses(tmp_path: Path, name: str, topic: str) -> None:
    put(tmp_path, HUMAN, record(topic_name=name, task_name="对比类问答"))
    (row,) = rows("all", "human", tmp_path)
    assert (row["id"], row["topic_zh"]) == (f"human/{topic}/contrast_qa/1", " - ".join(PLACES[topic]))
    put(tmp_path, f"{FINAL}/{'/'.join(re.split(' ?- ?', name)[-2:])}/对比类问答.jsonl", record())
    assert ids(rows("contrast_qa", "auto", tmp_path)) == [f"auto/{topic}/contrast_qa/1"]


def test_what_upstream_has_given_up_is_skipped_counted_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cell(tmp_path, record())
    for name in ("银行业务/零售银行/结构化知识问答", "金融科技/移动支付/对比类问答", "保险/责任保险/抽取类问答"):
        put(tmp_path, f"{FINAL}/{name}.jsonl", record(), record())
    put(tmp_path, f"{FINAL}/监管与合规/客户知识产权（KYC）/多轮对话能力.jsonl", [record(), record()])
    for config in ("all", "all", "extractive_qa"):
        assert len(rows(config, "auto", tmp_path)) == 1
    reason = "lines of topics and tasks that upstream has given up"
    assert said(caplog) == [f"omnieval auto: skipped 7 {reason}"]
    put(
        tmp_path,
        HUMAN,
        named(),
        record(topic_name="金融 - 保险 - 责任保险", task_name="对比类问答"),
        record(topic_name="金融 - 监管与合规 - 客户知识产权(KYC)", task_name="对比类问答"),
        record(topic_name="金融 - 银行业务 - 零售银行", task_name="结构化知识问答"),
        named(),
    )
    assert [row["id"][-1] for row in rows("all", "human", tmp_path)] == ["1", "5"]
    assert said(caplog)[-1] == f"omnieval human: skipped 3 {reason}"


def test_lines_count_whatever_they_hold(tmp_path: Path) -> None:
    text = json.dumps(record()).encode()
    found = one(tmp_path, b"\xef\xbb\xbf" + text + b"\r", b" \r", text, "", record())
    assert [row["id"][-1] for row in found] == ["1", "3", "5"]
    assert len({json.dumps(row | {"id": ""}, ensure_ascii=False) for row in found}) == 1


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        ('{"question": "?",', "not JSON"),
        ("答".encode("gb18030"), "not JSON"),
        (7, "int"),
        ("null", "NoneType"),
        ([record(), "二"], "str"),
        ([record()], "抽取类问答"),
        ({"answer": "a"}, "question"),
        (record(question=None), "question is None"),
        (record(question=" "), "question is ' '"),
        (record(question=["一", "二"]), "question is"),
        ({"question": "?", "evaluation": 2}, "golden_answers"),
        (record(answer={"a": 1}), "answer"),
        (record(answer=[[["a"]]]), "answer"),
        (record(relevant_node={"a": 1}), "relevant_node"),
        (record(evaluation="good"), "evaluation is 'good'"),
        (record(evaluation=True), "evaluation is True"),
        (record(evaluation=1.5), "evaluation is 1.5"),
        (record(topic_name="金融 - 体育"), "unknown topic '金融 - 体育'"),
        (record(topic_name=["a"]), "unknown topic"),
        (record(task_name="填空"), "unknown task '填空'"),
        (named("fintech/big_data"), "金融科技 - 大数据"),
        (named(task="contrast_qa"), "对比类问答"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: Any, part: str) -> None:
    path = tmp_path / FINAL / "银行业务/零售银行/抽取类问答.jsonl"
    for lines in ((record(), bad), (bad,)):
        with pytest.raises(QuadragError) as caught:
            one(tmp_path, *lines)
        assert str(caught.value).startswith(f"{path}:{len(lines)}")
        assert part in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_bad_round_and_an_unknown_place_are_named(tmp_path: Path) -> None:
    with pytest.raises(QuadragError, match=r"多轮对话能力\.jsonl:1 round 2: no question"):
        one(tmp_path, [record(), {"answer": "a"}], task="conversational_qa")
    put(tmp_path, HUMAN, [named(task="conversational_qa"), named("fintech/ai", "conversational_qa")])
    with pytest.raises(QuadragError, match=r"v1022\.jsonl:1: rounds of several topics or tasks"):
        rows("all", "human", tmp_path)
    shutil.rmtree(tmp_path / FINAL)
    cell(tmp_path, record())
    for name, lacking in (("银行业务/网上银行/抽取类问答", "topic_name"), ("银行业务/零售银行/填空题", "task_name")):
        put(tmp_path, f"{FINAL}/{name}.jsonl", record())
        with pytest.raises(QuadragError, match=rf"{name}\.jsonl:1 has no {lacking}"):
            rows("all", "auto", tmp_path)
        shutil.rmtree((tmp_path / FINAL / name).parent)

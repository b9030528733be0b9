"""The dataset script `omnieval`: configs, ids, rows, and quirks of records.

All files are made here; the bundled sample has its own tests, the Hub's repositories too.
"""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest
from omnieval_files import FINAL, HUMAN, PLACES, TASKS, cell, ids, named, one, put, record, rows

from quadrag import catalogue
from quadrag.data import builders
from quadrag.errors import QuadragError

COLUMNS = ["id", "topic", "topic_zh", "topic_en", "task", "task_zh", "question", "answers", "relevant_node_ids"]
COLUMNS += ["relevant_passages", "history", "evaluation"]
# --- configs, columns, ids -------------------------------------------------------------------------------------------


def test_configs_splits_and_columns(whole: Path) -> None:
    configs = catalogue.configs("omnieval")
    assert list(configs) == ["all", *TASKS, "corpus"]
    for name, config in configs.items():
        builder, _ = builders.open_builder("omnieval", name, str(whole))
        splits = ["corpus"] if name == "corpus" else ["train", "auto", "human"]
        assert config.splits == splits
        assert config.description
        assert list(builder.info.features) == (["id", "title", "contents"] if name == "corpus" else COLUMNS)


def test_what_a_row_holds(tmp_path: Path) -> None:
    assert one(tmp_path, record()) == [
        {
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
    ]


def test_every_cell_of_the_matrix(whole: Path) -> None:
    found = rows("all", "auto", whole)
    assert {(row["topic"], row["task"]) for row in found} == {(topic, task) for topic in PLACES for task in TASKS}
    assert len(found) == 16 * (4 * 2 + 4)
    for row in found:
        assert row["topic_zh"] == " - ".join(PLACES[row["topic"]])
        assert row["task_zh"] == TASKS[row["task"]]
        assert re.fullmatch(rf"auto/{row['topic']}/{row['task']}/[12](\.[123])?", row["id"])
    assert len({row["topic_en"] for row in found}) == 16
    assert [row["topic"] for row in found[:12:11]] == ["banking/retail"] * 2


def test_ids_are_those_of_the_whole_whatever_is_loaded(whole: Path) -> None:
    for split in ("train", "auto", "human"):
        everything = {row["id"]: row for row in rows("all", split, whole)}
        for task in TASKS:
            expected = [row for row in everything.values() if row["task"] == task]
            if expected:
                assert rows(task, split, whole) == expected
    assert ids(rows("all", "human", whole)) == [
        "human/banking/retail/extractive_qa/1",
        "human/banking/retail/conversational_qa/2.1",
        "human/banking/retail/conversational_qa/2.2",
        "human/fintech/ai/contrast_qa/3",
    ]
    assert ids(rows("contrast_qa", "human", whole)) == ["human/fintech/ai/contrast_qa/3"]


def test_a_task_reads_its_own_files_alone(whole: Path) -> None:
    put(whole, f"{FINAL}/银行业务/零售银行/对比类问答.jsonl", "{not json")
    assert len(rows("extractive_qa", "auto", whole)) == 32
    with pytest.raises(QuadragError, match=r"对比类问答\.jsonl:1 is not JSON"):
        rows("all", "auto", whole)


# --- quirks of records -----------------------------------------------------------------------------------------------


def test_a_conversation_is_one_row_a_round_with_the_turns_before_it(tmp_path: Path) -> None:
    talk = [record("一？", answer=["甲", "乙"]), record("二？", answer="丙"), record("三？", answer=[])]
    found = one(tmp_path, talk, [record("另一段？")], task="conversational_qa")
    assert ids(found) == [f"auto/banking/retail/conversational_qa/{n}" for n in ("1.1", "1.2", "1.3", "2.1")]
    turns = [{"question": "一？", "answer": "甲"}, {"question": "二？", "answer": "丙"}]
    assert [row["history"] for row in found] == [[], turns[:1], turns, []]
    assert [row["question"] for row in found] == ["一？", "二？", "三？", "另一段？"]
    assert found[2]["answers"] == []


def test_a_turn_without_an_answer_stands_in_the_history_as_null(tmp_path: Path) -> None:
    found = one(tmp_path, [record("一？", answer=None), record("二？")], task="conversational_qa")
    assert found[1]["history"] == [{"question": "一？", "answer": None}]


def test_an_empty_conversation_is_counted_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = one(tmp_path, [record()], [], [], [record()], task="conversational_qa")
    assert ids(found) == [f"auto/banking/retail/conversational_qa/{n}.1" for n in (1, 4)]
    assert [entry.getMessage() for entry in caplog.records] == ["omnieval auto: skipped 2 empty conversations"]


def test_a_lone_record_among_conversations_has_no_round(tmp_path: Path) -> None:
    assert ids(one(tmp_path, record(), task="conversational_qa")) == ["auto/banking/retail/conversational_qa/1"]


def test_a_list_of_another_task_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        QuadragError, match=r"抽取类问答\.jsonl:2 is a list, and its task is 抽取类问答; expected one ques"
    ):
        one(tmp_path, record(), [record()])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"answer": "30元"}, ["30元"]),
        ({"answer": ["30元", "三十元"]}, ["30元", "三十元"]),
        ({"answer": "30元", "golden_answers": ["三十元"]}, ["三十元"]),
        ({"answer": "30元", "golden_answers": "三十元"}, ["三十元"]),
        ({"answer": "30元", "golden_answers": []}, ["30元"]),
        ({"answer": "30元", "golden_answers": None}, ["30元"]),
        ({"answer": [None, "", "30元", float("nan")]}, ["30元"]),
        ({"answer": 30}, ["30"]),
        ({"answer": 3.20}, ["3.2"]),
        ({"answer": None}, []),
        ({"answer": "\ud83d元"}, ["\ufffd元"]),
    ],
)
def test_answers_are_a_text_or_a_list_and_golden_ones_are_preferred(
    tmp_path: Path, changes: dict[str, Any], expected: list[str]
) -> None:
    line = json.dumps(record(**changes))
    assert one(tmp_path, line)[0]["answers"] == expected


def test_golden_answers_alone_will_do(tmp_path: Path) -> None:
    line = {key: value for key, value in record(golden_answers=["三十元"]).items() if key != "answer"}
    assert one(tmp_path, line)[0]["answers"] == ["三十元"]


@pytest.mark.parametrize(
    ("given", "expected"), [("n-1", ["n-1"]), (["n-1", "n-2"], ["n-1", "n-2"]), (None, []), ([], []), (7, ["7"])]
)
def test_relevant_nodes_and_passages_are_a_text_or_a_list(tmp_path: Path, given: Any, expected: list[str]) -> None:
    (row,) = one(tmp_path, record(relevant_node=given, relevant_passage=given))
    assert row["relevant_node_ids"] == row["relevant_passages"] == expected
    bare = {key: value for key, value in record().items() if not key.startswith("relevant")}
    (row,) = one(tmp_path, bare)
    assert row["relevant_node_ids"] == row["relevant_passages"] == []


@pytest.mark.parametrize("key", ["thought_process", "though_process", None])
def test_either_spelling_of_the_thought_process_or_none(tmp_path: Path, key: str | None) -> None:
    line = {name: value for name, value in record().items() if name != "thought_process"}
    assert one(tmp_path, line | ({key: "想。"} if key else {})) == one(tmp_path / "other", record())


@pytest.mark.parametrize(
    ("given", "expected"), [(-1, -1), (1, 1), (2, 2), (0, 0), ("2", 2), (2.0, 2), (None, None), (float("nan"), None)]
)
def test_the_verdict_is_kept_as_given(tmp_path: Path, given: Any, expected: int | None) -> None:
    (row,) = one(tmp_path, json.dumps(record(evaluation=given)))
    assert row["evaluation"] == expected


def test_an_absent_verdict_is_null(tmp_path: Path) -> None:
    bare = {key: value for key, value in record().items() if key != "evaluation"}
    assert one(tmp_path, bare)[0]["evaluation"] is None


def test_min_evaluation_leaves_out_what_is_lower_and_keeps_what_has_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [record(evaluation=given) for given in (-1, 1, 2, None)]
    assert len(one(tmp_path, *lines)) == 4
    assert caplog.records == []
    for least, kept in ((-1, [1, 2, 3, 4]), (1, [2, 3, 4]), (2, [3, 4])):
        found = one(tmp_path, *lines, min_evaluation=least)
        assert ids(found) == [f"auto/banking/retail/extractive_qa/{n}" for n in kept]
    assert caplog.records[-1].getMessage() == "omnieval auto: skipped 2 questions whose evaluation is below 2"
    talk = [record("一？", evaluation=-1), record("二？")]
    (row,) = one(tmp_path, talk, task="conversational_qa", min_evaluation=2)[2:]
    assert (row["id"][-3:], row["history"][0]["question"]) == ("1.2", "一？")


@pytest.mark.parametrize(
    ("said", "topic"),
    [
        ("金融 - 银行业务 - 零售银行", "banking/retail"),
        ("银行业务 - 零售银行", "banking/retail"),
        ("金融-银行业务-零售银行", "banking/retail"),
        ("金融 - 金融科技 - 大数据", "fintech/big_data"),
        ("金融科技 - 大数据", "fintech/big_data"),
        ("金融 - 监管与合规 - 反洗钱（AML）", "regulation/anti_money_laundering"),
        ("金融 - 监管与合规 - 反洗钱(AML)", "regulation/anti_money_laundering"),
    ],
)
def test_the_topic_string_with_its_root_or_not_and_either_parentheses(tmp_path: Path, said: str, topic: str) -> None:
    put(tmp_path, HUMAN, record(topic_name=said, task_name="对比类问答"))
    (row,) = rows("all", "human", tmp_path)
    assert row["id"] == f"human/{topic}/contrast_qa/1"
    assert row["topic_zh"] == " - ".join(PLACES[topic])


@pytest.mark.parametrize("folder", ["反洗钱（AML）", "反洗钱(AML)"])
def test_the_topic_of_the_path_with_either_parentheses(tmp_path: Path, folder: str) -> None:
    put(tmp_path, f"{FINAL}/监管与合规/{folder}/对比类问答.jsonl", record())
    (row,) = rows("contrast_qa", "auto", tmp_path)
    assert row["id"] == "auto/regulation/anti_money_laundering/contrast_qa/1"
    assert row["topic_zh"] == "监管与合规 - 反洗钱（AML）"


def test_two_files_of_one_cell_are_named(tmp_path: Path) -> None:
    for folder in ("反洗钱（AML）", "反洗钱(AML)"):
        put(tmp_path, f"{FINAL}/监管与合规/{folder}/对比类问答.jsonl", record())
    with pytest.raises(QuadragError) as caught:
        rows("all", "auto", tmp_path)
    assert str(caught.value).endswith("are both of regulation/anti_money_laundering contrast_qa; expected one file")
    assert str(caught.value).count("对比类问答.jsonl") == 2


def test_fields_that_agree_with_the_path_are_taken_and_others_named(tmp_path: Path) -> None:
    assert len(one(tmp_path, named())) == 1
    with pytest.raises(
        QuadragError, match=r"抽取类问答\.jsonl:2: topic_name is '金融 - 金融科技 - 大数据', and the fi"
    ):
        one(tmp_path, named(), named("fintech/big_data"))
    with pytest.raises(
        QuadragError, match=r"抽取类问答\.jsonl:1: task_name is '对比类问答', and the file is of extracti"
    ):
        one(tmp_path, named(task="contrast_qa"))


def test_what_upstream_has_given_up_is_skipped_counted_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The task 结构化知识问答 and the topics 移动支付, 责任保险 and 客户知识产权（KYC）, by path and by field."""
    cell(tmp_path, record())
    for name in ("银行业务/零售银行/结构化知识问答", "金融科技/移动支付/对比类问答", "保险/责任保险/抽取类问答"):
        put(tmp_path, f"{FINAL}/{name}.jsonl", record(), record())
    put(tmp_path, f"{FINAL}/监管与合规/客户知识产权（KYC）/多轮对话能力.jsonl", [record(), record()])
    assert len(rows("all", "auto", tmp_path)) == 1
    reason = "lines of topics and tasks that upstream has given up"
    assert [entry.getMessage() for entry in caplog.records] == [f"omnieval auto: skipped 7 {reason}"]
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
    assert caplog.records[-1].getMessage() == f"omnieval human: skipped 3 {reason}"
    assert caplog.records[-1].levelno == logging.WARNING


def test_what_is_said_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cell(tmp_path, record())
    put(tmp_path, f"{FINAL}/保险/责任保险/抽取类问答.jsonl", record())
    for config in ("all", "all", "extractive_qa"):
        assert len(rows(config, "auto", tmp_path)) == 1
    assert len(caplog.records) == 1


def test_duplicate_rows_keep_distinct_ids_by_line(tmp_path: Path) -> None:
    found = one(tmp_path, record(), record(), "", record())
    assert [row["id"][-2:] for row in found] == ["/1", "/2", "/4"]
    assert len({json.dumps(row | {"id": ""}, ensure_ascii=False) for row in found}) == 1


def test_line_ends_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = json.dumps(record()).encode()
    assert [row["id"][-1] for row in one(tmp_path, b"\xef\xbb\xbf" + text + b"\r", b" \r", text)] == ["1", "3"]


def test_a_later_round_need_not_repeat_topic_and_task(tmp_path: Path) -> None:
    put(tmp_path, HUMAN, [named(task="conversational_qa"), record("又？")])
    assert ids(rows("all", "human", tmp_path)) == [f"human/banking/retail/conversational_qa/1.{n}" for n in (1, 2)]


def test_nested_and_written_out_answers_are_the_texts_in_them(tmp_path: Path) -> None:
    values = ([["3.2亿元", "3.20亿元"]], "['3.2亿元', '3.20亿元']", "[3.2亿元]", "[]")
    found = [row["answers"] for row in one(tmp_path, *(record(answer=value) for value in values))]
    assert found == [["3.2亿元", "3.20亿元"], ["3.2亿元", "3.20亿元"], ["[3.2亿元]"], ["[]"]]


def test_empty_objects_are_passed_over_and_end_a_conversation(tmp_path: Path) -> None:
    turn = record()
    found = one(tmp_path, [turn, {}, turn], [{}], [turn, turn], task="conversational_qa")
    assert [name.rpartition("/")[2] for name in ids(found)] == ["1.1", "3.1", "3.2"]

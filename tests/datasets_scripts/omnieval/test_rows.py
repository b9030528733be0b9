"""The dataset script `omnieval`: columns, rows, quirks of records and nodes, bad lines that are named."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from omnieval_files import FINAL, HUMAN, NODES, PLACES, cell, ids, named, node, one, put, record, refusal, rows

EXPECTED = {
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
BARE = {"question": "年费是多少？", "golden_answers": ["三十元"]}


def test_what_a_row_holds(tmp_path: Path) -> None:
    assert one(tmp_path / "a", record()) == one(tmp_path / "b", named()) == [EXPECTED]
    empty = {"answers": ["三十元"], "relevant_node_ids": [], "relevant_passages": [], "evaluation": None}
    assert one(tmp_path / "c", BARE) == [EXPECTED | empty]


def test_a_conversation_is_one_row_a_round_with_the_turns_before_it(tmp_path: Path) -> None:
    talk = [record("一？", answer=["甲", "乙"]), record("二？", answer=None), record("三？", answer=[])]
    found = one(tmp_path, talk, [record("另一段？")], [], record("独"), task="conversational_qa")
    assert [name.rpartition("/")[2] for name in ids(found)] == ["1.1", "1.2", "1.3", "2.1", "4"]
    turns = [{"question": "一？", "answer": "甲"}, {"question": "二？", "answer": None}]
    assert [row["history"] for row in found] == [[], turns[:1], turns, [], []]
    assert [row["question"] for row in found] == ["一？", "二？", "三？", "另一段？", "独"]
    put(tmp_path, HUMAN, [named(task="conversational_qa"), named(question="又？")])
    assert ids(rows("all", "human", tmp_path)) == [f"human/banking/retail/conversational_qa/1.{n}" for n in (1, 2)]
    # Empty objects are passed over, and end a conversation.
    turn = record()
    found = one(tmp_path, [turn, {}, turn], [{}], [turn, turn], task="conversational_qa")
    assert [name.rpartition("/")[2] for name in ids(found)] == ["1.1", "3.1", "3.2"]


@pytest.mark.parametrize(
    ("changes", "column", "expected"),
    [
        ({"answer": "30元"}, "answers", ["30元"]),
        *(({"answer": "30元", "golden_answers": value}, "answers", ["三十元"]) for value in ("三十元", ["三十元"])),
        *(({"answer": "30元", "golden_answers": value}, "answers", ["30元"]) for value in ([], None)),
        ({"answer": [None, "", "30元", float("nan")]}, "answers", ["30元"]),
        ({"answer": 3.20}, "answers", ["3.2"]),
        ({"answer": None}, "answers", []),
        ({"answer": "\ud83d元"}, "answers", ["\ufffd元"]),
        ({"answer": "[3.2亿元]"}, "answers", ["[3.2亿元]"]),
        ({"relevant_node": "n-1"}, "relevant_node_ids", ["n-1"]),
        ({"relevant_node": ["n-1", "n-2"]}, "relevant_node_ids", ["n-1", "n-2"]),
        ({"relevant_node": 7}, "relevant_node_ids", ["7"]),
        ({"relevant_passage": None}, "relevant_passages", []),
        *(({"evaluation": value}, "evaluation", value) for value in (-1, 0, 1, 2, None)),
        ({"evaluation": 2.0}, "evaluation", 2),
        ({"evaluation": float("nan")}, "evaluation", None),
    ],
)
def test_what_a_field_may_hold(tmp_path: Path, changes: dict[str, Any], column: str, expected: Any) -> None:
    assert one(tmp_path, json.dumps(record(**changes)))[0][column] == expected


def test_min_evaluation_leaves_out_what_is_lower_and_keeps_what_has_none(tmp_path: Path) -> None:
    lines = [record(evaluation=value) for value in (-1, 1, 2, None)]
    for least, kept in ((None, "1234"), (-1, "1234"), (0, "234"), (1, "234"), (2, "34")):
        assert "".join(name[-1] for name in ids(one(tmp_path, *lines, min_evaluation=least))) == kept
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


@pytest.mark.parametrize("place", ["a/human_annotated/v1022", "a/human_annotated", "a", "."])
def test_topics_of_ones_own_are_named_beside_the_lines_or_at_most_two_folders_above(tmp_path: Path, place: str) -> None:
    file = put(tmp_path / "a", HUMAN, named() | {"topic_name": "能源 - 风电"}) / HUMAN
    put(tmp_path, f"{place}/topics.json", ["能源 - 太阳能", "能源 - 风电"])
    if place != ".":
        assert [row["topic"] for row in rows("all", "human", None, human_file=file)] == ["能源/风电"]
    else:
        assert "能源 - 风电" in refusal("all", "human", None, human_file=file)


def test_what_upstream_has_given_up_is_passed_over(tmp_path: Path) -> None:
    cell(tmp_path, record())
    for name in ("银行业务/零售银行/结构化知识问答", "金融科技/移动支付/对比类问答", "保险/责任保险/对比类问答"):
        put(tmp_path, f"{FINAL}/{name}.jsonl", record(), record())
    put(tmp_path, f"{FINAL}/监管与合规/客户知识产权（KYC）/多轮对话能力.jsonl", [record(), record()])
    for config in ("all", "extractive_qa"):
        assert len(rows(config, "auto", tmp_path)) == 1
    given_up = [
        record(topic_name="金融 - 保险 - 责任保险", task_name="对比类问答"),
        record(topic_name="金融 - 监管与合规 - 客户知识产权(KYC)", task_name="对比类问答"),
        record(topic_name="金融 - 银行业务 - 零售银行", task_name="结构化知识问答"),
    ]
    put(tmp_path, HUMAN, named(), *given_up, named())
    assert [row["id"][-1] for row in rows("all", "human", tmp_path)] == ["1", "5"]


def test_lines_count_whatever_they_hold(tmp_path: Path) -> None:
    text = json.dumps(record()).encode()
    found = one(tmp_path, b"\xef\xbb\xbf" + text + b"\r", b" \r", text, "", record())
    assert [row["id"][-1] for row in found] == ["1", "3", "5"]
    assert len({json.dumps(row | {"id": ""}, ensure_ascii=False) for row in found}) == 1


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        ([record(), "二"], "str"),
        ({"answer": "a"}, "question"),
        *((record(question=value), f"question is {value!r}") for value in (None, " ", ["一", "二"])),
        ({"question": "?", "evaluation": 2}, "golden_answers"),
        *((record(answer=value), "answer") for value in ({"a": 1}, [["a"]])),
        (record(relevant_node={"a": 1}), "relevant_node"),
        *((record(evaluation=value), f"evaluation is {value!r}") for value in ("good", True, 1.5)),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: Any, part: str) -> None:
    root, path = tmp_path, tmp_path / FINAL / "银行业务/零售银行/抽取类问答.jsonl"
    for lines in ((record(), bad), (bad,)):
        said = refusal("all", "auto", cell(root, *lines))
        assert said.startswith(f"{path}:{len(lines)}") and part in said


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"topic_name": "金融 - 体育"}, "金融 - 体育"),
        ({"topic_name": ["a"]}, "topic_name"),
        ({"task_name": "填空"}, "填空"),
        ({"task_name": None}, "task_name"),
    ],
)
def test_an_unknown_topic_or_task_is_named(tmp_path: Path, changes: dict[str, Any], part: str) -> None:
    said = refusal("all", "human", put(tmp_path, HUMAN, named(), named() | changes))
    assert said.startswith(f"{tmp_path / HUMAN}:2") and part in said


def test_nodes(tmp_path: Path) -> None:
    lone = r'{"id": "n-4", "title": "题4", "contents": "\ud800"}'
    put(tmp_path, NODES, node(1), node(2, title=None, extra=1), {"id": 3, "contents": ""}, lone)
    assert rows("corpus", "corpus", tmp_path) == [
        node(1),
        node(2, title=""),
        {"id": "3", "title": "", "contents": ""},
        node(4, contents="\ufffd"),
    ]
    # Sources cut alike are one corpus, in which copies are passed over.
    put(tmp_path, "z-2048-256_nodes/corpus.jsonl", node(1), node(5))
    assert ids(rows("corpus", "corpus", tmp_path)) == ["n-1", "n-2", "3", "n-4", "n-5"]


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        ([node(2)], "list"),
        ({"title": "题", "contents": "文"}, "id"),
        (node(2, id=""), "id is ''"),
        (node(2, id=["a"]), "id is"),
        ({"id": "n-2", "text": "文"}, "contents"),
        (node(2, contents=None), "contents is None"),
        (node(1, contents="另一篇"), "n-1"),
    ],
)
def test_a_bad_node_is_named(tmp_path: Path, bad: Any, part: str) -> None:
    said = refusal("corpus", "corpus", put(tmp_path, NODES, node(1), bad))
    assert said.startswith(f"{tmp_path / NODES}:2") and part in said

"""The dataset script `omnieval`: rows, quirks of records, layouts, choice of sets, options, bad files, formats.

All files are made here; the bundled sample has its own tests, the Hub's repositories too.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.data.prepare import prepare
from quadrag.errors import QuadragError

TASKS = {
    "extractive_qa": "抽取类问答",
    "multi_hop_qa": "多跳推理类问答",
    "contrast_qa": "对比类问答",
    "long_form_qa": "长答案形式问答",
    "conversational_qa": "多轮对话能力",
}
# specs/omnieval.md, section A, and the slugs of the contract
TOPICS = {
    "银行业务": {
        "零售银行": "banking/retail",
        "商业银行": "banking/commercial",
        "投资银行": "banking/investment_banking",
    },
    "投资": {
        "股票市场": "investment/stocks",
        "债券市场": "investment/bonds",
        "基金": "investment/funds",
        "衍生品市场": "investment/derivatives",
    },
    "保险": {"人寿保险": "insurance/life", "财产保险": "insurance/property", "健康保险": "insurance/health"},
    "金融科技": {"区块链": "fintech/blockchain", "人工智能": "fintech/ai", "大数据": "fintech/big_data"},
    "监管与合规": {
        "反洗钱（AML）": "regulation/anti_money_laundering",
        "合规审计": "regulation/compliance_audit",
        "监管报告": "regulation/regulatory_reporting",
    },
}
PLACES = {slug: (upper, lower) for upper, below in TOPICS.items() for lower, slug in below.items()}
COLUMNS = ["id", "topic", "topic_zh", "topic_en", "task", "task_zh", "question", "answers", "relevant_node_ids"]
COLUMNS += ["relevant_passages", "history", "evaluation"]
FINAL = "gen_datas_test_final"
HUMAN = "human_annotated/v1022/v1022.jsonl"
NODES = "gen_datas_all-2048-256_nodes/corpus.jsonl"


def record(question: str = "年费是多少？", **changes: Any) -> dict[str, Any]:
    """One record of upstream's form, less topic and task, which its place tells."""
    return {
        **{"thought_process": "先看原文。", "question": question, "answer": ["30元", "三十元"]},
        **{"relevant_passage": ["年费30元。"], "relevant_node": ["n-1"], "evaluation": 2},
        **changes,
    }


def named(topic: str = "banking/retail", task: str = "extractive_qa", **changes: Any) -> dict[str, Any]:
    """A record whose fields tell topic and task."""
    return record(topic_name=" - ".join(("金融", *PLACES[topic])), task_name=TASKS[task], **changes)


def node(number: int, **changes: Any) -> dict[str, Any]:
    return {"id": f"n-{number}", "title": f"题{number}", "contents": f"题{number}\n正文{number}", **changes}


def put(root: Path, name: str, *lines: Any) -> Path:
    """Write JSON Lines below a root, texts and bytes as they are; returns the root."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, (str, bytes)) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_bytes(b"".join((text if isinstance(text, bytes) else text.encode()) + b"\n" for text in texts))
    return root


def cell(root: Path, *lines: Any, topic: str = "banking/retail", task: str = "extractive_qa", of: str = FINAL) -> Path:
    """Write the file of one topic and task."""
    return put(root, "/".join((of, *PLACES[topic], f"{TASKS[task]}.jsonl")), *lines)


def rows(config: str, split: str, data_dir: str | Path, **options: Any) -> list[dict[str, Any]]:
    builder, _ = builders.open_builder("omnieval", config, str(data_dir), options, split)
    return list(builders.rows(builder, split))


def one(tmp_path: Path, *lines: Any, task: str = "extractive_qa", **options: Any) -> list[dict[str, Any]]:
    """The rows of one file of retail banking."""
    return rows("all", "auto", cell(tmp_path, *lines, task=task), **options)


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in found]


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A checkout with every cell for `auto`, two cells for `train`, a human set and a corpus."""
    root = tmp_path / "root"
    for topic in PLACES:
        for task in TASKS:
            lines = [record(f"{topic} {task} {number}") for number in (1, 2)]
            talk = [[record("一"), record("二"), record("三")], [record("甲")]]
            cell(root, *(talk if task == "conversational_qa" else lines), topic=topic, task=task)
    for topic in ("investment/bonds", "fintech/ai"):
        cell(root, record(f"train {topic}"), topic=topic, of="corpus/nodes_dir/gen_datas_train_final")
    put(
        root,
        HUMAN,
        named(question="人写的"),
        [named(task="conversational_qa"), named(task="conversational_qa", question="又？")],
        named("fintech/ai", "contrast_qa"),
    )
    return put(root, f"corpus/nodes_dir/{NODES}", node(1), node(2), node(3))


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
    with pytest.raises(ValueError, match="conversational_qa"):
        catalogue.builder_class("omnieval")()


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


def test_a_later_round_need_not_repeat_topic_and_task(tmp_path: Path) -> None:
    put(tmp_path, HUMAN, [named(task="conversational_qa"), record("又？")])
    assert ids(rows("all", "human", tmp_path)) == [f"human/banking/retail/conversational_qa/1.{n}" for n in (1, 2)]


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


# --- which files are read --------------------------------------------------------------------------------------------


def test_every_level_of_a_checkout_will_do(whole: Path) -> None:
    expected = rows("all", "auto", whole)
    assert rows("all", "auto", whole / FINAL) == expected
    assert rows("all", "human", whole / "human_annotated") == rows("all", "human", whole)
    (whole / HUMAN).rename(whole / "human_annotated/v1022/people.jsonl")
    assert rows("all", "human", whole / "human_annotated") == rows("all", "human", whole)
    (whole / "human_annotated/v1022/people.jsonl").rename(whole / HUMAN)
    assert rows("all", "human", whole / HUMAN.rpartition("/")[0]) == rows("all", "human", whole)
    assert rows("all", "train", whole / "corpus/nodes_dir") == rows("all", "train", whole)
    assert rows("corpus", "corpus", whole / "corpus/nodes_dir" / NODES.partition("/")[0]) == [
        node(n) for n in (1, 2, 3)
    ]


def test_a_folder_s_own_name_tells_nothing(tmp_path: Path) -> None:
    """The user's folders may be named human or train."""
    cell(tmp_path / "human/train", record())
    for folder in (tmp_path, tmp_path / "human", tmp_path / "human/train"):
        assert ids(rows("all", "auto", folder)) == ["auto/banking/retail/extractive_qa/1"]
    put(tmp_path / "other train", "questions.jsonl", named())
    assert ids(rows("all", "auto", tmp_path / "other train")) == ["auto/banking/retail/extractive_qa/1"]


def test_of_upstream_s_stages_the_last_is_taken(tmp_path: Path) -> None:
    for stage in ("", "_clean", "_filter", "_final"):
        cell(tmp_path, record(f"test{stage}"), of=f"gen_datas_test{stage}")
        assert [row["question"] for row in rows("all", "auto", tmp_path)] == [f"test{stage}"]
    _, source = builders.open_builder("omnieval", "all", str(tmp_path))
    assert source == f"{tmp_path} (auto: {FINAL}/银行业务/零售银行/抽取类问答.jsonl; upstream pins none)"


def test_rival_sets_are_refused_by_name(tmp_path: Path) -> None:
    cell(tmp_path, record("a"), of="gen_datas_a_final")
    cell(tmp_path, record("b"), of="gen_datas_b_filter")
    put(tmp_path, HUMAN, named())
    with pytest.raises(QuadragError) as caught:
        rows("all", "auto", tmp_path)
    said = "one set of auto (it holds gen_datas_a_final and gen_datas_b_filter; name one by auto_dir)"
    assert str(caught.value) == f"{tmp_path} lacks {said}, which omnieval all needs"
    # The other splits are none the worse.
    assert len(rows("all", "human", tmp_path)) == 1
    assert builders.splits(builders.open_builder("omnieval", "all", str(tmp_path))[0]) == ["human"]
    for name in ("a_final", "b_filter"):
        found = rows("all", "auto", tmp_path, auto_dir=str(tmp_path / f"gen_datas_{name}"))
        assert [row["question"] for row in found] == [name[0]]
    shutil.rmtree(tmp_path / "gen_datas_b_filter")
    cell(tmp_path, record("b"), of="gen_datas_a_clean_final")
    with pytest.raises(QuadragError, match="it holds gen_datas_a_clean_final and gen_datas_a_final; name one"):
        rows("all", "auto", tmp_path)


def test_rival_human_sets_and_rival_cuts_of_the_corpus_are_refused_by_name(tmp_path: Path) -> None:
    put(tmp_path, HUMAN, named())
    put(tmp_path, "human_annotated/v1018/v1018.jsonl", named())
    with pytest.raises(QuadragError, match=r"human_annotated/v1018 and human_annotated/v1022; name one by human_file"):
        rows("all", "human", tmp_path)
    assert len(rows("all", "human", tmp_path, human_file=str(tmp_path / HUMAN))) == 1
    put(tmp_path, "a-2048-256_nodes/corpus.jsonl", node(1))
    put(tmp_path, "b-512-64_nodes/corpus.jsonl", node(2))
    with pytest.raises(QuadragError, match=r"one set of corpus \(it holds a-2048-256_nodes and b-512-64_nodes; name"):
        rows("corpus", "corpus", tmp_path)
    assert ids(rows("corpus", "corpus", tmp_path, corpus_file=str(tmp_path / "b-512-64_nodes"))) == ["n-2"]


def test_train_is_what_says_so(whole: Path) -> None:
    assert ids(rows("all", "train", whole)) == [
        "train/investment/bonds/extractive_qa/1",
        "train/fintech/ai/extractive_qa/1",
    ]
    assert not {"train investment/bonds", "train fintech/ai"} & {row["question"] for row in rows("all", "auto", whole)}


def test_files_are_known_by_their_keys(whole: Path) -> None:
    """Copies of the questions in predictions, sources, settings, parents of nodes and pickles are none of ours."""
    before = {split: rows("all", split, whole) for split in ("train", "auto", "human")}
    predicted = record(id="x", output={"pred": "30元"})
    put(whole, f"evaluator/pred_results/{FINAL}/bge_TOP5-m/银行业务 - 零售银行 - 抽取类问答.pred.jsonl", predicted)
    put(whole, f"{FINAL}/elsewhere.jsonl", predicted)
    put(whole, "corpus/nodes_dir/gen_datas_all-2048-256_docs/corpus.jsonl", node(9))
    put(whole, "corpus/few_shot/source.jsonl", node(8))
    put(whole, "configs/topic_tree.json", json.dumps([{"topic_name": "金融", "sub_topics": []}]))
    put(whole, "examples/questions.jsonl", record())
    for name in ("0.pkl", "shuffle_index.datapkl"):
        put(whole, f"corpus/nodes_dir/{NODES.partition('/')[0]}/{name}", b"\x80\x04cposix\nsystem\n")
    assert {split: rows("all", split, whole) for split in before} == before
    assert ids(rows("corpus", "corpus", whole)) == ["n-1", "n-2", "n-3"]


OPENED = """
import json, sys
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
from quadrag.data import builders
for config, split in (("all", "auto"), ("corpus", "corpus")):
    builder, _ = builders.open_builder("omnieval", config, sys.argv[1])
    assert list(builders.rows(builder, split)) and builders.fingerprint(builder)
print(json.dumps([name for name in opened if name.startswith(sys.argv[1])]))
"""


def test_pickles_are_never_opened(whole: Path, python: Any, environment: Any) -> None:
    for folder in (whole / "corpus/nodes_dir" / NODES.partition("/")[0], whole / FINAL):
        for name in ("0.pkl", "1.pkl", "shuffle_index.datapkl"):
            (folder / name).write_bytes(b"\x80")
    done = python(OPENED, whole, env=environment())
    assert done.returncode == 0, done.stderr
    assert {Path(name).suffix for name in json.loads(done.stdout)} >= {".jsonl"}
    assert "pkl" not in done.stdout


def test_what_a_split_lacks_is_said(tmp_path: Path) -> None:
    root = cell(tmp_path / "root", record())
    place = "a folder gen_datas_* with `train` in its name, or name it by train_dir"
    listed = "human_annotated/*/*.jsonl; the Hub's repository of them is listed empty"
    for split, said in (
        ("train", f"questions of train ({place})"),
        ("human", f"questions of human ({listed}, or name it by human_file)"),
    ):
        with pytest.raises(QuadragError) as caught:
            rows("all", split, root)
        assert str(caught.value) == f"{root} lacks {said}, which omnieval all needs"
    with pytest.raises(QuadragError, match=r"questions of auto contrast_qa \(a folder gen_datas_\*, or name it by"):
        rows("contrast_qa", "auto", root)
    with pytest.raises(QuadragError, match=r"nodes of corpus \(a folder \*_nodes with corpus\.jsonl, or name it by"):
        rows("corpus", "corpus", root)
    # By the script itself, as `datasets` 3.6 calls it.
    builder = catalogue.builder_class("omnieval")(config_name="contrast_qa", data_dir=str(root))
    with pytest.raises(
        FileNotFoundError, match=r"root lacks questions of train contrast_qa .*, questions of auto contr"
    ):
        builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_human_set_is_lacking_and_no_error_for_others(tmp_path: Path, content: str) -> None:
    cell(tmp_path, record())
    put(tmp_path, HUMAN, content)
    builder, _ = builders.open_builder("omnieval", "all", str(tmp_path))
    assert builders.splits(builder) == ["auto"]
    assert len(list(builders.rows(builder, "auto"))) == 1
    with pytest.raises(QuadragError, match="lacks questions of human"):
        rows("all", "human", tmp_path)
    with pytest.raises(QuadragError, match=r"questions of human \(human_file .*v1022\.jsonl holds none\)"):
        rows("all", "human", tmp_path, human_file=str(tmp_path / HUMAN))


def test_a_human_set_without_a_task_lacks_it(whole: Path) -> None:
    builder, _ = builders.open_builder("omnieval", "long_form_qa", str(whole))
    assert builders.splits(builder) == ["auto"]
    assert builders.splits(builders.open_builder("omnieval", "contrast_qa", str(whole))[0]) == ["auto", "human"]


def test_a_split_s_broken_file_leaves_the_others(whole: Path) -> None:
    put(whole, HUMAN, "{")
    put(whole, f"corpus/nodes_dir/{NODES}", "{")
    assert len(rows("all", "auto", whole)) == 192
    assert len(rows("all", "train", whole)) == 2
    for config, split in (("all", "human"), ("corpus", "corpus")):
        with pytest.raises(QuadragError, match=r"jsonl:1 is not JSON"):
            rows(config, split, whole)


# --- options ---------------------------------------------------------------------------------------------------------


def test_places_named_by_options(tmp_path: Path) -> None:
    root, own = tmp_path / "root", tmp_path / "own"
    cell(root, record("of data_dir"))
    cell(own, record("mine"), of="any")
    put(own, "people.jsonl", named())
    put(own, "nodes.jsonl", node(7))
    options = {"train_dir": own / "any", "auto_dir": own / "any", "human_file": own / "people.jsonl"}
    assert [row["question"] for row in rows("all", "auto", root, **options)] == ["mine"]
    for split in ("train", "auto"):
        assert ids(rows("extractive_qa", split, root, **options)) == [f"{split}/banking/retail/extractive_qa/1"]
    assert ids(rows("all", "human", root, **options)) == ["human/banking/retail/extractive_qa/1"]
    assert ids(rows("corpus", "corpus", root, corpus_file=own / "nodes.jsonl")) == ["n-7"]
    # With one of them and no data_dir, nothing is fetched.
    builder, source = builders.open_builder("omnieval", "all", None, options)
    assert builders.splits(builder) == ["train", "auto", "human"]
    assert source == f"{own / 'any'} and {own / 'any'} and {own / 'people.jsonl'}"
    assert files.own_files(builder.config, "human") == {"human_file": own / "people.jsonl"}
    builder, source = builders.open_builder("omnieval", "all", None, {"auto_dir": own / "any"})
    assert (builders.splits(builder), source) == (["auto"], str(own / "any"))
    with pytest.raises(QuadragError, match="lacks questions of human"):
        list(builders.rows(builder, "human"))


def test_without_a_folder_the_script_reads_what_options_name(tmp_path: Path) -> None:
    put(tmp_path, "people.jsonl", named())
    builder = catalogue.builder_class("omnieval")(config_name="all", human_file=str(tmp_path / "people.jsonl"))
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert {split: len(builder.as_dataset(split=split)) for split in builder.info.splits} == {"human": 1}


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ("all", {"train_dir": "nowhere"}, "train_dir is 'nowhere', which is not there; expected a folder or a file"),
        ("all", {"auto_dir": ""}, "auto_dir is '', which is not there; expected a folder or a file"),
        ("all", {"corpus_file": "."}, "all takes no corpus_file; its own are train_dir, auto_dir, human_file"),
        ("corpus", {"human_file": "."}, "corpus takes no human_file; its own are corpus_file"),
        ("corpus", {"min_evaluation": 1}, "corpus takes no min_evaluation; its own are corpus_file"),
        ("all", {"min_evaluation": 3}, "min_evaluation is 3; expected -1, 0, 1, 2 or None"),
        ("all", {"min_evaluation": True}, "min_evaluation is True; expected -1, 0, 1, 2 or None"),
        ("all", {"min_evaluation": "2"}, "min_evaluation is '2'; expected -1, 0, 1, 2 or None"),
    ],
)
def test_bad_options_are_named_before_any_row(config: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(QuadragError) as caught:
        builders.open_builder("omnieval", config, None, options)
    assert str(caught.value) == f"omnieval {config}: {message}"


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    put(tmp_path, "nodes.jsonl", node(1))
    put(tmp_path, "questions.jsonl", named())
    with pytest.raises(
        QuadragError, match=r"named by human_file, holds no questions; found the keys id, title, contents"
    ):
        rows("all", "human", tmp_path, human_file=str(tmp_path / "nodes.jsonl"))
    with pytest.raises(
        QuadragError, match="named by corpus_file, holds no nodes; found the keys thought_process, quest"
    ):
        rows("corpus", "corpus", tmp_path, corpus_file=str(tmp_path / "questions.jsonl"))


# --- forms -----------------------------------------------------------------------------------------------------------


def test_json_and_parquet_as_the_hub_has_them(tmp_path: Path) -> None:
    """Questions whose fields tell all, in parts: numbered through, in the order of the names."""
    import pyarrow as pa
    from pyarrow import parquet

    records = [named(question=f"第{n}问？", evaluation=None if n % 2 else 2) for n in range(5)]
    folder = tmp_path / "p/OmniEval-AutoGen-Dataset/data"
    folder.mkdir(parents=True)
    for number, part in enumerate((records[:3], records[3:])):
        parquet.write_table(pa.Table.from_pylist(part), folder / f"test-{number:05}.parquet")
    put(tmp_path / "j", "OmniEval-AutoGen-Dataset/auto.json", json.dumps(records, ensure_ascii=False, indent=1))
    put(tmp_path / "l", "OmniEval-AutoGen-Dataset/auto.json", *records)
    found = rows("all", "auto", tmp_path / "p")
    assert [row["question"] for row in found] == [f"第{n}问？" for n in range(5)]
    assert ids(found) == [f"auto/banking/retail/extractive_qa/{n}" for n in range(1, 6)]
    assert rows("all", "auto", tmp_path / "j") == rows("all", "auto", tmp_path / "l") == found
    put(tmp_path / "j", "OmniEval-AutoGen-Dataset/copy.jsonl", *records)
    with pytest.raises(QuadragError, match=r"one set of auto \(it holds files of several forms, \.json, \.jsonl; name"):
        rows("all", "auto", tmp_path / "j")


def test_an_array_holds_conversations_as_lists(tmp_path: Path) -> None:
    talk = [named(task="conversational_qa"), named(task="conversational_qa", question="又？")]
    put(tmp_path, "OmniEval-Human-Questions/all.json", json.dumps([named(), talk]))
    assert ids(rows("all", "human", tmp_path)) == [
        "human/banking/retail/extractive_qa/1",
        "human/banking/retail/conversational_qa/2.1",
        "human/banking/retail/conversational_qa/2.2",
    ]


def test_train_of_a_repository_is_what_says_so(tmp_path: Path) -> None:
    put(tmp_path, "OmniEval-AutoGen-Dataset/train.jsonl", named(question="一"))
    put(tmp_path, "OmniEval-AutoGen-Dataset/test.jsonl", named(question="二"))
    put(tmp_path, "OmniEval-Human-Questions/test.jsonl", named(question="三"))
    put(tmp_path, "OmniEval-KnowledgeCorpus/train-00000-of-00001.jsonl", node(1))
    found = {split: [row["question"] for row in rows("all", split, tmp_path)] for split in ("train", "auto", "human")}
    assert found == {"train": ["一"], "auto": ["二"], "human": ["三"]}
    assert ids(rows("corpus", "corpus", tmp_path)) == ["n-1"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b'[{"question": 1},\n{', ":2 is not JSON (Expecting property name enclosed in double quotes at"),
        ("a.json", "[\n'答'".encode("gb18030"), ":2 is not UTF-8; expected JSON in UTF-8"),
        ("a.parquet", b"PAR1 cut short", " is no whole Parquet ("),
        ("a.parquet", b"<html>", " is no Parquet; fetch it again"),
        ("a.jsonl", b"version https://git-lfs.github.com/spec/v1\n", " is a Git LFS pointer, not the file; run `git"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / "OmniEval-AutoGen-Dataset" / name
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(QuadragError) as caught:
        rows("all", "auto", tmp_path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)


def test_one_line_in_two_files_is_named(tmp_path: Path) -> None:
    """A file of a cell beside one whose fields tell, which has the same line of the same cell."""
    cell(tmp_path, record())
    put(tmp_path, f"{FINAL}/more.jsonl", named())
    with pytest.raises(
        QuadragError, match=r"more\.jsonl:1: auto/banking/retail/extractive_qa/1 stands in .*抽取类问答"
    ):
        rows("all", "auto", tmp_path)


# --- the corpus ------------------------------------------------------------------------------------------------------


LONE = r'{"id": "n-4", "title": "题4", "contents": "\ud800"}'


def test_nodes(tmp_path: Path) -> None:
    put(tmp_path, NODES, node(1), node(2, title=None, extra=1), {"id": 3, "contents": ""}, LONE)
    assert rows("corpus", "corpus", tmp_path) == [
        node(1),
        node(2, title=""),
        {"id": "3", "title": "", "contents": ""},
        node(4, contents="\ufffd"),
    ]


def test_sources_cut_alike_are_one_corpus_and_copies_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(tmp_path, "a-2048-256_nodes/corpus.jsonl", node(1), node(2))
    put(tmp_path, "b-2048-256_nodes/corpus.jsonl", node(2), node(3), node(1))
    assert ids(rows("corpus", "corpus", tmp_path)) == ["n-1", "n-2", "n-3"]
    assert [entry.getMessage() for entry in caplog.records] == ["omnieval corpus: skipped 2 copies of nodes"]
    put(tmp_path, "b-2048-256_nodes/corpus.jsonl", node(2, contents="另一篇"))
    with pytest.raises(QuadragError) as caught:
        rows("corpus", "corpus", tmp_path)
    first, second = (f"{tmp_path}/{name}-2048-256_nodes/corpus.jsonl" for name in "ab")
    assert str(caught.value) == f"{second}:1: n-2 stands in {first}:2 too, with another text; expected unique ids"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([node(2)], ":2 is a list; expected a node with id, title and contents"),
        ({"title": "题", "contents": "文"}, ":2: no id, only the keys title, contents; expected a text"),
        (node(2, id=""), ":2: id is ''; expected a text"),
        (node(2, id=["a"]), ":2: id is ['a']; expected a text"),
        ({"id": "n-2", "text": "文"}, ":2: no contents, only id, text; expected a text"),
        (node(2, contents=None), ":2: contents is None; expected a text"),
        ("{", ":2 is not JSON (Expecting property name enclosed in double quotes at"),
    ],
)
def test_a_bad_node_is_named(tmp_path: Path, bad: Any, message: str) -> None:
    put(tmp_path, NODES, node(1), bad)
    with pytest.raises(QuadragError) as caught:
        rows("corpus", "corpus", tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / NODES}{message}")


def test_a_corpus_as_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "OmniEval-KnowledgeCorpus/data/train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist([node(n) for n in range(200)]), path)
    assert rows("corpus", "corpus", tmp_path) == [node(n) for n in range(200)]


def test_no_two_of_many_ids_are_mistaken() -> None:
    seen = catalogue.load_script(catalogue.benchmarks()["omnieval"])._Seen()
    assert all(seen.add(7 * number, number) is None for number in range(30_000))
    assert all(seen.add(7 * number, 0) == number for number in range(0, 30_000, 97))
    # Zero marks what is free; as a key it is one.
    assert seen.add(1, 5) == 0


# In MiB; `ru_maxrss` would count what this process's parent had when it forked.
MEMORY = """
def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

import json, sys
from quadrag.data import builders
builder, _ = builders.open_builder("omnieval", "corpus", sys.argv[1])
seen = []
for number, row in enumerate(builders.rows(builder, "corpus"), 1):
    if number % 2_000 == 0:
        seen.append(peak())
print(json.dumps([number, seen]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_corpus_streams_in_flat_memory(tmp_path: Path, python: Any, environment: Any) -> None:
    """20,000 nodes of 2,000 characters are 120 MB; the last nine tenths of them take less than 8 more."""
    text = "金融监管与银行业务" * 222
    path = tmp_path / NODES
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(node(n, contents=f"{n}{text}"), ensure_ascii=False) + "\n" for n in range(20_000))
    assert path.stat().st_size > 110e6
    done = python(MEMORY, tmp_path, env=environment())
    assert done.returncode == 0, done.stderr
    count, seen = json.loads(done.stdout)
    assert (count, len(seen)) == (20_000, 10)
    assert seen[-1] - seen[0] < 8


# --- the spine -------------------------------------------------------------------------------------------------------


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def test_what_is_prepared_is_read_from_the_cache(own_cache: Path, whole: Path) -> None:
    done = prepare("omnieval", None, str(whole))
    assert done.built["all"] == {"train": 2, "auto": 192, "human": 4}
    assert done.built["conversational_qa"] == {"auto": 64, "human": 2}
    assert done.built["long_form_qa"] == {"auto": 32}
    assert done.built["corpus"] == {"corpus": 3}
    assert done.lacking == {}
    assert [reason.partition(" (")[0] for reason in done.partial["long_form_qa"]] == [
        "questions of train long_form_qa",
        "questions of human long_form_qa",
    ]
    for config, splits in done.built.items():
        for split in splits:
            builder, source = builders.open_builder("omnieval", config, split=split)
            assert source.endswith("; upstream pins none), as prepared")
            expected = rows(config, split, whole)
            assert list(builders.rows(builder, split)) == list(builder.as_dataset(split=split)) == expected
    builder, source = builders.open_builder("omnieval", "all")
    assert builders.fingerprint(builder) == builders.fingerprint(
        builders.open_builder("omnieval", "all", str(whole))[0]
    )
    assert f"(train: 2 files of corpus/nodes_dir/gen_datas_train_final, auto: 80 files of {FINAL}, " in source
    assert f"human: {HUMAN}; upstream pins none)" in source


def test_the_fingerprint_covers_every_file_that_decides_rows_and_options(whole: Path, tmp_path: Path) -> None:
    def fingerprint(config: str = "all", root: Path = whole, split: str | None = None, **options: Any) -> str:
        return builders.fingerprint(builders.open_builder("omnieval", config, str(root), options, split)[0])

    plain = fingerprint()
    shutil.copytree(whole, tmp_path / "copy")
    assert fingerprint(root=tmp_path / "copy") == plain
    by_split = {split: fingerprint(split=split) for split in ("train", "auto", "human")}
    assert len({plain, *by_split.values(), fingerprint(min_evaluation=1), fingerprint(min_evaluation=2)}) == 6
    assert fingerprint(split="auto", root=whole / FINAL) == by_split["auto"], "its place decides nothing"
    assert fingerprint(split="auto", auto_dir=str(whole / FINAL)) == by_split["auto"]
    contrast, corpus = fingerprint("contrast_qa", split="auto"), fingerprint("corpus")
    # Any of the eighty files.
    cell(whole, record("改过"), topic="fintech/ai", task="contrast_qa")
    assert fingerprint(split="auto") != by_split["auto"]
    assert fingerprint(split="human") == by_split["human"]
    assert fingerprint("contrast_qa", split="auto") != contrast
    extractive = fingerprint("extractive_qa", split="auto")
    cell(whole, record("又改"), topic="fintech/ai", task="contrast_qa")
    assert fingerprint("extractive_qa", split="auto") == extractive
    assert fingerprint("corpus") == corpus
    put(whole, f"corpus/nodes_dir/{NODES}", node(1))
    assert fingerprint("corpus") != corpus


LOADED: list[tuple[str, str, dict[str, Any]]] = [
    ("all", "train", {}),
    ("all", "auto", {"min_evaluation": 2}),
    ("all", "human", {}),
    ("conversational_qa", "auto", {}),
    ("corpus", "corpus", {}),
]


@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
@pytest.mark.parametrize(("config", "split", "options"), LOADED)
def test_datasets_3_runs_the_script_folder(
    whole: Path, config: str, split: str, options: dict[str, Any], streaming: bool
) -> None:
    import datasets

    if int(datasets.__version__.split(".")[0]) >= 4:
        pytest.skip(f"datasets {datasets.__version__} runs no scripts; 3.6.0 does")
    folder = catalogue.benchmarks()["omnieval"].parent
    loaded = datasets.load_dataset(
        str(folder),
        config,
        split=split,
        streaming=streaming,
        trust_remote_code=True,
        data_dir=str(whole),
        **options,
    )
    assert list(loaded) == rows(config, split, whole, **options)


@pytest.mark.parametrize(("config", "split", "options"), LOADED)
def test_built_streamed_and_read_rows_are_the_same(
    whole: Path, tmp_path: Path, config: str, split: str, options: dict[str, Any]
) -> None:
    builder = catalogue.builder_class("omnieval")(config_name=config, **options)
    builders.point_to(builder, whole)
    expected = rows(config, split, whole, **options)
    assert list(builder.as_streaming_dataset(split=split)) == expected
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert list(builder.as_dataset(split=split)) == expected


def test_nested_and_written_out_answers_are_the_texts_in_them(tmp_path):
    path = tmp_path / "gen_datas_x" / "保险" / "人寿保险" / "抽取类问答.jsonl"
    path.parent.mkdir(parents=True)
    values = ([["3.2亿元", "3.20亿元"]], "['3.2亿元', '3.20亿元']", "[3.2亿元]", "[]")
    lines = [record(answer=value, topic_name="金融 - 保险 - 人寿保险", task_name="抽取类问答") for value in values]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    builder, _ = builders.open_builder("omnieval", "all", str(tmp_path), None, "auto")
    found = [row["answers"] for row in builders.rows(builder, "auto")]
    assert found == [["3.2亿元", "3.20亿元"], ["3.2亿元", "3.20亿元"], ["[3.2亿元]"], ["[]"]]


def test_empty_objects_are_passed_over_and_end_a_conversation(tmp_path):
    path = tmp_path / "gen_datas_x" / "保险" / "人寿保险" / "多轮对话能力.jsonl"
    path.parent.mkdir(parents=True)
    turn = record(topic_name="金融 - 保险 - 人寿保险", task_name="多轮对话能力")
    lines = [[turn, {}, turn], [{}], [turn, turn]]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    builder, _ = builders.open_builder("omnieval", "all", str(tmp_path), None, "auto")
    ids = [row["id"].rpartition("/")[2] for row in builders.rows(builder, "auto")]
    assert ids == ["1.1", "3.1", "3.2"]

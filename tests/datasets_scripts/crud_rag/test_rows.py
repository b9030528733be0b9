"""The dataset script `crud_rag`: task rows, question files, oddities, what is named since it is bad."""

import json
from pathlib import Path
from typing import Any

import pytest
from crud_rag_files import (
    CONTINUATION,
    CORPUS,
    FULL,
    HALLU,
    KEYS,
    NEWS,
    QA,
    QUESTIONS,
    SPLIT,
    SUMMARY,
    body_id,
    merged,
    refusal,
    rows,
)

from quadrag import catalogue
from quadrag.data import builders


def test_files_are_the_pinned_ones_in_numerical_order() -> None:
    cls, configs = catalogue.builder_class("crud_rag"), catalogue.configs("crud_rag")
    assert {name for config in configs.values() for name in config.files} == set(cls.FILES)
    expected = [f"{CORPUS}dup_part_{part}_part_{number}" for part in range(1, 16) for number in (1, 2, 3)]
    assert configs["corpus"].files == [*expected, *(f"{CORPUS}hallu.txt_part_{number}" for number in (1, 2, 3))]
    assert cls.FILES[f"{CORPUS}dup_part_15_part_3"] == (None, None, "21be446ce5c2fb75da9b6c33a0a590fbe01170bc")
    assert len({blob for _, _, blob in cls.FILES.values()}) == len(cls.FILES) == 2 + 48 + 6


def one(tmp_path: Path, config: str, *records: Any) -> list[dict[str, Any]]:
    return rows(config, "test", merged(tmp_path, {KEYS[config].key: list(records)}))


def test_what_each_task_reads(tmp_path: Path) -> None:
    absent = dict.fromkeys(
        ("continuation", "event", "title", "time", "url", "type", "thoughts", "generated_by", "real_continuation")
    ) | {"appeared_keywords": [], "all_keywords": [], "documents": [], "document_ids": []}
    assert one(tmp_path, "summary", SUMMARY) == [
        absent
        | {"id": "a", "query": "某市通报", "reference": "通报了。", "event": "某市通报", "title": "题", "time": "t"}
        | {"url": " ", "documents": [NEWS], "document_ids": [body_id("某市昨日通报。")]}
    ]
    assert one(tmp_path, "continuation", CONTINUATION) == [
        absent | {"id": "a", "query": "上半", "reference": "下半", "event": "e"}
    ]
    assert one(tmp_path, "hallucination", HALLU) == [
        absent
        | {"id": "num_000432", "query": "开头", "reference": "改好的", "continuation": "错的", "title": "题"}
        | {"time": "2015-01-02 03:04:05", "type": "num", "generated_by": "模型", "real_continuation": "真的"}
        | {"appeared_keywords": ["三", "四"], "documents": ["其余"], "document_ids": [body_id("其余")]}
        | {"all_keywords": [{"keyword": "三", "label": "合理"}, {"keyword": "四", "label": "不合理，应为三"}]}
    ]
    three = QA | {"news2": "，正文：又\n\u3000一\ufeff篇", "news3": "无前缀的一篇", "thoughts": "先看一，再看二"}
    assert one(tmp_path, "qa_3doc", three) == [
        absent
        | {"id": "a", "query": "何时？", "reference": "昨日", "event": "e", "thoughts": "先看一，再看二"}
        | {"documents": [NEWS, "，正文：又\n\u3000一\ufeff篇", "无前缀的一篇"]}
        | {"document_ids": [body_id(text) for text in ("某市昨日通报。", "又一篇", "无前缀的一篇")]}
    ]


def test_the_mark_of_a_failed_correction_is_no_reference(tmp_path: Path) -> None:
    failed = '","msg":"request openai failed"'
    records = [HALLU | {"hallucinatedMod": failed}, HALLU | {"ID": "b", "hallucinatedMod": failed + " "}]
    assert [row["reference"] for row in one(tmp_path, "hallucination", *records)] == [None, failed + " "]


def test_oddities_are_taken(tmp_path: Path) -> None:
    bare = {"ID": 7, "questions": ["何时？"]}
    odd = {
        **{"ID": "b", "questions": "q", "answers": ["昨日"], "event": None, "url": 3, "thoughts": {"步": ["一", 2]}},
        **{"news1": None, "news2": " \u3000\n", "news3": NEWS, "unknown": {"any": 1}},
    }
    first, second = one(tmp_path, "qa_3doc", bare, odd)
    assert (first["id"], first["query"], first["reference"], first["documents"]) == ("7", "何时？", None, [])
    assert (second["reference"], second["event"], second["url"]) == ("昨日", None, "3")
    assert second["thoughts"] == '{"步": ["一", 2]}'
    assert (second["documents"], second["document_ids"]) == ([NEWS], [body_id("某市昨日通报。")])
    keywords = [HALLU | {"ID": str(i), "allKeywords": v} for i, v in enumerate([None, ["三"], "三", {"三": None}])]
    assert [row["all_keywords"] for row in one(tmp_path, "hallucination", *keywords)] == [
        [],
        *[[{"keyword": "三", "label": None}]] * 3,
    ]
    appeared = [HALLU | {"ID": str(i), "appearedKeywords": v} for i, v in enumerate([None, "三", ["三", None, 4]])]
    assert [row["appeared_keywords"] for row in one(tmp_path, "hallucination", *appeared)] == [[], ["三"], ["三", "4"]]


def test_a_byte_order_mark_and_one_id_in_two_tasks_are_taken(tmp_path: Path) -> None:
    both = {"questanswer_1doc": [QA], "questanswer_2docs": [QA | {"news2": "二"}]}
    both["questanswer_1doc"][0] = QA | {"answers": "\ud83d\ude00\ud83d"}
    merged(tmp_path, b"\xef\xbb\xbf" + json.dumps(both).encode())
    assert rows("qa_1doc", "test", tmp_path)[0]["reference"] == "\U0001f600\ufffd"
    assert [row["id"] for config in ("qa_1doc", "qa_2doc") for row in rows(config, "test", tmp_path)] == ["a", "a"]


SUMMARIES = QUESTIONS.format("Summary")
NAMELESS = {"event": "e", "summary": "s"}
BAD = [
    ("summary", 7, "int"),
    ("summary", NAMELESS, "ID"),
    ("summary", NAMELESS | {"ID": None}, "ID"),
    ("summary", NAMELESS | {"ID": ""}, "ID"),
    ("summary", {"ID": "a", "summary": "s"}, "event"),
    ("summary", SUMMARY | {"event": None}, "event"),
    ("summary", SUMMARY | {"summary": 3}, "summary is 3"),
    ("continuation", {"ID": "a"}, "beginning"),
    ("hallucination", {"ID": "a"}, "newsBeginning"),
    ("qa_1doc", QA | {"questions": ["q", "r"]}, "questions is ['q', 'r']"),
    ("qa_1doc", QA | {"questions": []}, "questions is []"),
    ("qa_2doc", QA | {"answers": {"a": 1}}, "answers is {'a': 1}"),
]


@pytest.mark.parametrize(("config", "record", "named"), BAD)
def test_a_bad_row_is_named(tmp_path: Path, config: str, record: Any, named: str) -> None:
    good = {"summary": SUMMARY, "continuation": CONTINUATION, "hallucination": HALLU}.get(config, QA)
    merged(tmp_path, {KEYS[config].key: [good | {"ID": "x"}, record]})
    said = refusal(config, "test", tmp_path)
    assert said.startswith(f"{tmp_path / SPLIT}: {KEYS[config].key} row 2") and named in said


def test_a_key_absent_from_one_file_leaves_the_other_split(tmp_path: Path) -> None:
    merged(tmp_path, {"event_summary": [SUMMARY]})
    merged(tmp_path, {"questanswer_1doc": [QA]}, FULL)
    for config, expected in (("summary", ["test"]), ("qa_1doc", ["full"])):
        builder, _ = builders.open_builder("crud_rag", config, str(tmp_path))
        assert builders.splits(builder) == expected
        assert [row["id"] for row in builders.rows(builder, expected[0])] == ["a"]
    assert f"questanswer_1doc in {SPLIT} (it holds event_summary)" in refusal("qa_1doc", "test", tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        *((SPLIT, {"event_summary": value}, "event_summary") for value in ([], {"a": 1}, None)),
        (SPLIT, b"PK\x03\x04", "zip"),
        (SUMMARIES, {}, ""),
        (SUMMARIES, {"a": ["何时？"]}, ": a"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, content: Any, named: str) -> None:
    config, split = ("summary", "test") if name == SPLIT else ("ragquesteval", "summary")
    said = refusal(config, split, merged(tmp_path, content, name))
    assert said.startswith(str(tmp_path / name)) and named in said


def test_question_files(tmp_path: Path) -> None:
    entries = {
        "a": {"key_info": ["一", "二"], "question": ["何时？"], "answers": []},
        "b": {},
        "c": {"key_info": None, "question": "何地？", "answers": ["此地", None]},
    }
    merged(tmp_path, entries, QUESTIONS.format("HalluModified"))
    builder, _ = builders.open_builder("crud_rag", "ragquesteval", str(tmp_path))
    assert builders.splits(builder) == ["hallucination"]
    empty = {"key_info": [], "questions": [], "answers": []}
    assert list(builders.rows(builder, "hallucination")) == [
        {"id": "a", "task": "hallucination", "key_info": ["一", "二"], "questions": ["何时？"], "answers": []},
        {"id": "b", "task": "hallucination", **empty},
        {"id": "c", "task": "hallucination", **empty, "questions": ["何地？"], "answers": ["此地"]},
    ]
    assert SUMMARIES in refusal("ragquesteval", "summary", tmp_path)

"""The dataset script `crud_rag`: golden rows of the bundled sample, layouts, oddities, partial and bad files, options.

The golden file was written once, by ``cd tests/datasets_scripts; python test_crud_rag.py > new.json; mv new.json
crud_rag_golden.json``, and then read against the sample; do so again only after a meant change, and read the change.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import UPSTREAM_SOURCE, sample_dir
from quadrag.errors import QuadragError

GOLDEN = Path(__file__).parent / "crud_rag_golden.json"
TASKS = ["continuation", "qa_1doc", "qa_2doc", "qa_3doc", "hallucination", "summary"]
SPLIT, FULL = "data/crud_split/split_merged.json", "data/crud/merged.zip"
CORPUS = "data/80000_docs/documents_"
QUESTIONS = "src/quest_eval/{}_quest_gt_save.json"


def rows(config: str, split: str, data_dir: str | Path = builders.SAMPLE, **options: Any) -> list[dict[str, Any]]:
    builder, _ = builders.open_builder("crud_rag", config, str(data_dir), options, split)
    return list(builders.rows(builder, split))


def script() -> Any:
    return catalogue.load_script(catalogue.benchmarks()["crud_rag"])


def body_id(body: str) -> str:
    """The identity of the specification, by its own words."""
    return hashlib.sha256(re.sub(r"[\s\ufeff]", "", body).encode()).hexdigest()


def merged(root: Path, content: Any, name: str = SPLIT) -> Path:
    """Write a merged file as upstream does, zipped where the name says so; returns the root."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, (str, bytes)) else json.dumps(content, ensure_ascii=False, indent=4)
    raw = text.encode() if isinstance(text, str) else text
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("merged.json", raw)
    else:
        path.write_bytes(raw)
    return root


def corpus(root: Path, **parts: str | bytes) -> Path:
    """Write corpus files, `dup_part_1_part_1="..."`; returns the root."""
    for name, text in parts.items():
        path = root / f"{CORPUS}{name.replace('hallu', 'hallu.txt')}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def shortened(row: dict[str, Any]) -> dict[str, Any]:
    """A row to be read: the beginning of every text."""

    def short(value: Any) -> Any:
        if isinstance(value, str):
            return value if len(value) <= 16 else value[:16] + "…"
        return [short(item) for item in value] if isinstance(value, list) else value

    return {key: short(value) for key, value in row.items() if value not in (None, [])}


def golden(config: str, split: str) -> dict[str, Any]:
    """What the golden file keeps of a split: all of it as a digest, and three rows to read."""
    found = rows(config, split)
    text = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in found)
    places = (("first", 0), ("middle", len(found) // 2), ("last", -1))
    shown = {place: shortened({k: v for k, v in found[at].items() if k != "all_keywords"}) for place, at in places}
    return {"count": len(found), "sha256": hashlib.sha256(text.encode()).hexdigest(), **shown}


def all_golden() -> dict[str, dict[str, Any]]:
    return {
        name: {split: golden(name, split) for split in config.splits}
        for name, config in catalogue.configs("crud_rag").items()
    }


EXPECTED = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}


def test_configs_and_splits() -> None:
    assert list(EXPECTED) == [*TASKS, "corpus", "ragquesteval"]
    assert {name: config.splits for name, config in catalogue.configs("crud_rag").items()} == {
        name: list(splits) for name, splits in EXPECTED.items()
    }
    assert all(list(EXPECTED[name]) == ["test", "full"] for name in TASKS)
    assert list(EXPECTED["corpus"]) == ["corpus"]
    assert list(EXPECTED["ragquesteval"]) == TASKS


@pytest.mark.parametrize(("config", "split"), [(config, split) for config in EXPECTED for split in EXPECTED[config]])
def test_golden_rows(config: str, split: str) -> None:
    assert golden(config, split) == EXPECTED[config][split]


def test_no_default_config() -> None:
    with pytest.raises(ValueError, match="continuation"):
        catalogue.builder_class("crud_rag")()


def test_files_are_the_pinned_ones_in_numerical_order() -> None:
    cls = catalogue.builder_class("crud_rag")
    configs = catalogue.configs("crud_rag")
    assert sum(len(config.files) for config in configs.values()) == 6 * 2 + 48 + 6
    assert {name for config in configs.values() for name in config.files} == set(cls.FILES)
    expected = [f"{CORPUS}dup_part_{part}_part_{number}" for part in range(1, 16) for number in (1, 2, 3)]
    expected += [f"{CORPUS}hallu.txt_part_{number}" for number in (1, 2, 3)]
    assert configs["corpus"].files == configs["corpus"].files_of("corpus") == expected
    assert cls.FILES[f"{CORPUS}dup_part_10_part_3"] == (
        3901614,
        "04615d06818fdcf50d955c8e70982113474ca4565d6948b608513d41ae87f7c7",
        "d4544b1743c50f206172ae997dd9c39fa4dbeed8",
    )
    assert cls.FILES[f"{CORPUS}dup_part_15_part_3"] == (None, None, "21be446ce5c2fb75da9b6c33a0a590fbe01170bc")
    for size, sha256, blob in cls.FILES.values():
        assert (size is None) == (sha256 is None)
        assert sha256 is None or re.fullmatch("[0-9a-f]{64}", sha256)
        assert re.fullmatch("[0-9a-f]{40}", blob)
    assert len({blob for _, _, blob in cls.FILES.values()}) == len(cls.FILES)


# --- task rows -------------------------------------------------------------------------------------------------------

NEWS = "2023-08-01 10:02，正文：某市昨日通报。"
SUMMARY = {"ID": "a", "event": "某市通报", "summary": "通报了。", "text": NEWS, "time": "t", "url": " ", "title": "题"}
QA = {"ID": "a", "event": "e", "news1": NEWS, "questions": "何时？", "answers": "昨日"}
HALLU = {
    "ID": "num_000432",
    "headLine": "题",
    "broadcastDate": "2015-01-02 03:04:05",
    "type": "num",
    "newsBeginning": "开头",
    "hallucinatedContinuation": "错的",
    "generatedBy": "模型",
    "appearedKeywords": ["三", "四"],
    "allKeywords": {"三": "合理", "四": "不合理，应为三"},
    "realContinuation": "真的",
    "newsRemainder": "其余",
    "hallucinatedMod": "改好的",
}
CONTINUATION = {"ID": "a", "event": "e", "beginning": "上半", "continuing": "下半"}
KEYS = dict(zip(TASKS, script()._TASKS.values(), strict=True))


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
        | {
            "all_keywords": [
                {"keyword": "三", "label": "合理"},
                {"keyword": "四", "label": "不合理，应为三"},
            ]
        }
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
    """Lists of one, nulls, absent keys, numbers and structures where text is usual, blank and null documents."""
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
    merged(tmp_path, b"\xef\xbb\xbf" + json.dumps(both).encode())
    assert [row["id"] for config in ("qa_1doc", "qa_2doc") for row in rows(config, "test", tmp_path)] == ["a", "a"]


def without(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


@pytest.mark.parametrize(
    ("config", "record", "message"),
    [
        ("summary", 7, "event_summary row 2 is a int; expected an object"),
        ("summary", None, "event_summary row 2 is a NoneType; expected an object"),
        ("summary", without(SUMMARY, "ID", "text"), "event_summary row 2 has no ID; found the keys event, summary, ti"),
        ("summary", SUMMARY | {"ID": None}, "event_summary row 2 has no ID; found the keys ID, event"),
        ("summary", SUMMARY | {"ID": ""}, "event_summary row 2 has no ID; found the keys"),
        ("summary", SUMMARY | {"ID": "x"}, "event_summary row 2: ID x stands in row 1 too; expected unique IDs"),
        ("summary", without(SUMMARY, "event"), "event_summary row 2 has no event; found the keys ID, summary, text"),
        (
            "summary",
            SUMMARY | {"event": None},
            "event_summary row 2: event is None; expected a string or a list of",
        ),
        ("summary", SUMMARY | {"summary": 3}, "event_summary row 2: summary is 3; expected a string or a list of one"),
        ("continuation", without(CONTINUATION, "beginning"), "continuing_writing row 2 has no beginning; found the"),
        ("hallucination", without(HALLU, "newsBeginning"), "hallu_modified row 2 has no newsBeginning; found the keys"),
        ("qa_1doc", QA | {"questions": ["q", "r"]}, "questanswer_1doc row 2: questions is ['q', 'r']; expected a str"),
        ("qa_1doc", QA | {"questions": []}, "questanswer_1doc row 2: questions is []; expected a string or a list of"),
        ("qa_2doc", QA | {"answers": {"a": 1}}, "questanswer_2docs row 2: answers is {'a': 1}; expected a string or"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, config: str, record: Any, message: str) -> None:
    good = {"qa_1doc": QA, "qa_2doc": QA, "summary": SUMMARY, "continuation": CONTINUATION, "hallucination": HALLU}
    with pytest.raises(QuadragError) as caught:
        one(tmp_path, config, good[config] | {"ID": "x"}, record)
    assert str(caught.value).startswith(f"{tmp_path / SPLIT}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"event_summary": []}, ": event_summary is empty; expected a list of rows"),
        ({"event_summary": {"a": 1}}, ": event_summary is dict; expected a list of rows"),
        ({"event_summary": None}, ": event_summary is NoneType; expected a list of rows"),
        ([SUMMARY], " holds a list; expected a JSON object"),
        (
            '{"event_summary": [{"ID": "a",',
            " is not whole JSON (Expecting property name enclosed in double quotes at",
        ),
        ("", " is not whole JSON (Expecting value at line 1 column 1); fetch it again"),
        ("<html>404</html>", " is not whole JSON (Expecting value at line 1 column 1); fetch it again"),
        ('{"event_summary": "答"}'.encode("gb18030"), " is not UTF-8; expected JSON in UTF-8"),
        (b"PK\x03\x04", " is no whole zip (File is not a zip file); fetch it again"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(QuadragError) as caught:
        rows("summary", "test", merged(tmp_path, content))
    assert str(caught.value).startswith(f"{tmp_path / SPLIT}{message}")
    assert "\n" not in str(caught.value)


def test_an_absent_key_names_the_keys_found(tmp_path: Path) -> None:
    merged(tmp_path, {"event_summary": [SUMMARY], "hallu_modified": [HALLU]})
    message = f"questanswer_1doc in {SPLIT} (it holds event_summary, hallu_modified)"
    with pytest.raises(QuadragError, match=re.escape(f"{tmp_path} lacks {message}, which crud_rag qa_1doc needs")):
        rows("qa_1doc", "test", tmp_path)
    # By the script itself, as `datasets` 3.6 calls it.
    builder = catalogue.builder_class("crud_rag")(config_name="qa_1doc", data_dir=str(tmp_path))
    with pytest.raises(FileNotFoundError, match=re.escape(f"{tmp_path} lacks {message}, {FULL}")):
        builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    merged(tmp_path, {})
    with pytest.raises(QuadragError, match=r"event_summary in .* \(it holds no keys\)"):
        rows("summary", "test", tmp_path)


def test_a_key_absent_from_one_file_leaves_the_other_split(tmp_path: Path) -> None:
    merged(tmp_path, {"event_summary": [SUMMARY]})
    merged(tmp_path, {"questanswer_1doc": [QA]}, FULL)
    for config, expected in (("summary", ["test"]), ("qa_1doc", ["full"])):
        builder, _ = builders.open_builder("crud_rag", config, str(tmp_path))
        assert builders.splits(builder) == expected
        assert [row["id"] for row in builders.rows(builder, expected[0])] == ["a"]
    with pytest.raises(QuadragError, match=re.escape(f"lacks questanswer_1doc in {SPLIT} (it holds event_summary), w")):
        builders.open_builder("crud_rag", "qa_1doc", str(tmp_path), split="test")


# --- where the files are ---------------------------------------------------------------------------------------------


def test_every_layout_will_do(tmp_path: Path) -> None:
    sample = sample_dir("crud_rag")
    flat = tmp_path / "flat"
    flat.mkdir()
    for path in sample.rglob("*"):
        if path.is_file():
            shutil.copy(path, flat / path.name)
    shutil.copytree(sample / "data", tmp_path / "some" / "data")
    for config, root in (("corpus", flat), ("ragquesteval", flat), ("summary", flat)):
        assert {s: rows(config, s, root) for s in EXPECTED[config]} == {s: rows(config, s) for s in EXPECTED[config]}
    for root in (tmp_path / "some", tmp_path / "some" / "data"):
        assert rows("qa_2doc", "full", root) == rows("qa_2doc", "full")
        assert rows("corpus", "corpus", root) == rows("corpus", "corpus")
    assert rows("corpus", "corpus", sample / "data" / "80000_docs") == rows("corpus", "corpus")
    assert rows("ragquesteval", "summary", sample / "src") == rows("ragquesteval", "summary")


@pytest.mark.parametrize("place", ["data/crud/merged.json", "data/crud/merged/merged.json", "crud/merged.json"])
def test_an_unpacked_archive_will_do(tmp_path: Path, place: str) -> None:
    merged(tmp_path, {"event_summary": [SUMMARY]}, place)
    builder, source = builders.open_builder("crud_rag", "summary", str(tmp_path))
    assert builders.splits(builder) == ["full"]
    assert [row["id"] for row in builders.rows(builder, "full")] == ["a"]
    assert source == f"{tmp_path} (merged.json: not upstream's pinned file)"


def test_the_archive_may_hold_folders_and_what_macos_adds(tmp_path: Path) -> None:
    path = tmp_path / "merged.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__MACOSX/crud/._merged.json", b"\0\5\26\7")
        archive.writestr("__MACOSX/crud/merged.json", b"\0\5\26\7")
        archive.writestr("crud/readme.txt", "-")
        archive.writestr("crud/merged.json", json.dumps({"event_summary": [SUMMARY]}))
    assert [row["id"] for row in rows("summary", "full", tmp_path)] == ["a"]


def test_a_bad_archive_is_named(tmp_path: Path) -> None:
    path = merged(tmp_path, {"event_summary": [SUMMARY] * 50}, FULL) / FULL
    whole = path.read_bytes()
    start = f"{path} is no whole zip ("
    for content in (whole[: len(whole) // 2], whole[:100] + bytes(40) + whole[140:], whole[:-30]):
        path.write_bytes(content)
        with pytest.raises(QuadragError) as caught:
            rows("summary", "full", tmp_path)
        assert str(caught.value).startswith(start)
        assert str(caught.value).endswith("); fetch it again")
        assert "\n" not in str(caught.value)
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("1doc_QA.json", "[]")
    path.write_bytes(other.getvalue())
    with pytest.raises(QuadragError, match=re.escape(f"{path} holds no merged.json; found 1doc_QA.json")):
        rows("summary", "full", tmp_path)


def test_a_broken_archive_does_not_keep_the_test_split_from_being_read(tmp_path: Path) -> None:
    merged(tmp_path, {"event_summary": [SUMMARY]})
    merged(tmp_path, "x", FULL)
    (tmp_path / FULL).write_bytes((tmp_path / FULL).read_bytes()[:50])
    assert [row["id"] for row in rows("summary", "test", tmp_path)] == ["a"]
    with pytest.raises(QuadragError, match="is no whole zip"):
        builders.open_builder("crud_rag", "summary", str(tmp_path))


@pytest.mark.parametrize(
    ("config", "split", "lacking"),
    [
        ("summary", "test", SPLIT),
        ("summary", "full", FULL),
        ("summary", None, f"{SPLIT}, {FULL}"),
        ("corpus", "corpus", f"{CORPUS}dup_part_1_part_1 to documents_hallu.txt_part_3"),
        ("ragquesteval", "qa_1doc", QUESTIONS.format("QuestAnswer1Doc")),
    ],
)
def test_a_lacking_file_is_named(tmp_path: Path, config: str, split: str | None, lacking: str) -> None:
    with pytest.raises(QuadragError) as caught:
        builders.open_builder("crud_rag", config, str(tmp_path), split=split)
    assert str(caught.value) == f"{tmp_path} lacks {lacking}, which crud_rag {config} needs"


# --- corpus ----------------------------------------------------------------------------------------------------------


def test_the_corpus_is_one_document_a_line_in_numerical_order(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        dup_part_10_part_1="，正文：丁\n",
        dup_part_2_part_3="7-28 13:35，正文：甲，正文：乙\n\n  \u3000\r\n2023，正文：\n\ufeff\n丙\u2028\x0b\x1c丙",
        hallu_part_1="  无前缀的一篇 \t\u00a0\r\n",
    )
    found = rows("corpus", "corpus", tmp_path)
    assert [(row["file"], row["line"], row["date"], row["body"]) for row in found] == [
        ("documents_dup_part_2_part_3", 1, "7-28 13:35", "甲，正文：乙"),
        ("documents_dup_part_2_part_3", 6, "", "丙\u2028\x0b\x1c丙"),
        ("documents_dup_part_10_part_1", 1, "", "丁"),
        ("documents_hallu.txt_part_1", 1, "", "  无前缀的一篇 \t\u00a0"),
    ]
    assert [row["id"] for row in found] == [body_id(row["body"]) for row in found]
    assert all(row["aliases"] == [] and row["gold"] is False for row in found)


def test_copies_are_aliases_of_the_first(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        dup_part_1_part_1="2023，正文：甲 乙\n丙\n甲\u3000乙\n",
        dup_part_1_part_2="丁\n\ufeff甲\u00a0乙\n",
        hallu_part_3="丙\n7-28 9:05，正文：甲\t乙",
    )
    found = {row["body"]: row for row in rows("corpus", "corpus", tmp_path)}
    assert list(found) == ["甲 乙", "丙", "丁"]
    assert found["甲 乙"]["aliases"] == [
        "documents_dup_part_1_part_1:3",
        "documents_dup_part_1_part_2:2",
        "documents_hallu.txt_part_3:2",
    ]
    assert found["丙"]["aliases"] == ["documents_hallu.txt_part_3:1"]
    assert found["丁"]["aliases"] == []


def test_a_corpus_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    corpus(tmp_path, dup_part_1_part_1="甲\n", dup_part_1_part_2="乙\n丙\n".encode() + "丁".encode("gb18030"))
    path = tmp_path / f"{CORPUS}dup_part_1_part_2"
    with pytest.raises(QuadragError) as caught:
        rows("corpus", "corpus", tmp_path)
    assert str(caught.value) == f"{path}:3 is not UTF-8; expected one document a line, in UTF-8"
    path.write_text("\n \n")
    (tmp_path / f"{CORPUS}dup_part_1_part_1").write_text("")
    with pytest.raises(QuadragError, match=r"part_1, .*part_2: no document; expected one a line"):
        rows("corpus", "corpus", tmp_path)


GOLD_A, GOLD_B, GOLD_C = "2023-08-01，正文：金 甲", "金乙", "，正文：金丙"


@pytest.fixture
def with_gold(tmp_path: Path) -> Path:
    corpus(tmp_path, dup_part_1_part_1="2023，正文：甲\n", hallu_part_1="金 乙\n")
    test = {
        "event_summary": [SUMMARY | {"text": GOLD_A}],
        "questanswer_1doc": [QA | {"news1": GOLD_C}],
        "questanswer_2docs": [QA | {"news1": GOLD_C, "news2": GOLD_A}],
        "hallu_modified": [HALLU, HALLU | {"ID": "b", "newsRemainder": GOLD_B}],
    }
    merged(tmp_path, test)
    return merged(tmp_path, {"event_summary": [SUMMARY | {"text": GOLD_C}]}, FULL)


def test_gold_documents_stand_behind_the_corpus(with_gold: Path) -> None:
    plain = rows("corpus", "corpus", with_gold)
    assert [row["body"] for row in plain] == ["甲", "金 乙"]
    assert rows("corpus", "corpus", with_gold, gold=None) == plain
    found = rows("corpus", "corpus", with_gold, gold="test")
    assert [(row["file"], row["line"], row["body"], row["gold"]) for row in found] == [
        ("documents_dup_part_1_part_1", 1, "甲", False),
        ("documents_hallu.txt_part_1", 1, "金 乙", True),
        ("split_merged.json:questanswer_1doc", 1, "金丙", True),
        ("split_merged.json:questanswer_2docs", 1, "金 甲", True),
        ("split_merged.json:hallu_modified", 1, "其余", True),
    ]
    assert [row["aliases"] for row in found] == [
        [],
        ["split_merged.json:hallu_modified:2"],
        ["split_merged.json:questanswer_2docs:1"],
        ["split_merged.json:event_summary:1"],
        [],
    ]
    assert found[3]["date"] == "2023-08-01"
    ids = {row["id"] for row in found}
    for config in ("summary", "qa_1doc", "qa_2doc", "hallucination"):
        assert all(set(row["document_ids"]) <= ids for row in rows(config, "test", with_gold))
    full = rows("corpus", "corpus", with_gold, gold="full")
    assert [(row["file"], row["gold"]) for row in full[2:]] == [("merged.zip:event_summary", True)]


def test_gold_asks_for_the_task_file(with_gold: Path) -> None:
    builder, source = builders.open_builder("crud_rag", "corpus", str(with_gold), {"gold": "test"})
    assert builder.config.files_of("corpus")[-1] == builder.config.files[-1] == SPLIT
    assert len(builder.config.files) == 49
    assert "(3 of 49 files, lacking documents_dup_part_1_part_2 to documents_dup_part_15_part_3, doc" in source
    (with_gold / SPLIT).unlink()
    with pytest.raises(QuadragError) as caught:
        rows("corpus", "corpus", with_gold, gold="test")
    assert str(caught.value) == f"{with_gold} lacks {SPLIT}, which crud_rag corpus needs"
    merged(with_gold, {"tasks": []})
    with pytest.raises(QuadragError, match=r"split_merged.json holds none of the tasks; found the keys tasks$"):
        rows("corpus", "corpus", with_gold, gold="test")
    shutil.rmtree(with_gold / CORPUS.rsplit("/", 1)[0])
    with pytest.raises(QuadragError, match=r"lacks data/80000_docs/documents_dup_part_1_part_1 to documents_hallu"):
        rows("corpus", "corpus", with_gold, gold="full")


@pytest.mark.parametrize(
    ("config", "gold", "message"),
    [
        ("corpus", "train", "gold is 'train'; expected None, 'test' or 'full'"),
        ("corpus", True, "gold is True; expected None, 'test' or 'full'"),
        ("corpus", "", "gold is ''; expected None, 'test' or 'full'"),
        ("summary", "test", "gold is an option of corpus; summary takes none"),
        ("ragquesteval", "full", "gold is an option of corpus; ragquesteval takes none"),
    ],
)
def test_bad_options_are_named_before_any_row(config: str, gold: Any, message: str) -> None:
    with pytest.raises(QuadragError) as caught:
        builders.open_builder("crud_rag", config, builders.SAMPLE, {"gold": gold})
    assert str(caught.value) == f"crud_rag {config}: {message}"
    with pytest.raises(QuadragError, match="unknown option of crud_rag 'golden'; nearest: gold"):
        builders.open_builder("crud_rag", config, builders.SAMPLE, {"golden": gold})


# --- question files --------------------------------------------------------------------------------------------------


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
    with pytest.raises(QuadragError, match=r"lacks .*Summary_quest_gt_save\.json, which crud_rag ragquesteval needs"):
        builders.open_builder("crud_rag", "ragquesteval", str(tmp_path), split="summary")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, " is empty; expected an object of IDs and their questions"),
        ({"a": ["何时？"]}, ": a is a list; expected an object"),
        ([], " holds a list; expected a JSON object"),
        ('{"a": {', " is not whole JSON (Expecting property name"),
    ],
)
def test_a_bad_question_file_is_named(tmp_path: Path, content: Any, message: str) -> None:
    name = QUESTIONS.format("Summary")
    with pytest.raises(QuadragError) as caught:
        rows("ragquesteval", "summary", merged(tmp_path, content, name))
    assert str(caught.value).startswith(f"{tmp_path / name}{message}")


# --- the script by itself --------------------------------------------------------------------------------------------

LOADED: list[tuple[str, str, dict[str, Any]]] = [
    ("summary", "test", {}),
    ("hallucination", "full", {}),
    ("qa_3doc", "full", {}),
    ("corpus", "corpus", {}),
    ("corpus", "corpus", {"gold": "test"}),
    ("corpus", "corpus", {"gold": "full"}),
    ("ragquesteval", "hallucination", {}),
]


@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
@pytest.mark.parametrize(("config", "split", "options"), LOADED)
def test_datasets_3_runs_the_script_folder(config: str, split: str, options: dict[str, Any], streaming: bool) -> None:
    import datasets

    if int(datasets.__version__.split(".")[0]) >= 4:
        pytest.skip(f"datasets {datasets.__version__} runs no scripts; 3.6.0 does")
    folder = catalogue.benchmarks()["crud_rag"].parent
    loaded = datasets.load_dataset(
        str(folder),
        config,
        split=split,
        streaming=streaming,
        trust_remote_code=True,
        data_dir=str(folder / "sample"),
        **options,
    )
    assert list(loaded) == rows(config, split, **options)


@pytest.mark.parametrize(("config", "split", "options"), LOADED)
def test_built_streamed_and_read_rows_are_the_same(
    tmp_path: Path, config: str, split: str, options: dict[str, Any]
) -> None:
    builder = catalogue.builder_class("crud_rag")(config_name=config, **options)
    builders.point_to(builder, sample_dir("crud_rag"))
    expected = rows(config, split, **options)
    assert list(builder.as_streaming_dataset(split=split)) == expected
    builder.download_and_prepare(output_dir=str(tmp_path))
    assert list(builder.as_dataset(split=split)) == expected


DOWNLOAD = """
import json, sys
from pathlib import Path
from quadrag import catalogue
path, config, split, streaming = sys.argv[1:]
module = catalogue.load_script(Path(path))
builder = module.CrudRag(config_name=config)
try:
    if streaming == "True":
        rows = list(builder.as_streaming_dataset(split=split))
    else:
        builder.download_and_prepare()
        rows = list(builder.as_dataset(split=split))
except Exception as error:
    while error.__cause__:
        error = error.__cause__
    rows = f"{type(error).__name__}: {error}"
print(json.dumps(rows))
"""


def blob(path: Path) -> str:
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.fixture
def upstream() -> Any:
    """A server that has the sample where upstream has its files."""
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(sample_dir("crud_rag")))
    )
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
def test_without_a_folder_the_script_downloads_and_verifies(
    tmp_path: Path,
    python: Callable[..., Any],
    environment: Callable[..., dict[str, str]],
    upstream: str,
    streaming: bool,
) -> None:
    import datasets

    if streaming and int(datasets.__version__.split(".")[0]) >= 4:
        pytest.skip(f"datasets {datasets.__version__} streams no remote file; quadrag gives it a folder")
    text = catalogue.benchmarks()["crud_rag"].read_text(encoding="utf-8")
    text, changed = re.subn('^_URL = ".*"', f'_URL = "{upstream}"', text, flags=re.M)
    assert changed == 1
    (tmp_path / "crud_wrong.py").write_text(text, encoding="utf-8")
    pinned = catalogue.builder_class("crud_rag").FILES
    for name in (SPLIT, FULL):
        assert text.count(pinned[name][2]) == 1
        text = text.replace(pinned[name][2], blob(sample_dir("crud_rag") / name))
    (tmp_path / "crud_right.py").write_text(text, encoding="utf-8")
    env = environment(HF_HUB_OFFLINE=None)
    right = python(DOWNLOAD, tmp_path / "crud_right.py", "qa_1doc", "full", streaming, env=env)
    assert json.loads(right.stdout) == rows("qa_1doc", "full")
    if not streaming:
        wrong = json.loads(python(DOWNLOAD, tmp_path / "crud_wrong.py", "qa_1doc", "full", streaming, env=env).stdout)
        found = blob(sample_dir("crud_rag") / SPLIT)
        assert wrong == (
            f"ValueError: {upstream}{SPLIT}: git blob id {found}, expected {pinned[SPLIT][2]}; removed, load it again"
        )


def test_quadrag_fetches_what_the_split_needs_alone(
    tmp_path: Path, upstream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = catalogue.builder_class("crud_rag")
    sample = sample_dir("crud_rag")
    here = {name: (None, None, blob(sample / name)) for name in (SPLIT, FULL)}
    monkeypatch.setattr(cls, "FILES", {**cls.FILES, **here})
    monkeypatch.setattr(cls, "URL", upstream)
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path))
    builder, source = builders.open_builder("crud_rag", "summary", split="test")
    fetched = tmp_path / "upstream" / "crud_rag"
    assert [path for path in fetched.rglob("*") if path.is_file()] == [fetched / SPLIT]
    assert source == UPSTREAM_SOURCE
    assert builders.splits(builder) == ["test"]
    assert list(builders.rows(builder, "test")) == rows("summary", "test")
    builder, _ = builders.open_builder("crud_rag", "summary")
    assert (fetched / FULL).is_file()
    assert builders.splits(builder) == ["test", "full"]
    assert list(builders.rows(builder, "full")) == rows("summary", "full")


if __name__ == "__main__":
    json.dump(all_golden(), sys.stdout, ensure_ascii=False, indent=1)
    print()

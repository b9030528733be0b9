"""The dataset script `crag`: configs and splits, what a row holds, oddities."""

import bz2
from pathlib import Path
from typing import Any

import pytest
from crag_files import EXAMPLE, FIVE, PARTS, QA, lines, put, record, refusal, rows

from quadrag import catalogue

PAGED = [*QA, "search_results", "page_result"]
NEEDED = ("interaction_id", "query", "answer", "split", "search_results")


def one(tmp_path: Path, config: str = "task_1_2", **changes: Any) -> dict[str, Any]:
    put(tmp_path, bz2.compress(lines(record(**changes))))
    (row,) = rows(config, "validation", tmp_path)
    return row


def test_files_are_the_pinned_ones_in_the_parts_order() -> None:
    cls = catalogue.builder_class("crag")
    used = {EXAMPLE}
    for release in ("v5", "v4"):
        for name in catalogue.configs("crag"):
            config = cls(config_name=name, release=release).config
            expected = PARTS[release] if name == "task_3" else [FIVE[release]]
            assert config.files == config.files_of("public") == config.files_of("validation") == expected
            assert config.files_of("private") == []
            used |= set(expected)
    assert used == set(cls.FILES)


def test_what_a_row_holds(tmp_path: Path) -> None:
    expected = {
        **{"id": "id-0", "query_time": "03/13/2024, 09:30:59 PT", "domain": "open", "question_type": "simple"},
        **{"static_or_dynamic": "static", "popularity": "head", "query": "who?", "answer": "she", "alternatives": []},
    }
    assert one(tmp_path, "qa") == expected
    page = {"page_name": "n", "page_url": "u", "page_snippet": "s", "page_last_modified": ""}
    paged = {"search_results": [page, page | {"page_url": "v"}], "page_result": ["<p>r</p>"] * 2}
    assert one(tmp_path) == expected | paged
    assert list(one(tmp_path)) == PAGED


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"answer": "nan"}, {"answer": "nan"}),
        ({"answer": float("nan")}, {"answer": "nan"}),
        ({"answer": None}, {"answer": None}),
        ({"answer": 12}, {"answer": "12"}),
        ({"answer": ""}, {"answer": ""}),
        ({"answer": "[1, 2]"}, {"answer": "[1, 2]"}),
        ({"answer": ["a", ["b", "c"]], "alt_ans": ["d", "b"]}, {"answer": "a", "alternatives": ["b", "c", "d"]}),
        ({"answer": []}, {"answer": None, "alternatives": []}),
        ({"alt_ans": None, "alternative_answers": "['a']"}, {"alternatives": ["a"]}),
        ({"alt_ans": ["a", "b"], "alternative_answers": '["b", "c"]'}, {"alternatives": ["a", "b", "c"]}),
        ({"popularity": ""}, {"popularity": "web"}),
        ({"popularity": None}, {"popularity": None}),
        ({"popularity": float("nan")}, {"popularity": None}),
        ({"domain": None, "query_time": float("nan")}, {"domain": None, "query_time": None}),
        ({"split": "0"}, {"id": "id-0"}),
        ({"question_type": "post-processing heavy"}, {"question_type": "post-processing heavy"}),
        ({"query": "caf\u00e9 \ud83d"}, {"query": "caf\u00e9 \ufffd"}),
        ({"search_results": None}, {"search_results": [], "page_result": []}),
        ({"search_results": []}, {"search_results": [], "page_result": []}),
        (
            {"search_results": [{"page_result": None, "page_last_modified": " Tue, 27 Feb 2024 22:55:55 GMT"}, {}]},
            {
                "search_results": [
                    dict.fromkeys(("page_name", "page_url", "page_snippet"), "")
                    | {"page_last_modified": " Tue, 27 Feb 2024 22:55:55 GMT"},
                    dict.fromkeys(("page_name", "page_url", "page_snippet", "page_last_modified"), ""),
                ],
                "page_result": ["", ""],
            },
        ),
        (
            {"search_results": [{"page_result": "\ud83d\ude00 \udc00 \x00 \u2028"}]},
            {"page_result": ["\U0001f600 \ufffd \x00 \u2028"]},
        ),
    ],
)
def test_oddities_are_taken(tmp_path: Path, changes: dict[str, Any], expected: dict[str, Any]) -> None:
    row = one(tmp_path, **changes)
    assert {key: row[key] for key in expected} == expected
    row_of_qa = one(tmp_path, "qa", **changes)
    assert row_of_qa == {key: row[key] for key in QA}


def test_odd_rows_are_written_and_read_back(tmp_path: Path) -> None:
    odd = [
        record(0, answer=float("nan"), popularity="", search_results=[{"page_result": "\ud800\x00\U0001f600"}]),
        record(2, answer=None, alt_ans="[nan, '\\ud800']", search_results=[]),
    ]
    put(tmp_path, bz2.compress(lines(*odd)))
    builder = catalogue.builder_class("crag")(config_name="task_1_2", data_dir=str(tmp_path))
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert list(builder.as_dataset(split="validation")) == rows("task_1_2", "validation", tmp_path)


def test_keys_that_v4_and_the_example_lack(tmp_path: Path) -> None:
    bare = {key: value for key, value in record().items() if key not in ("popularity", "alt_ans")}
    put(tmp_path, bz2.compress(lines(bare)), FIVE["v4"])
    (row,) = rows("qa", "validation", tmp_path, release="v4")
    assert (row["popularity"], row["alternatives"]) == (None, [])


def test_line_ends_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + lines(record(0)).replace(b"\n", b"\r\n") + b"\n  \r\n" + lines(record(2)).rstrip()
    assert [row["id"] for row in rows("qa", "validation", put(tmp_path, bz2.compress(text)))] == ["id-0", "id-2"]


LINE = record(3)
BAD = [
    ([1], "list"),
    *(({name: LINE[name] for name in LINE if name != key}, key) for key in LINE if key in NEEDED),
    *((record(3, interaction_id=value), f"interaction_id is {value!r}") for value in ("", 7)),
    (record(3, query=None), "query is None"),
    *((record(3, split=value), f"split is {value!r}") for value in (2, True, None)),
    *((record(3, search_results=value), "search_results") for value in ("[]", ["a"])),
]


@pytest.mark.parametrize(("bad", "named"), BAD)
def test_a_bad_row_is_named(tmp_path: Path, bad: Any, named: str) -> None:
    put(tmp_path, bz2.compress(lines(record(1)) + b"\n" + lines(bad)))
    said = refusal("task_1_2", "public", tmp_path)
    assert said.startswith(f"{tmp_path / FIVE['v5']}:3") and named in said

"""Properties of CRUD-RAG's documents: where the body begins, what the identity ignores, how copies are folded."""

import hashlib
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from quadrag import catalogue
from quadrag.data.builders import open_builder, rows
from quadrag.data.files import sample_dir

MARK = "，正文："
SPACES = [*re.findall(r"\s", "".join(map(chr, range(sys.maxunicode + 1)))), "\ufeff"]
script = catalogue.load_script(catalogue.benchmarks()["crud_rag"])

# Texts in which marks, halves of marks and odd spaces are frequent.
pieces = st.sampled_from([MARK, "，正文", "：", "甲", "乙丙", " ", "\u3000", "\u00a0", "\ufeff", "\u2028", "x" * 70])
texts = st.lists(pieces, max_size=12).map("".join) | st.text(max_size=30)


@given(texts)
def test_prefix_and_body_make_the_text_again(text: str) -> None:
    date, body = script.split_document(text)
    assert text in (date + MARK + body, body)
    if text == body:
        assert date == ""
        assert not 0 <= text.find(MARK) < 220
    else:
        assert MARK not in date + MARK[:-1]
        assert len(date) < 220


@given(st.integers(200, 240), st.text(alphabet="甲 x", max_size=5))
def test_a_mark_counts_when_it_begins_within_220_characters(length: int, rest: str) -> None:
    date, body = script.split_document("前" * length + MARK + rest)
    assert (date, body) == (("前" * length, rest) if length < 220 else ("", "前" * length + MARK + rest))


def test_splitting_at_white_space_ignores_what_the_specification_ignores() -> None:
    assert len(SPACES) == 30
    text = "".join(f"字{space}" for space in SPACES)
    assert script.document_id(text) == hashlib.sha256("字".encode() * 30).hexdigest()


@given(texts)
def test_the_identity_is_the_specification_s(body: str) -> None:
    bare = re.sub(r"[\s\ufeff]", "", body)
    assert script.document_id(body) == hashlib.sha256(bare.encode()).hexdigest()
    assert script.document_id(bare) == script.document_id(body)


line_texts = st.text(alphabet="甲乙 \ufeff\u00a0，", max_size=3) | st.just("7-28，正文：甲")
lines = st.lists(line_texts, min_size=1, max_size=8)


@settings(deadline=None)  # files are written
@given(st.lists(lines, min_size=1, max_size=4), st.booleans())
def test_every_line_with_a_body_is_a_row_or_an_alias_once(files: list[list[str]], ended: bool) -> None:
    expected: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, content in enumerate(files, 1):
            name = f"documents_dup_part_{number}_part_1"
            Path(folder, name).write_text("\n".join(content) + ("\n" if ended else ""), encoding="utf-8", newline="\n")
            for line, text in enumerate(content, 1):
                body = text.removeprefix("7-28，正文：")
                if body.strip(" \ufeff\u00a0"):
                    expected.setdefault(script.document_id(body), []).append(f"{name}:{line}")
        if not expected:
            return
        builder, _ = open_builder("crud_rag", "corpus", folder)
        found: list[dict[str, Any]] = list(rows(builder, "corpus"))
    assert {row["id"]: [f"{row['file']}:{row['line']}", *row["aliases"]] for row in found} == expected
    assert [row["id"] for row in found] == list(expected)


def test_whole_files_are_as_they_stand_with_the_article_of_each_line() -> None:
    plain = {row["id"] for row in rows(open_builder("crud_rag", "corpus", "sample", {"gold": "test"})[0], "corpus")}
    builder, _ = open_builder("crud_rag", "corpus", "sample", {"gold": "test", "whole": True})
    found = list(rows(builder, "corpus"))
    folder = sample_dir("crud_rag") / "data" / "80000_docs"
    for row in found:
        lines = row["body"].split("\n")
        assert len(lines) == len(row["aliases"])
        if row["gold"]:
            assert set(row["aliases"]) == {row["id"]} == {script.document_id(script.split_document(row["body"])[1])}
        else:
            assert row["body"].encode() == (folder / row["id"]).read_bytes()
    assert {key for row in found for key in row["aliases"]} - {""} == plain

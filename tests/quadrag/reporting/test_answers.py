"""Passages that a user's system returns: known by ids or by texts, or told why its search is not measured."""

import json
from pathlib import Path
from typing import Any

import pytest

import quadrag
from quadrag.records import write_jsonl
from quadrag.results import NoteCode
from quadrag.results.check import check_validity

pytestmark = pytest.mark.plugins

PLACE = ("crud_rag", "qa_1doc")
GOLD = "04d531668ae56803018ec27866104335fe24d45145f4c64d89df6ba2957dff01"
SAMPLE = ("--data-dir", "sample")
NO_GOLD = "no_gold_option"


@pytest.fixture(scope="module")
def corpus() -> list[Any]:
    return list(quadrag.corpus("crud_rag", data_dir="sample", gold="test"))


# What a search returns, given the corpus and the gold document: recall, and why it is not measured.
SEARCHES: dict[str, tuple[Any, float | None, str | None]] = {
    "hit": (lambda corpus, gold: [GOLD], 0.125, None),
    "others": (lambda corpus, gold: corpus[48:56], 0.0, NO_GOLD),
    "nothing": (lambda corpus, gold: [], None, "why"),
    "silent": (lambda corpus, gold: None, None, "why"),
    "text": (lambda corpus, gold: [{"text": gold.text}], 0.125, None),
    "other texts": (
        lambda corpus, gold: [{"text": one.text.replace("。", "。\n")} for one in corpus[48:52]],
        0.0,
        NO_GOLD,
    ),
    "pieces": (
        lambda corpus, gold: [{"text": one.text[at : at + 40]} for at, one in enumerate(corpus[48:52])],
        0.0,
        NO_GOLD,
    ),
    "own id": (lambda corpus, gold: [{"id": "a-1", "text": corpus[48].text}], None, "why"),
    "short": (lambda corpus, gold: [{"text": corpus[48].text[:20]}], None, "why"),
    "short gold": (lambda corpus, gold: [{"id": "a-1", "text": gold.text[:20]}], None, "why"),
    "unlike": (lambda corpus, gold: [{"id": "a-1", "text": "春风又绿江南岸，" * 9}], None, "why"),
    "cut id": (lambda corpus, gold: [GOLD[:14]], None, "why"),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_what_a_search_that_is_one_s_own_comes_to(cli, corpus, name):
    make, value, kind = SEARCHES[name]
    given = make(corpus, next(one for one in corpus if one.id == GOLD))
    found = quadrag.evaluate(*PLACE, lambda question: (question.query, given), data_dir="sample", out="r")
    assert found["recall@8"].value == value
    notes = [note for note in check_validity(found.result) if note.code is NoteCode.RETRIEVAL_UNMEASURED]
    assert [note.params["kind"] for note in notes] == ([kind] if kind else [])
    if name not in ("others", "nothing", "silent"):
        rows = [
            {"id": one.id, "answer": one.query, "passages": given}
            for one in quadrag.questions(*PLACE, data_dir="sample")
        ]
        write_jsonl(
            Path("mine.jsonl"), [json.loads(json.dumps(row, default=lambda one: one._asdict())) for row in rows]
        )
        task = ("--benchmark", PLACE[0], "--config", PLACE[1], *SAMPLE)
        assert cli("score", "mine.jsonl", *task, "--out", "f").code == 0
        assert quadrag.result("f")["recall@8"].value == value, "a file is told alike"


def test_answers_without_passages_count_as_0(cli):
    asked = [question.id for question in quadrag.questions(*PLACE, data_dir="sample")]

    def answer(question: Any) -> Any:
        return (question.id, [GOLD]) if question.id in asked[:5] else question.id

    found = quadrag.evaluate(*PLACE, answer, data_dir="sample", out="some")
    (note,) = [note for note in check_validity(found.result) if note.code is NoteCode.RETRIEVAL_UNMEASURED]
    assert found["recall@8"].n == 8 and note.params == {"kind": "bare", "count": 3, "total": 8}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (lambda one: "", NoteCode.EMPTY_ANSWERS),
        (lambda one: "不知道。", NoteCode.SAME_ANSWER),
        (lambda one: f"想法：{one.query}<response>不知道</response>以上。", NoteCode.SAME_ANSWER),
        (lambda one: one.query, None),
    ],
)
def test_answers_that_are_empty_or_one_text_are_told_of(cli, said, told):
    found = quadrag.evaluate(*PLACE, said, data_dir="sample", out="r")
    codes = NoteCode.EMPTY_ANSWERS, NoteCode.SAME_ANSWER
    notes = [note for note in check_validity(found.result) if note.code in codes]
    assert [(note.code, note.params["count"]) for note in notes] == ([(told, 8)] if told else [])

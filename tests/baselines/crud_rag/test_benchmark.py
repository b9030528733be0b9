"""How CRUD-RAG's tasks query, prompt, parse and score."""

import pytest
from specs import spec_of

from quadrag.baselines.crud_rag import benchmark as crud_rag
from quadrag.data.builders import open_builder
from quadrag.parts import Retrieval
from quadrag.prompts import load_prompts
from quadrag.records import Passage

TASKS = crud_rag.TASKS


def questions(config, **options):
    builder, _ = open_builder("crud_rag", config, "sample", None, "test")
    return list(crud_rag.questions(builder, "test", options))


def shown(*texts):
    return [Passage(f"d{n}#0", "", text) for n, text in enumerate(texts)]


@pytest.mark.parametrize("config", TASKS)
def test_every_task_shows_its_texts_and_what_was_found(config):
    question = questions(config)[0]
    (message,) = crud_rag.messages(question, shown("甲", "乙"), load_prompts("crud_rag"), "dense")
    assert message["role"] == "user"
    for text in (*question.slots.values(), "甲\n\n乙"):
        assert message["content"].count(text) == 1
    assert "{" not in message["content"]
    assert ("<response>" in message["content"]) == (config != "continuation")


def test_what_bm25_found_is_joined_by_one_line_break_as_in_the_authors_runs():
    (message,) = crud_rag.messages(questions("summary")[0], shown("甲", "乙"), load_prompts("crud_rag"), "bm25")
    assert "甲\n乙" in message["content"] and "甲\n\n乙" not in message["content"]


@pytest.mark.parametrize("text", ["{question}", "{search_documents}", "{}", "{0} %s \\1", "</p>"])
def test_nothing_in_a_passage_is_taken_for_a_slot(text):
    (message,) = crud_rag.messages(questions("qa_1doc")[0], shown(text, "b"), load_prompts("crud_rag"), "dense")
    assert f"{text}\n\nb" in message["content"]


def test_a_passage_spells_no_tag_of_the_prompt():
    (message,) = crud_rag.messages(questions("qa_1doc")[0], shown("x</response >"), load_prompts("crud_rag"), "dense")
    assert "x\\u003c/response >" in message["content"]


def test_hallucination_is_searched_by_the_beginning_or_as_the_paper_says_with_its_continuation():
    code, paper = questions("hallucination"), questions("hallucination", query="paper")
    for one, other in zip(code, paper, strict=True):
        assert one.query == one.slots["begin"] == other.slots["begin"]
        assert other.query == one.query + one.slots["hallu_continue"] and len(other.query) > len(one.query)
    assert [q.query for q in questions("summary", query="paper")] == [q.query for q in questions("summary")]


@pytest.mark.parametrize(
    ("reply", "scored"),
    [
        ("<response>甲</response>", "甲"),
        ("想一想。<response>草稿</response>再看。<response>\n 甲 \n</response>以上。", "甲"),
        ("<response>甲", "甲"),
        ("甲", "甲"),
        ("<response></response>", ""),
        ("<response>甲<response>乙</response></response>", "乙"),
    ],
)
def test_what_stands_after_the_last_tag_is_scored(reply, scored):
    assert crud_rag.parse("qa_1doc", reply) == scored


def test_retrieval_is_measured_only_with_the_gold_documents_in_the_corpus():
    def metrics(retriever, options):
        return crud_rag.metrics(spec_of("crud_rag", "qa_1doc", None, None, retriever, Retrieval(top_k=8), options))

    gold = {"gold": "test"}
    for unranked in (metrics("bm25", {}), metrics("none", gold)):
        assert [metric.module for metric in unranked] == ["crud_overlap", "ragquesteval"]
    assert [metric.module for metric in metrics("bm25", gold)] == ["crud_overlap", "ragquesteval", "retrieval_ranking"]
    keys = metrics("bm25", gold)[-1].keys
    assert {key for key in keys if key.startswith("recall")} == {"recall@1", "recall@5", "recall@8"}

"""OmniEval's questions, prompts and metrics, one by one: conversations in three forms, references, what is judged."""

import ast
from typing import Any

import pytest
from specs import spec_of

from quadrag.baselines.omnieval import benchmark as omnieval
from quadrag.data.builders import open_builder
from quadrag.parts import Retrieval
from quadrag.prompts import load_prompts
from quadrag.records import Passage, Question

PROMPTS = load_prompts("omnieval")
TALK = "auto/insurance/life/conversational_qa/1"


def questions(split: str = "auto", config: str = "all", **options: Any) -> dict[str, Question]:
    builder, _ = open_builder("omnieval", config, "sample", None, split)
    return {question.id: question for question in omnieval.questions(builder, split, options)}


@pytest.fixture(scope="module")
def by_form() -> dict[str, dict[str, Question]]:
    """Every question of the sample, with conversations in each of the three forms."""
    return {how: questions(conversation=how) for how in ("turns", "text", "repr")}


def made(history: Any, slots: dict[str, str] | None = None, **more: Any) -> Question:
    slots = slots or {"question": "那么税率呢？", "asked": "那么税率呢？"}
    return Question("omnieval", "all", "auto", "x", slots["question"], None, "zh", slots=slots, history=history, **more)


def test_every_question_of_the_sample_stands_in_a_topic_a_task_and_their_cell(table, by_form):
    assert len(table) == len(by_form["turns"]) == 208
    for ident, question in by_form["turns"].items():
        row = table[ident]
        assert dict(question.slices) == {
            "topic": row["topic"],
            "task": row["task"],
            "cell": f"{row['topic']}/{row['task']}",
        }
        assert question.references == row["answers"] and question.slots["asked"] == row["question"]
        assert list(question.relevant) == list(dict.fromkeys(row["relevant_node_ids"])) and question.relevant
    assert len({question.slices["cell"] for question in by_form["turns"].values()}) == 80


def test_the_protocols_form_holds_the_questions_before_numbered_from_0_and_no_answers(by_form):
    one, two, three = (by_form["text"][f"{TALK}.{number}"] for number in (1, 2, 3))
    first, second, third = (question.slots["asked"] for question in (one, two, three))
    assert one.query == f"\n历史对话问题记录：\n当前问题：{first}"
    assert two.query == f"\n历史对话问题记录：0-round: {first}\n当前问题：{second}"
    assert three.query == f"\n历史对话问题记录：0-round: {first}\n1-round: {second}\n当前问题：{third}"
    assert all(question.slots["question"] == question.query for question in (one, two, three))
    assert [asked for asked, _ in three.history] == [first, second] and one.history == ()


def test_quirk_the_authors_give_search_and_prompt_a_python_list_the_first_round_included(by_form):
    asked = [by_form["repr"][f"{TALK}.{number}"] for number in (1, 2, 3)]
    for number, question in enumerate(asked, 1):
        said = [before.slots["asked"] for before in asked[:number]]
        assert ast.literal_eval(question.query) == said and question.query == str(said)
        assert question.slots["question"] == question.query
        (_, user) = omnieval.messages(question, (), PROMPTS, "bm25")
        assert user["content"] == f"问题: {said!s}\n答案:"
    assert asked[0].query.startswith("['") and asked[0].query.endswith("']")


def test_turns_stand_before_the_question_as_a_chat(by_form):
    three = by_form["turns"][f"{TALK}.3"]
    one, two = (by_form["turns"][f"{TALK}.{number}"] for number in (1, 2))
    assert one.query == one.slots["question"] == one.slots["asked"], "a first round needs no form"
    assert two.query == by_form["text"][two.id].query and two.slots["question"] == two.slots["asked"] != two.query
    found = omnieval.messages(three, (), PROMPTS, "bm25")
    assert [message["role"] for message in found] == ["system", "user", "assistant", "user", "assistant", "user"]
    said = [text for turn in three.history for text in turn]
    assert [message["content"] for message in found[1:-1]] == said
    assert found[-1]["content"] == f"问题: {three.slots['asked']}\n答案:"
    for how in ("text", "repr"):
        assert len(omnieval.messages(by_form[how][three.id], (), PROMPTS, "bm25")) == 2, "all in one message"


@pytest.mark.parametrize(
    ("history", "roles", "first"),
    [
        ((("甲", None),), ["user"], "甲\n问题: 那么税率呢？\n答案:"),
        ((("甲", None), ("乙", "二")), ["user", "assistant", "user"], "甲\n乙"),
        ((("甲", "一"), ("乙", None)), ["user", "assistant", "user"], "甲"),
        ((("甲", ""),), ["user", "assistant", "user"], "甲"),
        ((), ["user"], "问题: 那么税率呢？\n答案:"),
    ],
)
def test_a_turn_without_an_accepted_answer_leaves_the_roles_in_turn(history, roles, first):
    found = omnieval.messages(made(history), (), PROMPTS, "bm25")[1:]
    assert [message["role"] for message in found] == roles
    assert found[0]["content"] == first
    assert all(isinstance(message["content"], str) for message in found)
    assert found[-1]["content"].endswith("问题: 那么税率呢？\n答案:")


def test_quirk_a_references_title_is_the_first_line_of_its_text_and_the_title_field_is_unused():
    passages = [
        Passage("a", "不用的标题", "年报\n净利润 3.2亿元\n次行", 1.0),
        Passage("b", "", "只有一行", 0.5),
        Passage("c", "", "\n空首行", 0.4),
    ]
    system, user = omnieval.messages(made(()), passages, PROMPTS, "bm25")
    lines = "Doc 1(Title: 年报) 净利润 3.2亿元\n次行\nDoc 2(Title: 只有一行) \nDoc 3(Title: ) 空首行\n"
    assert system["role"] == "system" and system["content"].endswith(lines)
    assert "不用的标题" not in system["content"] and user["content"] == "问题: 那么税率呢？\n答案:"


def test_braces_in_texts_are_left_as_they_are():
    slots = {"question": "{reference} 和 {asked}?", "asked": "{reference} 和 {asked}?"}
    system, user = omnieval.messages(made((), slots), [Passage("a", "", "甲\n{question}{x}", 1.0)], PROMPTS, "bm25")
    assert user["content"] == "问题: {reference} 和 {asked}?\n答案:"
    assert system["content"].endswith("Doc 1(Title: 甲) {question}{x}\n")


@pytest.mark.parametrize(
    ("retriever", "keys"),
    [
        ("bm25", "em f1 rouge_l acc hal com utl nac map mrr recall@5"),
        ("none", "em f1 rouge_l acc com nac"),
    ],
)
def test_what_is_measured_depends_on_whether_passages_are_shown(retriever, keys):
    found = omnieval.metrics(spec_of("omnieval", "all", retriever=retriever, retrieval=Retrieval(top_k=5)))
    assert [key for metric in found for key in metric.keys] == keys.split()
    judged = [metric for metric in found if metric.module == "omnieval"]
    assert all(metric.keys == metric.judged == (metric.config,) for metric in judged)
    assert [metric.config for metric in judged if metric.contexts] == [k for k in ("hal", "utl") if k in keys]

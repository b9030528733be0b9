"""OmniEval's conversations in their three forms: what is searched for, what the model is sent, what the judge sees."""

import ast
import json
from collections.abc import Callable
from typing import Any

import pytest
from omnieval_judges import material
from omnieval_runs import AUTO, House


@pytest.fixture(scope="module")
def conversations(house: House) -> Callable[[str], tuple[list[dict[str, Any]], dict[str, Any]]]:
    """A function that runs one topic's conversations in a form: the requests, and the passages by id."""
    done: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {}

    def ran(how: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        if how not in done:
            options = ("--option", f"conversation={how}", "--limit", "13", "--out", f"talk-{how}")
            bodies = house.asked(*AUTO, *house.models(ledger=f"talk-{how}"), *options)
            done[how] = bodies, house.lines(f"talk-{how}", "retrieved.jsonl")
        return done[how]

    return ran


@pytest.mark.slow
def test_the_three_forms_reach_search_and_prompt_and_the_judge_sees_the_question_in_each(conversations, table):
    talks = [row for row in list(table.values())[:13] if row["task"] == "conversational_qa"]
    assert max(len(row["history"]) for row in talks) == 2
    seen = {}
    for how in ("turns", "text", "repr"):
        bodies, _ = conversations(how)
        answers = [body["messages"] for body in bodies if body["model"] == "m"]
        by_last = {messages[-1]["content"]: messages for messages in answers}
        for row in talks:
            before = [turn["question"] for turn in row["history"]]
            rounds = "\n".join(f"{number}-round: {asked}" for number, asked in enumerate(before))
            said = {
                "turns": row["question"],
                "text": f"\n历史对话问题记录：{rounds}\n当前问题：{row['question']}",
                "repr": repr([*before, row["question"]]),
            }[how]
            messages = by_last[f"问题: {said}\n答案:"]
            between = [text for turn in row["history"] for text in (turn["question"], turn["answer"])]
            assert [message["content"] for message in messages[1:-1]] == (between if how == "turns" else [])
        verdicts = [material(body["messages"]) for body in bodies if body["model"] == "j"]
        seen[how] = {(v["question"], json.dumps(v["history"])) for v in verdicts}
    assert seen["turns"] == seen["text"] == seen["repr"]
    assert {(row["question"], json.dumps(row["history"])) for row in talks} <= seen["turns"]


def test_quirk_the_authors_list_is_searched_for_too(conversations, house, table):
    """Brackets and quotation marks are no terms of BM25; without the form's words a list finds by other scores."""
    found = {how: conversations(how)[1] for how in ("turns", "text", "repr")}
    for row in list(table.values())[:13]:
        scores = {
            how: [passage["score"] for passage in passages[row["id"]]["passages"]] for how, passages in found.items()
        }
        if row["task"] != "conversational_qa":
            assert scores["turns"] == scores["text"] == scores["repr"]
        elif row["history"]:
            assert scores["turns"] == scores["text"] != scores["repr"]
        else:
            assert scores["turns"] == scores["repr"] != scores["text"]
    inputs = json.loads((house.folder / "talk-repr" / "run.json").read_text(encoding="utf-8"))["digests"]
    assert inputs["options"] == {"conversation": "repr"}
    for body in conversations("repr")[0]:
        if body["model"] == "m" and body["messages"][-1]["content"].startswith("问题: ["):
            assert ast.literal_eval(body["messages"][-1]["content"].removeprefix("问题: ").removesuffix("\n答案:"))

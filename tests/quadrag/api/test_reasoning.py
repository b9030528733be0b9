"""What a model thought is parted off its answer at every entrance alike, and kept beside it."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from chat_server import ChatServer, Rule
from hypothesis import given
from hypothesis import strategies as st
from own_system import measure
from rag_server import RagServer

from quadrag.chat.reply import read_answer, split_reasoning
from quadrag.cli import main
from quadrag.harnesses.examination import Examination
from quadrag.records import read_jsonl

pytestmark = pytest.mark.plugins

PLACE = ("rgb", "noise_robustness_en")
DATA = ["--split", "noise_0", "--data-dir", "sample"]
SAID = "I cannot tell from the texts."
CASES = yaml.safe_load((Path(__file__).parent / "reasoning.yaml").read_text("utf-8"))


def asked(cases):
    """Each question with a text that was written for it, and the answer and the reasoning in it."""
    examination = Examination(*PLACE, "noise_0", {"data_dir": "sample"})
    found = {}
    for at, question in enumerate(examination.questions):
        gold = question.references
        while not isinstance(gold, str):
            gold = gold[0]
        text, answer, reasoning = (
            part and part.replace("GOLD", gold).replace("SAID", SAID) for part in cases[at % len(cases)]
        )
        found[question.id] = (text, answer, reasoning)
    return examination, found


def by_function(texts, examination):
    measure(lambda question: np.str_(texts[question.id]), *PLACE, split="noise_0", out="out")


def by_file(texts, examination):
    rows = [{"id": ident, "answer": text} for ident, text in texts.items()]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    main(["score", "a.jsonl", "--benchmark", PLACE[0], "--config", PLACE[1], *DATA, "--out", "out"])


def by_log_of_lm_eval(texts, examination):
    rows = [
        {"doc": examination.document(one), "resps": [[texts[one.id]]], "filtered_resps": [texts[one.id]]}
        for one in examination.questions
    ]
    Path("samples_a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    main(["score", "samples_a.jsonl", "--benchmark", PLACE[0], "--config", PLACE[1], *DATA, "--out", "out"])


def by_service(texts, examination):
    with RagServer([("d", "", "text")], answers=texts) as server:
        main(["run", *PLACE, *DATA, "--rag", server.url, "--ledger", "L", "--out", "out"])


def by_model(texts, examination):
    rules = [Rule("reply", match=one.query, message={"content": texts[one.id]}) for one in examination.questions]
    with ChatServer(rules=rules) as server:
        main(["run", *PLACE, *DATA, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "out"])


ROUTES = [by_function, by_file, by_log_of_lm_eval, by_service, by_model]


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.filterwarnings("ignore:INVALID")
def test_it_is_parted_off_and_kept_by_every_route(route, kind):
    examination, found = asked(CASES[kind])
    texts = {ident: text for ident, (text, _, _) in found.items()}
    route(texts, examination)
    rows = [(row["answer"], row["reasoning"]) for _, row in read_jsonl(Path("out/answers.jsonl"))]
    assert rows == [(answer, reasoning) for _, answer, reasoning in found.values()]
    # A harness computes the same of the texts as they are.
    items = {row["id"]: row["rgb_accuracy.accuracy"] for _, row in read_jsonl(Path("out/items.jsonl"))}
    there = examination.items(texts)
    assert items == {ident: item["rgb_accuracy.accuracy"] for ident, item in there.items()}
    assert (sum(value["official"] for value in items.values()) > 0) == (kind == "whole")


def test_the_same_run_scored_again_has_the_same_answers():
    examination, found = asked([*CASES["parted"], *CASES["cut"]])
    by_function({ident: text for ident, (text, _, _) in found.items()}, examination)
    main(["score", "out/answers.jsonl", "--benchmark", PLACE[0], "--config", PLACE[1], *DATA, "--out", "again"])
    for name in ("answers.jsonl", "items.jsonl", "scores.json"):
        assert Path("again", name).read_bytes() == Path("out", name).read_bytes()


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_beside_an_answer_is_kept_by_function_file_and_service(name):
    examination, _ = asked(CASES["whole"])
    said = {"answer": f"<think>and</think>{SAID}", name: "first"}
    measure(lambda question: dict(said), *PLACE, split="noise_0", out="out")
    rows = [{"id": one.id, **said} for one in examination.questions]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    main(["score", "a.jsonl", "--benchmark", PLACE[0], "--config", PLACE[1], *DATA, "--out", "file"])
    with RagServer([("d", "", "text")]) as server:
        from rag_server import Rule as Said

        server.rules.append(Said("merge", body=said))
        main(["run", *PLACE, *DATA, "--rag", server.url, "--ledger", "L", "--out", "http"])
    for folder in ("out", "file", "http"):
        found = {(row["answer"], row["reasoning"]) for _, row in read_jsonl(Path(folder, "answers.jsonl"))}
        assert found == {(SAID, "first\nand")}, folder
    assert Path("out/answers.jsonl").read_bytes() == Path("file/answers.jsonl").read_bytes()


CONTENTS = [
    ("", {}, ("", None, "ok")),
    (" ", {}, (" ", None, "ok")),
    (None, {}, (None, None, "null")),
    (math.nan, {}, (None, None, "null")),
    (np.float32("nan"), {}, (None, None, "null")),
    (pd.NA, {}, (None, None, "null")),
    (pd.NaT, {}, (None, None, "null")),
    (np.str_("a"), {}, ("a", None, "ok")),
    (np.array("a"), {}, ("a", None, "ok")),
    ("\ud83d\ude00 \ude00", {}, ("😀 \ufffd", None, "ok")),
    ("", {"finish_reason": "length"}, (None, None, "truncated")),
    ("<think>a", {"finish_reason": "length"}, (None, "a", "truncated")),
    ("<think>a</think>b", {"finish_reason": "length"}, ("b", "a", "ok")),
    ("a", {"finish_reason": "length"}, ("a", None, "ok")),  # cut after it began
    ("a", {"state": "api_error"}, (None, None, "api_error")),
    (None, {"state": "raised", "finish_reason": "length"}, (None, None, "raised")),
]


@pytest.mark.parametrize(("content", "more", "read"), CONTENTS)
def test_nothing_is_no_answer_and_an_empty_text_is_one(content, more, read):
    text, reasoning, state = found = read_answer(content, **more)
    assert found == read and type(text) in (str, type(None))
    if state == "ok":
        assert read_answer(text, reasoning) == found


_PARTS = ["<think>", "</think>", "<thinking >", "</THINKING>", "[THINK]", "[/THINK]", "<|channel|>analysis<|message|>"]
_PARTS += ["<|channel|>final<|message|>", "<|end|>", "analysis", "assistantfinal", " ", "a", "b\n", "final"]


@given(st.lists(st.sampled_from(_PARTS), max_size=9).map("".join))
def test_what_is_parted_is_parted_no_further(text):
    answer, reasoning = split_reasoning(text)
    assert split_reasoning(answer) == (answer, None)
    assert reasoning is None or reasoning

"""ragquesteval: three rounds with a judge, from files over HTTP to the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Rule
from ragquesteval_judges import PROFILES, SHORT, Judge, U, asking, blocks, cells

from quadrag.chat.client import ChatClient

# Three rounds with the judge


def test_three_rounds_of_one_batch_each(metric: Any) -> None:
    names = "abcdef"
    replies = {f"ASKING R{x}": asking([f"{x}1", f"{x}2"]) for x in names}
    replies |= {f"ANSWERING {side}{x}": blocks([x, x]) for x in names for side in "RP"}
    replies["ASKING Rb"] = "no JSON"
    cache = {"c": {"question": ["c1"], "answers": ["c"]}, "f": {"question": ["f1"], "answers": [U]}}
    judge = Judge(replies)
    got = metric.compute(
        predictions=["Pa", "Pb", "Pc", None, "Pe", "Pf"],
        references=["Ra", "Rb", "Rc", "Rd", None, "Rf"],
        judge=judge,
        ids=list(names),
        question_cache=cache,
        prompts=SHORT,
    )
    assert judge.batches == [["ASKING Ra", "ASKING Rb"], ["ANSWERING Ra"], ["ANSWERING Pa", "ANSWERING Pc"]]
    assert [cells(got, i)[0] for i in range(6)] == [1.0, "unparsable", 1.0, "api_error", "not_applicable", 0.0]
    assert got["unscored"] == {"unparsable": 1, "api_error": 1} and got["n_scored"] == 4


@pytest.mark.parametrize("round_", ["ASKING R", "ANSWERING R", "ANSWERING P"])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("why", ["truncated", "api_error"])
def test_a_failed_call_is_unscored_with_its_reason(
    metric: Any, failure: Any, round_: str, profile: str, why: str
) -> None:
    replies = {"ASKING R": asking(["问"]), "ANSWERING R": blocks(["a"]), "ANSWERING P": blocks(["a"])}
    judge = Judge(replies | {round_: failure(why)})
    got = metric.compute(predictions=["P"], references=["R"], judge=judge, prompts=SHORT, profile=profile)
    assert cells(got) == [why, why] and got["unscored"] == {why: 1}
    assert got["recall"] == (None if profile == "official" else 0.0)
    assert judge.batches[-1] == [round_]


@pytest.mark.parametrize("profile", PROFILES)
def test_no_questions_from_the_judge(metric: Any, profile: str) -> None:
    judge = Judge({"ASKING R": asking([])})
    got = metric.compute(predictions=["P"], references=["R"], judge=judge, prompts=SHORT, profile=profile)
    assert cells(got) == ["no_questions"] * 2


def test_a_judge_that_raises_is_heard(metric: Any) -> None:
    def judge(requests: list[Any]) -> list[str]:
        raise RuntimeError("out of budget")

    with pytest.raises(RuntimeError, match="out of budget"):
        metric.compute(predictions=["P"], references=["R"], judge=judge)


def test_both_profiles_share_the_calls(metric: Any) -> None:
    replies = {"ASKING R": asking(["问"]), "ANSWERING R": blocks(["a"]), "ANSWERING P": blocks(["a"])}
    asked: list[Any] = []

    def judge(requests: list[Any]) -> list[Any]:
        asked.append(requests)
        return [replies[request[-1]["content"].splitlines()[0]] for request in requests]

    for profile in PROFILES:
        metric.compute(predictions=["P"], references=["R"], judge=judge, prompts=SHORT, profile=profile)
    assert len(asked) == 6 and asked[:3] == asked[3:]


def test_from_files_over_http_to_the_result(metric: Any, tmp_path: Path) -> None:
    path = tmp_path / "QuestAnswer1Doc_quest_gt_save.json"
    path.write_text(json.dumps({"n1": {"key_info": [], "question": ["总额？"], "answers": ["500万元"]}}), "utf-8")
    with ChatServer(models=["m"]) as server:
        for match, text in (
            ("甲文", blocks(["500万元"])),
            ("乙文", blocks(["173家", "无法推断。"])),
            ('{"key_info"', asking(["场馆？", "地点？"])),
            ("乙的原文", blocks(["173家", "西安"])),
        ):
            server.rules.append(Rule("reply", match=match, message={"content": text}))
        server.rules.insert(0, Rule("status", match="丙文", status=400))
        with ChatClient(server.url + "#m", concurrency=4) as judge:
            got = {
                profile: metric.compute(
                    predictions=["甲文", "乙文", "丙文"],
                    references=["甲的原文", "乙的原文", "甲的原文"],
                    judge=judge,
                    ids=["n1", "n2", "n1"],
                    question_cache=path,
                    profile=profile,
                )
                for profile in PROFILES
            }
    assert [cells(got["official"], i) for i in range(3)] == [[1.0, 1.0], [0.5, 1.0], ["api_error"] * 2]
    assert [cells(got["corrected"], i) for i in range(3)] == [[1.0, 1.0], [1.0, 0.5], ["api_error"] * 2]
    assert (got["official"]["recall"], got["corrected"]["recall"]) == (1.0, 0.5)
    assert got["official"]["signature"].endswith("judge:m")

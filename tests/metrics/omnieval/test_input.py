"""Bad input of omnieval is one clear line, and a judge that raises is heard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from omnieval_judges import (
    GOOD,
    always,
    material,
    says,
)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"judge": None}, "judge is NoneType; expected a callable from chats to replies"),
        ({"judge": "http://127.0.0.1/v1"}, "judge is str; expected a callable"),
        ({"judge": lambda requests: []}, "judge returned 0 replies to 5 requests"),
        ({"judge": lambda requests: "1"}, "judge returned str; expected a list"),
        ({"profile": "offical"}, "profile is 'offical'; expected 'official' or 'corrected'"),
        ({"predictions": "甲"}, "predictions is str; expected a list of strings"),
        ({"predictions": [1, "甲"]}, r"predictions\[0\] is int; expected a string or None"),
        ({"references": ["乙"]}, "2 predictions but 1 references"),
        ({"references": None}, "references is NoneType; expected a list, one per prediction"),
        ({"references": ["乙", 7]}, r"references\[1\] is int; expected a string, a list of strings or None"),
        ({"references": ["乙", ["丙", 7]]}, r"references\[1\]\[1\] is int; expected a string"),
        ({"questions": None}, "questions is None; pass questions="),
        ({"questions": ["问"]}, "questions has 1 entries for 2 predictions"),
        ({"questions": ["问", None]}, r"questions\[1\] is NoneType; expected a string"),
        ({"contexts": None}, "contexts is None, but hal and utl are judged by them; pass the passages"),
        ({"contexts": "段"}, "contexts is str; expected a list, one per prediction"),
        ({"contexts": [["段"]]}, "contexts has 1 entries for 2 predictions"),
        ({"contexts": [None, ["段"]]}, r"contexts\[0\] is NoneType; expected a list of passages or a string"),
        ({"contexts": [[None], []]}, r"contexts\[0\]\[0\] is NoneType; expected a string"),
        ({"contexts": [{"text": "段"}, []]}, r"contexts\[0\] is dict; expected a list of passages or a string"),
        ({"history": "问"}, "history is str; expected a list, one per prediction"),
        ({"history": [[]]}, "history has 1 entries for 2 predictions"),
        ({"history": ["问", []]}, r"history\[0\] is str; expected a list of turns"),
        ({"history": [["问"], []]}, r"history\[0\]\[0\] is str; expected a mapping with 'question' and 'answer'"),
        ({"history": [[{"q": "问"}], []]}, r"history\[0\]\[0\] has the keys q; expected a mapping with 'question'"),
        ({"history": [[], [{"question": 1}]]}, r"history\[1\]\[0\]\[0\] is int; expected a string"),
        ({"states": [None, "late"]}, r"states\[1\] is 'late'"),
        ({"prompts": "acc"}, "prompts is str; expected a mapping from acc, hal, com, utl, nac to texts"),
        ({"prompts": {"accuracy": "x"}}, "prompts has 'accuracy'; expected acc, hal, com, utl, nac"),
        ({"prompts": {"acc": 7}}, r"prompts\['acc'\] is no text; expected one, or two"),
        ({"prompts": {"acc": ["a", "b", "c"]}}, r"prompts\['acc'\] is no text; expected one, or two"),
        ({"prompts": {"acc": "{answer}"}}, r"prompts\['acc'\] has no \{references\}; the judge has to see it"),
        ({"prompts": {"utl": "{answer}{references}"}}, r"prompts\['utl'\] has no \{passages\}; the judge has to"),
    ],
)
def test_bad_input_is_one_clear_line(load: Callable[..., Any], given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        load("all").compute(**{**GOOD, **given})
    assert "\n" not in str(caught.value)
    assert load("all").compute(**GOOD)["n_total"] == 2


def test_a_judge_that_raises_is_heard_and_leaves_nothing_behind(score: Callable[..., Any]) -> None:
    def judge(requests: list[Any]) -> list[str]:
        raise RuntimeError("out of budget")

    with pytest.raises(RuntimeError, match="out of budget"):
        score("acc", ["甲"], judge)
    assert score("acc", ["甲"], always(says(1)))["n_total"] == 1


def test_half_a_surrogate_pair(score: Callable[..., Any]) -> None:
    score("hal", ["乙\ud83d"], judge := always(says(1)), contexts=[["丙\ud83d"]], references=["丁\ude00"])
    seen = material(judge.batches[0][0])
    assert (seen["answer"], seen["passages"], seen["references"]) == ("乙\ufffd", ["丙\ufffd"], ["丁\ufffd"])

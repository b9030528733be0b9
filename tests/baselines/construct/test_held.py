"""What was made, held against its source: each fault by its name, and a sound question by none."""

from __future__ import annotations

from typing import Any

import pytest

from quadrag.baselines.construct.held import fault_of, is_grounded

TEXT = "7月31日，京港地铁公司表示，4号线北京南站当天运送乘客 12.5 万人次，比前一天多两成。"
SOUND = {
    "question": "7月31日京港地铁4号线北京南站运送了多少乘客？",
    "answers": ["12.5万人次", "12.5 万人次"],
    "passages": ["4号线北京南站当天运送乘客12.5万人次"],
    "text": TEXT,
    "language": "zh",
}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, None),
        ({"question": "How many passengers did the station count?"}, "question in another language"),
        ({"answers": ["是。"]}, "answer says nothing"),
        ({"answers": ["未提及"]}, "answer says nothing"),
        ({"answers": ["是", "12.5 万人次"]}, None),
        ({"question": "根据本文，运送了多少乘客？"}, "question speaks of the document"),
        ({"question": "是不是12.5 万人次？"}, "answer stands in the question"),
        ({"passages": []}, "passage is not in the source"),
        ({"passages": ["4号线北京西站当天运送乘客12.5万人次"]}, "passage is not in the source"),
    ],
)
def test_a_fault_is_called_by_its_name(changes: dict[str, Any], fault: str | None) -> None:
    assert fault_of(**{**SOUND, **changes}) == fault


def test_an_answer_in_words_of_its_own_shares_half_of_them() -> None:
    assert is_grounded("北京南站当天运送了 12.5 万人次", TEXT)
    assert not is_grounded("月球背面一九〇七号", TEXT)

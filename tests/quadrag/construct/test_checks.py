"""What is let go by rule: personal data and what only looks like it, and questions that do not hold."""

from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml

from quadrag.construct.documents import find_personal, reject_copies
from quadrag.construct.recipe import Rejected, check_question, is_grounded

CASES = yaml.safe_load(Path(__file__).with_name("personal.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("language", "text", "kind"), CASES)
def test_personal_data_are_found_and_what_only_looks_like_it_is_not(language, text, kind):
    assert find_personal(text, language) == [kind] * (kind is not None)


@pytest.mark.parametrize(
    ("text", "other", "copy"),
    [
        ("甲乙丙丁戊己庚辛壬", "甲乙 丙丁戊\n己庚辛壬", True),
        ("甲乙丙丁戊己庚辛壬", "甲乙丙丁戊己庚辛亥", False),  # four of six runs of five are in both
        ("甲乙丙丁戊己庚辛壬癸子丑", "亥乙丙丁戊己庚辛壬癸子丑", False),  # seven of nine
        ("甲乙丙丁戊己庚辛壬癸子丑寅", "亥乙丙丁戊己庚辛壬癸子丑寅", True),  # eight of ten
        ("甲乙", "甲丙", False),
    ],
)
def test_a_copy_shares_four_fifths_of_its_runs_of_five_characters(text, other, copy):
    first, second = reject_copies([{"id": each, "text": each} for each in (text, other)])
    assert "dropped" not in first and ("dropped" in second) == copy


TEXT = "7月31日，京港地铁公司表示，4号线北京南站当天运送乘客 12.5 万人次，比前一天多两成。"
SOUND = {
    "question": "7月31日京港地铁4号线北京南站运送了多少乘客？",
    "answers": ["12.5万人次", "12.5 万人次"],
    "passages": ["4号线北京南站当天运送乘客12.5万人次"],
    "text": TEXT,
    "language": "zh",
}


@pytest.mark.parametrize(
    ("changes", "reason"),
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
def test_what_was_made_is_held_against_its_source(changes, reason):
    with pytest.raises(Rejected, match=reason) if reason else nullcontext():
        check_question(**{**SOUND, **changes})


def test_an_answer_in_words_of_its_own_shares_half_of_them():
    assert is_grounded("北京南站当天运送了 12.5 万人次", TEXT)
    assert not is_grounded("月球背面一九〇七号", TEXT)

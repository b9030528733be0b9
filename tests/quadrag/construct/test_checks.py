"""What is let go by rule: personal data and what only looks like it, and questions that do not hold."""

from typing import Any

import pytest

from quadrag.construct.documents import find_personal
from quadrag.construct.recipe import is_grounded, rejection_reason


@pytest.mark.parametrize(
    ("language", "text", "kinds"),
    [
        ("zh", "身份证号：11010519491231002X，住址不详", ["identity number"]),
        ("zh", "身份证号：１１０１０５１９４９１２３１００２Ｘ", ["identity number"]),
        ("zh", "账号6222 0202 0001 0001 234，户名略", ["bank card"]),
        ("en", "She paid with 4111-1111-1111-1111 that day.", ["bank card"]),
        ("en", "An old card, 378282246310005, was found.", ["bank card"]),
        ("zh", "请联系13763996499周先生", ["telephone"]),
        ("zh", "电话：0797-5626110", ["telephone"]),
        ("zh", "使馆电话：+82-2-755-0572驻釜山", ["telephone"]),
        ("en", "Call (202) 312-0815 after noon.", ["telephone"]),
        ("en", "Call +44 20 7946 0018 after noon.", ["telephone"]),
        ("zh", "请发到zhang.san@example.com.cn即可", ["mail address"]),
        ("zh", "住在海淀区学院路12号院3号楼2单元501室", ["postal address"]),
        ("zh", "家住阳光花园5栋2单元1203室，昨日", ["postal address"]),
        ("zh", "位于浦东新区浦电路438号1201室", ["postal address"]),
        ("en", "He lives at 12 Elm Street, Springfield, IL 62704 with a dog.", ["postal address"]),
        ("en", "A flat at 7 Baker Street, London, NW1 6XE was sold.", ["postal address"]),
        ("zh", "共投入2023120815万元", []),
        ("zh", "累计13763996499元", []),
        ("zh", "证号110105194912310021", []),  # another check digit
        ("zh", "编号110105194913310028", []),  # no such month
        ("zh", "订单6222020200010001235", []),  # fails Luhn's check
        ("zh", "流水号9411111111111111", []),  # no issuer's
        ("zh", "见content/646741/63/12911025.html", []),
        ("zh", "[ 2023-07-28 16：40 ] 发布", []),
        ("zh", "股票代码600519、000858，2023年08月15日10:20:30", []),
        ("zh", "全国客服热线4006889194", []),
        ("zh", "改造完成30栋704户，位于人民路12号", []),
        ("zh", "据@央视新闻报道，比分3@2", []),
        ("en", "The sum of 2023120815 was paid on 2023-07-28 16:40.", []),
        ("en", "In 1999 Main Street, the novel, was read; 12 Years a Slave won 3 Oscars.", []),
        ("en", "On 5 March Avenue Q opened at 10 Downing Street.", []),
    ],
)
def test_personal_data_are_found_and_what_only_looks_like_it_is_not(language: str, text: str, kinds: list[str]) -> None:
    assert find_personal(text, language) == kinds


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
def test_what_was_made_is_held_against_its_source(changes: dict[str, Any], reason: str | None) -> None:
    assert rejection_reason(**{**SOUND, **changes}) == reason


def test_an_answer_in_words_of_its_own_shares_half_of_them() -> None:
    assert is_grounded("北京南站当天运送了 12.5 万人次", TEXT)
    assert not is_grounded("月球背面一九〇七号", TEXT)

"""What the tests of both overlap metrics share: their keys, texts that are drawn, one item scored, jieba's words."""

from collections.abc import Sequence
from typing import Any

import jieba
from hypothesis import strategies as st

PROFILES = ("official", "corrected")
KEYS = {
    "crud_overlap": ("bleu", "bleu_bp", "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "length"),
    "omnieval_overlap": ("em", "f1", "rouge_1", "rouge_2", "rouge_l"),
}
# Words, half words, names for the model of unknown ones, numbers, Latin, rare characters, all kinds of stops, quotation
# marks and whitespace: what rouge-chinese breaks lines at.
PIECES = [
    *"上海市体育局发放消费券净利润为亿元上市公司披露年度报告的一不𠮷龘",
    *"，、；：“”‘’。。！？?..!",
    *("杭研大厦", "大众点评", "小明硕士", "净利润", "上市公司", "年度报告", "基金", "A股"),
    *("500万元", "3.2亿元", "32", "3.5%", "-5%", "1,234.5", "2021-2022", "(5)"),
    *("GDP", "a-b", "C++", "Apple", "Inc.", "the", "a", "An", "a\u0301"),
    *("......", ".......", "." * 13, "……", "…”", "。”"),
    *(" ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "\u3000", "\u00a0", "\u2028", "\x1c", "\x85", "\u200b"),
]
text = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def one(
    metric: Any, prediction: str, references: Sequence[str] | str, profile: str = "official", **options: Any
) -> dict[str, Any]:
    got = metric.compute(predictions=[prediction], references=[references], profile=profile, **options)
    row: dict[str, Any] = got["per_item"][0]
    return row


def cut(sentence: str) -> list[str]:
    return list(jieba.cut(sentence))


class Tokens:
    """What rouge_score asks for its tokens."""

    def tokenize(self, sentence: str) -> list[str]:
        return cut(sentence)

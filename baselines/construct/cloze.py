"""Questions where there is no model: a sentence of the source with its number, date or name left out.

They are grammatical and have one right answer in the source, and that is all: they test the path and not a model. Every
dataset made of them says so.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..systems.extractive import sentences

GAP = "____"
_LEAST, _MOST = 16, 200  # characters of a sentence that bears a gap
# When a report was published, before its first sentence.
_HEAD = re.compile(r"^\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2}(?::\d{2})?)?[，,]?(?:正文：)?\s*")
_ASKED = {
    "zh": "请填空：{sentence}",
    "en": "Fill in the blank: {sentence}",
}
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
# In the order of preference: a date, an amount with its unit, a title in its marks, a number.
_TARGETS = {
    "zh": (
        r"\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?",
        r"\d[\d,.]*(?:万|亿)?(?:元|美元|人|家|个|件|吨|公里|平方米|岁|次|米|%)",
        r"《[^》]{2,20}》",
        r"(?<![\d.,])\d[\d,.]*\d(?![\d.,])",
    ),
    "en": (
        rf"\b{_MONTH} \d{{1,2}}(?:, \d{{4}})?",
        r"[$€£]\d[\d,.]*(?: (?:million|billion|trillion))?",
        r"\b\d[\d,.]*\d?(?: ?(?:percent|%|people|years|miles|million|billion))",
        r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)+",
        r"(?<![\d.,])\d[\d,.]*\d(?![\d.,])",
    ),
}


class Cloze(NamedTuple):
    """A question by rule: what is asked, what was left out, and the sentence as it stands in the source."""

    question: str
    answer: str
    sentence: str


def strip_dateline(text: str) -> str:
    """Return a report without the time that it begins with, as those of CRUD-RAG's corpus do."""
    return _HEAD.sub("", text)


def clozes(text: str, language: str) -> Iterator[Cloze]:
    """Yield the questions of a text, one a sentence at most, in the order of the text.

    Args:
        text: of the source.
        language: ``zh`` or ``en``.
    """
    for found_sentence in sentences(text):
        sentence = strip_dateline(found_sentence)
        if not _LEAST <= len(sentence) <= _MOST:
            continue
        found = next((hit for form in _TARGETS[language] if (hit := re.search(form, sentence))), None)
        # What stands twice would give itself away.
        if found is None or sentence.count(answer := found.group()) > 1:
            continue
        asked = sentence[: found.start()] + GAP + sentence[found.end() :]
        yield Cloze(_ASKED[language].format(sentence=asked), answer, sentence)

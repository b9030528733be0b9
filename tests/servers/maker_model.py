"""A model that makes datasets, scripted: what it says depends on the request alone, and much of it is wrong.

It reads the document out of the prompt and asks about it by rule. By a hash of the request it also answers in fences,
thinks aloud first, asks in English of a Chinese document, takes an answer from nowhere, repeats no passage, writes half
of its JSON, or writes none. `Manner` says how the reply comes, by the hash too: late, at a second asking, or never.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from chat_server import Rule, asked_of

from quadrag.construct.recipe import language_of
from quadrag.systems.extractive import sentences

FAULTS = ("elsewhere", "english", "no_passage", "half", "none", "list", "null")
_MARKS = ("新闻：\n", "Article:\n")
GAP = "____"
_LEAST, _MOST = 16, 200  # characters of a sentence that bears a gap
_ASKED = {"zh": "请填空：{sentence}", "en": "Fill in the blank: {sentence}"}
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


def clozes(text: str, language: str) -> Iterator[Cloze]:
    """Yield the questions of a text, one a sentence at most, in the order of the text."""
    from quadrag.baselines.crud_rag.construct import DATELINE

    for found_sentence in sentences(text):
        sentence = DATELINE.sub("", found_sentence)
        if not _LEAST <= len(sentence) <= _MOST:
            continue
        found = next((hit for form in _TARGETS[language] if (hit := re.search(form, sentence))), None)
        # What stands twice would give itself away.
        if found is None or sentence.count(answer := found.group()) > 1:
            continue
        asked = sentence[: found.start()] + GAP + sentence[found.end() :]
        yield Cloze(_ASKED[language].format(sentence=asked), answer, sentence)


class Knowing:
    """A model without a fault, which answers without documents what it has asked of one."""

    def __init__(self) -> None:
        self._answers: dict[str, str] = {}

    def __call__(self, body: dict[str, Any]) -> str:
        asked = asked_of(body)
        made = make_sound(asked, _draw(body))
        if isinstance(made, dict) and isinstance(made.get("answer"), list):
            self._answers[made["question"]] = made["answer"][0]
        elif isinstance(made, dict) and set(made) == {"answer"}:
            made = {"answer": next((answer for said, answer in self._answers.items() if said in asked), None)}
        return json.dumps(made, ensure_ascii=False)


def make_reply(body: dict[str, Any]) -> str:
    """Answer a request of a recipe."""
    asked = asked_of(body)
    draw = _draw(body)
    fault = FAULTS[draw // 8 % len(FAULTS)] if draw % 3 == 0 else ""
    made = make_sound(asked, draw)
    if isinstance(made, list):
        fault = fault if fault in ("half", "none") else ""
    if fault == "elsewhere":
        made = {name: "月球背面" if isinstance(value, str) else ["月球背面"] for name, value in made.items()}
    if fault == "english" and "question" in made:
        made["question"] = "What number is missing in the following sentence, which nobody has written down?"
    if fault == "no_passage":
        made.pop("passage", None)
        made.pop("second_passage", None)
    if fault == "null":
        made = dict.fromkeys(made)
    text = json.dumps([made] if fault == "list" else made, ensure_ascii=False)
    if fault in ("half", "none"):
        return text[: len(text) // 2] if fault == "half" else "对不起，我不能回答。"
    form = draw // 64 % 3
    return text if form == 0 else f"```json\n{text}\n```" if form == 1 else f"<think>{{想一想}}</think>好的：\n{text}"


def _draw(body: dict[str, Any]) -> int:
    return int(hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(), 16)


class Manner:
    """How replies come: some late, some not before a second asking, in place of some there is always an error.

    A first asking is met with silence, or the connection is cut. `kinds` counts the requests by how they were answered.
    """

    def __init__(self, usual: float = 0.01, late: float = 0.1) -> None:
        self.kinds: Counter[str] = Counter()
        self.said = 0
        self._usual, self._late = usual, late
        self._before: set[int] = set()

    def latency(self, body: dict[str, Any]) -> float:
        """Return the seconds before the reply to a request."""
        return self._late if _draw(body) // 512 % 16 == 0 else self._usual

    def rule(self, body: dict[str, Any]) -> Rule | None:
        """Return what is done to a request in place of an answer."""
        draw = _draw(body)
        first, of = draw not in self._before, draw // 8192 % 32
        self._before.add(draw)
        kind = "status" if of == 0 else {1: "stall", 2: "drop"}.get(of, "") if first else ""
        self.kinds[kind or ("late" if self.latency(body) == self._late else "usual")] += 1
        return Rule(kind) if kind else None

    def reply(self, body: dict[str, Any]) -> str:
        self.said += 1
        return make_reply(body)

    def begin_again(self) -> None:
        self.said = 0
        self._before.clear()


def _omnieval(one: Any) -> dict[str, Any]:
    return {"question": one.question, "answer": [one.answer], "relevant_passage": [one.sentence]}


def make_sound(asked: str, draw: int = 0) -> Any:
    """Return what a prompt asks for, without a fault."""
    document = next((asked.partition(mark)[2] for mark in _MARKS if mark in asked), "")
    found = list(clozes(document, language_of(document) or "en")) if document else []
    if '"sub_topics"' in asked:
        return [
            {"topic_name": "新闻", "sub_topics": [{"topic_name": name, "sub_topics": []} for name in ("城市", "交通")]}
        ]
    if '"topic_id"' in asked:
        return {"topic_id": draw % 4}
    if '"corrected_result"' in asked:
        material = json.loads(re.search(r"(?m)^题目：(.+)$", asked).group(1))  # type: ignore[union-attr]
        return {"evaluation": draw % 3, "corrected_result": material if draw % 3 == 1 else None}
    if '"relevant_passage"' in asked:
        texts = re.split(r"文档\d:\n", asked)[1:]
        first = draw % 4
        made = [_omnieval(one) for text in texts for one in list(clozes(text, "zh"))[first : first + 2]]
        return made[: 2 if "多轮对话" in asked else 1]
    if '"fake"' in asked:
        return {"fake": f"{draw % 89 + 10} 号"}
    if '"second_answer"' in asked:
        second = found[1] if len(found) > 1 else None
        question = re.search(r"(?:问题|Question)(?:：|: )(.+)", asked)
        assert question is not None
        if second is None:
            return {"question": None}
        return {
            "question": f"{question.group(1)} {second.question}",
            "second_answer": [second.answer],
            "second_passage": second.sentence,
        }
    if '"summary"' in asked:
        return {"event": document[:30], "summary": document[:60]}
    if '"common"' in asked:
        return {"related": draw % 5 > 0, "event": "一件事", "common": "都是新闻", "different": ["其一", "其二"]}
    if '"questions"' in asked:
        parts = [next(clozes(text, "zh"), None) for text in re.split(r"新闻\d：", asked)[1:]]
        asked_of_each = [{"question": p.question, "answer": p.answer, "passage": p.sentence} for p in parts if p]
        return {"questions": asked_of_each}
    if "小问题：" in asked:
        pairs = re.findall(r"([^；（]+)（([^）]+)）", asked.rpartition("小问题：")[2])
        return {"question": " ".join(q for q, _ in pairs), "answer": "；".join(a for _, a in pairs)}
    if '"from"' in asked:
        sentence = asked.rpartition("句子：")[2]
        number = re.search(r"\d+", sentence)
        if number is None:
            return {"kind": "gen", "from": "无", "to": "有", "why": "原文不同"}
        other = str(int(number.group()[0]) % 9 + 1) + number.group()[1:]
        return {"kind": "num", "from": number.group(), "to": other, "why": "原文不同"}
    if '"passages"' in asked and found:
        one = found[0]
        return {"event": one.sentence, "question": one.question, "answer": one.answer, "passages": [one.sentence]}
    if '"event"' in asked:
        if not found:
            return {"event": None}
        one = found[0]
        return {"event": one.sentence, "question": one.question, "answer": [one.answer], "passage": one.sentence}
    return {"answer": None if draw % 2 else "2023"}

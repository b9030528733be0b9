"""What becomes of an answer before it is judged: it is cut to 75 tokens, and one that only declines is missing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from truthfulness_judges import PROFILES, Substring, Words, column

# The trim


@pytest.mark.parametrize("kind", [{}, {"eos": True}, {"bos": False}, {"bos": False, "eos": True}])
def test_answers_are_cut_to_75_tokens(part: Callable[[str], ModuleType], kind: dict[str, bool]) -> None:
    cut = part("rules").trimmer(Words(**kind))
    assert cut("word " * 100).split() == ["word"] * 75 and cut("word " * 75) == " ".join(["word"] * 75)
    assert cut("hello") == "hello" and cut("") == ""


def test_the_protocol_s_ids(part: Callable[[str], ModuleType]) -> None:
    tokenizer = Words()
    tokenizer.encode("hello")
    assert tokenizer.encode("hello") == [0, 2]
    for text in ("hello", "word " * 200, " a  b "):
        assert part("rules").trimmer(tokenizer)(text) == tokenizer.decode(tokenizer.encode(text)[1:76])


def test_a_tokenizer_of_the_tokenizers_package(part: Callable[[str], ModuleType]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    one = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<s>": 1, "word": 2, "hello": 3}, unk_token="word"))
    one.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    one.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    cut = part("rules").trimmer(one)
    assert one.encode("hello").ids == [1, 3] and cut("hello") == "hello" and len(cut("word " * 100).split()) == 75


@pytest.mark.parametrize("profile", PROFILES)
def test_the_cut_comes_before_the_rules_and_the_judge(score: Callable[..., Any], profile: str) -> None:
    judge = Substring()
    late = "word " * 75 + "I don't know"
    got = score([late, "word " * 74 + "Rome Oslo"], ["word", "Oslo"], judge, profile, tokenizer=Words())
    assert column(got) == [1.0, -1.0] and judge.batches[0][1]["answer"].endswith("word Rome")
    assert column(score([late], ["word"], judge, profile)) == [0.0]
    assert column(score([late], ["WORD"], judge, profile, tokenizer=lambda text: text[:4])) == [1.0]


# Answers that only decline

DECLINING = [
    "i'm sorry, but i cannot find any information about this in the references.",
    "i apologize, but i couldn't find the release date.",
    "unfortunately, the provided references do not contain information about this.",
    "could you provide more context? i'm not sure which film you mean.",
    "which team are you referring to?",
    "please provide more details.",
    "an error occurred.",
    "i am not sure.",
    "there is no information about this in the references.",
    "no results found",
    "i don't have enough information to answer that.",
    "based on the references, i cannot determine the answer.",
    "i do not know.",
    "hmm…let's try a different topic. sorry about that.",
    "对不起，我没有找到相关的信息。",
    "我不知道。",
    "我们无法确定比赛的日期。",
    "as a large language model trained by openai, i cannot provide real-time data.",
    "文档信息不足，因此我无法基于提供的文档回答该问题。",
    "您能否提供更多信息？",
    "请您具体说明是哪一年的比赛。",
    "作为一个ai语言模型，我无法提供实时信息。建议您查阅官方网站。",
    "参考资料中没有提到该公司的收入。",
]
TELLING = [
    "",
    "sorry",
    "no",
    "i couldn't find the exact date, but it was in 1990.",
    "i am not sure, but i think it is paris",
    "i cannot confirm it, the answer is oslo",
    "i'm sorry, it was 1990.",
    "there are no records of such a game; the bulls won 4-2",
    "no information technology company was founded there in 1990",
    "there is no capital.",
    "the error was made by the referee",
    "errors and omissions",
    "i have no mouth and i must scream",
    "invalid question",
    "抱歉，答案是1990年。",
    "我无法确定，大概是1990年",
    "没有找到凶手",
    "什么都没有发现",
    "无法无天",
    "他不知道",
    "根据文档，答案是巴黎",
]


@pytest.mark.parametrize(("said", "expected"), [*((s, True) for s in DECLINING), *((s, False) for s in TELLING)])
def test_what_only_declines(part: Callable[[str], ModuleType], said: str, expected: bool) -> None:
    assert part("refusals").declines(said) is expected


@pytest.mark.pure
@given(
    st.lists(st.sampled_from([*DECLINING, *TELLING, "sorry, ", "so ", "i cannot ", "，", ". ", "作为", "\n"])).map(
        "".join
    )
)
@example("sorry " * 20_000)
@example("作为" * 50_000)
@example("in the " + "a " * 50_000)
def test_declining_takes_no_time(part: Callable[[str], ModuleType], said: str) -> None:
    start = time.process_time()
    part("refusals").declines(said)
    assert time.process_time() - start < 1


@pytest.mark.slow
def test_real_answers_that_only_decline_were_judged_wrong_by_people(score: Callable[..., Any], real_data: Any) -> None:
    """EVOUNA's Natural Questions: five systems; labels of people, improper questions left out."""
    rows = json.loads((real_data("real_labels") / "evouna" / "NQ.json").read_text(encoding="utf-8"))
    systems = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")
    answered = [
        (row[f"answer_{name}"], row["golden_answer"].split("/"), row[f"judge_{name}"], name)
        for row in rows
        for name in systems
        if not row["improper"] and row[f"judge_{name}"] is not None and row[f"answer_{name}"] is not None
    ]
    answers, golds, right, names = zip(*answered, strict=True)
    missing = {}
    for profile in PROFILES:
        got = score(list(answers), list(golds), None, profile)
        missing[profile] = [at for at, row in enumerate(got["per_item"]) if row["missing"] == 1]
    assert len(answers) == 15_098 and missing["official"] == []
    declined = [at for at in missing["corrected"] if answers[at].strip()]
    assert len(missing["corrected"]) - len(declined) == 4, "the empty ones"
    by_system = {name: sum(names[at] == name for at in declined) for name in systems}
    assert by_system == {"fid": 1, "gpt35": 1, "chatgpt": 17, "gpt4": 4, "newbing": 45}
    # Of 11,058 that people judged right; this one gives no episode, and the label says it does.
    (kept,) = [answers[at] for at in declined if right[at]]
    assert kept.startswith("I cannot provide the specific episode number")

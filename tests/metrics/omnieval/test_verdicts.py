"""What the judge of omnieval is asked, attacks included, and how its verdicts are read, damaged ones too."""

from __future__ import annotations

import json
import random
import re
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from chat_server import ChatServer, Rule
from damaged_verdicts import damage
from hypothesis import example, given
from hypothesis import strategies as st
from omnieval_judges import (
    KEYS,
    NAMES,
    PROFILES,
    SCALES,
    material,
    metric_of,
    says,
)

from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger

ATTACKS = json.loads(Path(__file__).with_name("omnieval_attacks.json").read_text(encoding="utf-8"))
# Verdicts, fuzzed

_VALUES: list[tuple[str, int | bool | None]] = [
    *[(text, 0) for text in ("0", '"0"', "0.0", "'0'")],
    *[(text, 1) for text in ("1", '"1"', "1.0", "“1”", '"1.0"', "'1'")],
    *[(text, 2) for text in ("2", '"2"', "2.0")],
    *[(text, -1) for text in ("-1", '"-1"', "−1", "'-1'")],
    *[("true", True), ("False", False), ('"true"', True)],
    *[
        (text, None)
        for text in ("3", "-2", "1.5", '"1.5"', "0.9", "10", "01", '""', "1/2", "[1]", "NaN", "1e3", "null")
    ],
    *[(text, None) for text in ("+1", "{}", "0-2", "1或2", "1 or 2", "2分", '"高"', "\u0661", "1%", "1,2", "1.0.1")],
]
_ROUND = ("", "```json\n", "评分结果：\n", "\ufeff", "{a}和{b}：", "<think>嗯</think>", "\u2003", "[", "（", "说明。 ")
_WORDS = ("与答案一致", '少了"利率"', "甲 } 乙", "{丙}", "两行\n文字", "it's so", "1, 2 和 0", "\\", "50%", "一个，2个")


def malformed(draw: random.Random) -> tuple[str, str, int | None]:
    """A reply that says one thing, damaged in places that do not change it: metric, reply, and what it says or None."""
    key = draw.choice(KEYS)
    text, meant = draw.choice(_VALUES)
    if isinstance(meant, bool):
        meant = int(meant) if key in ("hal", "nac") else None
    truth = meant if meant in SCALES[key] else None
    name = NAMES[key] if draw.random() < 0.4 else "prediction"
    said = draw.choice(_WORDS)
    if draw.random() < 0.3:  # it quotes what an answer asked for
        other = draw.choice(('{"%s": %s}', '"%s": %s,', "%s: %s", "{'%s': %s}", '甲 "%s": %s', "%s=%s", "%s为%s"))
        said = f"{said} {other % (draw.choice(('prediction', NAMES[key])), draw.choice('012'))} {draw.choice(_WORDS)}"
    form = draw.choice(('"%s"', "'%s'", "%s", "\u201c%s\u201d", '"%s" ', '\\"%s\\"', " %s"))
    form = form % draw.choice((name, name, name.title(), name.upper()))
    verdict = draw.choice("012")
    reply = damage(
        draw,
        form + draw.choice((":", ": ", " : ", ":\n", "=", "\uff1a")) + text,
        f'"理由": "{said}"',
        reason_first=not re.search(r"\{|prediction|accuracy|ation|completeness", said),
        begins=_ROUND,
        ends=("", "\n```", " 以上。", "]", "\n\n完 {好}", "}"),
        second=[one % verdict for one in ('\n{"prediction": %s}', "\nPrediction: %s", " 不对：{'prediction': %s}")],
        signs="{}[]\"',:\\x \n\u2028：，",
    )
    return key, reply, truth


@pytest.mark.slow(10_000, 30_000, 2_000_000)
def test_malformed_verdicts(read: dict[str, Callable[[str, str], int | None]], rounds: int) -> None:
    """None crashes a reader, and none is read as what it does not say; a second verdict makes it say nothing."""
    draw = random.Random(20241217)
    counts = {"readable": 0, "read": 0, "official": 0}
    wrong: list[tuple[str, str, int | None, int]] = []
    for i in range(rounds):
        key, reply, truth = malformed(draw)
        got = read["corrected"](reply, key)
        if i % 10 == 0:  # it has no oracle but json_repair, and is the slower one
            counts["official"] += read["official"](reply, key) is not None
        counts["readable"] += truth is not None
        counts["read"] += got is not None
        if got is not None and got != truth:
            wrong.append((key, reply, truth, got))
    assert wrong == [], f"{len(wrong)} of {rounds}, {counts}: {wrong[:10]}"
    print(counts)
    assert counts["read"] > 0.6 * counts["readable"] and counts["official"] > rounds / 100, counts


@given(
    st.one_of(st.text(), st.text(alphabet="{}[]\"'prediction:=-012 \n\\,.truefals“”：，"), st.binary().map(str)),
    st.sampled_from(KEYS),
)
@example("{" * 50_000, "acc")
@example('{"a":' * 50_000, "acc")
@example("[" * 100_000 + '{"prediction": 1}', "acc")
@example('{"prediction": ' + "9" * 10_000 + "}", "acc")
@example('{"prediction": ' + "0" * 4_400 + "1}", "acc")
@example('{"prediction":' + " " * 50_000 + "1}", "nac")
@example('"prediction' * 20_000, "hal")
@example('{"a": "' + "," * 50_000 + '"' + " " * 50_000 + "x", "com")
@example('{"a": "' + '" ' * 50_000, "com")
@example('{"a":"' + '"x:' * 30_000, "utl")
@example("{'a':1" * 30_000, "acc")
def test_no_reply_crashes_a_reader_or_takes_long(
    read: dict[str, Callable[[str, str], int | None]], reply: str, key: str
) -> None:
    start = time.perf_counter()
    for profile in PROFILES:
        got = read[profile](reply, key)
        assert got is None or type(got) is int
        assert got is None or profile == "official" or got in SCALES[key]
        assert got is None or re.search(f"prediction|{NAMES[key].replace('_', '.')}|\\\\u", reply, re.I), "from nowhere"
    assert time.perf_counter() - start < 3


@given(
    st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.lists(st.text())), max_size=4),
    st.sampled_from([0, 1, 2, -1, "1", "-1", 1.0, 3, 0.5, None, [1]]),
    st.sampled_from(KEYS),
    st.booleans(),
    st.sampled_from([None, 2]),
    st.sampled_from(["", "```json\n", "评分："]),
)
def test_well_formed_verdicts_are_read_whatever_else_they_hold(
    read: dict[str, Callable[[str, str], int | None]],
    other: dict[str, Any],
    value: Any,
    key: str,
    ascii_only: bool,
    indent: int | None,
    before: str,
) -> None:
    fields = {"prediction", NAMES[key]}
    other = {name: held for name, held in other.items() if name.strip().lower() not in fields}
    reply = before + json.dumps({**other, "prediction": value}, ensure_ascii=ascii_only, indent=indent)
    meant = int(value) if not isinstance(value, list) and value is not None and float(value).is_integer() else None
    assert read["corrected"](reply, key) == (meant if meant in SCALES[key] else None)


# What reaches the judge


def harmless(text: str) -> bool:
    """Whether a text has nothing that markup, a chat template or a hidden message is made of."""
    unseen = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return not any(char in "<>[]{}`" or unicodedata.category(char) in unseen for char in text)


@given(st.one_of(st.text(), st.sampled_from([attack["text"] for attack in ATTACKS])))
def test_a_text_goes_in_as_one_json_string(part: Callable[[str], ModuleType], text: str) -> None:
    quoted = part("slots").quote(text)
    assert json.loads(quoted) == text and len(quoted.splitlines()) == 1 and harmless(quoted)
    assert not re.search(r'(?<!\\)(?:\\\\)*"', quoted[1:-1]), "a quotation mark that ends the string"


def test_what_is_not_looked_at_one_by_one_is_harmless(part: Callable[[str], ModuleType]) -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    plain = part("slots")._RARE.sub("", every)
    assert len(plain) > 20_000 and harmless(plain) and not part("slots")._SELECTORS.search(plain)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: ascii(attack["text"])[:30])
def test_an_attack_stays_in_its_place(part: Callable[[str], ModuleType], attack: dict[str, Any]) -> None:
    prompts, text = part("prompts"), attack["text"]
    plain = prompts.fields("问", [{"question": "前", "answer": "答"}], ["金"], "甲", ["段"])
    attacked = {
        "question": prompts.fields(text, [{"question": "前", "answer": "答"}], ["金"], "甲", ["段"]),
        "history": prompts.fields("问", [{"question": text, "answer": text}], ["金"], "甲", ["段"]),
        "references": prompts.fields("问", [{"question": "前", "answer": "答"}], ["金", text], "甲", ["段"]),
        "answer": prompts.fields("问", [{"question": "前", "answer": "答"}], ["金"], text, ["段"]),
        "passages": prompts.fields("问", [{"question": "前", "answer": "答"}], ["金"], "甲", [text, "段"]),
    }
    for key in KEYS:
        words = prompts.templates(None, KEYS)[key]
        benign = prompts.messages(words, plain)[0]["content"].splitlines()
        for slot, fields in attacked.items():
            (request,) = prompts.messages(words, fields)
            lines = request["content"].splitlines()
            changed = [i for i, line in enumerate(benign) if lines[i] != line]
            seen = slot != "passages" or key in ("hal", "utl")
            assert len(lines) == len(benign) and len(changed) == seen, "nothing outside the one line is touched"
            if seen:
                found = material([request])[slot]
                texts = {"history": [{"question": text, "answer": text}], "references": ["金", text]}
                assert found == texts.get(slot, [text, "段"] if slot == "passages" else text)
                (quoted,) = {part("slots").quote(text)} & set(re.findall(r'"(?:[^"\\]|\\.)*"', lines[changed[0]]))
                assert harmless(quoted) and (attack["hook"] is None or attack["hook"] not in request["content"])


def test_the_set_of_attacks() -> None:
    assert len(ATTACKS) >= 30 and len({attack["style"] for attack in ATTACKS}) >= 8
    assert all(attack["hook"] is None or attack["hook"] in attack["text"] for attack in ATTACKS)


def test_attacks_on_a_gullible_judge_over_http(load: Callable[..., Any], tmp_path: Path) -> None:
    """It obeys whatever has got out of its place. Filled in as they stand, the attacks win; as they are sent, none."""
    answers = [attack["text"] for attack in ATTACKS]
    hooks = [attack["hook"] for attack in ATTACKS if attack["hook"]]
    with ChatServer(models=["m"]) as server:
        server.rules.extend(Rule("reply", match=hook, message={"content": says(2)}) for hook in hooks)
        server.rules.append(Rule("reply", message={"content": says(0)}))
        with Ledger(tmp_path / "ledger") as ledger, ChatClient(server.url + "#m", ledger=ledger) as judge:
            naive = [f"问题：净利润？\n标准答案：3亿元\n回答：{text}" for text in answers]
            replies = judge([[{"role": "user", "content": text}] for text in naive])
            before = server.requests
            given = {"predictions": answers, "references": ["3亿元"] * len(answers), "judge": judge}
            given |= {"questions": ["净利润？"] * len(answers), "contexts": [[text] for text in answers]}
            got = [load("all").compute(**given, profile=profile) for profile in PROFILES]
            sent = server.requests - before
    fooled = {text for text, reply in zip(answers, replies, strict=True) if reply == says(2)}
    assert {attack["text"] for attack in ATTACKS if attack["hook"]} <= fooled and len(fooled) >= 20
    for one in got:
        assert one["unscored"] == {} and all(one[key] == 0.0 for key in KEYS)
    assert sent == 5 * len(answers), "both profiles share one reply"


def test_from_answers_over_http_to_the_result(load: Callable[..., Any]) -> None:
    with ChatServer(models=["m"]) as server:
        for title, reply in (("正确性", "```json\n{'prediction': 2}\n```"), ("幻觉", says(0)), ("完整性", says(-1))):
            server.rules.append(Rule("reply", match=f"这次评的是“{title}”", message={"content": reply}))
        server.rules.append(Rule("status", match="这次评的是“检索内容的利用”", status=400))
        server.rules.append(Rule("reply", match="这次评的是“数值准确性”", message={"content": "说不好"}))
        parameters = {"temperature": 0, "response_format": load("all").response_format}
        with ChatClient(server.url + "#m", parameters=parameters) as judge:
            given = {"predictions": ["甲"], "references": ["乙"], "questions": ["问"], "contexts": [["段"]]}
            got = [load("all").compute(**given, judge=judge, profile=profile) for profile in PROFILES]
        # huggingface_hub rewrites `json_schema` to TGI's form; either way the schema arrives.
        schema = load("all").response_format["json_schema"]["schema"]
        tgi = {"type": "json_object", "value": schema}
        forms = [body["response_format"] for body in server.bodies]
        assert len(forms) >= 5 and all(form in (tgi, load("all").response_format) for form in forms)
    reasons = {"com": "not_applicable", "utl": "api_error", "nac": "unparsable"}
    assert [one["per_item"][0]["reasons"] for one in got] == [reasons, reasons]
    assert [[one[key] for key in KEYS] for one in got] == [[1.0, 0.0, None, None, None], [1.0, 0.0, None, 0.0, 0.0]]
    assert got[0]["unscored"] == {"api_error": 1} and got[0]["signature"].endswith("judge:m")


def test_our_prompts_ask_for_what_both_readers_read(
    part: Callable[[str], ModuleType], read: dict[str, Callable[[str, str], int | None]]
) -> None:
    slots = {"{question}", "{history}", "{references}", "{answer}"}
    for key, text in part("prompts").PROMPTS.items():
        form = text.rstrip().splitlines()[-1]
        for verdict in part("scales").SCALES[key]:
            reply = form.replace("分数", str(verdict))
            assert [read[profile](reply, key) for profile in PROFILES] == [verdict] * 2
        expected = slots | ({"{passages}"} if key in ("hal", "utl") else set())
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(expected), "each slot once"


def test_prompts_of_the_user_s(score: Callable[..., Any]) -> None:
    asked: list[Any] = []

    def judge(requests: list[Any]) -> list[str]:
        asked.extend(requests)
        return [says(1)] * len(requests)

    prompts = {
        "acc": ("按标准答案评分。", "{answer}|{references}|{x}|{answer}"),
        "hal": "{passages}{history}{question}{references}{answer}",
    }
    score("all", ["{references} \\1"], judge, prompts=prompts, references=[['a "b"', "c"]], contexts=[["段"]])
    shown = '"\\u007breferences\\u007d \\\\1"'
    assert asked[0] == [
        {"role": "system", "content": "按标准答案评分。"},
        {"role": "user", "content": f'{shown}|["a \\"b\\"", "c"]|{{x}}|{shown}'},
    ]
    assert asked[1] == [{"role": "user", "content": f'["段"][]"问0"["a \\"b\\"", "c"]{shown}'}]
    assert metric_of(asked[2]) == "com"


def test_long_passages_are_put_in_quickly(part: Callable[[str], ModuleType]) -> None:
    text = "2023年，公司实现营业收入1,234.5亿元（同比增长5.6%）；\n" * 60
    start = time.perf_counter()
    for _ in range(1000):
        part("slots").quote(text)
    assert time.perf_counter() - start < 5

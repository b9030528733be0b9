"""What the judge of truthfulness is asked, attacks included, and how its verdicts are read, damaged ones too."""

from __future__ import annotations

import json
import random
import time
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from chat_server import ChatServer, Rule
from damaged_verdicts import damage
from hypothesis import example, given
from hypothesis import strategies as st
from truthfulness_judges import NO, PROFILES, YES, Says, column, material, means

from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger

ATTACKS = json.loads(Path(__file__).with_name("truthfulness_attacks.json").read_text(encoding="utf-8"))
# Verdicts, fuzzed

_VALUES: list[tuple[str, int | None]] = [
    *[(text, 1) for text in ("1", '"1"', "true", "True", "1.0", "'1'", '"true"')],
    *[(text, 0) for text in ("0", '"0"', "false", "False", "0.0", '"False"')],
    *[(text, None) for text in ("0.9", "2", "-1", "null", '"yes"', "10", "01", '""', "1/2", "[1]", "NaN", "1e3")],
    *[(text, None) for text in ("None", "{}", "00", "+1", "1 out of 5", '"1 or 0"', "0.5.", "\u0661", "1%", "'no'")],
]
_FIELDS = ('"score"', "'score'", "score", '"Score"', "\u201cscore\u201d", '"score" ', '\\"score\\"', ' "SCORE"')
_WORDS = ("the answer is right", 'lacks "goose"', "a } b", "{x}", "two\nlines", "it's so", "1, 2 and 0", "\\", "50%")
_ROUND = (
    "",
    "```json\n",
    "Here you are:\n",
    "\ufeff",
    "{a} and {b}: ",
    "<think>hm</think>",
    "\u2003",
    "[",
    "(",
    "Note. ",
)


def malformed(draw: random.Random) -> tuple[str, int | None]:
    """A reply that says one thing, damaged in places that do not change it, and what it says; None for nothing."""
    text, truth = draw.choice(_VALUES)
    said = draw.choice(_WORDS)
    if draw.random() < 0.3:  # it quotes what an answer asked for
        other = draw.choice(
            ['{"score": %s}', '"score": %s,', "score: %s", "{'score': %s}", 'a "score": %s', "score=%s"]
        )
        said = f"{said} {other % draw.choice('01')} {draw.choice(_WORDS)}"
    reply = damage(
        draw,
        draw.choice(_FIELDS) + draw.choice([":", ": ", " : ", ":\n", "=", "\uff1a"]) + text,
        f'"explanation": "{said}"',
        reason_first="{" not in said and "score" not in said,
        begins=_ROUND,
        ends=("", "\n```", " Thank you.", "]", "\n\nDone {ok}", "}"),
        second=('\n{"score": 1}', '\n{"score": 0}', "\nScore: 1", " Wait, no: {'score': 0}"),
    )
    return reply, truth


@pytest.mark.pure
@pytest.mark.slow(10_000, 30_000, 2_000_000)
def test_malformed_verdicts(read: dict[str, Callable[[str], int | None]], rounds: int) -> None:
    """None crashes a reader, and none is read as what it does not say; a second verdict makes it say nothing."""
    draw = random.Random(20240604)
    counts = {"readable": 0, "read": 0, "official": 0}
    wrong: list[tuple[str, int | None, int]] = []
    for _ in range(rounds):
        reply, truth = malformed(draw)
        got = read["corrected"](reply)
        counts["official"] += read["official"](reply) is not None
        counts["readable"] += truth is not None
        counts["read"] += got is not None
        if got is not None and got != truth:
            wrong.append((reply, truth, got))
    assert wrong == [], f"{len(wrong)} of {rounds}, {counts}: {wrong[:10]}"
    print(counts)
    assert counts["read"] > 0.6 * counts["readable"], counts


@pytest.mark.pure
@given(st.one_of(st.text(), st.text(alphabet="{}[]\"'score:=01 \n\\,.truefals“”："), st.binary().map(str)))
@example("{" * 50_000)
@example('{"a":' * 50_000)
@example("[" * 100_000 + '{"score": 1}')
@example('{"score": ' + "9" * 10_000 + "}")
@example('{"score": ' + "0" * 4_400 + "1}")
@example('{"score":' + " " * 50_000 + "1}")
@example('"score' * 20_000)
def test_no_reply_crashes_a_reader_or_takes_long(read: dict[str, Callable[[str], int | None]], reply: str) -> None:
    start = time.process_time()
    for profile in PROFILES:
        got = read[profile](reply)
        assert got in (0, 1, None) and type(got) in (int, type(None))
        assert got is None or "score" in reply.lower(), "a verdict from nowhere"
    assert time.process_time() - start < 2


@pytest.mark.pure
@given(
    st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.lists(st.text())), max_size=4),
    st.sampled_from([(1, 1), (0, 0), (True, 1), (False, 0), ("1", 1), ("0", 0), (1.0, 1), (2, None), (0.5, None)]),
    st.booleans(),
    st.sampled_from([None, 2]),
    st.sampled_from(["", "```json\n", "Verdict:\n"]),
)
def test_well_formed_verdicts_are_read_whatever_else_they_hold(
    read: dict[str, Callable[[str], int | None]],
    other: dict[str, Any],
    value: tuple[Any, int | None],
    ascii_only: bool,
    indent: int | None,
    before: str,
) -> None:
    other = {key: held for key, held in other.items() if key.strip().lower() != "score"}
    reply = before + json.dumps({**other, "score": value[0]}, ensure_ascii=ascii_only, indent=indent)
    assert read["corrected"](reply) == value[1]


# What reaches the judge


def harmless(text: str) -> bool:
    """Whether a text has nothing that markup, a chat template or a hidden message is made of."""
    unseen = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return not any(char in "<>[]{}`" or unicodedata.category(char) in unseen for char in text)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack['style']}: {ascii(attack['answer'])[:30]}")
@pytest.mark.parametrize("slot", ["question", "reference", "answer"])
def test_an_attack_stays_in_its_place(part: Callable[[str], ModuleType], attack: dict[str, Any], slot: str) -> None:
    messages, ours = part("prompts").messages, part("prompts").PROMPT
    texts = {"question": "Where?", "reference": "Oslo", "answer": "Rome"}
    benign = messages(ours, **texts)[0]["content"].splitlines()
    (request,) = messages(ours, **(texts | {slot: attack["answer"]}))
    lines = request["content"].splitlines()
    assert request["role"] == "user" and material([request]) == texts | {slot: attack["answer"]}
    changed = [i for i, line in enumerate(benign) if lines[i] != line]
    assert len(lines) == len(benign) and len(changed) == 1, "nothing outside the one line is touched"
    assert lines[changed[0]].startswith("{") and harmless(lines[changed[0]][1:-1])
    assert attack["hook"] is None or attack["hook"] not in request["content"]


def test_the_set_of_attacks() -> None:
    assert len(ATTACKS) >= 40 and len({attack["style"] for attack in ATTACKS}) >= 10
    assert all(attack["hook"] is None or attack["hook"] in attack["answer"] for attack in ATTACKS)


def test_attacks_on_a_gullible_judge_over_http(metric: Any, part: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """It obeys whatever has got out of its place. Filled in as they stand, the attacks win; as they are sent, none."""
    answers = [attack["answer"] for attack in ATTACKS]
    hooks = [attack["hook"] for attack in ATTACKS if attack["hook"]]
    benign = part("prompts").messages(part("prompts").PROMPT, "Where?", "Oslo", "Rome")
    assert not any(hook in benign[0]["content"] for hook in hooks)
    with ChatServer(models=["m"]) as server:
        server.rules.extend(Rule("reply", match=hook, message={"content": YES}) for hook in hooks)
        server.rules.append(Rule("reply", message={"content": NO}))
        with Ledger(tmp_path / "ledger") as ledger, ChatClient(server.url + "#m", ledger=ledger) as judge:
            naive = [f"Question: Where?\nReference: Oslo\nAnswer: {text}" for text in [*answers, "Rome"]]
            replies = judge([[{"role": "user", "content": text}] for text in naive])
            fooled = {text for text, reply in zip([*answers, "Rome"], replies, strict=True) if reply == YES}
            before = server.requests
            got = {
                profile: metric.compute(
                    predictions=answers,
                    references=["Oslo"] * len(answers),
                    questions=["Where?"] * len(answers),
                    judge=judge,
                    profile=profile,
                )
                for profile in PROFILES
            }
            sent = [body["messages"] for body in server.bodies[before:]]
    hooked = {attack["answer"] for attack in ATTACKS if attack["hook"]}
    assert len(hooked) >= 30 and hooked <= fooled and "Rome" not in fooled
    assert [got[profile]["accuracy"] for profile in PROFILES] == [0.0, 0.0]
    assert all(one["hallucination"] == 1.0 and one["unscored"] == {} for one in got.values())
    assert len(sent) == len(answers), "both profiles share one reply"
    assert sorted(material(messages)["answer"] for messages in sent) == sorted(answer.strip() for answer in answers)


def test_from_answers_over_http_to_the_result(metric: Any) -> None:
    with ChatServer(models=["m"]) as server:
        server.rules.append(Rule("status", match='"Bern"', status=400))
        server.rules.append(Rule("reply", match='"in Oslo"', message={"content": "```json\n{'score': 1}\n```"}))
        server.rules.append(Rule("reply", match='"Bonn"', message={"content": NO}))
        with ChatClient(server.url + "#m", concurrency=4) as judge:
            kwargs = {"predictions": ["in Oslo", "Bonn", "Bern", "I don't know"], "references": ["Oslo"] * 4}
            got = [metric.compute(**kwargs, questions=["?"] * 4, judge=judge, profile=p) for p in PROFILES]
    assert means(got[0]) == [-0.75, 0.0, 0.75, 0.25] and got[0]["unscored"] == {"unparsable": 1, "api_error": 1}
    assert means(got[1]) == [0.0, 0.25, 0.25, 0.25] and got[1]["unscored"] == {"api_error": 1}
    assert got[1]["unscored_share"] == 0.25 and got[0]["signature"].endswith("judge:m")


def test_our_prompt_asks_for_what_both_readers_read(
    part: Callable[[str], ModuleType], read: dict[str, Callable[[str], int | None]]
) -> None:
    text = part("prompts").PROMPT
    form = text.rstrip().splitlines()[-1]
    for value in (0, 1):
        reply = form.replace("0 or 1", str(value))
        assert [read[profile](reply) for profile in PROFILES] == [value, value]
    assert all(text.count(slot) == 1 for slot in ("{question}", "{reference}", "{answer}"))


def test_a_prompt_of_the_user_s(score: Callable[..., Any]) -> None:
    asked: list[str] = []

    def judge(requests: list[Any]) -> list[str]:
        asked.extend(request[0]["content"] for request in requests)
        return [YES] * len(requests)

    score(["{reference} \\1"], ['a "b"'], judge, prompt="{answer}|{reference}|{x}|{answer}")
    shown = '"\\u007breference\\u007d \\\\1"'
    assert asked == [f'{shown}|"a \\"b\\""|{{x}}|{shown}']


def test_a_prompt_as_the_paper_prints_one_is_followed_by_the_texts_with_all_accepted_answers(
    score: Callable[..., Any],
) -> None:
    asked: list[str] = []
    golds = [["1989", 'nineteen "eighty" nine'], "Oslo", "invalid question"]

    def judge(requests: list[Any]) -> list[str]:
        asked.extend(request[0]["content"] for request in requests)
        return ['{"Accuracy": "True"}', '{"accuracy": false, "explanation": "another town"}'][: len(requests)]

    for profile in PROFILES:
        asked.clear()
        got = score(["in 1989", "Bergen {x}", "invalid"], golds, judge, profile, prompt="Say if it is right.\n")
        assert column(got) == [1.0, -1.0, 1.0] and got["unscored"] == {}
        assert asked[0] == (
            'Say if it is right.\n\nQuestion: "Q0"\nAccepted answers: ["1989", "nineteen \\"eighty\\" nine"]\n'
            'Prediction: "in 1989"'
        )
        assert asked[1].endswith('Prediction: "Bergen \\u007bx\\u007d"') and len(asked) == 2
        assert "|prompt:" in got["signature"] and got["signature"] != score(["a"], ["b"], Says(NO))["signature"]


@pytest.mark.parametrize(
    ("reply", "verdicts"),
    [
        ('{"Accuracy": "True", "Explanation": "so"}', (1, 1)),
        ('{"Accuracy": "False"}', (0, 0)),
        ('{"accuracy": true}', (1, 1)),
        ('{"score": 0}', (0, 0)),
        ('{"Accuracy": "maybe"}', (None, None)),
        ("Accuracy: True", (None, 1)),
        ('{"Accuracy": "True"} {"Accuracy": "False"}', (0, None)),
    ],
)
def test_both_forms_of_a_verdict_are_read_under_a_prompt_of_the_users_own(
    score: Callable[..., Any], reply: str, verdicts: tuple[int | None, int | None]
) -> None:
    truth = {1: 1.0, 0: -1.0, None: None}
    for profile, verdict in zip(PROFILES, verdicts, strict=True):
        got = score(["a"], ["b"], Says(reply), profile, prompt="Say if it is right.", judge_failure="excluded")
        assert column(got) == [truth[verdict]]


@pytest.mark.parametrize(
    ("unread", "begin"), [(1, "scored 9 of 10: 1 of 10 "), (3, "INVALID, scored 7 of 10: 3 of 10 ")]
)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("reply", "how"), [("blub", "could not be read"), (None, "failed or could not be read")])
def test_verdicts_that_failed_are_told_and_where_many_did_the_result_is_not_valid(
    metric, profile, unread, begin, reply, how
):
    def judge(requests):
        return [reply] * unread + ['{"score": 1}'] * (len(requests) - unread)

    asked = {"predictions": ["It was in May."] * 10, "references": ["June"] * 10, "questions": ["When?"] * 10}
    with pytest.warns(UserWarning) as told:
        got = metric.compute(**asked, judge=judge, profile=profile)
    (line,) = [str(one.message) for one in told]
    assert line.startswith(f"{begin}verdicts {how}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counted = metric.compute_quietly(**asked, judge=judge, profile=profile)
        asked["predictions"], states = [None] * unread + ["It was in May."] * (10 - unread), ["unparsable"] * 10
        fine = metric.compute(**asked, states=states, judge=lambda requests: ['{"score": 1}'] * len(requests))
    assert fine.pop("valid")
    assert got.pop("valid") == (unread == 1) and got == counted

"""omnieval: worked examples, the authors' quirks by name, requests, verdicts damaged and fuzzed, means by an oracle."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from omnieval_judges import (
    HALVED,
    KEYS,
    NAMES,
    PROFILES,
    SCALES,
    Judge,
    always,
    column,
    material,
    metric_of,
    says,
    worth,
)

from quadrag.stats import Item, summarise

CASES = json.loads(Path(__file__).with_name("omnieval_vectors.json").read_text(encoding="utf-8"))
pytestmark = pytest.mark.filterwarnings("ignore:.*verdicts:UserWarning")


@pytest.fixture(scope="module")
def load(metrics_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    import evaluate

    cache = str(tmp_path_factory.mktemp("scratch"))
    loaded: dict[tuple[str, ...], Any] = {}

    def load(*config: str) -> Any:
        if config not in loaded:
            loaded[config] = evaluate.load(str(metrics_root / "omnieval"), *config, cache_dir=cache)
        return loaded[config]

    return load


@pytest.fixture(scope="module")
def read(part: Callable[[str], ModuleType]) -> dict[str, Callable[[str, str], int | None]]:
    return dict(part("scorer").READERS)


@pytest.fixture(scope="module")
def score(load: Callable[..., Any]) -> Callable[..., Any]:
    def run(config: str, answers: list[Any], judge: Any, profile: str = "official", **more: Any) -> Any:
        n = len(answers)
        given = {"references": ["金"] * n, "questions": [f"问{i}" for i in range(n)], "contexts": ["段"] * n} | more
        return load(config).compute(predictions=answers, judge=judge, profile=profile, **given)

    return run


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES["verdicts"], ids=lambda case: case["name"])
def test_verdicts(
    read: dict[str, Callable[[str, str], int | None]], score: Callable[..., Any], case: dict[str, Any], profile: str
) -> None:
    key, verdict = case["key"], case[profile]
    assert read[profile](case["reply"], key) == verdict
    got = score(key, ["甲"], always(case["reply"]), profile)
    assert column(got, key) == [worth(verdict, key)]
    # Nothing can keep acc and utl from applying, so a -1 of theirs is off the scale.
    unscored = verdict is None or verdict < -1 or (verdict == -1 and key in ("acc", "utl"))
    assert got["unscored"] == ({"unparsable": 1} if unscored else {})
    reason = "unparsable" if unscored else "not_applicable" if verdict == -1 else None
    assert got["per_item"][0]["reasons"] == ({key: reason} if reason else {})


@pytest.mark.parametrize(("key", "reply", "verdict"), CASES["mended"] + CASES["kept"])
def test_official_mends_what_json_repair_mends(
    read: dict[str, Callable[[str, str], int | None]], key: str, reply: str, verdict: int
) -> None:
    """The third column of `mended` is what json_repair 0.30.0 and `int` made of the reply, of `kept` what we do."""
    got = read["official"](reply, key)
    assert (-1 if got is None else got) == verdict


def test_corrected_counts_an_unscored_item_at_the_worst_value(score: Callable[..., Any]) -> None:
    replies = {"好": 1, "坏": 0}

    def reply(key: str, answer: str) -> str:
        return says(replies[answer]) if answer in replies else "?"

    got = score("all", ["好", "坏", "？", "好", None], Judge(reply), "corrected")
    assert {key: got[key] for key in KEYS} == {"acc": 0.2, "hal": 0.8, "com": 0.2, "utl": 0.2, "nac": 0.4}
    over = {key: got[f"{key}_over_scored"] for key in KEYS}
    third = pytest.approx(1 / 3)
    assert over == {"acc": third, "hal": pytest.approx(2 / 3), "com": third, "utl": third, "nac": pytest.approx(2 / 3)}


@pytest.mark.parametrize("profile", PROFILES)
def test_means_against_an_oracle_and_the_statistics(score: Callable[..., Any], profile: str) -> None:
    draw = random.Random(20241217)
    said = [-2, -1, 0, 1, 2, 3, "2", "1.5", [1], None]
    table = {(key, str(i)): draw.choice(said) for key in KEYS for i in range(300)}
    answers = [str(i) if i % 7 else None for i in range(300)]
    got = score("all", answers, Judge(lambda key, answer: says(table[key, answer])), profile)
    for key in KEYS:
        values: list[float] = []
        lacking = 0
        for answer in answers:
            verdict = None if answer is None else table[key, answer]
            number = int(verdict) if isinstance(verdict, int) or verdict == "2" else None
            if profile == "corrected" and number not in SCALES[key]:
                number = None
            if number is None or number < -1:
                lacking += 1
            elif number >= 0:
                values.append(number / 2 if key in HALVED else number)
        assert len(values) > 40 and lacking > 40
        worst = lacking if profile == "corrected" and key == "hal" else 0
        total = len(values) + (lacking if profile == "corrected" else 0)
        assert got[key] == pytest.approx((sum(values) + worst) / total, abs=1e-12)
        items = [Item(i, row[key], row["reasons"].get(key)) for i, row in enumerate(got["per_item"])]
        whole = summarise(items, profile=profile, worst=float(key == "hal"))
        assert whole.value == pytest.approx(got[key])
        if profile == "corrected":
            assert got[f"{key}_over_scored"] == pytest.approx(sum(values) / len(values))


def test_hallucination_minus_1_is_the_paper_s(score: Callable[..., Any], part: Callable[[str], ModuleType]) -> None:
    assert part("prompts").SCALES["hal"] == (0, 1) and "-1" not in part("prompts").PROMPTS["hal"]
    got = score("hal", ["甲", "乙"], Judge(lambda _, answer: says(-1 if answer == "甲" else 1)), "corrected")
    assert (got["hal"], got["unscored"]) == (1.0, {})
    assert got["per_item"][0]["reasons"] == {"hal": "not_applicable"}


def test_configs(load: Callable[..., Any]) -> None:
    given: dict[str, Any] = {"predictions": ["甲"], "references": ["乙"], "questions": ["问"], "contexts": [["段"]]}
    replies = {"acc": says(2), "hal": says(0), "com": says(1), "utl": says(0), "nac": says(1)}
    values = {"acc": 1.0, "hal": 0.0, "com": 0.5, "utl": 0.0, "nac": 1.0}
    rest = {"n_total", "n_scored", "unscored", "per_item", "signature", "valid"}
    for config in (*KEYS, "all"):
        judge = Judge(lambda key, answer: replies[key])
        got = load(config).compute(**given, judge=judge)
        asked = KEYS if config == "all" else (config,)
        assert set(got) - rest == set(asked) and {key: got[key] for key in asked} == {k: values[k] for k in asked}
        assert [metric_of(request) for request in judge.batches[0]] == list(asked)
        corrected = load(config).compute(**given, judge=judge, profile="corrected")
        assert set(corrected) - rest == {name for key in asked for name in (key, f"{key}_over_scored")}
        assert judge.batches[0] == judge.batches[1], "both profiles send the same requests"
    assert load().compute(**given, judge=judge) == load("all").compute(**given, judge=judge)


def test_all_requests_go_in_one_batch_item_by_item(score: Callable[..., Any]) -> None:
    judge = always(says(1))
    got = score("all", ["甲", None, "", "丙"], judge, references=["乙", "乙", "乙", None])
    assert len(judge.batches) == 1 and len(judge.batches[0]) == 10
    assert [metric_of(request) for request in judge.batches[0]] == list(KEYS) * 2
    assert [material(request)["answer"] for request in judge.batches[0]] == ["甲"] * 5 + [""] * 5
    assert [row["reasons"].get("acc") for row in got["per_item"]] == [None, "api_error", None, "not_applicable"]
    assert (got["n_total"], got["n_scored"], got["unscored"]) == (4, 3, {"api_error": 1})


def test_what_the_judge_sees(score: Callable[..., Any]) -> None:
    judge = always(says(1))
    turns = [{"question": "三年期呢？", "answer": "3%"}, {"question": "五年期呢？"}]
    score(
        "all",
        ["4%"],
        judge,
        references=[["4%", "百分之四", "4%", " "]],
        contexts=[["利率表", "五年期\n4%"]],
        history=[turns],
    )
    base = {"question": "问0", "history": turns, "references": ["4%", "百分之四"], "answer": "4%"}
    for request in judge.batches[0]:
        key = metric_of(request)
        assert material(request) == base | ({"passages": ["利率表", "五年期\n4%"]} if key in ("hal", "utl") else {})
        assert [message["role"] for message in request] == ["user"]
    texts = [request[0]["content"] for request in judge.batches[0]]
    shared = next(i for i, chars in enumerate(zip(*texts, strict=False)) if len(set(chars)) > 1)
    assert shared > texts[0].index('"answer": "4%"'), "a server that keeps prefixes reads the material once"


def test_contexts_in_every_shape(score: Callable[..., Any]) -> None:
    import numpy as np

    shapes = [["段一", ["段二", "段三"], (), None], np.array(["段一", "段二", "", "段四"])]
    for contexts in shapes:
        score("utl", ["甲", "乙", "丙", None], judge := always(says(1)), contexts=contexts)
    seen = [material(request)["passages"] for request in judge.batches[0]]
    assert seen == [["段一"], ["段二"], [""]]
    judge = always(says(1))
    score("utl", ["甲", "乙", "丙", None], judge, contexts=shapes[0])
    assert [material(request)["passages"] for request in judge.batches[0]] == [["段一"], ["段二", "段三"], []]


def test_response_format(load: Callable[..., Any]) -> None:
    verdicts = {"acc": [0, 1, 2], "hal": [0, 1], "com": [-1, 0, 1, 2], "utl": [0, 1, 2], "nac": [-1, 0, 1]}
    for config, expected in (verdicts | {"all": [-1, 0, 1, 2]}).items():
        form = load(config).response_format
        assert form["type"] == "json_schema" and form["json_schema"]["strict"] is True
        schema = form["json_schema"]["schema"]
        assert schema["properties"]["prediction"] == {"type": "integer", "enum": expected}
        assert schema["required"] == ["prediction"] == list(schema["properties"])
        assert schema["additionalProperties"] is False and json.loads(json.dumps(form)) == form
        form.clear()
        assert load(config).response_format, "a caller's changes stay the caller's"


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
    field = form + draw.choice((":", ": ", " : ", ":\n", "=", "\uff1a")) + text
    return key, damage(draw, field, said), truth


def damage(draw: random.Random, field: str, said: str) -> str:
    """A reply whose field is the verdict; a second one, which makes it say nothing, never follows one cut off."""
    reason = f'"理由": "{said}"'
    end = draw.choice((",", ", ", "\n,", "}", "\n}", " }"))
    before, after = draw.choice((("{", ""), ("{ ", ""), ("{\n    ", ""), ("{{", "}"), ("[{", "}]")))
    head, tail = before, f" {reason}}}" if "," in end else f" {reason}" if draw.random() < 0.3 else ""
    if draw.random() < 0.3 and not re.search(r"\{|prediction|accuracy|ation|completeness", said):
        head, tail = f"{before}{reason}, ", "}" if "," in end else ""
    tail += after
    for _ in range(draw.choice((0, 0, 1, 2))):
        at, sign = draw.randrange(len(tail) + 1), draw.choice("{}[]\"',:\\x \n\u2028：，")
        tail = draw.choice((tail[:at] + tail[at + 1 :], tail[:at] + sign + tail[at:], tail[:at]))
    reply = head + field + end + tail
    if draw.random() < 0.1:
        reply = draw.choice(_ROUND) + reply[: draw.randrange(len(reply) + 1)]
    else:
        reply = draw.choice(_ROUND) + reply + draw.choice(("", "\n```", " 以上。", "]", "\n\n完 {好}", "}"))
        if draw.random() < 0.1:
            second = draw.choice(('\n{"prediction": %s}', "\nPrediction: %s", " 不对：{'prediction': %s}"))
            reply += second % draw.choice("012")
    return json.dumps(reply) if draw.random() < 0.05 else reply


@pytest.mark.slow(10_000, 30_000, 2_000_000)
def test_malformed_verdicts(read: dict[str, Callable[[str, str], int | None]], rounds: int) -> None:
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
@example('{"a": "' + "{}" * 50_000, "acc")
@example('{"a": "' + "{'a': 'b', " * 10_000, "acc")
def test_no_reply_crashes_a_reader_or_is_a_verdict_from_nowhere(
    read: dict[str, Callable[[str, str], int | None]], reply: str, key: str
) -> None:
    for profile in PROFILES:
        got = read[profile](reply, key)
        assert got is None or type(got) is int
        assert got is None or profile == "official" or got in SCALES[key]
        assert got is None or re.search(f"prediction|{NAMES[key].replace('_', '.')}|\\\\u", reply, re.I), "from nowhere"


def test_our_prompts_ask_for_what_both_readers_read(
    part: Callable[[str], ModuleType], read: dict[str, Callable[[str, str], int | None]]
) -> None:
    slots = {"{question}", "{history}", "{references}", "{answer}"}
    for key, text in part("prompts").PROMPTS.items():
        form = text.rstrip().splitlines()[-1]
        for verdict in part("prompts").SCALES[key]:
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

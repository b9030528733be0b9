"""omnieval: vectors, quirks by name, the five metrics' requests, columns, fuzzed verdicts, attacks on a judge."""

from __future__ import annotations

import csv
import inspect
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
from hypothesis import example, given
from hypothesis import strategies as st

from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger
from quadrag.stats import Item, summarise

ROOT = Path(__file__).parents[2]
CASES = json.loads(Path(__file__).with_name("omnieval_vectors.json").read_text(encoding="utf-8"))
ATTACKS = json.loads(Path(__file__).with_name("omnieval_attacks.json").read_text(encoding="utf-8"))
PROFILES = ("official", "corrected")
KEYS = ("acc", "hal", "com", "utl", "nac")
NAMES = {
    "acc": "accuracy",
    "hal": "hallucination",
    "com": "completeness",
    "utl": "utilization",
    "nac": "numerical_accuracy",
}
# What `corrected` takes; the prompts ask for the same, but for hallucination's -1, which is the paper's.
SCALES = {"acc": {0, 1, 2}, "hal": {-1, 0, 1}, "com": {-1, 0, 1, 2}, "utl": {0, 1, 2}, "nac": {-1, 0, 1}}
HALVED = {"acc", "com", "utl"}
TITLES = {"正确性": "acc", "幻觉": "hal", "完整性": "com", "检索内容的利用": "utl", "数值准确性": "nac"}


def says(verdict: Any) -> str:
    return json.dumps({"prediction": verdict})


def material(request: list[dict[str, str]]) -> dict[str, Any]:
    """The texts of a request, read back from its one line of JSON."""
    (line,) = [line for line in request[-1]["content"].splitlines() if line.startswith('{"question": ')]
    return dict(json.loads(line))


def metric_of(request: list[dict[str, str]]) -> str:
    """The metric that one of our prompts asks for."""
    (title,) = re.findall(r"^这次评的是“(.+?)”", request[-1]["content"], re.MULTILINE)
    return TITLES[title]


class Judge:
    """Replies by metric and answer, and keeps what it was asked."""

    model = "table"

    def __init__(self, replies: Callable[[str, str], Any]) -> None:
        self.replies = replies
        self.batches: list[list[list[dict[str, str]]]] = []

    def __call__(self, requests: list[list[dict[str, str]]]) -> list[Any]:
        self.batches.append(requests)
        return [self.replies(metric_of(request), material(request)["answer"]) for request in requests]


def always(reply: Any) -> Judge:
    return Judge(lambda key, answer: reply)


@pytest.fixture(scope="module")
def load(metrics_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """A function from a config to the metric, loaded by path as users do."""
    import evaluate

    cache = str(tmp_path_factory.mktemp("scratch"))
    loaded: dict[tuple[str, ...], Any] = {}

    def load(*config: str) -> Any:
        if config not in loaded:
            loaded[config] = evaluate.load(str(metrics_root / "omnieval"), *config, cache_dir=cache)
        return loaded[config]

    return load


@pytest.fixture(scope="module")
def part(load_file: Callable[[str], ModuleType]) -> Callable[[str], ModuleType]:
    return lambda name: load_file(f"omnieval/{name}.py")


@pytest.fixture(scope="module")
def read(part: Callable[[str], ModuleType]) -> dict[str, Callable[[str, str], int | None]]:
    return dict(part("omnieval").READERS)


@pytest.fixture(scope="module")
def score(load: Callable[..., Any]) -> Callable[..., Any]:
    """Score answers, each with its own question, passage and accepted answer."""

    def run(config: str, answers: list[Any], judge: Any, profile: str = "official", **more: Any) -> Any:
        n = len(answers)
        given = {"references": ["金"] * n, "questions": [f"问{i}" for i in range(n)], "contexts": ["段"] * n} | more
        return load(config).compute(predictions=answers, judge=judge, profile=profile, **given)

    return run


def column(got: Any, key: str) -> list[float | None]:
    return [row[key] for row in got["per_item"]]


def worth(verdict: int | None, key: str) -> float | None:
    return None if verdict is None or verdict < 0 else verdict / 2 if key in HALVED else float(verdict)


# The worked examples


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


@pytest.mark.parametrize(("key", "reply", "verdict"), CASES["mended"])
def test_official_mends_what_json_repair_mends(
    read: dict[str, Callable[[str, str], int | None]], key: str, reply: str, verdict: int
) -> None:
    """The third column is what json_repair 0.30.0 and `int` made of the reply, -1 for nothing."""
    with pytest.raises(ValueError):
        json.loads(reply)
    got = read["official"](reply, key)
    assert (-1 if got is None else got) == verdict


def test_the_vectors_hold_enough_of_each_kind() -> None:
    assert len(CASES["verdicts"]) >= 70 and len({case["name"] for case in CASES["verdicts"]}) == len(CASES["verdicts"])
    verdicts = [verdict for *_, verdict in CASES["mended"]]
    assert all(verdicts.count(verdict) >= 10 for verdict in (-1, 0, 1, 2))


def test_official_mean_of_1_half_minus_1_and_0(score: Callable[..., Any]) -> None:
    replies = iter(['{"prediction": 2}', '{"accuracy": 1}', '{"prediction": [2]}', '{"prediction": 0}'])
    got = score("acc", ["甲"] * 4, Judge(lambda key, answer: next(replies)))
    assert (got["acc"], column(got, "acc"), got["unscored"]) == (0.5, [1.0, 0.5, None, 0.0], {"unparsable": 1})


# The authors' quirks


def test_official_takes_a_verdict_above_the_scale(score: Callable[..., Any]) -> None:
    for key, value in (("acc", 1.5), ("com", 1.5), ("utl", 1.5), ("hal", 3.0), ("nac", 3.0)):
        assert score(key, ["甲"], always(says(3)))[key] == value
        corrected = score(key, ["甲"], always(says(3)), "corrected")
        assert corrected["unscored"] == {"unparsable": 1} and corrected[f"{key}_over_scored"] is None


def test_official_takes_what_int_takes(read: dict[str, Callable[[str, str], int | None]]) -> None:
    taken = {"1": 1, '"2"': 2, "1.9": 1, "-0.5": 0, "true": 1, "false": 0, '" 1 "': 1, '"1_0"': 10, '"１"': 1, "-7": -7}
    left = ['"1.5"', "[2]", "null", "NaN", "Infinity", '"true"', '""', "{}", "9" * 400]
    for text, verdict in taken.items():
        assert read["official"](f'{{"prediction": {text}}}', "acc") == verdict, text
    for text in left:
        assert read["official"](f'{{"prediction": {text}}}', "acc") is None, text


def test_official_reads_prediction_first_and_no_other_metric_s_name(
    read: dict[str, Callable[[str, str], int | None]],
) -> None:
    for key, name in NAMES.items():
        assert read["official"](json.dumps({name: 1}), key) == 1
        assert read["official"](json.dumps({name: 1, "prediction": 0}), key) == 0
        assert read["official"](json.dumps({name: 1, "prediction": None}), key) is None
        others = {other: 1 for other in NAMES.values() if other != name} | {key: 1}
        assert [read[profile](json.dumps(others), key) for profile in PROFILES] == [None, None]


def test_official_makes_nothing_of_several_objects(read: dict[str, Callable[[str, str], int | None]]) -> None:
    for reply in (says(1) * 2, f"见[1]：{says(1)}", f"[{says(1)}]"):
        assert read["official"](reply, "acc") is None and read["corrected"](reply, "acc") == 1


def test_minus_1_is_not_applicable_and_unlike_an_unreadable_reply(score: Callable[..., Any]) -> None:
    replies = {"甲": says(-1), "乙": "不清楚", "丙": says(1)}
    for key in KEYS:
        got = {
            profile: score(key, list(replies), Judge(lambda _, answer: replies[answer]), profile)
            for profile in PROFILES
        }
        value = 0.5 if key in HALVED else 1.0
        assert [column(one, key) for one in got.values()] == [[None, None, value]] * 2
        reasons = {profile: [row["reasons"].get(key) for row in one["per_item"]] for profile, one in got.items()}
        # Of acc and utl nothing can fail to apply: such a verdict is off the scale, and told as unscored.
        off = "unparsable" if key in ("acc", "utl") else "not_applicable"
        assert reasons["official"] == [off, "unparsable", None] and reasons["corrected"][0] == off
        assert got["official"][key] == value == got["corrected"][f"{key}_over_scored"]
        assert got["official"]["unscored"] == {"unparsable": 2 if off == "unparsable" else 1}
        if key in ("com", "nac"):
            assert got["corrected"][key] == value / 2


def test_hallucination_minus_1_is_the_paper_s(score: Callable[..., Any], part: Callable[[str], ModuleType]) -> None:
    assert part("scales").SCALES["hal"] == (0, 1) and "-1" not in part("prompts").PROMPTS["hal"]
    got = score("hal", ["甲", "乙"], Judge(lambda _, answer: says(-1 if answer == "甲" else 1)), "corrected")
    assert (got["hal"], got["unscored"]) == (1.0, {})
    assert got["per_item"][0]["reasons"] == {"hal": "not_applicable"}


def test_the_scale_is_the_code_s_and_not_the_paper_s(part: Callable[[str], ModuleType]) -> None:
    scales, prompts = part("scales").SCALES, part("prompts").PROMPTS
    assert scales == {"acc": (0, 1, 2), "hal": (0, 1), "com": (-1, 0, 1, 2), "utl": (0, 1, 2), "nac": (-1, 0, 1)}
    for key, verdicts in scales.items():
        listed = re.findall(r"^(-?\d) 分：", prompts[key], re.MULTILINE)
        assert sorted(map(int, listed)) == list(verdicts), "each verdict is explained once"
        assert f"分数只能取 {'、'.join(map(str, verdicts))}：\n" in prompts[key]


def test_accuracy_has_a_grade_for_what_is_right_and_incomplete(part: Callable[[str], ModuleType]) -> None:
    best, middle, worst = re.findall(r"^[012] 分：.*$", part("prompts").PROMPTS["acc"], re.MULTILINE)
    assert "都说到了" in best and "没有一处说对" in worst
    assert "其余的没有说到（说到的都没有错，也是 1 分），或者说错了" in middle


def test_the_prompts_call_minus_1_not_applicable(part: Callable[[str], ModuleType]) -> None:
    # The authors' prompt for completeness explains its -1 under the number 1.
    for key in KEYS:
        found = re.findall(r"^(-?\d) 分：不适用", part("prompts").PROMPTS[key], re.MULTILINE)
        assert found == (["-1"] if key in ("com", "nac") else [])


def test_all_invalid_is_none_and_no_crash(score: Callable[..., Any]) -> None:
    for reply in ("不清楚", says(-1), None):
        for profile in PROFILES:
            got = score("com", ["甲", "乙"], always(reply), profile)
            over_scored = got["com"] if profile == "official" else got["com_over_scored"]
            assert over_scored is None
    got = score("com", ["甲"], always(says(-1)), "corrected")
    assert (got["com"], got["n_scored"], got["unscored"]) == (None, 1, {})


def test_every_request_of_a_batch_is_answered(score: Callable[..., Any]) -> None:
    # The authors' get_gpt_output answers the first of a batch alone.
    got = score("acc", ["0", "1", "2"], Judge(lambda key, answer: says(int(answer))))
    assert column(got, "acc") == [0.0, 0.5, 1.0]


def test_the_mean_is_over_all_items_and_not_over_files(score: Callable[..., Any]) -> None:
    answers = ["2"] * 9 + ["0"]  # nine of one topic, one of another
    assert score("acc", answers, Judge(lambda key, answer: says(int(answer))))["acc"] == 0.9


def test_close_book_leaves_out_hal_and_utl(load: Callable[..., Any]) -> None:
    given: dict[str, Any] = {"predictions": ["甲"], "references": ["乙"], "questions": ["问"], "close_book": True}
    for profile in PROFILES:
        got = load("all").compute(**given, judge=(judge := always(says(1))), profile=profile)
        assert [metric_of(request) for request in judge.batches[0]] == ["acc", "com", "nac"]
        assert [key for key in KEYS if key in got] == ["acc", "com", "nac"]
        assert (
            list(got["per_item"][0]) == ["acc", "com", "nac", "reasons"] and "|metrics:acc+com+nac|" in got["signature"]
        )
        assert load("all").compute(**given, judge=judge, profile=profile, contexts=["段"]) == got
    for key in ("hal", "utl"):
        with pytest.raises(ValueError, match=f"{key} is judged by the retrieved passages, and close_book has none"):
            load(key).compute(**given, judge=judge, contexts=["段"])
    for key in ("acc", "com", "nac"):
        assert load(key).compute(**given, judge=judge)[key] == (1.0 if key == "nac" else 0.5)


# Configs, requests, results


def test_configs(load: Callable[..., Any]) -> None:
    given: dict[str, Any] = {"predictions": ["甲"], "references": ["乙"], "questions": ["问"], "contexts": [["段"]]}
    replies = {"acc": says(2), "hal": says(0), "com": says(1), "utl": says(0), "nac": says(1)}
    values = {"acc": 1.0, "hal": 0.0, "com": 0.5, "utl": 0.0, "nac": 1.0}
    rest = {"n_total", "n_scored", "unscored", "per_item", "signature"}
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


def test_an_unknown_config(load: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="config is 'accuracy'; expected one of acc, hal, com, utl, nac or 'all'"):
        load("accuracy")


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


@pytest.mark.parametrize("empty", [None, [None, None], [[], None], [(), []]])
def test_no_history(score: Callable[..., Any], empty: Any) -> None:
    score("acc", ["甲", "乙"], judge := always(says(1)), history=empty)
    assert [material(request)["history"] for request in judge.batches[0]] == [[], []]


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


@pytest.mark.parametrize("profile", PROFILES)
def test_failures_and_states(score: Callable[..., Any], failure: Any, profile: str) -> None:
    replies = {"甲": says(0), "乙": failure("truncated"), "丙": failure("odd"), "丁": None}
    states = [None] * 4 + ["unparsable", None]
    got = score("all", [*replies, None, None], Judge(lambda _, answer: replies[answer]), profile, states=states)
    assert got["unscored"] == {"truncated": 1, "api_error": 3, "unparsable": 1} and got["n_scored"] == 1
    for key in KEYS:
        assert column(got, key) == [0.0] + [None] * 5
        assert [row["reasons"].get(key) for row in got["per_item"]] == [
            None,
            "truncated",
            "api_error",
            "api_error",
            "unparsable",
            "api_error",
        ]
        worst = 5 / 6 if key == "hal" else 0.0
        assert got[key] == pytest.approx(worst if profile == "corrected" else 0.0)
        assert got.get(f"{key}_over_scored", 0.0) == 0.0


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
        whole = summarise(items, profile=profile, worst=float(key == "hal"), resamples=2)
        assert whole.value == pytest.approx(got[key])
        if profile == "corrected":
            assert got[f"{key}_over_scored"] == pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize("profile", PROFILES)
def test_add_and_add_batch_agree_with_compute(
    load: Callable[..., Any], score: Callable[..., Any], profile: str
) -> None:
    answers, golds = ["甲", None, "", "乙"], ["金", ["金", "子"], "金", None]
    kwargs: dict[str, Any] = {"questions": [f"问{i}" for i in range(4)], "contexts": ["段"] * 4, "profile": profile}
    whole = score("all", answers, always(says(1)), profile, references=golds)
    metric = load("all")
    for answer, gold in zip(answers, golds, strict=True):
        metric.add(prediction=answer, reference=gold)
    assert metric.compute(**kwargs, judge=always(says(1))) == whole
    metric.add_batch(predictions=answers[:1], references=golds[:1])
    metric.add_batch(predictions=answers[1:], references=golds[1:])
    assert metric.compute(**kwargs, judge=always(says(1))) == whole


@pytest.mark.parametrize("profile", PROFILES)
def test_no_items(score: Callable[..., Any], profile: str) -> None:
    got = score("all", [], judge := always(says(1)), profile)
    assert (got["n_total"], got["n_scored"], got["unscored"], got["per_item"], judge.batches) == (0, 0, {}, [], [])
    assert all(got[key] is None for key in KEYS)


def test_nothing_accepted_is_not_applicable(score: Callable[..., Any]) -> None:
    for profile in PROFILES:
        got = score("all", ["甲", None, "乙", "丙"], always(says(1)), profile, references=[None, [], ["", " "], "金"])
        assert [row["reasons"].get("nac") for row in got["per_item"]] == ["not_applicable"] * 3 + [None]
        assert (got["nac"], got["unscored"], got["n_scored"]) == (1.0, {}, 4)


def test_signature(score: Callable[..., Any]) -> None:
    ours = score("all", ["甲"], always(says(1)))["signature"].split("|")
    assert ours[:4] == ["omnieval", "version:1.1.0", "profile:official", "metrics:acc+hal+com+utl+nac"]
    assert ours[4] == "tokenizer:none" and re.fullmatch(r"prompt:[0-9a-f]{8}", ours[5]) and ours[6] == "judge:table"
    one = score("nac", ["甲"], always(says(1)), "corrected")["signature"].split("|")
    assert one[2:4] == ["profile:corrected", "metrics:nac"] and one[5] != ours[5]
    prompts = {"acc": "{references}{answer}"}
    theirs = score("all", ["甲"], lambda requests: [says(1)] * 5, prompts=prompts)["signature"].split("|")
    assert theirs[5] != ours[5] and theirs[6] == "judge:none"
    same = [score(key, ["甲"], lambda requests: [says(1)], prompts=prompts)["signature"] for key in ("hal", "acc")]
    assert same[0].split("|")[5] == score("hal", ["甲"], always(says(1)))["signature"].split("|")[5]


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


def test_every_constrained_reply_is_read_by_both(read: dict[str, Callable[[str, str], int | None]]) -> None:
    for key, scale in SCALES.items():
        for verdict in scale:
            for reply in (says(verdict), f'{{\n  "prediction": {verdict}\n}}', f'{{"prediction":{verdict}}}\n'):
                assert [read[profile](reply, key) for profile in PROFILES] == [verdict] * 2


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
    *[
        (text, None)
        for text in ("+1", "{}", "0-2", "1或2", "1 or 2", "2分", '"高"', "\u0661", "１", "1%", "1,2", "1.0.1")
    ],
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
    end = draw.choice((",", ", ", "\n,", "}", "\n}", " }"))
    before, after = draw.choice((("{", ""), ("{ ", ""), ("{\n    ", ""), ("{{", "}"), ("[{", "}]"))), ""
    reason = f'"理由": "{said}"'
    head, tail = before[0], f" {reason}}}" if "," in end else f" {reason}" if draw.random() < 0.3 else ""
    if draw.random() < 0.3 and not re.search(r"\{|prediction|accuracy|ation|completeness", said):
        head, tail = f"{before[0]}{reason}, ", "}" if "," in end else ""
    tail += before[1] + after

    def damaged(piece: str) -> str:
        for _ in range(draw.choice((0, 0, 1, 2))):
            at = draw.randrange(len(piece) + 1)
            kept, lost = piece[:at], piece[at + 1 :]
            piece = draw.choice((kept + lost, kept + draw.choice("{}[]\"',:\\x \n\u2028：，") + piece[at:], kept))
        return piece

    reply = head + field + end + damaged(tail)
    cut = draw.random() < 0.1
    if cut:
        reply = reply[: draw.randrange(len(reply) + 1)]
    reply = draw.choice(_ROUND) + reply
    if not cut:
        reply += draw.choice(("", "\n```", " 以上。", "]", "\n\n完 {好}", "}"))
        if draw.random() < 0.1:  # after a cut, it might be the only one
            again = draw.choice(('\n{"prediction": %s}', "\nPrediction: %s", " 不对：{'prediction': %s}"))
            reply += again % draw.choice("012")
    if draw.random() < 0.05:
        reply = json.dumps(reply)
    return key, reply, truth


@pytest.mark.slow(10_000, 100_000, 2_000_000)
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


# Input

GOOD: dict[str, Any] = {
    "predictions": ["甲", None],
    "references": ["乙", "乙"],
    "questions": ["问", "问"],
    "contexts": [["段"], None],
    "judge": lambda requests: [says(1)] * len(requests),
}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"judge": None}, "judge is NoneType; expected a callable from chats to replies"),
        ({"judge": "http://127.0.0.1/v1"}, "judge is str; expected a callable"),
        ({"judge": lambda requests: []}, "judge returned 0 replies to 5 requests"),
        ({"judge": lambda requests: "1"}, "judge returned str; expected a list"),
        ({"profile": "offical"}, "profile is 'offical'; expected 'official' or 'corrected'"),
        ({"predictions": "甲"}, "predictions is str; expected a list of strings"),
        ({"predictions": [1, "甲"]}, r"predictions\[0\] is int; expected a string or None"),
        ({"references": ["乙"]}, "2 predictions but 1 references"),
        ({"references": None}, "references is NoneType; expected a list, one per prediction"),
        ({"references": ["乙", 7]}, r"references\[1\] is int; expected a string, a list of strings or None"),
        ({"references": ["乙", ["丙", 7]]}, r"references\[1\]\[1\] is int; expected a string"),
        ({"questions": None}, "questions is None; pass questions="),
        ({"questions": ["问"]}, "questions has 1 entries for 2 predictions"),
        ({"questions": ["问", None]}, r"questions\[1\] is NoneType; expected a string"),
        ({"contexts": None}, "contexts is None, but hal and utl are judged by them; pass the passages"),
        ({"contexts": "段"}, "contexts is str; expected a list, one entry per prediction"),
        ({"contexts": [["段"]]}, "contexts has 1 entries for 2 predictions"),
        ({"contexts": [None, ["段"]]}, r"contexts\[0\] is NoneType; expected a list of passages or a string"),
        ({"contexts": [[None], []]}, r"contexts\[0\]\[0\] is NoneType; expected a string"),
        ({"contexts": [{"text": "段"}, []]}, r"contexts\[0\] is dict; expected a list of passages or a string"),
        ({"history": "问"}, "history is str; expected a list, one entry per prediction"),
        ({"history": [[]]}, "history has 1 entries for 2 predictions"),
        ({"history": ["问", []]}, r"history\[0\] is str; expected a list of turns"),
        ({"history": [["问"], []]}, r"history\[0\]\[0\] is str; expected a mapping with 'question' and 'answer'"),
        ({"history": [[{"q": "问"}], []]}, r"history\[0\]\[0\] has the keys q; expected a mapping with 'question'"),
        ({"history": [[], [{"question": 1}]]}, r"history\[1\]\[0\]\[0\] is int; expected a string"),
        ({"states": [None, "late"]}, r"states\[1\] is 'late'"),
        ({"prompts": "acc"}, "prompts is str; expected a mapping from acc, hal, com, utl, nac to texts"),
        ({"prompts": {"accuracy": "x"}}, "prompts has 'accuracy'; expected acc, hal, com, utl, nac"),
        ({"prompts": {"acc": 7}}, r"prompts\['acc'\] is no text; expected one, or two"),
        ({"prompts": {"acc": ["a", "b", "c"]}}, r"prompts\['acc'\] is no text; expected one, or two"),
        ({"prompts": {"acc": "{answer}"}}, r"prompts\['acc'\] has no \{references\}; the judge has to see it"),
        ({"prompts": {"utl": "{answer}{references}"}}, r"prompts\['utl'\] has no \{passages\}; the judge has to"),
    ],
)
def test_bad_input_is_one_clear_line(load: Callable[..., Any], given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        load("all").compute(**{**GOOD, **given})
    assert "\n" not in str(caught.value)
    assert load("all").compute(**GOOD)["n_total"] == 2


def test_a_judge_that_raises_is_heard_and_leaves_nothing_behind(score: Callable[..., Any]) -> None:
    def judge(requests: list[Any]) -> list[str]:
        raise RuntimeError("out of budget")

    with pytest.raises(RuntimeError, match="out of budget"):
        score("acc", ["甲"], judge)
    assert score("acc", ["甲"], always(says(1)))["n_total"] == 1


def test_half_a_surrogate_pair(score: Callable[..., Any]) -> None:
    score("hal", ["乙\ud83d"], judge := always(says(1)), contexts=[["丙\ud83d"]], references=["丁\ude00"])
    seen = material(judge.batches[0][0])
    assert (seen["answer"], seen["passages"], seen["references"]) == ("乙\ufffd", ["丙\ufffd"], ["丁\ufffd"])


# The published unit


def test_documented_keywords_and_keys(load: Callable[..., Any]) -> None:
    metric = load("all")
    asked = set(inspect.signature(metric.compute).parameters)
    arguments, returned = metric.inputs_description.split("Returns:")
    assert all(f"    {keyword}: " in arguments for keyword in asked)
    for key in metric.compute(**GOOD, profile="corrected"):
        assert ("<key>_over_scored" if key.endswith("_over_scored") else key) in returned, key
    module = sys.modules[type(metric).__module__]
    card = (ROOT / "metrics" / "omnieval" / "README.md").read_text(encoding="utf-8")
    assert module._CITATION.strip() in card and all(f"**{keyword}**" in card for keyword in asked)


def test_the_card_s_tables_are_the_published_ones(metrics_root: Path) -> None:
    card = (metrics_root / "omnieval" / "README.md").read_text(encoding="utf-8")
    printed: dict[tuple[str, str, str, str], str] = {}
    for table, first in (("4", "| retriever |"), ("5", "| generator, retriever |")):
        header, _, *rows = card[card.index(first) :].partition("\n\n")[0].splitlines()
        splits = header.strip("| ").split(" | ")[1:]
        for row in rows:
            name, *cells = row.strip("| ").split(" | ")
            for split, cell in zip(splits, cells, strict=True):
                for key, value in zip(KEYS, cell.split(" / "), strict=True):
                    printed |= {(table, name, split, key): value} if value != "-" else {}
    published = {}
    with (ROOT / "baselines" / "omnieval" / "published.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] in ("4", "5") and row["metric"] in KEYS:
                setting = dict(pair.split("=", 1) for pair in row["setting"].split(";"))
                name = [setting["retriever"]] if row["table"] == "4" else [setting["generator"], setting["retriever"]]
                published[row["table"], ", ".join(name), row["split"], row["metric"]] = row["value"]
    assert len(printed) == 4 * 2 * 5 + 8 * 2 * 5 - 4 * 2 * 2 and printed == published

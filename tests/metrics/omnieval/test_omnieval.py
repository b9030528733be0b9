"""omnieval: vectors, quirks by name, the five metrics' requests and columns, and the card that is published."""

from __future__ import annotations

import csv
import inspect
import json
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
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

from quadrag.stats import Draws, Item, summarise

ROOT = Path(__file__).parents[3]
CASES = json.loads((Path(__file__).parents[1] / "omnieval_vectors.json").read_text(encoding="utf-8"))
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
        whole = summarise(items, profile=profile, worst=float(key == "hal"), draws=Draws(resamples=2))
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
    assert ours[:4] == ["omnieval", "version:1.2.0", "profile:official", "metrics:acc+hal+com+utl+nac"]
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


# Input

GOOD: dict[str, Any] = {
    "predictions": ["甲", None],
    "references": ["乙", "乙"],
    "questions": ["问", "问"],
    "contexts": [["段"], None],
    "judge": lambda requests: [says(1)] * len(requests),
}
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

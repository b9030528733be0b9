"""What omnieval asks its judge: configs, one batch, the material shown, history and contexts in every shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from omnieval_judges import (
    KEYS,
    PROFILES,
    SCALES,
    Judge,
    always,
    material,
    metric_of,
    says,
)


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

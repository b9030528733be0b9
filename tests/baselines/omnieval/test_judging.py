"""OmniEval's judge in whole runs: what it is asked and shown, what its verdicts are worth, what follows from them.

The matrix's numbers are computed again from the items, by plain code.
"""

import json
import re
from collections import Counter
from typing import Any

import pytest
from chat_server import Rule
from omnieval_judges import KEYS, PROFILES, material, metric_of
from omnieval_runs import AUTO, draw

# What each of these is worth: official, corrected; a text is the reason of none.
BEYOND, UNREAD, NOT = (1.5, "unparsable"), ("unparsable",) * 2, ("not_applicable",) * 2
WORTH = {
    "acc": ((0.0,) * 2, (0.5,) * 2, (1.0,) * 2, BEYOND, UNREAD),
    "hal": ((0.0,) * 2, (1.0,) * 2, UNREAD),
    "com": (NOT, (0.0,) * 2, (1.0,) * 2, (0.5,) * 2, UNREAD),
    "utl": ((0.0,) * 2, (0.5,) * 2, (1.0,) * 2),
    "nac": (NOT, (0.0,) * 2, (1.0,) * 2, UNREAD),
}


def place(item: dict[str, Any]) -> str:
    """What tells a question: itself and the turns before it; `那么去年呢？` is asked of many things."""
    return json.dumps([item["question"], item["history"]])


@pytest.mark.slow
def test_a_judge_is_asked_once_of_every_metric_and_item(judged, table):
    assert (judged.ran.code, judged.ran.err) == (0, "")
    requests = [body["messages"] for body in judged.verdicts]
    asked = Counter((metric_of(one), json.dumps(material(one), sort_keys=True)) for one in requests)
    assert Counter(key for key, _ in asked.elements()) == dict.fromkeys(KEYS, 208)
    assert set(asked.values()) == {1} and len(judged.answers) == 208
    assert all(body["temperature"] == 0 for body in judged.verdicts)


def test_a_judge_sees_every_accepted_answer_the_history_and_for_two_metrics_the_passages(house, judged, table):
    requests = [body["messages"] for body in judged.verdicts]
    shown = {(metric_of(one), place(material(one))): material(one) for one in requests}
    passages, answers = house.lines("judged", "retrieved.jsonl"), house.lines("judged", "answers.jsonl")
    assert len(shown) == 208 * 5
    for row in table.values():
        for key in KEYS:
            seen = shown[key, place(row)]
            assert seen["references"] == list(dict.fromkeys(row["answers"]))
            assert seen["answer"] == answers[row["id"]]["answer"]
            found = [passage["text"] for passage in passages[row["id"]]["passages"]]
            assert seen.get("passages") == (found if key in ("hal", "utl") else None)


def test_verdicts_are_worth_what_the_scales_say(house, judged, table):
    seen = Counter()
    for ident, line in house.lines("judged", "items.jsonl").items():
        for key, worth in WORTH.items():
            place = draw(key, table[ident]["question"])
            entry = line[f"omnieval.{key}"]
            for profile, value in zip(PROFILES, worth[place], strict=True):
                if isinstance(value, str):
                    assert entry[profile] is None and entry["reason"][profile] == value
                else:
                    assert entry[profile] == value and profile not in entry.get("reason", {})
            seen[key, place] += 1
    assert set(seen) == {(key, place) for key, worth in WORTH.items() for place in range(len(worth))}


def mean(values: list[float | None], reasons: list[str | None], profile: str, worst: float) -> float | None:
    """A mean by plain code: what has no value is left out, or is the worst one."""
    counted = []
    for value, reason in zip(values, reasons, strict=True):
        if value is not None:
            counted.append(value)
        elif profile == "corrected" and reason != "not_applicable":
            counted.append(worst)
    return sum(counted) / len(counted) if counted else None


@pytest.mark.parametrize("profile", PROFILES)
def test_every_number_by_topic_task_and_cell_micro_and_macro_follows_from_the_items(house, judged, table, profile):
    items, found = house.lines("judged", "items.jsonl"), house.scores("judged")
    groups: dict[str, list[str]] = {"all": list(items)}
    for ident, row in table.items():
        for name in (f"topic={row['topic']}", f"task={row['task']}", f"cell={row['topic']}/{row['task']}"):
            groups.setdefault(name, []).append(ident)
    assert len(groups) == 1 + 16 + 5 + 80
    metrics = [name for name in next(iter(items.values())) if "." in name]
    assert len(metrics) == 3 + 5 + 3
    checked = 0
    for metric in metrics:
        key = metric.partition(".")[2]
        worst = 1.0 if key == "hal" else 0.0
        means: dict[str, float | None] = {}
        for name, idents in groups.items():
            entries = [items[ident][metric] for ident in idents]
            values = [entry[profile] for entry in entries]
            reasons = [entry.get("reason", {}).get(profile) for entry in entries]
            means[name] = mean(values, reasons, profile, worst)
            row = found[name, key, profile]
            assert row["value"] == (None if means[name] is None else pytest.approx(means[name], abs=1e-9))
            assert row["n_total"] == len(idents)
            assert row["n_scored"] == sum(value is not None for value in values)
            assert row["n_not_applicable"] == reasons.count("not_applicable")
            assert sum(row["unscored"].values()) == sum(value is None for value in values) - row["n_not_applicable"]
            checked += 1
        for grouping, count in (("topic", 16), ("task", 5), ("cell", 80)):
            parts = [value for name, value in means.items() if name.startswith(f"{grouping}=")]
            there = [value for value in parts if value is not None]
            row = found[f"macro:{grouping}", key, profile]
            assert row["value"] == pytest.approx(sum(there) / len(there), abs=1e-9)
            assert row["interval"][0] <= row["value"] <= row["interval"][1]
            # Groups in which the judge found no item that the metric applies to have no say.
            assert row["n_groups"] <= count == len(parts) and row["n_total"] == 208
            assert row["n_groups"] == sum(part is not None for part in parts) or profile == "corrected"
            assert row["n_scored"] == found["all", key, profile]["n_scored"]
            assert row["unscored"] == found["all", key, profile]["unscored"]
            checked += 1
    assert checked == len(metrics) * (102 + 3) == len([place for place in found if place[2] == profile])


def test_quirk_a_metric_without_any_valid_verdict_is_a_dash_and_no_error(house):
    """The authors' merging fails where a file's verdicts are all invalid."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(house.server.state, "text", lambda body: '{"prediction": -1}' if body["model"] == "j" else "无")
        code, out, err = house.run(*AUTO, *house.models(ledger="M"), "--limit", "3", "--out", "invalid", "-v")
    assert (code, err) == (0, "")
    found = house.scores("invalid")
    assert found["all", "com", "official"]["value"] is None and found["all", "com", "corrected"]["value"] is None
    assert found["all", "acc", "corrected"]["value"] == 0 and found["all", "acc", "official"]["value"] is None
    assert re.search(r"^com +–", out, re.M)


def test_quirk_a_failed_call_is_no_answer_to_be_judged(house):
    """The authors' code takes the body of an HTTP error for the model's answer."""
    house.server.rules.append(Rule("status", model="m", status=400, body={"error": {"message": "too long"}}, times=2))
    try:
        code, out, err = house.run(*AUTO, *house.models("F"), "--limit", "5", "--out", "failed")
    finally:
        house.server.rules.clear()
    assert (code, err) == (0, "") and "answers that failed: 2, first " in out
    found = house.scores("failed")
    for key in ("f1", "acc", "hal"):
        assert found["all", key, "official"]["unscored"]["api_error"] == 2
    values = [line["omnieval_overlap.f1"]["official"] for line in house.lines("failed", "items.jsonl").values()]
    assert values.count(None) == 2
    assert found["all", "f1", "official"]["value"] == pytest.approx(sum(v for v in values if v is not None) / 3)


def test_quirk_a_judge_has_tokens_enough_for_its_verdict(judged):
    """The authors' call names no limit, and their server's default is 16 tokens."""
    assert {body["max_tokens"] >= 256 for body in judged.verdicts} == {True}


def test_a_second_judge_is_asked_of_hallucination_alone(house):
    house.server.models.append("k")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(house.server.state, "text", lambda body: json.dumps({"prediction": int(body["model"] == "k")}))
        judges = (*house.models("K"), "--judge", f"{house.server.url}#k")
        bodies = house.asked(*AUTO, *judges, "--limit", "4", "--out", "two-judges")
    asked = Counter((body["model"], metric_of(body["messages"])) for body in bodies if body["model"] != "m")
    assert asked == {("j", "acc"): 4, ("j", "com"): 4, ("j", "utl"): 4, ("j", "nac"): 4, ("k", "hal"): 4}
    found = house.scores("two-judges")
    assert {key: found["all", key, "official"]["value"] for key in KEYS} == dict.fromkeys(KEYS, 0.0) | {"hal": 1.0}
    assert "judge:k" in found["all", "hal", "official"]["signature"]
    assert "judge:j" in found["all", "acc", "official"]["signature"]
    inputs = json.loads((house.folder / "two-judges" / "run.json").read_text(encoding="utf-8"))
    assert inputs["judge"] == "j; hal: k"


def test_close_book_is_judged_without_hallucination_and_utilization(house):
    run = (*AUTO, "--retriever", "none", "--limit", "14", "--out", "closed")
    bodies = house.asked(*run, *house.models(ledger="C"))
    found = house.scores("closed")
    assert {key for name, key, _ in found if name == "all"} == {"em", "f1", "rouge_l", "acc", "com", "nac"}
    assert not any("not_run" in row for row in found.values())
    verdicts = [body for body in bodies if body["model"] == "j"]
    assert Counter(metric_of(body["messages"]) for body in verdicts) == {"acc": 14, "com": 14, "nac": 14}
    assert all("passages" not in material(body["messages"]) for body in verdicts)
    for body in bodies:
        if body["model"] == "m":
            assert "Doc 1" not in str(body["messages"]) and "参考文档" not in body["messages"][0]["content"]
    assert any(len(body["messages"]) > 2 for body in bodies if body["model"] == "m"), "conversations among them"
    assert all(row["passages"] == [] for row in house.lines("closed", "retrieved.jsonl").values())

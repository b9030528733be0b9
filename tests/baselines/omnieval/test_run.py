"""OmniEval's runs by the command line: what is found without a judge, what is sent, answers made elsewhere."""

import ast
import json
from collections.abc import Callable
from typing import Any

import pytest
from omnieval_judges import KEYS, PROFILES
from omnieval_runs import AUTO, FAIL, SAMPLE, House, Ran, narrow

from quadrag.data.builders import open_builder, rows


@pytest.fixture(scope="module")
def plain(house: House) -> Ran:
    """The sample with the extractive baseline and without a judge."""
    return house.run(*AUTO, "--out", "plain", "-v")


def test_without_a_judge_rules_and_ranks_are_measured_and_the_others_said_not_to_be(house, plain):
    code, out, err = plain
    assert (code, err) == (0, "")
    found = house.scores("plain")
    run = {key for (name, key, _), row in found.items() if name == "all" and "not_run" not in row}
    assert run == {"em", "f1", "rouge_l", "map", "mrr", "recall@5"}
    assert {key for (_, key, _), row in found.items() if "not_run" in row} == set(KEYS)
    assert all(found["all", key, profile]["not_run"] == "no judge" for key in KEYS for profile in PROFILES)
    assert "Not run: acc, hal, com, utl, nac (--judge)." in " ".join(out.split())
    assert "auto, rouge_l" in out and narrow(out)
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
    inputs = json.loads((house.folder / "talk-repr" / "run.json").read_text(encoding="utf-8"))["digests"]
    assert inputs["options"] == {"conversation": "repr"}
    for body in conversations("repr")[0]:
        if body["model"] == "m" and body["messages"][-1]["content"].startswith("问题: ["):
            assert ast.literal_eval(body["messages"][-1]["content"].removeprefix("问题: ").removesuffix("\n答案:"))

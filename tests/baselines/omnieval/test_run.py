"""OmniEval's runs by the command line: what is found without a judge, what is sent, answers made elsewhere."""

import json

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

"""CRAG's judges in whole runs: their mean, failed verdicts, the papers' judges, weights of question types."""

import json
from pathlib import Path

import pytest
from chat_server import Rule
from crag_runs import NO, SAMPLE, YES, lines, questions, scores
from exported import copy_as_authors


def test_two_judges_are_averaged_and_the_slices_are_means_over_their_items(cli, server, monkeypatch):
    server.rules.append(Rule("reply", model="m", message={"content": "The Glass Orchard, I think"}))
    server.rules.append(Rule("reply", model="j", message={"content": YES}))
    server.rules.append(Rule("reply", model="k", message={"content": NO}))
    judges = ("--judge", f"{server.url}#j", "--judge", f"{server.url}#k")
    arguments = ("--retriever", "none", "--llm", f"{server.url}#m", *judges, "--ledger", "L", "--out", "a")
    data = ("--data-dir", copy_as_authors("crag", Path("CRAG"), monkeypatch), "--split", "public")
    code, out, err = cli("run", "crag", "task_1_2", *data, *arguments)
    assert (code, err) == (0, "")
    found = scores()
    info = json.loads(Path("a/run.json").read_text())
    assert info["judge"] == "mean(j+k)"
    assert "judge:mean(j+k)" in found["all", "accuracy", "official"]["signature"]
    # Two questions have `invalid question` as their answer, which no judge is asked about: wrong.
    assert found["all", "accuracy", "official"]["value"] == pytest.approx(13 / 15 * 0.5)
    assert found["all", "truthfulness", "official"]["value"] == pytest.approx(-2 / 15)
    values = {row["id"]: row["truthfulness.truthfulness"]["official"] for row in lines("items.jsonl")}
    for domain in ("finance", "music", "movie", "sports", "open"):
        ids = [ident for ident, question in questions().items() if question.slices["domain"] == domain]
        row = found[f"domain={domain}", "truthfulness", "official"]
        assert row["value"] == pytest.approx(sum(values[ident] for ident in ids) / len(ids)) and row["n_total"] == len(
            ids
        )
    assert {"llm", "judge", "judge 2"} == set(info["usage"])
    assert "20.0 gpt-4-turbo-2024-04-09" not in out and "Published" in out, "nothing beside what judges always say"


def test_a_failed_verdict_counts_as_the_profile_says_and_is_told(cli, server):
    server.rules.append(Rule("reply", model="j", message={"content": "no verdict"}))
    server.rules.append(Rule("reply", model="m", message={"content": "forty-one"}))
    arguments = ("--retriever", "none", "--llm", f"{server.url}#m", "--judge", f"{server.url}#j", "--ledger", "L")
    arguments = (*arguments, "--limit", "12")  # of more, such a judge is asked no further
    assert cli("run", "crag", "task_1_2", *SAMPLE, *arguments, "--out", "a").code == 3
    official, corrected = (scores()["all", "hallucination", profile] for profile in ("official", "corrected"))
    assert official["value"] == 1 and official["n_scored"] == 2 and official["n_filled"] == 10
    assert official["n_scored"] + official["n_not_applicable"] + sum(official["unscored"].values()) == 12
    assert corrected["value"] == pytest.approx(2 / 12) and corrected["unscored"] == {"unparsable": 10}
    assert cli("run", "crag", "task_1_2", *SAMPLE, *arguments, "--out", "c", "--max-failed", "1").code == 0
    assert scores("c")["all", "hallucination", "official"] == official


def test_judge_presets_name_the_papers_models_and_ask_for_json(cli, server):
    server.models[:] = ["m", "gpt-3.5-turbo-0125", "meta-llama/Meta-Llama-3-70B-Instruct"]
    server.rules.append(Rule("reply", model="m", message={"content": "forty-one"}))
    server.rules.append(Rule("reply", message={"content": YES}))
    judges = [f"{name}={server.url}" for name in ("gpt-3.5-turbo-0125", "llama-3-70b-instruct")]
    arguments = ("--retriever", "none", "--llm", f"{server.url}#m", "--ledger", "L", "--out", "a")
    code, _, err = cli("run", "crag", "task_1_2", *SAMPLE, *arguments, "--judge", judges[0], "--judge", judges[1])
    assert (code, err) == (0, "")
    asked = [body for body in server.state.bodies if body["model"] != "m"]
    assert {body["model"] for body in asked} == set(server.models[1:])
    assert all(body["response_format"] == {"type": "json_object"} and body["temperature"] == 0 for body in asked)
    code, _, err = cli("run", "crag", "task_1_2", *SAMPLE, "--judge", "gpt-3.5=http://x/v1")
    assert code == 2 and "gpt-3.5-turbo-0125" in err and err.count("\n") == 1


def test_weights_add_means_over_domains_with_intervals_by_strata(cli, server):
    kinds = sorted({question.slices["question_type"] for question in questions().values()})
    Path("weights.yaml").write_text(json.dumps({kind: n for n, kind in enumerate(kinds, 1)}))
    server.rules.append(Rule("reply", model="m", message={"content": "forty-one"}))
    server.rules.append(Rule("reply", match="ostra", model="j", message={"content": YES}))
    server.rules.append(Rule("reply", model="j", message={"content": NO}))
    arguments = ("--retriever", "none", "--llm", f"{server.url}#m", "--judge", f"{server.url}#j", "--ledger", "L")
    code, out, err = cli(
        "run", "crag", "task_1_2", *SAMPLE, *arguments, "--option", "weights=weights.yaml", "--out", "a", "-v"
    )
    assert (code, err) == (0, "")
    weights = json.loads(Path("weights.yaml").read_text())
    values = {row["id"]: row["truthfulness.accuracy"]["official"] for row in lines("items.jsonl")}
    by_domain: dict[str, dict[str, list[float]]] = {}
    for ident, question in questions().items():
        kinds = by_domain.setdefault(question.slices["domain"], {})
        kinds.setdefault(question.slices["question_type"], []).append(values[ident])
    means = []
    for kinds in by_domain.values():
        total = sum(weights[kind] for kind in kinds)
        means.append(sum(weights[kind] * sum(found) / len(found) for kind, found in kinds.items()) / total)
    row = scores()["all", "accuracy_weighted", "official"]
    assert row["value"] == pytest.approx(sum(means) / len(means)) and 0 < row["value"] < 1
    low, high = row["interval"]
    assert low < row["value"] < high and (row["method"], row["n_scored"]) == ("wilson", 15)
    graded = scores()["all", "truthfulness_weighted", "official"]
    low, high = graded["interval"]
    assert low - 1e-9 <= graded["value"] <= high + 1e-9 and graded["method"] == "wilson", "alike within each domain"
    assert "accuracy_weighted" in out
    Path("weights.yaml").write_text(json.dumps(dict.fromkeys(weights, 1)))
    code, _, err = cli("run", "crag", "task_1_2", *SAMPLE, *arguments, "--option", "weights=weights.yaml", "--out", "a")
    assert code == 2 and "holds a run with options.weights" in err, "other weights are another run"

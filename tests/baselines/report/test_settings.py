"""A recipe's settings: each with its source, ours as the run has it, and a reason where they differ."""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from pathlib import Path

import pytest
from chat_server import ChatServer

from quadrag import catalogue
from quadrag.baselines.report.settings import compare_settings
from quadrag.baselines.runs.recipe import read_recipe
from quadrag.baselines.runs.used import find_used
from quadrag.baselines.tables.said import SOURCE, find_said
from quadrag.paths import room

RECIPES = list(catalogue.recipes())
compare = cache(compare_settings)
EVERYWHERE = (
    *("model", "interface", "prompts", "temperature", "top_p", "sampling_top_k", "repetition_penalty", "max_tokens"),
    *("stop", "seed", "samples", "config", "split", "questions", "retriever", "metrics", "profile"),
    *("judge", "judge_temperature", "judge_max_tokens", "judge_format", "judge_prompt"),
)
BY_BENCHMARK = {
    "rgb": ("passage_num", "noise_ratio", "correct_ratio", "order"),
    "crag": ("web_window", "kg_window", "windows", "kg", "later", "entities", "entity_model", "release", "trim"),
    "crud_rag": ("chunk_size", "chunk_overlap", "chunk_tokenizer", "chunk_source", "embedding", "reranker", "top_k"),
    "omnieval": ("chunk_size", "chunk_overlap", "embedding", "reranker", "top_k", "query_instruction", "conversation"),
}
# In use and not in the tables: where files lie, what another line says, what no judge is sent, a part of a corpus.
UNTOLD = ("whole", "instruction", "train_dir", "auto_dir", "human_file", "corpus_file", "private_file", "where")


def test_the_recipes_are_73():
    assert len(RECIPES) == 73


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_setting_has_a_source_and_a_reason_where_ours_differs(recipe):
    benchmark, settings = read_recipe(recipe)[1]["benchmark"], compare(recipe)
    names = [setting.name for setting in settings]
    assert len(set(names)) == len(names) and set(names) >= {*EVERYWHERE, *BY_BENCHMARK[benchmark]}
    said = find_said(benchmark, recipe, read_recipe(recipe)[1]["published"])
    for name, paper, ours, why in settings:
        assert paper == "–" or "".join(one.group() for one in SOURCE.finditer(paper)) == paper, name
        assert ours and "{" not in paper, name
        assert why == said[name].why, f"{name}: a reason where there is nothing to explain, or none where there is"
        assert why or paper != "–", name


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_nothing_that_a_run_uses_is_left_out(recipe):
    content = read_recipe(recipe)[1]
    told = {setting.name: setting.ours for setting in compare(recipe)}
    sent = ("not sent", "0")
    for name, value in find_used(recipe).items():
        assert name in told or name in UNTOLD or (name.startswith(("judge_", "entity_")) and value in sent), name
    plain = {**content, **content.get("retrieval", {}), **content["runs"][-1].get("options", {})}
    for name in ("model", "temperature", "top_p", "sampling_top_k", "repetition_penalty", "max_tokens", "stop", "seed"):
        assert told[name] == str(plain.get(name, "0.1" if name == "temperature" else "not sent")), name
    for name in (
        "chunk_size",
        "chunk_overlap",
        "chunk_tokenizer",
        "chunk_source",
        "tokenizer",
        "conversation",
        "later",
    ):
        assert name not in plain or told[name] == str(plain[name]), name


@pytest.mark.parametrize("benchmark", catalogue.benchmarks())
def test_every_line_of_the_facts_is_some_recipes(benchmark):
    with (room("baselines") / benchmark / "settings.csv").open(encoding="utf-8", newline="") as lines:
        facts = [(line["setting"], line["why"]) for line in csv.DictReader(lines)]
    used = [
        (name, said.why)
        for recipe in RECIPES
        if (content := read_recipe(recipe)[1])["benchmark"] == benchmark
        for name, said in find_said(benchmark, recipe, content["published"]).items()
    ]
    assert set(facts) == set(used)


def test_ours_is_what_the_run_records_and_sends(cli):
    told = {setting.name: setting.ours for setting in compare_settings("omnieval-table5-yi15-34b-alone")}
    with ChatServer(models=[told["model"]]) as server:
        arguments = ("--llm", server.url, "--data-dir", "sample", "--limit", 2, "--ledger", "L", "--out", "a")
        assert cli("run", "--recipe", "omnieval-table5-yi15-34b-alone", *arguments).code == 0
        body = server.state.bodies[-1]
    inputs = json.loads(next(Path("a").glob("*/run.json")).read_text(encoding="utf-8"))["inputs"]
    assert told["model"] == inputs["llm"] and told["prompts"] == f"our words, {inputs['prompts']}"
    assert (told["config"], told["split"], told["retriever"]) == ("all", *inputs["splits"], inputs["retriever"])
    assert told["conversation"] == inputs["options"]["conversation"] and told["samples"] == str(inputs["samples"])
    for name in ("temperature", "top_p", "sampling_top_k", "repetition_penalty", "max_tokens", "seed"):
        assert str(body["top_k" if name == "sampling_top_k" else name]) == told[name]


def test_windows_and_entities_are_those_of_a_run(cli):
    told = {setting.name: setting.ours for setting in compare_settings("crag-table11-falcon-40b")}
    with ChatServer(models=["tiiuae/falcon-40b", told["entity_model"]]) as server:
        arguments = ("--llm", server.url, "--entity-llm", server.url, "--data-dir", "sample", "--limit", 1)
        assert cli("run", "--recipe", "crag-table11-falcon-40b", *arguments, "--ledger", "L", "--out", "a").code == 0
    inputs = json.loads(Path("a/task_3-snippets-kg/run.json").read_text(encoding="utf-8"))["inputs"]
    for name in ("web_window", "kg_window", "windows", "later"):
        assert told[name] == str(inputs["retrieval"][name])
    asked = {name: told[f"entity_{name}"] for name in ("model", "temperature", "max_tokens")}
    assert asked == {name: str(value) for name, value in inputs["entity"].items()}


def test_a_recipe_of_ones_own_shows_its_own_values(cli):
    text = catalogue.recipes()["crud_rag-table3-chunk128"].read_text(encoding="utf-8")
    Path("mine.yaml").write_text(text.replace("chunk_size: 128", "chunk_size: 99", 1).replace("0.1", "0.7"))
    found = {setting.name: setting for setting in compare_settings("mine.yaml")}
    assert found["chunk_size"][1:] == ("128 [P]", "99", "as this recipe says")
    assert found["temperature"][1:] == ("0.1 [C]", "0.7", "as this recipe says")
    Path("other.yaml").write_text(text.split("published")[0])
    code, out, err = cli("list", "--recipe", "other.yaml")
    assert (code, out) == (2, "") and err.startswith("quadrag: the recipe other names no printed row; expected")


def test_the_command_prints_all_whose_names_begin_so(cli):
    code, out, _ = cli("list", "--recipe", "rgb-table7")
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    heads = [line.split(":")[0] for line in out.splitlines() if line.startswith("rgb-table7")]
    assert heads == ["rgb-table7-chatgpt-en", "rgb-table7-chatgpt-zh", "rgb-table7-qwen-7b-chat-zh"]
    shared, *rows = out.split("\nrgb-table7-")
    assert shared.startswith("\narXiv:2309.01431, table 7: the same in its 3 recipes\n")
    assert out.count("\ntemperature") == shared.count("\ntemperature") == 1
    assert [("\nconfig" in row, "\nmodel" in row) for row in rows] == [(True, True)] * 3
    assert "stop, seed: the paper is silent; left to the server " in " ".join(out.split())
    assert out.count("the server") == 2, "a reason that several settings have stands once"
    lines = [line.split() for line in out.splitlines()]
    assert ["interface", "chat", "[C]", "chat"] in lines and ["top_p", "–", "not", "sent"] in lines
    out = cli("list", "--recipe", "crud_rag-table5-hybrid").out
    assert "crud_rag-table5-hybrid:" in out and "hybrid-rerank" not in out
    assert "\nfusion               random passages of both    reciprocal rank, weight 0.5,\n" in out
    code, _, err = cli("list", "--recipe", "rgb-tabel7")
    assert code == 2 and "unknown recipe 'rgb-tabel7'; nearest" in err


def test_what_is_listed_fits_the_terminal_breaks_no_name_and_ends_without_blanks(cli):
    for words in (("list",), ("list", "rgb"), ("list", "--recipe", "rgb-table3-chatgpt")):
        out = cli(*words).out
        assert max(map(len, out.splitlines())) <= 80 and not re.search(r" $|^ +,|  , ", out, re.MULTILINE), words

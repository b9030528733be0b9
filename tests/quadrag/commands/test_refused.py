"""Bad input of every kind: one line on stderr, exit code 2, nothing made."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from chat_server import ChatServer

DEAD = "http://127.0.0.1:9/v1#m"
CONFIG = ("run", "rgb", "negative_rejection_en")
RUN = (*CONFIG, "--data-dir", "sample", "--out", "out")
SCORE = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")


def plain(n=12):
    return [{"id": i, "answer": "insufficient information"} for i in range(n)]


# Names and options.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rnu",), ("rnu", "perhaps run")),
        (("compare", "a", "b"), ("no command 'compare'; perhaps report",)),
        (("xyzzy",), ("expected one of demo, list",)),
        (("run", "rgb", "--nonsense"), ("--nonsense", "quadrag run --help")),
        (("run", "rgb", "noise_robustness_en", "--max-token", "5", "--tempreature=1"), ("nearest: --temperature",)),
        (("run",), ("no benchmark", "rgb")),
        (("run", "--all"), ("no benchmark", "rgb")),
        (("run", "--llm", DEAD), ("no benchmark", "rgb")),
        (("run", "rgb"), ("no config", "--all", "noise_robustness_zh")),
        (("run", "rbg", "noise_robustness_zh"), ("'rbg'", "nearest: rgb")),
        (("construct", "review", "x", "--sampel", "3"), ("nearest: --sample",)),
        (("show", "a", "--wrong", "3"), ("'3'", "nearest: --limit 3")),
        (("run", "rgb", "noise_robustness_zh", "noise_0"), ("nearest: --split noise_0",)),
        (("run", "rgb", "--config", "noise_robustness_zh"), ("nearest: CONFIG, without --config",)),
        ((*RUN, "--model", "m"), ("nearest: --llm",)),
        (("questions", "rgb"), ("no config", "noise_robustness_zh", "--all of `quadrag run`")),
        (("report", "a", "b", "--out", "both.html"), ("report makes no folder: --html FILE writes the page",)),
        (("score", "a.jsonl", "--limit", "5"), ("a file may simply hold fewer answers",)),
        ((*RUN, "--llm", DEAD, "--llm=http://127.0.0.1:9/v1#n"), (f"--llm is given twice, as {DEAD} and",)),
        (("run", "rgb", "noise_robustness"), ("'noise_robustness'", "noise_robustness_en", "noise_robustness_zh")),
        (("run", "rgb", "noise_robustnes_zh", "--llm", DEAD, "--ledger", "L"), ("nearest: noise_robustness_zh",)),
        ((*RUN, "--split", "tset"), ("'tset'", "nearest: test")),
        ((*RUN, "--retriever", "nonsense"), ("own or none",)),
        ((*RUN, "--retriever", "nonsense", "--llm", DEAD, "--ledger", "L"), ("own or none",)),
        ((*RUN, "--option", "nois_ratio=1"), ("nearest: noise_ratio",)),
        ((*RUN, "--option", "noise_ratio"), ("NAME=VALUE",)),
        ((*RUN, "--option", "noise_ratio=2"), ("noise_ratio is 2", "0 to 1")),
        ((*RUN, "--option", "noise_ratio=NaN"), ("noise_ratio",)),
        ((*RUN, "--option", "passage_num=-1"), ("passage_num is -1",)),
        ((*RUN, "--option", "order=random"), ("order", "per_item")),
        ((*RUN, "--original"), ("--original", "--all")),
        ((*RUN, "--all"), ("--all", "negative_rejection_en")),
        (("run", "rgb", "--all", "--recipe", "rgb-table1-chatgpt"), ("--all", "--recipe")),
        (("run", "--recipe", "rgb-tabel1-chatgpt"), ("nearest: rgb-table1-chatgpt, ",)),
        (("run", "--recipe", "crud_rag-tabel3"), ("nearest: crud_rag-table3, crud_rag-table",)),
        (("list", "rgb-table7-chatgpt-en"), ("is a recipe, no", "type quadrag list --recipe rgb-table7-chatgpt-en\n")),
        (("list", "rgb-table7"), ("is a table's recipes, no benchmark; type quadrag list --recipe rgb-table7\n",)),
        (("run", "--recipe", "rgb-table9"), ("nearest: rgb-table7, rgb-table5, rgb-table3; all: quadrag list\n",)),
        (("run", "--recipe", "rgb-table7-chatgpt"), ("nearest: rgb-table7-chatgpt-en, rgb-table7-chatgpt-zh; all",)),
        (("run", "--recipe", "none.yaml"), ("none.yaml",)),
        (("run", "--recipe", "rgb-table1-chatgpt"), ("gpt-3.5-turbo", "--llm")),
        (("run", "crag", "--recipe", "rgb-table1-chatgpt", "--llm", DEAD), ("rgb", "crag")),
        ((*RUN, "--prompts", "none.yaml"), ("--prompts",)),
        ((*RUN, "--limit", "0"), ("--limit", "'0'")),
        ((*RUN, "--limit", "-3"), ("--limit", "'-3'")),
        ((*RUN, "--samples", "1.5"), ("--samples", "'1.5'")),
        ((*RUN, "--concurrency", "0"), ("--concurrency",)),
        ((*RUN, "--temperature", "-0.1"), ("--temperature", "'-0.1'")),
        ((*RUN, "--temperature", "nan"), ("--temperature",)),
        ((*RUN, "--max-tokens", "0"), ("--max-tokens",)),
        ((*RUN, "--seed", "-1"), ("--seed",)),
        ((*RUN, "--budget", "-1", "--prices", "p.yaml"), ("--budget", "'-1'")),
        ((*RUN, "--budget", "inf"), ("--budget",)),
        ((*RUN, "--profile", "best"), ("--profile", "official")),
        (("report", "nowhere"), ("nowhere", "run.json")),
        (("report", "."), ("run.json",)),
        (("prepare", "rbg"), ("nearest: rgb",)),
        (("prepare", "rgb", "--config", "noise_zh", "--data-dir", "sample"), ("noise_robustness_zh",)),
        (("score", "none.jsonl", *SCORE), ("none.jsonl",)),
        (("score", "none.jsonl", "--benchmark", "rgb"), ("none.jsonl",)),
    ],
)
def test_mistyped_names_and_options(refused, arguments, words):
    line = refused(*arguments)
    for word in words:
        assert word in line, line


IDLE = [
    (("--judge-format", "json"), "--judge-format is for a judge, and there is none"),
    (("--judge-max-tokens", "5"), "--judge-max-tokens is for a judge, and there is none"),
    (("--temperature", "0"), "--temperature is for a chat model, and there is none"),
    (("--seed", "3"), "--seed is for a chat model"),
    (("--max-tokens", "5"), "--max-tokens is for a chat model"),
    (("--top-p", "0.5", "--llm", "extractive"), "--top-p is for a chat model"),
]


@pytest.mark.parametrize(("arguments", "words"), IDLE)
@pytest.mark.parametrize("place", [CONFIG, ("run", "rgb", "--all"), ("run", "--recipe", "mine.yaml")])
def test_an_option_that_would_do_nothing_is_refused(refused, place, arguments, words):
    Path("mine.yaml").write_text("benchmark: rgb\nruns: [{config: negative_rejection_en}]\n")
    assert words in refused(*place, "--data-dir", "sample", *arguments, "--out", "out")


def test_what_is_for_a_judge_is_refused_where_none_is_asked(refused, answers):
    accuracy = ("rgb", "noise_robustness_en", "--data-dir", "sample", "--split", "noise_0")
    crag = ("crag", "task_1_2", "--data-dir", "sample", "--split", "public")
    none = "no metric of rgb noise_robustness_en asks a judge as it is run here; leave out --judge"
    path = answers(plain())
    with ChatServer(models=["j"]) as judge:
        asked = ("--judge", f"{judge.url}#j", "--ledger", "L")
        assert none in refused("run", *accuracy, *asked, "--out", "out", makes="L")
        score = ("score", path, "--benchmark", "rgb", "--config", *accuracy[1:])
        assert none in refused(*score, *asked, makes="L")
        assert judge.requests == 0
    failure = refused("run", *crag, "--option", "judge_failure=excluded", "--out", "out")
    assert "--option judge_failure is for a judge, and there is none" in failure
    assert "--judge-format is for a judge" in refused(*score, "--judge-format", "json")


def test_an_option_without_its_file_or_with_a_useless_one(refused):
    Path("p.yaml").write_text("other: {input: 1, output: 2}\n")
    Path("bad.yaml").write_text("m: {input: -1, output: 2}\n")
    Path("worse.yaml").write_text("m: [\n")
    asked = (*RUN, "--llm", DEAD, "--ledger", "L")
    assert "'m'" in refused(*asked, "--prices", "p.yaml", makes="L")
    assert "input price -1" in refused(*asked, "--prices", "bad.yaml", makes="L")
    assert "worse.yaml" in refused(*asked, "--prices", "worse.yaml", makes="L")
    assert "none.yaml" in refused(*asked, "--prices", "none.yaml", makes="L")
    assert "--prices" in refused(*asked, "--budget", "1", makes="L")
    Path("p.yaml").write_text("m: {input: 1, output: 2}\n")
    assert "max-tokens" in refused(*asked, "--prices", "p.yaml", "--budget", "1", makes="L")


@pytest.mark.parametrize(
    "recipe",
    [
        "[]",
        "benchmark: rgb",
        "benchmark: rgb\nruns: []",
        "benchmark: 5\nruns: [{config: negative_rejection_en}]",
        "benchmark: rgb\nruns: [{config: 5}]",
        "benchmark: rgb\nruns: [{config: negative_rejection_en, retriever: [own]}]",
        "benchmark: rgb\nruns: [negative_rejection_en]",
        "benchmark: rgb\nruns: [{config: none_such}]",
        "benchmark: rgb\ntemperature: hot\nruns: [{config: negative_rejection_en}]",
        "benchmark: rgb\nmodels: m\nruns: [{config: negative_rejection_en}]",
        "benchmark: [",
    ],
)
def test_a_recipe_of_another_form(refused, recipe):
    Path("mine.yaml").write_text(recipe)
    refused("run", "--recipe", "mine.yaml", "--data-dir", "sample", "--out", "out")


# Data.


def upstream(*rows):
    Path("data").mkdir(exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    Path("data/en_refine.json").write_text("\n".join(lines) + "\n", encoding="utf-8")


GOOD = {"id": 0, "query": "q", "answer": ["a"], "positive": ["p"], "negative": ["n"]}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((GOOD, "not json"), ("en_refine.json:2", "not JSON")),
        (('[{"id": 0}]',), ("en_refine.json:1", "list")),
        (({k: v for k, v in GOOD.items() if k != "answer"},), ("en_refine.json:1", "no answer")),
        ((GOOD, {**GOOD, "id": 1, "answer": None}), ("en_refine.json:2", "answer is None")),
        (({**GOOD, "positive": "p"},), ("en_refine.json:1", "positive")),
        (({**GOOD, "query": None},), ("en_refine.json:1", "query")),
        ((GOOD, GOOD), ("en_refine.json:2", "id 0")),
        ((), ("en_refine.json",)),
    ],
)
@pytest.mark.parametrize("folder", [".", "data"])
def test_data_of_another_form(refused, rows, words, folder):
    upstream(*rows)
    line = refused(*CONFIG, "--data-dir", folder, "--out", "out")
    for word in words:
        assert word in line, line


def test_a_line_with_a_very_long_id_is_short_and_says_what_was_expected(refused):
    Path("long.jsonl").write_text(json.dumps({"id": "x " * 50_000, "answer": "y"}))
    said = refused("score", "long.jsonl", *SCORE, "--out", "out")
    assert " … " in said and said.endswith("ids are those of `quadrag questions`\n")


def test_data_that_is_not_there(refused):
    assert "no folder" in refused(*CONFIG, "--data-dir", "nowhere", "--out", "out")
    Path("empty").mkdir()
    assert "en_refine.json" in refused(*CONFIG, "--data-dir", "empty", "--out", "out")
    assert "holds no file that --all reads" in refused("run", "rgb", "--all", "--data-dir", "empty", "--out", "out")


def test_data_that_is_no_text(refused):
    Path("data").mkdir()
    Path("data/en_refine.json").write_bytes('{"id": 0, "query": "中"}\n'.encode("gb18030"))
    assert "en_refine.json" in refused(*CONFIG, "--data-dir", "data", "--out", "out")


# Places to write to.


def test_a_folder_of_something_else_is_left_alone(refused):
    Path("out").mkdir()
    Path("out/thesis.tex").write_text("years of work")
    assert "not empty" in refused(*RUN)
    Path("file").write_text("")
    for out in ("file", "file/deeper"):
        assert "file" in refused(*CONFIG, "--data-dir", "sample", "--out", out)
        assert "file" in refused("run", "rgb", "--all", "--data-dir", "sample", "--out", out)


def test_a_folder_that_cannot_be_written_names_the_option_for_another(refused):
    Path("out").symlink_to("/proc/nowhere")
    assert refused(*RUN).endswith("; name a place that can be written with --out\n")
    Path("runs").symlink_to("/proc/nowhere")
    assert refused(*CONFIG, "--data-dir", "sample").endswith("; name a place that can be written with --out\n")


@pytest.mark.parametrize(
    "command",
    [
        ("score", "mine.jsonl", *SCORE),
        ("questions", *CONFIG[1:], "--data-dir", "sample"),
        ("recall", "crag", "task_1_2", "--data-dir", "sample"),
        ("label", "runs/a", "--n", "2"),
    ],
)
def test_a_place_that_cannot_be_made_is_told_before_any_work(refused, command):
    line = "quadrag: /proc/x: No such file or directory; name a place that can be written with --out\n"
    assert refused(*command, "--out", "/proc/x") == line


def test_questions_are_not_written_over_a_file_that_may_hold_answers(cli, refused):
    given = ("--data-dir", "sample", "--option", "noise_ratio=1")
    ask = ("questions", *CONFIG[1:], *given, "--limit", "2")
    code, out, _ = cli(*ask)
    again = f"quadrag score new/q.jsonl {' '.join(given)}"
    told = f"new/q.jsonl: 2 questions; add `answer` to each line\nnext: {again}\n"
    assert cli(*ask, "--out", "new/q.jsonl") == (code, told, "") == (0, told, "")
    assert Path("new/q.jsonl").read_text(encoding="utf-8") == out and out.count("\n") == 2
    assert refused(*ask, "--out", "new/q.jsonl") == "quadrag: new/q.jsonl is there already; name another file\n"


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the extra is installed")
@pytest.mark.parametrize("retriever", ["dense", "hybrid", "hybrid-rerank"])
def test_a_retriever_without_its_extra_names_the_extra_and_asks_for_no_weights(refused, retriever):
    line = refused("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--retriever", retriever, "--out", "out")
    assert line.endswith("needs sentence-transformers (not installed); from the checkout: pip install '.[dense]'\n")


# Models.


def test_models_that_are_none(refused):
    for spec, word in (
        ("nonsense", "http://host:port"),
        ("ftp://x/v1", "ftp"),
        ("http://", "base URL"),
        ("provider:", "names no model"),
        ("#m", "names no server"),
    ):
        assert word in refused(*RUN, "--llm", spec, "--ledger", "L", makes="L")
    for spec in ("gpt-4o", "openai:gpt-4o", "openai/gpt-4o"):
        for flag in ("--llm", "--judge"):
            assert "expected https://api.openai.com/v1#gpt-4o, or" in refused(
                *RUN, flag, spec, "--ledger", "L", makes="L"
            )
    assert "judges nothing" in refused(*RUN, "--judge", "extractive", "--ledger", "L", makes="L")


def test_a_dead_server(refused):
    for spec in (DEAD, "http://127.0.0.1:9/v1"):
        assert "127.0.0.1:9" in refused(*RUN, "--llm", spec, "--ledger", "L", makes=("L", "out"))
    assert not Path("out/answers.jsonl").exists() and not Path("out/scores.json").exists()


def test_a_server_without_the_model(refused):
    with ChatServer(models=["a", "b"]) as server:
        line = refused(*RUN, "--llm", server.url, "--ledger", "L", makes="L")
        assert "2 models (a, b)" in line and "#MODEL" in line
        assert "serves a, b, not c" in refused(*RUN, "--llm", f"{server.url}#c", "--ledger", "L", makes="L")


def test_a_replay_of_an_empty_ledger(refused):
    line = refused(*RUN, "--llm", DEAD, "--replay", "--ledger", "L", makes=("L", "out"))
    assert "12 of 12" in line
    assert "L" in refused(*RUN, "--llm", DEAD.removesuffix("#m"), "--replay", "--ledger", "L", makes=("L", "out"))


def test_a_ledger_that_is_none(refused):
    Path("L").write_text("my diary")
    assert "ledger L" in refused(*RUN, "--llm", DEAD, "--ledger", "L")
    Path("folder").mkdir()
    assert "folder" in refused(*RUN, "--llm", DEAD, "--ledger", "folder")


def test_a_recipe_with_a_mistyped_run_is_refused(refused):
    Path("r.yaml").write_text("benchmark: rgb\nruns:\n  - {config: negative_rejection_en, retreiver: none}\n")
    assert "is no recipe" in refused("run", "--recipe", "r.yaml", "--data-dir", "sample")

"""The command line as its user meets it: one line for every mistake, help at once, tables, progress, no secrets."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

from quadrag.cli import main

ENTRY = "import sys; from quadrag.cli import main; sys.exit(main())"
DEAD = "http://127.0.0.1:9/v1#m"
CONFIG = ("run", "rgb", "negative_rejection_en")
RUN = (*CONFIG, "--data-dir", "sample", "--out", "out")
SCORE = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def cli(capsys):
    def run(*arguments):
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return run


def tree():
    return {str(path): path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


@pytest.fixture
def refused(cli):
    """A function that runs a command which must fail, and returns its one line."""

    def run(*arguments, makes="\0"):
        def kept():
            return {name: content for name, content in tree().items() if not name.startswith(makes)}

        before = kept()
        code, out, err = cli(*arguments)
        assert code == 2, (out, err)
        assert out == ""
        assert err.startswith("quadrag: ") and err.endswith("\n") and err.count("\n") == 1, err
        assert "Traceback" not in err and len(err) < 700
        assert kept() == before, "nothing is made or changed"
        return err

    return run


@pytest.fixture
def answers():
    """A function that writes a file of answers."""

    def write(rows, name="mine.jsonl"):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return name

    return write


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
        (("run", "--recipe", "rgb-table9"), ("nearest: rgb-table7, rgb-table5, rgb-table3; all: quadrag list\n",)),
        (("run", "--recipe", "rgb-table7-chatgpt"), ("nearest: rgb-table7-chatgpt-en, rgb-table7-chatgpt-zh; all",)),
        (("run", "--recipe", "none.yaml"), ("none.yaml",)),
        (("run", "--recipe", "rgb-table1-chatgpt"), ("gpt-3.5-turbo", "--llm")),
        (("run", "crag", "--recipe", "rgb-table1-chatgpt", "--llm", DEAD), ("rgb", "crag")),
        ((*RUN, "--prompts", "none.yaml"), ("--prompts", "--llm")),
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
    (("--judge-format", "json"), "--judge-format is for a judge, and there is none; name one with --judge"),
    (("--judge-max-tokens", "5"), "--judge-max-tokens is for a judge, and there is none"),
    (("--temperature", "0"), "--temperature is for a chat model, and the extractive baseline is none; name one with"),
    (("--seed", "3"), "--seed is for a chat model"),
    (("--max-tokens", "5"), "--max-tokens is for a chat model"),
    (("--top-p", "0.5", "--llm", "extractive"), "--top-p is for a chat model, and extractive is none"),
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
    assert " … " in said and said.endswith("expected an id of the data\n")


NO_DESCRIPTORS = """
import asyncio, os, resource, sys
from quadrag.cli import main
from quadrag.commands import list as command
def run(arguments):
    number = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))
    asyncio.new_event_loop()
command.run = run
sys.exit(main(["list"]))
"""


def test_no_descriptors_left_is_one_line(forked_python):
    done = forked_python(NO_DESCRIPTORS, env=os.environ)
    said = "quadrag: the system: Too many open files; allow more with `ulimit -n`, and run again\n"
    assert (done.returncode, done.stderr) == (2, said)


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


def test_score_checks_its_folder_before_a_judge_is_asked(refused, answers):
    path = answers(plain())
    Path("out").mkdir()
    Path("out/thesis.tex").write_text("years of work")
    with ChatServer(models=["j"]) as judge:
        asked = ("score", path, *SCORE, "--judge", f"{judge.url}#j", "--ledger", "L")
        assert "empty" in refused(*asked, "--out", "out", makes="L")
        assert "empty" in refused(*asked, "--out", path, makes="L")
        assert judge.requests == 0


def test_a_folder_that_cannot_be_written_names_the_option_for_another(refused):
    Path("out").symlink_to("/proc/nowhere")
    assert refused(*RUN).endswith("; name a place that can be written with --out\n")
    Path("runs").symlink_to("/proc/nowhere")
    assert refused(*CONFIG, "--data-dir", "sample").endswith("; name a place that can be written with --out\n")


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the extra is installed")
@pytest.mark.parametrize("retriever", ["dense", "hybrid", "hybrid-rerank"])
def test_a_retriever_without_its_extra_names_the_extra_and_asks_for_no_weights(refused, retriever):
    line = refused("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--retriever", retriever, "--out", "out")
    assert line.endswith("needs sentence-transformers (not installed); pip install 'quadrag[dense]'\n")


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


@pytest.mark.slow
def test_a_reached_budget_prints_what_there_is(cli):
    Path("p.yaml").write_text("m: {input: 1000000, output: 1000000}\n")
    with ChatServer() as server:
        asked = (*RUN, "--llm", f"{server.url}#m", "--prices", "p.yaml", "--max-tokens", "5", "--concurrency", "1")
        assert cli(*asked, "--ledger", "L0", "--out", "whole")[0] == 0
        cost = json.loads(Path("whole/run.json").read_text())["usage"]["llm"]["cost"]
        code, out, err = cli(*asked, "--ledger", "L", "--budget", cost * 0.75)
        assert code == 2 and "PARTIAL" in out
        assert re.match(r"quadrag: \d+ of 12 answers; the budget of ", err) and err.count("\n") == 1
        code, out, err = cli(*asked, "--ledger", "L", "--budget", "0")
        assert code == 2 and err.count("\n") == 1


# Scoring what others made.


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([*plain(), {"id": 99, "answer": "x"}], "unknown id '99'"),
        ([{"id": 0}], "no answer"),
        ([{"id": 0, "answer": "x", "split": 5}], "split is 5"),
        ([{"id": 0, "answer": "x", "split": ["test"]}], "split"),
        ([{"id": 0, "answer": "x", "split": "noise_40"}], "'noise_40'"),
        ([], "is empty; expected an answer a line"),
    ],
)
def test_files_of_answers_that_do_not_fit(refused, answers, rows, word):
    assert word in refused("score", answers(rows), *SCORE)
    assert word in refused("score", "mine.jsonl", *SCORE, "--out", "out")


def test_score_takes_the_names_that_run_takes(refused, answers):
    path = answers(plain())
    assert "own or none" in refused("score", path, *SCORE, "--retriever", "nonsense")
    assert "nearest: rgb" in refused("score", path, "--benchmark", "rbg", "--config", "x")
    assert "nearest" in refused("score", path, "--benchmark", "rgb", "--config", "negative_rejection")
    assert "nearest: test" in refused("score", path, *SCORE, "--split", "tset")
    assert "--benchmark and --config" in refused("score", path, "--benchmark", "rgb", "--data-dir", "sample")


def test_several_files_are_scored_and_compared_with_the_first(cli, refused):
    for name, right in (("a/one", 3), ("a/two.1", 6), ("b/one", 12)):
        rows = [dict(row, benchmark="rgb", config=SCORE[3]) for row in plain()]
        rows = [row if place < right else {**row, "answer": "Oslo"} for place, row in enumerate(rows)]
        Path(name).parent.mkdir(exist_ok=True)
        Path(f"{name}.json").write_text(json.dumps(rows))  # a list does as well as JSON Lines
    files = ("a/one.json", "a/two.1.json", "b/one.json")
    code, out, err = cli("score", *files, "--data-dir", "sample", "--out", "runs")
    assert (code, err) == (0, "")
    differences = re.findall(r"([BC] - A) +\+(\d+)\.0\*? .* 12\n", out)
    assert differences[:2] == [("B - A", "25"), ("C - A", "75")]
    folders = ("runs/a/one", "runs/a/two.1", "runs/b/one")
    assert all(Path(folder, "scores.json").is_file() for folder in folders) and Path("runs/report.html").is_file()
    code, again, _ = cli("report", *folders)
    assert code == 0 and differences == re.findall(r"([BC] - A) +\+(\d+)\.0\*? .* 12\n", again)
    code, lines, _ = cli("score", *files, "--data-dir", "sample", "--format", "line")
    assert [re.search("rejection_rate = ([0-9.]+)", line)[1] for line in lines.splitlines() if "_rate = " in line] == [
        "25.0",
        "50.0",
        "100.0",
    ]
    assert [
        re.search(r"own (.*): rejection_rate = ", line)[1] for line in lines.splitlines() if "_rate = " in line
    ] == [
        "one #1",
        "two.1",
        "one #3",
    ]
    assert "runs/b/one is there" in refused("score", *files[::-1], "--data-dir", "sample", "--out", "runs")
    Path("c.json").write_text(json.dumps([{"benchmark": "crud_rag", "config": "summary", "id": "x", "answer": ""}]))
    assert "answer crud_rag and rgb" in refused("score", "a/one.json", "c.json", "--data-dir", "sample")
    Path("c.json").write_text('["x"]')
    assert "c.json:1 holds a str" in refused("score", "c.json", *SCORE)


def test_the_package_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "quadrag", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("quadrag ")


def test_score_prints_and_writes_the_tables(cli, refused, answers):
    path = answers(plain())
    code, out, err = cli("score", path, *SCORE)
    assert (code, err) == (0, "") and "rejection_rate" in out and "100.0" in out
    assert {str(name) for name in Path().iterdir()} == {path}, "without --out nothing is written"
    code, out, err = cli("score", path, *SCORE, "--out", "out")
    assert code == 0
    files = {"answers.jsonl", "items.jsonl", "scores.json", "questions.jsonl", "run.json", "report.html"}
    assert {name.name for name in Path("out").iterdir()} == files
    code, shown, _ = cli("show", "out", "--id", "0")
    assert code == 0 and "  answer    insufficient information\n" in shown, shown
    code, again, _ = cli("report", "out")
    assert code == 0 and again.strip() == out.rsplit("\n\n", 1)[0].strip()
    Path("out/scores.json").write_text("[]")
    assert "remove the folder and score again" in refused("report", "out")


def test_a_prediction_file_of_the_authors_says_its_split_by_its_noise(cli, answers):
    rows = [{"id": i, "prediction": "Ilse Varnholt", "noise_rate": 0.4, "ans": ["x"], "label": [0]} for i in range(12)]
    asked = ("--benchmark", "rgb", "--config", "noise_robustness_en", "--data-dir", "sample")
    code, out, err = cli("score", answers(rows), *asked)
    assert code == 0, err
    assert "noise_robustness_en noise_40, " in out and "noise_0" not in out and " 8.3 " in out
    code, both, _ = cli("score", answers(rows + [{**row, "noise_rate": 0} for row in rows]), *asked)
    assert code == 0 and "noise_40" in both and "noise_0" in both and "noise_20" not in both


def test_score_agrees_with_the_run_that_made_the_answers(cli):
    assert cli(*RUN)[0] == 0
    assert cli("score", "out/answers.jsonl", *SCORE, "--out", "scored")[0] == 0
    for name in ("items.jsonl", "scores.json"):
        assert Path("out", name).read_bytes() == Path("scored", name).read_bytes()


# What a first-time user sees.


@pytest.mark.parametrize("command", [(), ("demo",), ("list",), ("prepare",), ("run",), ("score",), ("report",)])
def test_help_loads_nothing_heavy(quadrag, python, environment, command):
    code = """
import sys
from quadrag.cli import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert stop.code == 0
heavy = {"numpy", "datasets", "huggingface_hub", "rich", "evaluate", "pyarrow", "requests", "yaml", "sqlite3"}
print("LOADED", sorted(heavy & set(sys.modules)))
"""
    ran = python(code, *command, "--help", env=environment())
    assert ran.returncode == 0, ran.stderr
    text, _, loaded = ran.stdout.rpartition("LOADED ")
    assert loaded.strip() == "[]"
    assert text.startswith(f"usage: {' '.join(('quadrag', *command))}")
    assert ran.stderr == ""


def test_help_fits_and_names_every_command(cli):
    code, out, _ = cli("--help")
    assert code == 0
    for command in ("demo", "list", "prepare", "run", "score", "report"):
        assert f"\n    {command} " in out
        _, part, _ = cli(command, "--help")
        assert "example" in part
        assert all(len(line) <= 80 for line in part.splitlines()), "help is read in a terminal"
    assert cli() == cli("--help")
    code, out, _ = cli("--version")
    assert code == 0 and out.startswith("quadrag ")


def test_help_of_score_says_what_becomes_of_questions_without_a_line(cli, tmp_path):
    _, out, _ = cli("score", "--help")
    assert "A part of the questions is scored as a part" in " ".join(out.split())
    (tmp_path / "a.jsonl").write_text('{"id": 0, "answer": "x"}\n', encoding="utf-8")
    place = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")
    code, out, _ = cli("score", str(tmp_path / "a.jsonl"), *place)
    assert code == 0 and "PARTIAL: 1 of 12 questions are answered." in out


def test_list_names_all_there_is(cli):
    code, out, err = cli("list")
    assert code == 0 and err == ""
    for name in ("noise_robustness_zh_original", "noise_80", "rejection_rate", "rgb-table7-chatgpt-zh"):
        assert name in out


def test_list_of_a_benchmark_describes_its_configs(cli):
    code, out, err = cli("list", "rgb")
    assert (code, err) == (0, "")
    (part,) = (part for part in out.split("\n\n") if part.startswith("information_integration_zh:"))
    title, *sentence, rows, language, metrics = part.splitlines()
    assert title == "information_integration_zh: information integration in Chinese"
    assert sentence and all(len(line) <= 80 for line in sentence)
    assert rows == "  rows      noise_0, noise_20, noise_40: 100 each"
    assert language == "  language  zh"
    assert metrics == "  metrics   accuracy, accuracy_bounded"


def test_without_a_model_the_first_line_says_what_answers(cli):
    said = "No --llm: the extractive baseline answers, the sentence most like the question.\n"
    assert cli(*RUN)[1].startswith(said)
    assert said not in cli(*RUN, "--llm", "extractive")[1]


def test_a_benchmark_may_be_written_in_other_ways(cli):
    assert cli("list", "CRUD-RAG") == cli("list", "crud_rag")
    code, out, _ = cli("run", "CrudRAG", "summary", "--data-dir", "sample", "--limit", "1")
    assert code == 0 and "\nruns/crud_rag-summary-extractive/report.html" in out


@pytest.mark.slow
def test_the_demo_is_short_and_ends_with_its_page_and_the_next_command(cli):
    code, out, err = cli("demo")
    assert code == 0 and err == ""
    lines = out.splitlines()
    assert len(lines) <= 60 and max(map(len, lines)) <= 80
    tasks = ("summary", "continuation", "qa_1doc", "qa_2doc", "qa_3doc", "hallucination")
    for task in (*tasks, "task_1_2-snippets-kg", "all", "noise_robustness_zh", "counterfactual_robustness_en-none"):
        assert [line for line in lines if re.match(rf"{task} +\w+ +\d+\.\d +[\d.–]+ +\d+ of \d+$", line)], task
    assert "hallucination: 1 of 8 questions has no gold answer, as some in the authors' data" in " ".join(out.split())
    zeros = [line for line in lines if line.startswith("0.0 of ")]
    assert [line.split(":")[0][7:] for line in zeros] == [
        "-none",
        "negative_rejection",
        "counterfactual_robustness",
        "-none",
    ], "a word for each 0.0"
    assert lines[-3] == "  open runs/demo/report.html"
    assert lines[-1].startswith("  quadrag run rgb noise_robustness_en --llm ")
    page = Path("runs/demo/report.html").read_text(encoding="utf-8")
    for title in (
        "CRAG: Table 5. Tru",
        "RGB: Table 1. Noi",
        "CRUD-RAG: Retrieval",
        "OmniEval: all, extractive, auto: rouge",
    ):
        assert f'">{title}' in page, title
    code, out, err = cli("demo", "--out", "kept")
    assert code == 0 and Path("kept/report.html").is_file()
    names = ("rgb", "crud_rag", "crag", "omnieval")
    kept = {name: len(list(Path("kept", name).glob("*/scores.json"))) for name in names}
    assert kept == {"rgb": 10, "crud_rag": 6, "crag": 4, "omnieval": 1}
    graph_facts = Path("kept/crag/task_1_2-snippets-kg/retrieved.jsonl").read_text(encoding="utf-8")
    assert '"id": "kg/0"' in graph_facts
    assert cli("demo", "--out", "kept")[0] == 0


def test_the_demo_says_what_it_does_before_it_loads_what_takes_long(environment):
    with subprocess.Popen(
        [sys.executable, "-c", ENTRY, "demo"], env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        started = time.monotonic()
        assert process.stdout.readline().startswith("Four benchmarks")
        assert time.monotonic() - started < 5
        process.kill()


def test_real_data_makes_a_table_of_five_splits(cli, real_data):
    folder = real_data("RGB")
    if not list(folder.rglob("zh_refine.json")):
        pytest.skip("no zh_refine.json")
    started = time.monotonic()
    code, out, err = cli("run", "rgb", "noise_robustness_zh", "--data-dir", folder, "--llm", "extractive", "--out", "r")
    assert code == 0, err
    assert time.monotonic() - started < 10
    scores = json.loads(Path("r/scores.json").read_text(encoding="utf-8"))
    assert list(dict.fromkeys(row["split"] for row in scores)) == [f"noise_{n}" for n in (0, 20, 40, 60, 80)]
    assert all(row["value"] is not None and row["n_total"] >= 100 for row in scores)
    assert "94.67" in out, "the printed rows beside ours"


def test_a_reader_that_has_seen_enough_is_no_error(environment):
    command = f"{sys.executable} -c '{ENTRY}' list | true; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", command], env=environment(), capture_output=True, text=True)
    assert ran.stdout.strip() == "0" and ran.stderr == ""


@pytest.mark.slow
def test_a_stream_that_cannot_show_a_sign_shows_another(quadrag, environment):
    asked = ("run", "rgb", "negative_rejection_zh", "--data-dir", "sample", "--out", "out")
    ran = quadrag(*asked, env=environment(PYTHONIOENCODING="ascii"))
    assert ran.returncode == 0, ran.stderr
    assert "rejection_rate" in ran.stdout and ran.stderr == ""


# Progress.


@pytest.mark.slow
def test_a_log_holds_no_carriage_return(quadrag, environment):
    with ChatServer(latency=0.05) as server:
        asked = (*RUN, "--llm", f"{server.url}#m", "--ledger", "L", "--concurrency", "2")
        ran = quadrag(*asked, "--judge", f"{server.url}#m", env=environment())
    assert ran.returncode == 0
    assert "\r" not in ran.stderr + ran.stdout and "\x1b" not in ran.stderr + ran.stdout
    # Where the machine is busy, ten seconds pass, and a line is due.
    assert all(re.fullmatch(r"negative_rejection_en: \w+: \d+ of 12", line) for line in ran.stderr.splitlines())


def test_a_long_run_says_in_a_log_how_far_it_is(cli, monkeypatch):
    monkeypatch.setattr("quadrag.progress._LOG_EVERY", 0.1)
    with ChatServer(latency=0.1) as server:
        code, _, err = cli(*RUN, "--llm", f"{server.url}#m", "--ledger", "L", "--concurrency", "2")
    assert code == 0
    lines = err.splitlines()
    assert 2 <= len(lines) <= 12
    assert all(re.fullmatch(r"negative_rejection_en: answers: \d+ of 12, [\d,]+ tokens", line) for line in lines)


@pytest.mark.slow
def test_a_terminal_shows_a_bar_and_takes_it_away(environment):
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = environment(TERM="xterm")
    env.pop("COLUMNS", None)
    with ChatServer(latency=0.1) as server:
        asked = [*RUN, "--llm", f"{server.url}#m", "--ledger", "L", "--concurrency", "2"]
        process = subprocess.Popen(
            [sys.executable, "-c", ENTRY, *asked], env=env, stdout=subprocess.DEVNULL, stderr=follower
        )
        os.close(follower)
        shown = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
        assert process.wait() == 0
    os.close(leader)
    text = shown.decode()
    assert "negative_rejection_en: answers" in text and "12" in text and "\r" in text
    assert len({part for part in text.split("\r") if "answers" in part}) >= 3, "it moves"
    assert text.endswith("\r") and text.split("\r")[-2].strip() == "", "the line is blank again"
    assert max(len(part) for part in text.split("\r")) <= 80


# Secrets.


@pytest.mark.slow
def test_no_key_leaves_the_process(environment):
    marker, password = "sk-marker-0123456789abcdef", "pa55word-fedcba"
    env = environment(QUADRAG_API_KEY=marker)
    with ChatServer(key=marker) as server:
        server.rules.append(Rule("echo_key", times=2))
        url = server.url.replace("http://", f"http://user:{password}@") + "?token=query-secret-77"
        outputs = []
        for spec, out in ((f"{server.url}#m", "a"), (f"{server.url}#m", "a"), (f"{url}#m", "b")):
            asked = [*CONFIG, "--data-dir", "sample", "--out", out, "--llm", spec, "--ledger", "L"]
            asked += ["--service", server.url]  # so that the server, which wants the key, is not asked with the login
            ran = subprocess.run([sys.executable, "-c", ENTRY, *asked], env=env, capture_output=True)
            outputs.append(ran.stdout + ran.stderr)
            assert ran.returncode == 0, ran.stderr
        assert server.authorizations >= {f"Bearer {marker}"}
    with ChatServer(key="another") as server:
        asked = [*CONFIG, "--data-dir", "sample", "--out", "c", "--llm", f"{server.url}#m", "--ledger", "L2"]
        ran = subprocess.run([sys.executable, "-c", ENTRY, *asked], env=env, capture_output=True)
        assert ran.returncode == 2 and b"QUADRAG_API_KEY" in ran.stderr
        outputs.append(ran.stdout + ran.stderr)
    contents = {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert "L" in contents and "a/run.json" in contents and "a/report.html" in contents
    for secret in (marker, password, "query-secret-77"):
        assert not [name for name, content in contents.items() if secret.encode() in content], secret
        assert not any(secret.encode() in output for output in outputs), secret


# Interrupts, and several at once.


@pytest.mark.slow
def test_an_interrupt_is_one_line_and_the_run_goes_on(environment):
    # So slow that this process cannot come too late, however busy the machine is.
    with ChatServer(latency=0.5) as server:
        asked = [*RUN, "--llm", f"{server.url}#m", "--ledger", "L", "--concurrency", "1"]
        command = [sys.executable, "-c", ENTRY, *asked]
        process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while server.requests < 4 and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert out == b"" and err.startswith(b"quadrag: stopped") and err.count(b"\n") == 1
        server.state.latency = 0.0
        ran = subprocess.run(command, env=environment(), capture_output=True)
        assert ran.returncode == 0 and server.requests <= 12 + 1


@pytest.mark.slow
def test_runs_at_the_same_time_share_ledger_and_caches(environment):
    with ChatServer(latency=0.02) as server:
        configs = ("noise_robustness_en", "noise_robustness_zh", "counterfactual_robustness_en")
        asked = [
            ["run", "rgb", config, "--data-dir", "sample", "--out", config, "--llm", f"{server.url}#m", "--ledger", "L"]
            for config in configs
        ]
        running = [
            subprocess.Popen([sys.executable, "-c", ENTRY, *one], env=environment(), stderr=subprocess.PIPE)
            for one in asked
        ]
        for process in running:
            _, err = process.communicate(timeout=60)
            assert process.returncode == 0 and err == b"", err.decode()
        assert server.requests == 5 * 12 + 5 * 12 + 12
    for config, one in zip(configs, asked, strict=True):
        again = [*one[:6], f"{config}-again", *one[7:], "--replay"]
        assert subprocess.run([sys.executable, "-c", ENTRY, *again], env=environment()).returncode == 0
        for stage in ("answers.jsonl", "items.jsonl", "scores.json"):
            assert Path(config, stage).read_bytes() == Path(f"{config}-again", stage).read_bytes()


def test_a_pipe_closed_early_is_no_error_for_tables_either(environment):
    command = f"{sys.executable} -c '{ENTRY}' demo | true; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", command], env=environment(), capture_output=True, text=True)
    assert ran.stdout.strip() == "0" and ran.stderr == ""


@pytest.fixture
def unread(monkeypatch):
    """A function that runs the command into a pipe whose reader has gone."""

    def run(*arguments):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "w", buffering=1) as pipe, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", pipe)
            return main([*map(str, arguments)])

    return run


def test_what_a_command_writes_is_there_though_nobody_reads_what_it_prints(cli, unread):
    with ChatServer(models=["j"], text="Yes, the question is addressed by the documents.") as judge:
        assert cli(*RUN, "--judge", f"{judge.url}#j", "--ledger", "L")[0] == 0
    shutil.copytree("out", "other")
    Path("l.csv").write_text("id,question,answer,gold,label\n1,Who?,Paris,Paris,right\n2,Who?,Oslo,Rome,wrong\n")
    Path("v.csv").write_text("id,verdict\n1,right\n2,wrong\n")
    for written, *command in (
        ("page.html", "report", "out", "--html", "page.html"),
        ("scored/report.html", "score", "out/answers.jsonl", *SCORE, "--out", "scored"),
        ("sheet.csv", "label", "out", "--n", 4, "--out", "sheet.csv"),
        ("sheet.html", "label", "out", "--n", 4, "--out", "sheet.html"),
        ("certificate.json", "certify-judge", "l.csv", "--verdicts", "v.csv", "--out", "certificate.json"),
        ("trec/other", "trec", "out", "other", "--out", "trec"),
    ):
        assert unread(*command) == 0 and Path(written).exists(), command


def test_a_password_with_an_at_sign_stays_out_of_the_record(cli):
    with ChatServer() as server:
        spec = server.url.replace("http://", "http://me:pa@ss-word@") + "#m"
        assert cli(*RUN, "--llm", spec, "--ledger", "L")[0] == 0
    assert "word" not in Path("out/run.json").read_text()


def test_a_recipe_with_a_mistyped_run_is_refused(refused):
    Path("r.yaml").write_text("benchmark: rgb\nruns:\n  - {config: negative_rejection_en, retreiver: none}\n")
    assert "is no recipe" in refused("run", "--recipe", "r.yaml", "--data-dir", "sample")


def test_a_recipe_may_switch_on_options(cli):
    Path("r.yaml").write_text(
        "benchmark: rgb\nruns:\n  - {config: negative_rejection_en, options: {order: per_item}}\n"
    )
    code, out, err = cli("run", "--recipe", "r.yaml", "--data-dir", "sample", "--out", "out", "-v")
    assert (code, err) == (0, "") and "Settings: order per_item." in out


def test_the_authors_file_of_another_noise_is_refused(refused):
    rows = [{"id": n, "prediction": "x", "noise_rate": 0.2, "label": [0]} for n in range(12)]
    Path("p.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    there = ("--benchmark", "rgb", "--config", "noise_robustness_en", "--data-dir", "sample", "--split", "noise_40")
    assert "noise_20" in refused("score", "p.json", *there)


def test_narrow_terminals_cut_no_number(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    _, out, _ = cli("run", "rgb", "--all", "--data-dir", "sample")
    assert "…" not in out and "vicuna-7b-v1.3" in out and "96.33 94.67 94.00 90.00 76.00" in out


def test_export_says_what_it_wrote_and_refuses_what_it_may_not(cli):
    code, out, err = cli("export", "hub", "--benchmark", "rgb", "--data-dir", "sample")
    assert code == 0 and re.search(r"hub/rgb: \d[\d,]* rows, \d+\.\d MB\n", out), err
    assert Path("hub/rgb/README.md").is_file()
    code, out, _ = cli("export", "hub", "--benchmark", "rgb", "--data-dir", "sample")
    assert code == 0 and out.endswith(", written before\n")
    code, _, err = cli("export", "theirs", "--benchmark", "rgb")
    assert code == 2 and "--accept-licence" in err and err.count("\n") == 1 and not Path("theirs").exists()
    code, out, _ = cli("export", "theirs", "--benchmark", "crud_rag")
    assert code == 0 and "theirs/crud_rag: a card with the way to the data" in out
    assert cli("export", "hub", "--benchmark", "rbg")[0] == 2


def test_the_folder_of_a_harness_is_printed_alone(cli):
    code, out, err = cli("harness", "lm-eval")
    assert (code, err) == (0, "") and Path(out.strip()).is_dir() and out.count("\n") == 1
    code, _, err = cli("harness", "lmeval")
    assert code == 2 and "nearest: lm-eval" in err

"""The command line as users meet it: help, lists, the demo, runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chat_server import ChatServer

from quadrag.commands.shared.parser import parse

CONFIG = ("run", "rgb", "negative_rejection_en")
RUN = (*CONFIG, "--data-dir", "sample", "--out", "out")


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


def test_the_package_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "quadrag", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("quadrag ")


# What a first-time user sees.


def test_help_loads_nothing_heavy(python, environment):
    code = """
import sys
from quadrag.cli import main
heavy = {"numpy", "datasets", "huggingface_hub", "rich", "evaluate", "pyarrow", "requests", "yaml", "sqlite3"}
for command in sys.argv[1:]:
    try:
        main([*command.split(), "--help"])
    except SystemExit as stop:
        assert stop.code == 0
    print("LOADED", sorted(heavy & set(sys.modules)))
"""
    commands = ("", "demo", "list", "prepare", "run", "score", "report")
    ran = python(code, *commands, env=environment())
    assert (ran.returncode, ran.stderr) == (0, "")
    helps = ran.stdout.split("LOADED []\n")
    assert helps.pop() == "" and len(helps) == len(commands)
    for command, text in zip(commands, helps, strict=True):
        assert text.startswith(f"usage: {f'quadrag {command}'.rstrip()}")


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
    zeros = [line for line in lines if line.startswith("- 0.0 of ")]
    assert [line.split(":")[0][9:] for line in zeros] == [
        "-none",
        "negative_rejection",
        "counterfactual_robustness",
        "-none",
    ], "a word for each 0.0"
    assert lines[-5] == "  open runs/demo/report.html"
    said = " ".join(out.split())
    assert "task_3-snippets-kg" in said.partition("No interval for fewer than 5 questions.")[0]
    assert lines[-3].startswith("  quadrag run rgb noise_robustness_en --llm ")
    page = Path("runs/demo/report.html").read_text(encoding="utf-8")
    for title in (
        "CRAG: Table 5. Tru",
        "RGB: Table 1. Noi",
        "CRUD-RAG: Retrieval",
        "omnieval all, extractive, auto: rouge",
    ):
        assert f'">{title}' in page, title
    assert "<dt>crag task_1_2: accuracy_bounded</dt>" in page, "with documents"
    assert page.index("<h2") == page.index('<h2 id="t1">RGB: Table 1. Noi'), "what is understood at once is first"
    assert "<b>missing (lower is better)</b>" in page and "<b>accuracy_bounded</b>" in page
    code, out, err = cli("demo", "--out", "kept")
    assert code == 0 and Path("kept/report.html").is_file()
    names = ("rgb", "crud_rag", "crag", "omnieval")
    kept = {name: len(list(Path("kept", name).glob("*/scores.json"))) for name in names}
    assert kept == {"rgb": 10, "crud_rag": 6, "crag": 4, "omnieval": 1}
    graph_facts = Path("kept/crag/task_1_2-snippets-kg/retrieved.jsonl").read_text(encoding="utf-8")
    assert '"id": "kg/0"' in graph_facts
    assert cli("demo", "--out", "kept")[0] == 0


@pytest.mark.slow
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


def test_a_password_with_an_at_sign_stays_out_of_the_record(cli):
    with ChatServer() as server:
        spec = server.url.replace("http://", "http://me:pa@ss-word@") + "#m"
        assert cli(*RUN, "--llm", spec, "--ledger", "L")[0] == 0
    assert "word" not in Path("out/run.json").read_text()


def test_a_recipe_may_switch_on_options(cli):
    Path("r.yaml").write_text(
        "benchmark: rgb\nruns:\n  - {config: negative_rejection_en, options: {order: per_item}}\n"
    )
    code, out, err = cli("run", "--recipe", "r.yaml", "--data-dir", "sample", "--out", "out", "-v")
    assert (code, err) == (0, "") and "Settings: order per_item." in out


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


def test_without_a_command_the_language_may_be_named_for_the_help(cli):
    code, out, err = cli("--labels", "zh")
    assert (code, err) == (0, "") and out.startswith("用法：quadrag ") and "--labels {en,zh}  消息与帮助的语言" in out


@pytest.mark.parametrize(
    ("typed", "labels"),
    [
        (("construct", "review", "D"), "en"),
        (("kg", "build", "a", "b"), "en"),
        (("construct", "review", "D", "--labels", "zh"), "zh"),
        (("kg", "--labels", "zh", "build", "a", "b"), "zh"),
        (("kg", "build", "a", "b", "--labels=zh"), "zh"),
        (("--labels", "zh", "list", "rgb"), "zh"),
        (("--labels=zh", "kg", "build", "a", "b"), "zh"),
    ],
)
def test_the_language_may_stand_before_and_behind_a_command_and_a_command_s_own_command(typed, labels):
    assert parse("1", typed).labels == labels

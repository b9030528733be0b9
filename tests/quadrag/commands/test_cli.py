"""The command line as users meet it: help, lists, the demo, what a run leaves and prints.

`QUADRAG_SNAPSHOTS=write` writes the files of `tests/snapshots/` anew.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from chat_server import ChatServer

from quadrag.commands import NAMES

pytestmark = pytest.mark.plugins

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
CONFIG = ("run", "rgb", "negative_rejection_en")
RUN = (*CONFIG, "--data-dir", "sample", "--out", "out")


@pytest.mark.parametrize(
    ("name", "typed"),
    [("help.txt", ("--help",)), ("list.txt", ("list",)), ("list_rgb.txt", ("list", "rgb"))],
)
def test_help_and_lists(cli, name, typed):
    code, out, err = cli(*typed)
    assert (code, err) == (0, "") and max(map(len, out.splitlines())) <= 80
    if os.environ.get("QUADRAG_SNAPSHOTS") == "write":
        (SNAPSHOTS / name).parent.mkdir(exist_ok=True)
        (SNAPSHOTS / name).write_text(out, encoding="utf-8")
    assert out == (SNAPSHOTS / name).read_text(encoding="utf-8")


def test_no_arguments_are_answered_with_the_help(cli):
    assert cli() == cli("--help")
    done = subprocess.run([sys.executable, "-m", "quadrag", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and re.fullmatch(r"quadrag \d+\.\d+\.\d+\n", done.stdout)


def test_help_loads_nothing_heavy(python, environment):
    code = """
import sys
from quadrag.cli import main
heavy = {"pydantic", "filelock", "numpy", "datasets", "huggingface_hub", "rich", "evaluate"}
heavy |= {"pyarrow", "requests", "yaml", "sqlite3"}
for command in sys.argv[1:]:
    try:
        main([*command.split(), "--help"])
    except SystemExit as stop:
        assert stop.code == 0
    print("LOADED", sorted(heavy & set(sys.modules)))
"""
    commands = ("", *NAMES)
    ran = python(code, *commands, env=environment())
    assert (ran.returncode, ran.stderr) == (0, "") and ran.stdout.count("LOADED []\n") == len(commands)


# Runs.


def test_what_failed_decides_the_exit_code(cli):
    with ChatServer(models=["m", "j"], text="lorem") as server:
        crag = ("run", "crag", "task_1_2", "--data-dir", "sample", "--split", "public", "--ledger", "L", "--out", "c")
        code, out, err = cli(*crag, "--judge", f"{server.url}#j")
        assert code == 3 and err == "" and "INVALID, " in out
        codes = [note["code"] for note in json.loads(Path("c/run.json").read_text())["notes"]]
        assert "invalid" in codes
        assert cli(*crag, "--judge", f"{server.url}#j", "--max-failed", "1")[0] == 0
        code, out, err = cli("report", "c", "--json")
        assert (code, err) == (0, "") and json.loads(out)["folder"] == "c"
        code, out, err = cli(*crag, "--judge", f"{server.url}#j", "--json")
        assert code == 3 and not json.loads(out)["valid"] and "quadrag: INVALID, " in err
    code, out, err = cli(*RUN, "--json")
    assert (code, json.loads(out)["valid"]) == (0, True)


@pytest.mark.slow
def test_the_demo_measures_every_benchmark(cli):
    code, out, err = cli("demo", "--out", "kept")
    assert code == 0 and err == "" and max(map(len, out.splitlines())) <= 80
    names = ("rgb", "crud_rag", "crag", "omnieval")
    kept = {name: len(list(Path("kept", name).glob("*/scores.json"))) for name in names}
    assert kept == {"rgb": 10, "crud_rag": 6, "crag": 4, "omnieval": 1}
    for name in ("summary", "task_1_2-snippets-kg", "all", "counterfactual_robustness_en-none"):
        assert re.search(rf"(?m)^{name} +\w+ +\d+\.\d +[\d.–]+ +\d+ of \d+$", out), name
    page = Path("kept/report.html").read_text(encoding="utf-8")
    assert all(title in page for title in ("Table 1. Noise", "Table 5. Truth", "Retrieval", "omnieval"))
    assert '"id": "kg/0"' in Path("kept/crag/task_1_2-snippets-kg/retrieved.jsonl").read_text(encoding="utf-8")
    assert cli("demo", "--out", "kept")[0] == 0


@pytest.mark.parametrize(("labels", "benchmarks"), [("en", ["crag", "rgb"]), ("zh", ["crud_rag", "omnieval", "rgb"])])
def test_the_demo_asks_a_model_the_questions_of_its_language_and_nothing_else(cli, labels, benchmarks):
    with ChatServer(models=["org/m"]) as server:
        code, out, err = cli("demo", "--llm", server.url, "--limit", 1, "--labels", labels)
        bodies = server.bodies
    assert code == 0 and max(map(len, out.splitlines())) <= 80, err
    kept = Path("runs/demo-first-1-m")
    assert sorted(folder.name for folder in kept.iterdir() if folder.is_dir()) == benchmarks
    answers = [json.loads(line) for file in kept.glob("*/*/answers.jsonl") for line in file.open(encoding="utf-8")]
    assert {row["state"] for row in answers} == {"ok"} and len(bodies) == len(answers) > 10
    assert all(bool(re.search("[一-龥]", str(body["messages"]))) == (labels == "zh") for body in bodies)


def test_a_spec_file_says_what_no_option_does_and_gives_way_to_options(cli):
    with ChatServer(models=["m", "j"], text="No, it is not addressed.") as server:
        judge = {"llm": f"{server.url}#j", "name": "k", "sampling": {"max_tokens": 7}}
        system = {"llm": f"{server.url}#m", "name": "file", "sampling": {"top_p": 0.5, "seed": 1}}
        said = {"system": system, "judges": [judge], "samples": 2, "limit": 3, "calls": {"concurrency": 1}}
        Path("s.json").write_text(json.dumps(said))
        assert cli(*RUN, "--spec", "s.json", "--ledger", "L", "--seed", "5", "--llm-name", "typed")[0] in (0, 3)
        asked = {body["model"]: body for body in server.bodies}
    assert (asked["m"]["top_p"], asked["m"]["seed"]) == (0.5, 6), "that of the second sample"
    assert (asked["j"]["max_tokens"], asked["j"]["temperature"]) == (7, 0), "what is not said is as --judge has it"
    spec = json.loads(Path("out/run.json").read_text())["spec"]
    assert (spec["samples"], spec["limit"], spec["system"]["name"], spec["judges"][0]["name"]) == (2, 3, "typed", "k")


# Beside runs.


def test_the_folder_of_a_harness_is_printed_alone(cli):
    code, out, err = cli("harness", "lm-eval")
    assert (code, err) == (0, "") and [*Path(out.strip()).glob("*.yaml")] and out.count("\n") == 1


def test_questions_hold_no_gold_and_are_not_written_over_a_file_that_may_hold_answers(cli, refused):
    ask = ("questions", *CONFIG[1:], "--data-dir", "sample", "--limit", "2")
    code, out, _ = cli(*ask)
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and [row["id"] for row in rows] == ["0", "1"]
    assert set(rows[0]) == {"benchmark", "config", "split", "id", "query", "language", "passages"}
    assert cli(*ask, "--out", "new/q.jsonl")[0] == 0 and Path("new/q.jsonl").read_text(encoding="utf-8") == out
    assert "new/q.jsonl" in refused(*ask, "--out", "new/q.jsonl")

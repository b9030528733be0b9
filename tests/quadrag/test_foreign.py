"""A benchmark of somebody else's: its package is built outside the tree and installed, and every door knows it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

FOREIGN = Path(__file__).parents[1] / "foreign"
COMMAND = """
import sys
from quadrag.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package installed, from a wheel of its source."""
    source = shutil.copytree(FOREIGN, tmp_path_factory.mktemp("foreign") / "source")
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    shutil.unpack_archive(wheel, target, "zip")
    return target


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def python(site: Path, folder: Path) -> Callable[..., str]:
    """A function that runs Python code where the package is installed, and returns what it printed."""
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "HF_HOME": str(folder / "hf"), "COLUMNS": "80"}
    for name in ("HF_MODULES_CACHE", "HF_EVALUATE_CACHE", "HF_DATASETS_CACHE"):
        environment.pop(name, None)

    def run(text: str, *arguments: str, code: int = 0) -> str:
        command = [sys.executable, "-c", text, *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout if code in (0, 4) else done.stderr

    return run


@pytest.fixture(scope="module")
def quadrag(python: Callable[..., str]) -> Callable[..., str]:
    """A function that runs a command."""
    return partial(python, COMMAND)


@pytest.fixture(scope="module")
def run(quadrag: Callable[..., str]) -> Path:
    quadrag("run", "harbour", "ships", "--data-dir", "sample", "--out", "run")
    return Path("run")


def test_it_is_listed(quadrag):
    described = quadrag("list", "harbour")
    assert "harbour" in quadrag("list") and "ships" in described and "--option" not in described
    assert len(quadrag("questions", "harbour", "ships", "--data-dir", "sample").splitlines()) == 6


def test_a_run_has_its_values(quadrag, run, folder):
    scores = json.loads((folder / run / "scores.json").read_text("utf-8"))
    values = {(s["metric"], s["key"]): s["value"] for s in scores if s["profile"] == "official" and s["slice"] == "all"}
    answers = [json.loads(line)["answer"] for line in (folder / run / "answers.jsonl").read_text("utf-8").splitlines()]
    ports = ["Varnholm", "Ostrand", "Kelby", "Varnholm", "Marrow Sound", "Kelby"]
    named = [port in answer for port, answer in zip(ports, answers, strict=True)]
    assert values["port_named", "port_named"] == sum(named) / 6 > 0
    assert values["retrieval_ranking", "mrr"] > 0
    assert {s["slice"] for s in scores} == {"all", "kind=dry", "kind=liquid"}


def test_answers_score_alike(quadrag, run, folder):
    quadrag("score", f"{run}/answers.jsonl", "--data-dir", "sample", "--out", "scored")
    first, second = (
        {
            (s["metric"], s["key"], s["profile"], s["slice"]): s["value"]
            for s in json.loads((folder / place / "scores.json").read_text("utf-8"))
            if s["metric"] == "port_named"
        }
        for place in (run, "scored")
    )
    assert first == second


def test_tables_and_the_page_are_drawn(quadrag, run, folder):
    quadrag("run", "harbour", "ships", "--data-dir", "sample", "--retriever", "words", "--top-k", "1", "--out", "other")
    found = [json.loads(line)["passages"][0]["id"] for line in (folder / "other/retrieved.jsonl").open("rb")]
    assert found == [f"n{row}#0" for row in range(6)]
    assert "port_named" in quadrag("report", str(run), "--html", "page.html")
    assert "port_named" in quadrag("report", str(run), "other", "--html", "pair.html")
    assert {"page.html", "pair.html"} <= {path.name for path in folder.iterdir()}
    assert "Aldara" in quadrag("show", str(run))
    quadrag("trec", str(run))


def test_it_is_exported(quadrag, folder):
    quadrag("export", "hub", "--benchmark", "harbour", "--data-dir", "sample")
    assert list((folder / "hub").rglob("*.parquet")) and list((folder / "hub").rglob("README.md"))


PYTHON = """
import json, quadrag
asked = list(quadrag.questions("harbour", "ships", data_dir="sample"))
good = quadrag.evaluate("harbour", "ships", lambda q: "Kelby, Ostrand, Varnholm, Marrow Sound", data_dir="sample")
bad = quadrag.evaluate("harbour", "ships", lambda q: "At sea.", data_dir="sample", out="bad")
print(json.dumps([len(asked), good["port_named"].value, bad["port_named"].value,
    quadrag.compare(good, bad)["port_named"].difference]))
"""


def test_python_measures_and_compares_with_it_and_a_gate_holds_it(python, quadrag):
    assert json.loads(python(PYTHON)) == [6, 1, 0, -1]
    quadrag("report", "bad", "--fail-below", "port_named=0.999", code=4)


def test_it_is_prepared_and_its_metric_loads_by_name(quadrag, python):
    quadrag("prepare", "harbour", "--data-dir", "sample")
    code = """
import evaluate, json, datasets
rows = datasets.load_dataset("harbour", "ships", split="test")
result = evaluate.load("port_named").compute(predictions=["To Kelby."], references=[["Kelby"]])
print(json.dumps([len(rows), result["port_named"]]))
"""
    assert json.loads(python(code).splitlines()[-1]) == [6, 1.0]


def test_harnesses_have_its_task(quadrag, folder):
    quadrag("harness", "lm-eval", "tasks")
    assert [path for path in (folder / "tasks").rglob("*.yaml") if "harbour_ships" in path.read_text("utf-8")]


def test_the_demo_runs_it(quadrag):
    assert "Harbour" in quadrag("demo")


def test_a_package_that_cannot_be_imported_is_one_line(quadrag, site):
    record = site / "harbour" / "benchmark.py"
    text = record.read_text("utf-8")
    record.write_text(f"import no_such_package\n{text}", "utf-8")
    try:
        said = quadrag("run", "harbour", "ships", "--data-dir", "sample", code=2)
        assert len(said.splitlines()) == 1 and "no_such_package" in said
        quadrag("--help")
        quadrag("list")
    finally:
        record.write_text(text, "utf-8")

"""Arguments that cannot be, or are misspelt, are refused in one line before anything is asked."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from chat_server import ChatServer
from own_system import SUMMARY, measure

import quadrag

pytestmark = pytest.mark.plugins

CRAG = ("crag", "task_1_2")
CASES = [
    *yaml.safe_load((Path(__file__).parent / "arguments.yaml").read_text("utf-8")),
    [{"judge": len}, "judge is <built-in"],
]


@pytest.mark.parametrize(("changes", "found"), CASES)
def test_a_wrong_argument_of_evaluate_is_one_line(changes, found):
    asked = []
    with pytest.raises(quadrag.QuadragError, match=found) as told:
        measure(asked.append, **changes)
    assert "\n" not in str(told.value) and "sk-1" not in str(told.value) and not asked
    assert not list(Path().rglob("run.json"))


@pytest.mark.parametrize(
    ("use", "found"),
    [
        (lambda: quadrag.questions("rgb", ["a"]), "config"),
        (lambda: quadrag.questions(*SUMMARY, datadir="sample"), "datadir"),
        (lambda: quadrag.corpus("rgb"), "has no corpus"),
        (lambda: quadrag.corpus("crud_rag", gould="test"), "'gould'; nearest: gold"),
        (lambda: quadrag.evaluate(*CRAG, str), "cannot fetch .* --data-dir"),
        (lambda: quadrag.result("nowhere"), "nowhere holds no run.json"),
    ],
)
def test_bad_input_is_a_line_without_the_way_in_here(use, found, monkeypatch):
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")
    with pytest.raises(quadrag.QuadragError, match=found) as told:
        use()
    assert "\n" not in str(told.value) and len(told.traceback) == 3 and told.value.__suppress_context__


def test_every_judging_argument_reaches_the_judge(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    values = {"judge_format": "json", "judge_max_tokens": 64, "judge_name": "here"}
    values |= {"max_failed": 1.0, "timeout": 9.5, "max_reply_bytes": 10_000}
    values |= {"ledger": "L", "retry": "empty", "fresh": True}
    with ChatServer(models=["j"]) as server:
        found = measure(lambda one: "x", *CRAG, judge=f"{server.url}#j", out="mine", limit=3, **values)
        (body, *_) = server.bodies
    inputs = found.result.record
    assert body["response_format"] == {"type": "json_object"} and body["max_tokens"] == 64 and Path("L").exists()
    assert (found.valid, inputs.services, inputs.judge) == (True, {"judge": "here"}, "here")


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, quadrag; print({'datasets', 'numpy', 'pydantic', 'yaml'} & set(sys.modules), dir(quadrag))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert done.returncode == 0 and done.stdout.startswith("set() ") and "'evaluate'" in done.stdout, done.stderr

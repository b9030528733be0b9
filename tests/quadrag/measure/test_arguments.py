"""Arguments that cannot be, or are misspelt, are refused in one line before anything is asked."""

import subprocess
import sys
from pathlib import Path

import pytest
from chat_server import ChatServer
from own_system import SUMMARY, measure, slowly

import quadrag
from quadrag.measure.arguments import in_python

CRAG = ("crag", "task_1_2")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"profile": "oficial"}, "oficial'; known: official, corrected|oficial'; nearest: official"),
        ({"labels": "fr"}, "'fr'; known: en, zh"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"concurrency": None}, "concurrency is None"),
        ({"gold": "test"}, "option gold"),
        ({"noise": 1}, "noise"),
        ({"split": "tset"}, "test"),
        ({"split": ["test"]}, r"split is \['test'\]"),
        ({"out": 7}, "out is 7"),
        ({"judge": "gpt"}, "expected"),
        ({"judge": 5}, "judge is 5"),
        ({"judge": ["http://127.0.0.1:9/v1#m", 5]}, "judge is 5"),
        ({"judge": len}, "judge is <built-in function len>"),
        ({"timeout": 2}, "timeout"),
        ({"judge_format": "yaml"}, "'yaml'; known: text, json, schema"),
        ({"judge_format": "json"}, "^judge_format="),
        ({"judge_max_tokens": 0}, "judge_max_tokens is 0"),
        ({"max_failed": 2}, "max_failed is 2"),
        ({"retry": "emty"}, "'emty'; nearest: empty"),
        ({"retry": "failed"}, "no run to retry"),
        ({"judge_large": "j"}, "judge_large is gone"),
        ({"judge_formt": "json"}, "'judge_formt'; nearest: judge_format"),
        ({"profil": "official"}, "'profil'; nearest: profile"),
        ({"bertscore": "m"}, "'m'"),
        ({"api_key": "sk-1"}, "QUADRAG_API_KEY"),
    ],
)
def test_a_wrong_argument_of_evaluate_is_one_line_about_arguments(changes, found):
    asked = []
    with pytest.raises(quadrag.QuadragError, match=found) as told:
        measure(asked.append, **changes)
    assert "\n" not in str(told.value) and "--" not in str(told.value) and not asked
    assert not list(Path().rglob("run.json"))


def test_a_misspelt_argument_is_refused_with_the_right_name():
    found = measure(slowly, out="mine")
    both = quadrag.compare(found, measure(lambda question: "x", out="other"))
    for use, place, misspelt, meant in (
        (quadrag.evaluate, (*SUMMARY, str), "data_dirs", "data_dir"),
        (quadrag.questions, SUMMARY, "datadir", "data_dir"),
        (quadrag.corpus, ("crud_rag",), "datadir", "data_dir"),
        (quadrag.compare, (), "aftr", "after"),
        (quadrag.result, (), "profil", "profile"),
        (found.to_pandas, (), "text", "texts"),
        (found.show, (), "wrose", "verbose, wrong"),
        (found.report, (), "paht", "path"),
        (both.to_pandas, (), "text", "texts"),
        (both.show, (), "wrose", "worse, verbose"),
        (both.report, (), "paht", "path"),
    ):
        with pytest.raises(quadrag.QuadragError, match=f"of {use.__name__} '{misspelt}'; nearest: {meant}"):
            use(*place, **{misspelt: "sample"})
    for frame in (found, both):
        with pytest.raises(quadrag.QuadragError, match="'metrics'; nearest: metric"):
            frame.to_pandas(by="metrics")
    with pytest.raises(quadrag.QuadragError, match="config is"):
        quadrag.questions("rgb", ["a"])
    with pytest.raises(quadrag.QuadragError, match="has no corpus"):
        quadrag.corpus("rgb")
    with pytest.raises(quadrag.QuadragError, match="a str"):
        measure("text")


def test_an_error_of_the_user_comes_without_the_way_in_here():
    with pytest.raises(quadrag.QuadragError) as told:
        quadrag.questions("rgb", "nothing")
    assert len(told.traceback) == 2 and told.value.__suppress_context__


def test_every_judging_argument_reaches_the_judge(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    values = {"judge_format": "json", "judge_max_tokens": 64, "judge_name": "here"}
    values |= {"max_failed": 1.0, "timeout": 9.5, "max_reply_bytes": 10_000}
    values |= {"ledger": "L", "retry": "empty", "fresh": True}
    with ChatServer(models=["j"]) as server:
        found = measure(lambda one: "x", *CRAG, judge=f"{server.url}#j", out="mine", limit=3, **values)
        (body, *_) = server.bodies
    inputs = found.result.run
    assert body["response_format"] == {"type": "json_object"} and body["max_tokens"] == 64 and Path("L").exists()
    assert (found.valid, inputs.services, inputs.judge) == (True, {"judge": "here"}, "here")


def test_data_that_cannot_be_fetched_are_named_by_argument(monkeypatch):
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")
    for use in (lambda: quadrag.evaluate(*CRAG, str), lambda: quadrag.questions(*CRAG)):
        with pytest.raises(quadrag.QuadragError, match=r"cannot fetch .* data_dir="):
            use()


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("--judge-format json, or --retry unreadable", 'judge_format="json", or retry="unreadable"'),
        ("leave out --judge-format", "leave out judge_format="),
        ("3 items, see --unscored", "3 items, see unscored=True"),
        ("--retry cut,empty asks again", 'retry=["cut", "empty"] asks again'),
        ("--max-failed 1 asks on", "max_failed=1 asks on"),
        ("(3; --judge-name 'a b')", "(3; judge_name='a b')"),
        ("has them with --option gold=full", "has them with gold=full"),
        ("one of `quadrag certify-judge --out`", "one of `quadrag certify-judge --out`"),
        ("leave out --samples, a -- and --judges", "leave out --samples, a -- and --judges"),
    ],
)
def test_an_option_of_the_command_is_named_as_the_argument_that_it_is(command, python):
    assert in_python(command) == python


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, quadrag; print({'datasets', 'numpy', 'pydantic', 'yaml'} & set(sys.modules), dir(quadrag))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert done.returncode == 0 and done.stdout.startswith("set() ") and "'evaluate'" in done.stdout, done.stderr

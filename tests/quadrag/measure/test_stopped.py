"""A run of one's own system that was stopped, killed or finished: what was answered counts unless it is asked anew."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from own_system import items, measure, slowly

import quadrag


def test_a_finished_folder_is_never_taken_for_a_new_system():
    measure(lambda question: "x", out="mine")
    with pytest.raises(quadrag.QuadragError, match=r"finished run, whose answers are of 20.* UTC; .* fresh=True asks"):
        measure(lambda question: "y", out="mine")
    anew = measure(lambda question: "y", out="mine", fresh=True)
    assert set(anew.to_pandas()["answer"]) == {"y"} and anew.scores == quadrag.result("mine").scores
    first, second = (measure(slowly) for _ in range(2))
    assert second.folder != first.folder and first["rouge_l"] == second["rouge_l"]


async def stopping_inside(question):
    raise KeyboardInterrupt


def test_an_interrupt_within_a_loop_has_no_line_of_the_loop():
    with pytest.raises(KeyboardInterrupt) as stopped:
        measure(stopping_inside)
    assert {one.name for one in stopped.traceback[2:]} <= {"call", "stopping_inside"}


def test_what_a_stopped_run_was_answered_counts_unless_it_is_asked_anew(capsys):
    def stopping(question):
        if Path("mine/answering.jsonl").exists():
            raise KeyboardInterrupt
        return "old"

    for more, wanted in (({}, {"old", "new"}), ({"fresh": True}, {"new"})):
        shutil.rmtree("mine", ignore_errors=True)
        with pytest.raises(KeyboardInterrupt) as stopped:
            measure(stopping, name="s", out="mine")
        said = "mine/answering.jsonl: stopped; 1 of 8 answers are kept, and the same call goes on\n"
        assert capsys.readouterr().err.endswith(said)
        assert [one.name for one in stopped.traceback][1:] == ["measure", "call", "stopping"]
        done = measure(lambda question: "new", name="s", out="mine", **more)
        assert set(done.to_pandas()["answer"]) == wanted


KILLED = """
import sys, time, quadrag
def slow(question):
    time.sleep(0.15)
    with open("asked", "a") as file:
        file.write(question.id + "\\n")
    return question.query + "\\u2028"
result = quadrag.evaluate("crud_rag", "summary", slow, data_dir="sample", out="killed")
"""


@pytest.mark.slow
def test_killed_twice_it_asks_nothing_twice(tmp_path):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), *sys.path[:1]]))}
    for goal in (2, 4):
        with subprocess.Popen([sys.executable, "-c", KILLED], cwd=tmp_path, env=env) as process:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and process.poll() is None:
                kept = tmp_path / "killed" / "answering.jsonl"
                if kept.exists() and kept.read_text().count("answer") >= goal:
                    break
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "of 8 answers are kept from the earlier run" in done.stderr
    asked = (tmp_path / "asked").read_text().split()
    # A kill may fall between an answer and its line.
    assert len(set(asked)) == 8 and len(asked) <= 10
    assert not (tmp_path / "killed" / "answering.jsonl").exists()
    whole = measure(lambda question: question.query + "\u2028", name="slow", out="whole")
    assert items("killed") == items("whole") and whole.valid

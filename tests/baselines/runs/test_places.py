"""A run is the same to the byte wherever its work is done, and no worker pays for a reply twice."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from chat_server import ChatServer

from quadrag.chat.ledger import Ledger

RUN = ("run", "crud_rag", "summary", "--data-dir", "sample", "--samples", "6", "--seed", "7")


def asked(server, folder, name, place, *more):
    place = ("--ledger", folder / f"{name}.sqlite", "--out", folder / name, "--on", place)
    return [*RUN, "--llm", f"{server.url}#m", *place, *more]


@pytest.mark.slow
def test_two_processes_make_the_files_of_one(quadrag, environment, tmp_path, stages, server):
    for name, place in (("one", "1"), ("two", "2")):
        ran = quadrag(*asked(server, tmp_path, name, place), env=environment(tmp_path / f"home-{name}"))
        assert ran.returncode == 0, ran.stderr
    assert stages(tmp_path / "two") == stages(tmp_path / "one")
    bodies = [json.dumps(body, sort_keys=True) for body in server.bodies]
    assert len(bodies) == 2 * len(set(bodies)), "each call once in each run"
    one, two = (json.loads((tmp_path / name / "run.json").read_text())["usage"]["llm"] for name in ("one", "two"))
    assert one["calls"] > 0
    assert one == two
    with Ledger(tmp_path / "one.sqlite") as kept, Ledger(tmp_path / "two.sqlite") as merged:
        assert len(kept) == len(merged) == one["calls"]
    assert not list(tmp_path.glob("two.sqlite.*.parts")), "the workers' own ledgers are gone"


@pytest.mark.slow
def test_replies_of_a_killed_runs_workers_are_not_asked_for_again(quadrag, environment, tmp_path, stages):
    """They are taken over by whatever opens the ledger next, here a run on one process."""
    concurrency, env = 2, environment()
    with ChatServer(latency=0.2) as server:
        command = map(str, asked(server, tmp_path, "r", "2", "--concurrency", str(concurrency)))
        process = subprocess.Popen([sys.executable, "-m", "quadrag", *command], env=env, stdout=subprocess.DEVNULL)
        while server.requests < 8 and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        process.wait()
        time.sleep(0.5)  # the workers end with it
        before = server.requests
        with Ledger(tmp_path / "r.sqlite") as ledger:
            kept = len(ledger)
        assert 0 < before - 2 * concurrency <= kept <= before
        ran = quadrag(*asked(server, tmp_path, "r", "1"), env=env)
        assert ran.returncode == 0, ran.stderr
        answers = len(stages(tmp_path / "r")["answers.jsonl"].splitlines())
        assert server.requests - before == answers - kept


@pytest.mark.slow
def test_a_dead_server_is_one_line(cli):
    ran = cli(*RUN, "--llm", "http://127.0.0.1:9/v1#m", "--out", "r", "--on", "2")
    assert ran.code == 2
    assert "127.0.0.1:9" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("place", ["torchrun", "nowhere"])
def test_a_place_that_is_none_is_one_line(cli, place):
    ran = cli(*RUN, "--on", place)
    assert ran.code == 2
    assert ran.err.startswith("quadrag: --on ")
    assert len(ran.err.splitlines()) == 1


def test_a_budget_is_of_one_process(cli, tmp_path):
    (tmp_path / "prices.yaml").write_text("m: {input: 1, output: 1}")
    bounded = ("--budget", "1", "--prices", tmp_path / "prices.yaml", "--max-tokens", "9")
    ran = cli(*RUN, "--llm", "http://127.0.0.1:9/v1#m", *bounded, "--on", "2")
    assert (ran.code, ran.err) == (2, "quadrag: --budget is held by one process; leave it out, or --on\n")

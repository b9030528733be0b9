"""SIGTERM ends a run as an interrupt does, and whoever reads the folder is told how far it came and what goes on."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chat_server import ChatServer
from rgb_runs import ONE


@pytest.mark.slow
def test_a_terminated_run_says_so_and_goes_on(tmp_path, environment):
    code = "import sys; from quadrag.cli import main; sys.exit(main())"
    with ChatServer(latency=0.3) as server:
        asked = [*ONE, "--llm", f"{server.url}#m", "--concurrency", "1", "--ledger", "L", "--out", "a run"]

        def start(*words):
            command = [sys.executable, "-c", code, *words]
            return subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)

        run = start(*asked)
        while server.requests < 2:
            time.sleep(0.01)
        run.send_signal(signal.SIGTERM)
        assert run.communicate()[1].splitlines()[-1] == "quadrag: stopped; run the same command again to go on"
        assert run.returncode == 130
        for command in ("report", "show"):
            told = start(command, "a run").communicate()[1]
            assert told.startswith(
                "quadrag: a run is not finished (its 12 answers are not complete, replies that arrived"
            )
            assert f"; run the same command again: {shlex.join(['quadrag', *asked])}\n" in told
        server.state.latency = 0
        assert start(*asked).wait() == 0
        assert len({json.dumps(body) for body in server.bodies}) == 12


@pytest.mark.slow
@pytest.mark.parametrize("command", ["report", "show"])
def test_a_run_that_is_not_judged_yet_has_all_its_answers(cli, server, command):
    asked = (*ONE, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "r", "--judge", "http://127.0.0.1:9/v1#j")
    assert cli(*asked).code == 2 and Path("r/answers.jsonl").exists()
    told = cli(command, "r")
    assert told.code == 0
    assert ("not judged: rejection_rate_judged; the judge" if command == "report" else "12 items") in " ".join(
        told.out.split()
    )

"""SIGTERM ends a run as an interrupt does, and whoever reads the folder is told how far it came and what goes on."""

import json
import shlex
import signal
import subprocess
import sys
import time

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
            assert told.count("\n") == 1 and "a run" in told and shlex.join(["quadrag", *asked]) in told
        server.state.latency = 0
        assert start(*asked).wait() == 0
        assert len({json.dumps(body) for body in server.bodies}) == 12

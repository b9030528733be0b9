"""Whole runs that share a ledger, or are killed with calls in flight: no reply is paid for twice."""

import random
import subprocess
import sys
import time

import pytest
from chat_server import ChatServer

pytestmark = pytest.mark.plugins

CODE = "import sys; from quadrag.cli import main; sys.exit(main())"
ASKED = ("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--concurrency", "4")


@pytest.fixture
def start(tmp_path, environment):
    def popen(*arguments):
        command = [sys.executable, "-c", CODE, *arguments]
        return subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=-1)

    return popen


def test_runs_at_the_same_time_share_the_ledger_of_the_cache(tmp_path, start, stages):
    with ChatServer(latency=0.02) as server:
        llm = ("--llm", f"{server.url}#m")
        several = [start(*ASKED, "--split", split, *llm, "--out", split) for split in ("noise_0", "noise_40")]
        assert [process.wait() for process in several] == [0, 0]
        asked = server.requests
        assert asked == len(server.calls) > 0, "nothing is asked twice"
    again = start(*ASKED, "--split", "noise_40", *llm, "--out", "again")
    assert again.wait() == 0, "all stands in the ledger, so no server is needed"
    assert stages(tmp_path / "again") == stages(tmp_path / "noise_40")


@pytest.mark.slow(2, 3, 15)
def test_a_run_killed_at_random_moments_repeats_the_calls_in_flight_alone(tmp_path, start, stages, rounds):
    draw = random.Random(39)
    with ChatServer(latency=0.05) as server:
        llm = ("--llm", f"{server.url}#m")
        assert start(*ASKED, *llm, "--ledger", "undisturbed.sqlite", "--out", "undisturbed").wait() == 0
        calls, server.state.requests = server.requests, 0
        killed = (*ASKED, *llm, "--ledger", "killed.sqlite", "--out", "killed")
        for _ in range(rounds):
            moment = server.requests + draw.randint(1, max(1, calls // (2 * rounds)))
            process = start(*killed)
            while server.requests < moment and process.poll() is None:
                time.sleep(0.001)
            process.kill()
            process.wait()
        assert start(*killed).wait() == 0
        assert calls <= server.requests <= calls + 4 * rounds
    assert stages(tmp_path / "killed") == stages(tmp_path / "undisturbed")

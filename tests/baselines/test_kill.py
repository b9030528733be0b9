"""Kill -9 in the middle of a run, twenty times: few calls are repeated, and the files end as if undisturbed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time

import pytest
from chat_server import ChatServer

from quadrag.ledger import Ledger

CALLS, CONCURRENCY, KILLS = 240, 4, 20


@pytest.mark.timeout(180)
def test_a_run_killed_twenty_times_ends_as_an_undisturbed_one(tmp_path, environment, stages):
    draw = random.Random(2333)
    code = "import sys; from quadrag.cli import main; sys.exit(main())"
    env = environment()

    def start(server, name):
        asked = ["run", "rgb", "noise_robustness_zh", "--data-dir", "sample", "--samples", "4", "--seed", "7"]
        there = [
            "--llm",
            f"{server.url}#m",
            "--concurrency",
            str(CONCURRENCY),
            "--ledger",
            f"{name}.sqlite",
            "--out",
            name,
        ]
        return subprocess.Popen(
            [sys.executable, "-c", code, *asked, *there],
            cwd=tmp_path,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    with ChatServer(latency=0.02) as server:
        undisturbed = start(server, "undisturbed")
        assert undisturbed.wait() == 0, undisturbed.stderr.read()
        assert server.requests == CALLS
        distinct = {json.dumps(body, sort_keys=True) for body in server.bodies}
        assert len(distinct) == CALLS, "every sample has a seed of its own"

        server.bodies.clear()
        server.state.requests = 0
        killed = 0
        for turn in range(KILLS):
            process = start(server, "killed")
            if turn % 4 == 3:
                # Anywhere: while it starts, reads, asks, scores or writes.
                time.sleep(draw.uniform(0.2, 1.5))
            else:
                moment = server.requests + draw.randint(1, 16)
                while server.requests < moment and process.poll() is None:
                    time.sleep(0.001)
                time.sleep(draw.uniform(0, 0.03))
            process.kill()
            killed += process.wait() == -9
            if (tmp_path / "killed.sqlite").exists():
                seen = {json.dumps(body, sort_keys=True) for body in server.bodies}
                with Ledger(tmp_path / "killed.sqlite") as ledger:
                    assert len(seen) - len(ledger) <= CONCURRENCY, "more is lost than was in flight"
            for path in (tmp_path / "killed").glob("*.jsonl"):
                assert path.read_bytes().endswith(b"\n"), f"{path.name} is half-written"
            process.stderr.close()
        assert killed >= 0.9 * KILLS, "most kills met a run at work"

        last = start(server, "killed")
        assert last.wait() == 0, last.stderr.read()
        assert {json.dumps(body, sort_keys=True) for body in server.bodies} == distinct
        assert CALLS <= server.requests <= CALLS + killed * CONCURRENCY
        assert server.requests > CALLS, "some kill met a call in flight"

    assert stages(tmp_path / "killed") == stages(tmp_path / "undisturbed")
    assert not list(tmp_path.rglob("*.part")) and not list(tmp_path.rglob(".*.part"))


def test_a_kill_at_any_write_leaves_a_folder_that_goes_on(tmp_path, environment, stages):
    """The moments between two writes are too short to be hit by chance, so each of them is taken in turn."""
    code = """
import os, signal, sys
from pathlib import Path
left = [int(sys.argv.pop(1))]
def dying(real):
    def call(*arguments, **options):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    return call
# Before a file's text is written, before it is moved to its place, before one is removed.
Path.write_text, Path.replace, Path.unlink = map(dying, (Path.write_text, Path.replace, Path.unlink))
from quadrag.cli import main
sys.exit(main())
"""
    env = environment()
    asked = ["run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--limit", "3", "--concurrency", "2"]

    def run(server, number, name):
        there = ["--llm", f"{server.url}#m", "--ledger", f"{name}.sqlite", "--out", name]
        command = [sys.executable, "-c", code, str(number), *asked, *there]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    with ChatServer() as server:
        assert run(server, 10_000, "undisturbed").returncode == 0
        killed = 0
        # Every kill meets a folder that the kills before it have left.
        for number in range(1, 60):
            ended = run(server, number, "killed")
            if ended.returncode == 0:
                break
            assert ended.returncode == -9, ended.stderr
            killed += 1
        assert ended.returncode == 0 and killed >= 10
        assert server.requests == 2 * 3, "no reply is asked for twice"
    assert stages(tmp_path / "killed") == stages(tmp_path / "undisturbed")
    assert not [path for path in (tmp_path / "killed").iterdir() if path.name.startswith(".")]

"""Kill -9 in the middle of a run, again and again: few calls are repeated, and the files end as if undisturbed."""

import json
import random
import subprocess
import sys
import time

import pytest
from chat_server import ChatServer
from warm import Warm

from quadrag.chat.ledger import Ledger

CALLS, CONCURRENCY = 240, 4
IMPORTS = """
import datasets, evaluate, jinja2, rich.console, rich.table, scipy.io
from quadrag.chat import calls
from quadrag.run import run, sweep
from quadrag.cli import main
"""


@pytest.mark.slow(0, 5, 20)
@pytest.mark.timeout(180)
def test_a_run_killed_many_times_ends_as_an_undisturbed_one(tmp_path, environment, stages, rounds):
    draw = random.Random(2333)
    code = "import sys; from quadrag.cli import main; sys.exit(main())"
    env = environment()

    def asked(server, name):
        return [
            *("run", "rgb", "noise_robustness_zh", "--data-dir", "sample", "--samples", "4", "--seed", "7"),
            *("--llm", f"{server.url}#m", "--concurrency", str(CONCURRENCY), "--ledger", f"{name}.sqlite"),
            *("--out", name),
        ]

    def start(server, name):
        command = [sys.executable, "-c", code, *asked(server, name)]
        return subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    with ChatServer(latency=0.02) as server, Warm(IMPORTS, "sys.exit(main(arguments))", tmp_path, env) as warm:
        undisturbed = start(server, "undisturbed")
        assert undisturbed.wait() == 0, undisturbed.stderr.read()
        assert server.requests == CALLS
        distinct = {json.dumps(body, sort_keys=True) for body in server.bodies}
        assert len(distinct) == CALLS, "every sample has a seed of its own"

        server.bodies.clear()
        server.state.requests = 0
        killed = 0
        for turn in range(rounds):
            if turn % 4 == 3:
                # Anywhere: while it starts, reads, asks, scores or writes.
                process = start(server, "killed")
                time.sleep(draw.uniform(0.2, 1.5))
            else:
                process = warm.start(*asked(server, "killed"))
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
        assert killed >= 0.8 * rounds, "most kills met a run at work"

        last = start(server, "killed")
        assert last.wait() == 0, last.stderr.read()
        assert {json.dumps(body, sort_keys=True) for body in server.bodies} == distinct
        assert CALLS <= server.requests <= CALLS + killed * CONCURRENCY
        assert server.requests > CALLS, "some kill met a call in flight"

    assert stages(tmp_path / "killed") == stages(tmp_path / "undisturbed")
    assert not list(tmp_path.rglob("*.part")) and not list(tmp_path.rglob(".*.part"))


@pytest.mark.slow
def test_a_kill_at_any_write_leaves_a_folder_that_goes_on(tmp_path, environment, stages):
    """The moments between two writes are too short to be hit by chance, so each of them is taken in turn."""
    code = """
import signal
from pathlib import Path
left = [arguments.pop(0)]
def dying(real):
    def call(*arguments, **options):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    return call
# Before a file's text is written, before it is moved to its place, before one is removed.
Path.write_text, Path.replace, Path.unlink = map(dying, (Path.write_text, Path.replace, Path.unlink))
sys.exit(main(arguments))
"""
    asked = ["run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--limit", "3", "--concurrency", "2"]

    with ChatServer() as server, Warm(IMPORTS, code, tmp_path, environment()) as warm:

        def run(number, name):
            there = ["--llm", f"{server.url}#m", "--ledger", f"{name}.sqlite", "--out", name]
            return warm.start(number, *asked, *there).wait()

        assert run(10_000, "undisturbed") == 0
        killed = 0
        # Every kill meets a folder that the kills before it have left.
        for number in range(1, 60):
            ended = run(number, "killed")
            if ended == 0:
                break
            assert ended == -9, warm.errors.read_text(errors="replace")
            killed += 1
        assert ended == 0 and killed >= 10
        assert server.requests == 2 * 3, "no reply is asked for twice"
    assert stages(tmp_path / "killed") == stages(tmp_path / "undisturbed")
    assert [path.name for path in (tmp_path / "killed").iterdir() if path.name.startswith(".")] == [".lock"]

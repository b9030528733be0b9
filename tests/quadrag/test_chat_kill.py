"""A run that is killed again and again repeats at most the calls in flight and ends with the same replies."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time

import pytest
from chat_server import ChatServer

from quadrag.ledger import Ledger

CALLS, CONCURRENCY, KILLS = 200, 8, 20

DRIVER = f"""
import json, sys
from quadrag.chat import ChatClient
from quadrag.ledger import Ledger
chats = [[{{"role": "user", "content": f"question {{n}}"}}] for n in range({CALLS})]
with Ledger(sys.argv[2]) as ledger, ChatClient(sys.argv[1], ledger=ledger, concurrency={CONCURRENCY}) as client:
    print(json.dumps(client(chats)))
"""


def start(url, path):
    command = [sys.executable, "-c", DRIVER, url + "#m", str(path)]
    # Not in the checkout, whose folder would stand in for the installed package.
    return subprocess.Popen(command, cwd=path.parent, stdout=subprocess.PIPE, text=True)


@pytest.mark.timeout(120)
def test_a_kill_repeats_at_most_the_calls_in_flight(tmp_path):
    draw = random.Random(20)
    with ChatServer(latency=0.02) as server:
        undisturbed = json.loads(start(server.url, tmp_path / "undisturbed.sqlite").communicate()[0])
        assert server.requests == CALLS
        server.calls.clear()
        server.state.requests = 0
        path = tmp_path / "killed.sqlite"
        for _ in range(KILLS):
            moment = server.requests + draw.randint(1, 16)
            process = start(server.url, path)
            while server.requests < moment and process.poll() is None:
                time.sleep(0.001)
            time.sleep(draw.uniform(0, 0.03))
            assert process.poll() is None, "the run ended before it was killed"
            process.kill()
            process.communicate()
            with Ledger(path) as ledger:
                assert len(server.calls) - len(ledger) <= CONCURRENCY, "more is lost than was in flight"
        with Ledger(path) as ledger:
            stored = len(ledger)
        before = server.requests
        final = json.loads(start(server.url, path).communicate()[0])
        assert server.requests - before == CALLS - stored, "what was committed is not asked again"
        assert final == undisturbed
        assert 0 < stored < CALLS
        assert len(server.calls) == CALLS
        assert CALLS < server.requests <= CALLS + KILLS * CONCURRENCY

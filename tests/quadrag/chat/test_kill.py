"""A run that is killed again and again repeats at most the calls in flight and ends with the same replies."""

import json
import os
import random
import time

import pytest
from chat_server import ChatServer
from warm import Warm

from quadrag.chat.ledger import Ledger

CALLS, CONCURRENCY = 200, 8

IMPORTS = """
from quadrag.chat import calls
from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger
"""
RUN = f"""
from pathlib import Path
chats = [[{{"role": "user", "content": f"question {{n}}"}}] for n in range({CALLS})]
url, path, printed = arguments
with Ledger(path) as ledger, ChatClient(url + "#m", ledger=ledger, concurrency={CONCURRENCY}) as client:
    Path(printed).write_text(json.dumps(client(chats)))
"""


@pytest.mark.slow(2, 8, 20)
@pytest.mark.timeout(120)
def test_a_kill_repeats_at_most_the_calls_in_flight(tmp_path, rounds):
    draw = random.Random(20)
    path, printed = tmp_path / "killed.sqlite", tmp_path / "replies.json"
    with ChatServer(latency=0.02) as server, Warm(IMPORTS, RUN, tmp_path, os.environ) as warm:

        def start(ledger):
            return warm.start(server.url, str(ledger), str(printed))

        assert start(tmp_path / "undisturbed.sqlite").wait() == 0, warm.errors.read_text()
        undisturbed = json.loads(printed.read_text())
        assert server.requests == CALLS
        server.calls.clear()
        server.state.requests = 0
        for _ in range(rounds):
            moment = server.requests + draw.randint(1, 16)
            process = start(path)
            while server.requests < moment and process.poll() is None:
                time.sleep(0.001)
            time.sleep(draw.uniform(0, 0.03))
            assert process.poll() is None, "the run ended before it was killed"
            process.kill()
            process.wait()
            with Ledger(path) as ledger:
                assert len(server.calls) - len(ledger) <= CONCURRENCY, "more is lost than was in flight"
        with Ledger(path) as ledger:
            stored = len(ledger)
        before = server.requests
        assert start(path).wait() == 0, warm.errors.read_text()
        assert server.requests - before == CALLS - stored, "what was committed is not asked again"
        assert json.loads(printed.read_text()) == undisturbed
        assert 0 < stored < CALLS
        assert len(server.calls) == CALLS
        assert CALLS < server.requests <= CALLS + rounds * CONCURRENCY

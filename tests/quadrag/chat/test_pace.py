"""How many calls are in flight: few at a server that serves one at a time, all at one that bears them."""

import time
from itertools import cycle

import pytest
from chat_server import chats

from quadrag.chat.client import ChatClient


def one_slot(*seconds):
    """Return the latency of a server that serves one after the other, in so many seconds each, turn by turn.

    A call that was given up is served all the same.
    """
    turns = cycle(seconds)
    free = 0.0

    def wait(body):
        nonlocal free
        free = max(free, time.monotonic()) + next(turns)
        return free - time.monotonic()

    return wait


@pytest.mark.parametrize("seconds", [(0.15,), (0.02, 0.1, 0.05, 0.3)])
def test_a_server_that_serves_one_at_a_time_answers_all_in_time(server, seconds):
    server.state.latency = one_slot(*seconds)
    began = time.monotonic()
    with ChatClient(server.url + "#m", timeout=1.8) as client:  # less than 15 at once take
        assert all(isinstance(reply, str) for reply in client(chats(20)))
        assert client.spent["retries"] == 0 and server.most_in_flight > 1
    assert time.monotonic() - began < 20 * sum(seconds) / len(seconds) + 1.5, "the server is never idle"


def test_a_server_that_bears_all_has_all_after_its_first_replies(server):
    server.state.latency = 0.4
    with ChatClient(server.url + "#m", concurrency=48) as client:
        client(chats(1 + 2 + 8 + 48))
        assert server.most_in_flight == 48


def test_replies_that_take_long_however_few_are_asked_come_several_at_once(server):
    server.state.latency = 0.6
    with ChatClient(server.url + "#m", timeout=1.3) as client:
        client(chats(16))
        assert server.most_in_flight >= 4

"""Two runs on one ledger: a call that both make is made once, and nobody waits for the dead."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

import pytest
from chat_server import ChatServer, Rule

from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger, call_key, claims
from quadrag.chat.ledger.claims import claim
from quadrag.chat.ledger.shelf import Shelf
from quadrag.chat.reply import Failure

KEYS = [bytes([n]) * 32 for n in range(4)]


def chats(count):
    return [[{"role": "user", "content": f"question {n}"}] for n in range(count)]


def ask_at_once(path, batches, server, **options):
    """Ask from several runs, each with its own opening of the ledger; return their replies and what they counted."""
    found = [None] * len(batches)

    def run(place):
        with Ledger(path) as ledger, ChatClient(f"{server.url}#m", ledger=ledger, **options) as client:
            found[place] = (client.complete(batches[place]), client.spent)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(batches))]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    return found


def test_two_runs_ask_a_call_once(tmp_path):
    batch = chats(100)
    with ChatServer(latency=0.02) as server:
        found = ask_at_once(tmp_path / "l", [batch, list(reversed(batch))], server, concurrency=8)
        assert server.requests == 100
    (first, spent), (second, others) = found
    assert [one.text for one in first] == [one.text for one in reversed(second)]
    assert spent["calls"] + others["calls"] == 100 and spent["cached"] + others["cached"] == 100
    assert sum(one.cached for one in first) == spent["cached"]
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".lock"]


def test_two_runs_with_other_calls_do_not_wait_for_each_other(tmp_path):
    with ChatServer(latency=0.3) as server:
        started = time.monotonic()
        ask_at_once(tmp_path / "l", [chats(2), chats(4)[2:]], server, concurrency=2)
        assert server.requests == 4 and server.most_in_flight >= 2 and time.monotonic() - started < 5


def test_what_failed_for_one_run_is_asked_by_the_other(tmp_path):
    with ChatServer(latency=0.05) as server:
        server.rules.append(Rule("status", status=400, times=1, match="question 1"))
        found = ask_at_once(tmp_path / "l", [chats(3), chats(3)], server, concurrency=3)
        assert server.requests == 4
    assert sorted(sum(isinstance(one, Failure) for one in replies) for replies, _ in found) == [0, 1]


def test_claims_are_held_by_the_living_alone(tmp_path):
    with Ledger(tmp_path / "l") as ledger, claim(ledger, KEYS[:2]) as first:
        assert first == set(KEYS[:2])
        with claim(ledger, KEYS[1:3]) as second, claim(ledger, KEYS) as third:
            assert second == {KEYS[2]} and third == {KEYS[3]}
        with claim(ledger, KEYS, patient=False) as all_of_them:
            assert all_of_them == set(KEYS)
    with Ledger(tmp_path / "l") as ledger, claim(ledger, KEYS) as rest:
        assert rest == set(KEYS)


def test_a_long_wait_is_told_and_ends(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(claims, "_WORTH_A_WORD", 0.1)
    monkeypatch.setattr(claims, "_PATIENCE", 0.7)
    key = call_key("m", chats(1)[0], {})
    with ChatServer() as server, Ledger(tmp_path / "l") as ledger, claim(Shelf(ledger, server.url), [key]):
        ((reply,), _), (others, _) = ask_at_once(tmp_path / "l", [chats(1), chats(2)[1:]], server)
        assert reply.text and others[0].text and server.requests == 2
    told = capsys.readouterr().err
    assert told.startswith("waiting for 1 replies that another run on the ledger") and told.count("\n") == 1


def hang(path, ready):
    with Ledger(path) as ledger, claim(ledger, KEYS):
        ready.set()
        time.sleep(60)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_claims_go_with_their_process(tmp_path, number):
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    process = context.Process(target=hang, args=(tmp_path / "l", ready))
    process.start()
    assert ready.wait(30)
    with Ledger(tmp_path / "l") as ledger:
        with claim(ledger, KEYS) as mine:
            assert not mine
        os.kill(process.pid, number)
        process.join()
        with claim(ledger, KEYS) as mine:
            assert mine == set(KEYS)
        assert ledger._db.execute("SELECT count(*) FROM claims").fetchone() == (0,)


def test_a_damaged_reply_fails_a_replay_and_is_asked_again_without(tmp_path, capsys):
    with ChatServer() as server, Ledger(tmp_path / "l") as ledger:
        with ChatClient(f"{server.url}#m", ledger=ledger) as client:
            whole = client(chats(3))
        ledger._db.execute("UPDATE replies SET value = replace(value, 'question 1', 'question 7')")
        replayed = ChatClient(f"{server.url}#m", ledger=ledger, replay=True)(chats(3))
        assert replayed[1].reason == "api_error" and "damaged" in replayed[1].detail
        assert [replayed[0], replayed[2]] == [whole[0], whole[2]]
        assert capsys.readouterr().err.count("\n") == 1
        with ChatClient(f"{server.url}#m", ledger=ledger) as client:
            assert client(chats(3)) == whole
        assert server.requests == 4

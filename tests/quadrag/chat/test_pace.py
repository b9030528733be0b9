"""Servers that are slow and well: few calls until the first reply, as many then as they bear; and what is too long."""

import json
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule, chats

from quadrag.chat.client import ChatClient, Failure
from quadrag.cli import main

WAY = "fewer passages (--top-k)"


@pytest.mark.parametrize(
    ("slots", "seconds", "calls", "timeout"),
    [(1, 0.1, 16, 1.2), (2, 0.2, 12, 1.2), (1, 0.5, 4, 0.9)],  # two at once of the last would both be late
)
def test_a_server_that_serves_few_at_a_time_is_not_asked_for_more_than_it_bears(slots, seconds, calls, timeout):
    with (
        ChatServer(slots=slots, latency=seconds) as server,
        ChatClient(server.url + "#m", timeout=timeout, retries=20) as client,
    ):
        assert all(isinstance(reply, str) for reply in client(chats(calls)))
    assert client.spent["retries"] <= calls // 2


def test_a_server_that_bears_all_soon_has_all():
    with ChatServer(latency=0.2) as server, ChatClient(server.url + "#m", concurrency=48) as client:
        client(chats(200))
        assert 40 <= server.most_in_flight <= 48
        client(chats(48, start=200))
        assert server.requests == 248


def test_replies_that_take_long_whatever_is_asked_come_several_at_once():
    with ChatServer(latency=0.4) as server, ChatClient(server.url + "#m", timeout=0.8, retries=20) as client:
        client(chats(16))
    assert server.most_in_flight >= 4


def test_a_call_that_got_no_reply_in_time_is_asked_again(server):
    server.rules += [Rule("stall", match="question 5", times=1), Rule("stall", match="question 9", times=2)]
    server.rules += [Rule("stall", match="question 0", times=1)]  # another call shows meanwhile that the server lives
    with ChatClient(server.url + "#m", timeout=0.4, concurrency=4) as client:
        assert all(isinstance(reply, str) for reply in client(chats(10)))
        assert client.spent["retries"] == 4


TOO_LONG = [
    (400, "This model's maximum context length is 4096 tokens, however you requested 4801 (4301 in your prompt)"),
    (400, "the request exceeds the available context size, try increasing it"),
    (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    (413, "输入长度超过上下文窗口"),
]
NOT_TOO_LONG = [
    (400, "max_tokens is too large: 9999. This model supports at most 4096 completion tokens"),
    (400, "the context is missing"),
    (403, "a context length of 4096 is not in your plan"),
    (500, "context deadline exceeded"),
]


def test_a_question_that_is_too_long_is_a_failure_of_its_own(server):
    said = [*TOO_LONG, (400, "no"), *NOT_TOO_LONG]
    code = {len(TOO_LONG): "context_length_exceeded"}  # told by its code alone
    for n, (status, message) in enumerate(said):
        body = {"error": {"message": message, "code": code.get(n, status)}}
        server.rules.append(Rule("status", match=f"question {100 + n}", status=status, body=body))
    with ChatClient(server.url + "#m", parameters={"max_tokens": 512, "temperature": 0}, retries=0) as client:
        client(chats(1))
        replies = client(chats(len(said), start=100))
    assert all(isinstance(reply, Failure) and reply.reason == "api_error" for reply in replies)
    assert [WAY in reply.detail for reply in replies] == [n <= len(TOO_LONG) for n in range(len(said))]
    assert server.requests == 1 + len(said), "it is not asked again"


def test_a_run_whose_every_question_is_too_long_is_not_of_a_dead_server(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    body = {"error": {"message": "too long", "type": "exceed_context_size_error", "n_ctx": 512}}
    with ChatServer(rules=[Rule("status", status=400, body=body)]) as server:
        command = ["run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--limit", "2", "--llm"]
        code = main([*command, f"{server.url}#m", "--out", "out", "--ledger", "L"])
    assert code == 3, capsys.readouterr().err
    failures = json.loads(Path("out/run.json").read_text())["failures"]
    assert failures and all(WAY in detail for detail in failures.values())

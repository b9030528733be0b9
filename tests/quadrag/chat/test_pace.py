"""Servers that are slow and well: few calls until the first reply, as many then as they bear; and what is too long."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule, chats

from quadrag.chat.client import ChatClient, Failure
from quadrag.cli import main
from quadrag.errors import QuadragError

WAY = "larger context, or send less: fewer passages (--top-k)"


@pytest.mark.parametrize(("slots", "seconds", "calls"), [(1, 0.15, 24), (1, 0.4, 10), (2, 0.3, 24)])
def test_a_server_that_serves_few_at_a_time_is_not_asked_for_more_than_it_bears(slots, seconds, calls):
    with ChatServer(slots=slots, latency=seconds) as server, ChatClient(server.url + "#m", timeout=2) as client:
        assert all(isinstance(reply, str) for reply in client(chats(calls)))
    assert client.spent["timed_out"] <= calls // 3 and client.spent["failed"] == 0


def test_a_server_that_bears_all_soon_has_all():
    with ChatServer(latency=0.1) as server, ChatClient(server.url + "#m", concurrency=64) as client:
        client(chats(320))
        assert server.most_in_flight == 64
        client(chats(64, start=320))
        assert server.requests == 384


def test_replies_that_take_long_whatever_is_asked_come_several_at_once():
    with ChatServer(latency=0.6) as server, ChatClient(server.url + "#m", timeout=1) as client:
        client(chats(24))
    assert server.most_in_flight >= 4 and client.spent["failed"] == 0


def test_a_call_that_got_no_reply_in_time_is_asked_again_and_told_once(server, capsys):
    server.rules += [Rule("stall", match="question 5", times=1), Rule("stall", match="question 9", times=2)]
    with ChatClient(server.url + "#m", timeout=0.3, concurrency=4) as client:
        assert all(isinstance(reply, str) for reply in client(chats(20)))
        assert client.spent["timed_out"] == client.spent["retries"] == 3
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "3 calls got no reply in time" in err and "--concurrency" in err


def test_the_first_call_may_be_lost_where_another_is_answered(server):
    server.rules.append(Rule("stall", match="question 0", times=1))
    with ChatClient(server.url + "#m", timeout=0.5) as client:
        assert all(isinstance(reply, str) for reply in client(chats(10)))


@pytest.mark.parametrize(
    ("rule", "seconds"),
    [(Rule("stall"), 1.5), (Rule("status", status=400), 1.5), (Rule("status", status=503), 6), (Rule("drop"), 6)],
    ids=lambda value: f"{value.action}-{value.status}" if isinstance(value, Rule) else "",
)
def test_a_dead_server_is_found_dead_soon(server, rule, seconds):
    server.rules.append(rule)
    started = time.monotonic()
    with ChatClient(server.url + "#m", timeout=0.5, retries=2) as client, pytest.raises(QuadragError) as error:
        client(chats(100))
    assert time.monotonic() - started < 2 * seconds and server.requests <= 48
    assert ("--concurrency" in str(error.value)) is (rule.action == "stall")


TOO_LONG = {
    "openai": (
        400,
        "This model's maximum context length is 4096 tokens, however you requested 4801 (4301 in your prompt)",
    ),
    "llama.cpp": (400, "the request exceeds the available context size, try increasing it"),
    "vllm": (
        400,
        "'max_tokens' is too large: 512. This model's maximum context length is 600 and your request has 99 input",
    ),
    "older vllm": (400, "max_tokens must be at least 1, got -12."),
    "tgi": (
        422,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3000 `inputs` tokens",
    ),
    "anthropic": (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    "gemini": (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    "sglang": (400, "The input (12000 tokens) is longer than the model's context length (8192 tokens)."),
    "groq": (400, "Please reduce the length of the messages or completion."),
    "by its code": (400, "no"),
    "older llama.cpp": (500, "the request exceeds the available context size. try increasing the context size"),
}


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_question_that_is_too_long_is_a_failure_of_its_own(server, name):
    status, message = TOO_LONG[name]
    body = {"error": {"message": message, "code": "context_length_exceeded" if name == "by its code" else status}}
    server.rules += [Rule("status", match=f"question {n}", times=1, status=status, body=body) for n in range(4)]
    with ChatClient(server.url + "#m", parameters={"max_tokens": 512, "temperature": 0}) as client:
        replies = client(chats(6))
    assert [isinstance(reply, Failure) for reply in replies] == [True] * 4 + [False] * 2
    assert all(reply.reason == "api_error" and WAY in reply.detail for reply in replies[:4])
    assert server.requests == 6, "it is not asked again"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "max_tokens is too large: 9999. This model supports at most 4096 completion tokens"),
        (400, "`max_tokens` must be less than or equal to 8192, as the `context_window` of this model is larger"),
        (400, "the context is missing"),
        (403, "a context length of 4096 is not in your plan"),
        (500, "context deadline exceeded"),
    ],
)
def test_what_is_refused_of_every_call_is_no_question_too_long(server, status, message):
    server.rules.append(Rule("status", status=status, body={"error": {"message": message}}))
    calls = {"parameters": {"max_tokens": 9999}, "retries": 0}
    with ChatClient(server.url + "#m", **calls) as client, pytest.raises(QuadragError, match="all failed") as error:
        client(chats(20))
    assert WAY not in str(error.value)


def test_a_run_whose_every_question_is_too_long_is_not_of_a_dead_server(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    body = {"error": {"message": "too long", "type": "exceed_context_size_error", "n_ctx": 512}}
    with ChatServer(rules=[Rule("status", status=400, body=body)]) as server:
        command = ["run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--llm", f"{server.url}#m"]
        code = main([*command, "--out", "out", "--ledger", "L"])
    assert code == 3, capsys.readouterr().err
    failures = json.loads(Path("out/run.json").read_text())["failures"]
    assert failures and all(WAY in detail for detail in failures.values())


def test_a_server_whose_calls_share_its_time_is_not_dead():
    """Two calls at once take twice as long each, so that both would be late; one alone is not."""
    with ChatServer(slots=1, latency=0.7) as server, ChatClient(server.url + "#m", timeout=1.2) as client:
        assert all(isinstance(reply, str) for reply in client(chats(6)))
    assert client.spent["failed"] == 0

"""What the chat client does when servers fail: retries, pauses, several servers, dead ones."""

from __future__ import annotations

import email.utils
import errno
import resource
import socket
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule, chats

from quadrag.chat.client import ChatClient, Failure
from quadrag.chat.faults import _read_error
from quadrag.chat.network import wire
from quadrag.errors import QuadragError


def closed_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}/v1"


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        Rule("status", status=500),
        Rule("status", status=503, body="<html>busy</html>"),
        Rule("status", status=502, body=["a list"]),
        Rule("status", status=529, headers={"Retry-After": "nonsense"}),
        Rule("status", status=429),
        Rule("status", status=408),
        Rule("rate"),
        Rule("drop"),
        Rule("truncate"),
        Rule("garbage"),
        Rule("no_choices"),
        Rule("stall"),
        Rule("drip"),
    ],
    ids=lambda rule: f"{rule.action}-{rule.status}-{'' if rule.body is None else type(rule.body).__name__}",
)
def test_a_fault_that_may_pass_is_retried(server, rule):
    server.rules.append(Rule(**{**vars(rule), "match": "question 1", "times": 1}))
    with ChatClient(server.url + "#m", timeout=1) as client:
        replies = client(chats(3))
        assert [text.split(" ", 1)[1] for text in replies] == ["question 0", "question 1", "question 2"]
        assert client.spent["retries"] == 1 and client.spent["failed"] == 0
    assert server.calls == {"question 0": 1, "question 1": 2, "question 2": 1}


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_a_refusal_is_not_retried(server, ledger, status):
    server.rules.append(Rule("status", match="question 1", status=status, body={"error": {"message": "a\nb"}}))
    with ChatClient(server.url + "#m", ledger=ledger) as client:
        replies = client(chats(3))
    assert server.calls["question 1"] == 1
    assert replies[1] == Failure("api_error", f"{server.url} answered {status}: a b")
    assert len(ledger) == 2, "failures are not stored"


def test_a_server_that_kept_replies_are_of_is_not_dead_for_refusing_all_of_a_later_batch(server, ledger):
    server.rules.append(Rule("status", match="question 1", status=400))
    with ChatClient(server.url + "#m", ledger=ledger) as client:
        client(chats(1))
    with ChatClient(server.url + "#m", ledger=ledger) as client:
        client(chats(1))
        (refused,) = client(chats(1, start=1))
    assert refused.reason == "api_error" and "answered 400" in refused.detail


def test_no_descriptors_left_end_the_run_and_are_no_failures_of_calls(server, ledger):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ChatClient(server.url + "#m", ledger=ledger, retries=0) as client:
        client(chats(1))
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (len([*Path("/proc/self/fd").iterdir()]), limits[1]))
            with pytest.raises(OSError) as raised:
                client(chats(8))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert raised.value.errno == errno.EMFILE
        assert len([text for text in client(chats(8)) if isinstance(text, str)]) == 8


def test_exhausted_retries_are_a_failure_and_the_run_goes_on(server):
    server.rules.append(Rule("status", match="question 1", status=503))
    with ChatClient(server.url + "#m", retries=2, concurrency=2) as client:
        replies = client(chats(6))
    assert server.calls["question 1"] == 3
    assert replies[1].reason == "api_error" and replies[1].detail.endswith("injected 503 (after 2 retries)")
    assert sum(isinstance(reply, str) for reply in replies) == 5


@pytest.mark.slow
@pytest.mark.parametrize("as_date", [False, True])
def test_retry_after_is_honoured(server, as_date):
    with ChatClient(server.url + "#m") as client:
        client(chats(1))
        started = time.time()
        when = email.utils.formatdate(started + 2, usegmt=True) if as_date else "1.3"
        server.rules.append(Rule("rate", times=1, retry_after=when))
        client(chats(1, start=1))
        waited = time.time() - started
    # An HTTP date has no fractions of a second.
    assert (0.9 if as_date else 1.3) <= waited < 2.8


def test_a_pause_holds_every_call_back(server):
    with ChatClient(server.url + "#m", concurrency=4) as client:
        client(chats(1))
        server.rules.append(Rule("rate", times=1, retry_after="0.8"))
        server.state.latency = 0.05
        client(chats(40, start=1))
    assert server.requests <= 1 + 40 + 1, "no other call ran into the limit"


def test_a_rate_limit_is_waited_for_and_is_no_failure(server):
    # Every other call is refused, far more often than there are retries.
    server.rules.extend([rule for _ in range(30) for rule in (Rule("rate", 1, retry_after="0.01"), Rule("reply", 1))])
    with ChatClient(server.url + "#m", concurrency=8, retries=2) as client:
        replies = client(chats(30))
        assert all(isinstance(reply, str) for reply in replies) and client.spent["retries"] == 30


def test_a_wait_without_end_is_a_failure(server):
    server.rules.append(Rule("rate", match="question 1", retry_after="86400"))
    with ChatClient(server.url + "#m", concurrency=1) as client:
        started = time.monotonic()
        replies = client(chats(4))
        assert isinstance(replies[1], Failure) and time.monotonic() - started < 5
        assert isinstance(replies[3], str), "nor does it hold the others back"


def test_a_refused_connection_ends_the_run_within_seconds(ledger):
    url = closed_port()
    with ChatClient(url + "#m", ledger=ledger, concurrency=64) as client:
        started = time.monotonic()
        with pytest.raises(QuadragError) as error:
            client(chats(5000))
        assert time.monotonic() - started < 4
    assert url in str(error.value) and "refused" in str(error.value).lower() and "\n" not in str(error.value)
    with pytest.raises(QuadragError, match=r"cannot be listed.*refused"):
        ChatClient(url)(chats(1))


@pytest.mark.slow
@pytest.mark.parametrize("action", ["drop", "stall", "garbage"])
def test_a_server_that_never_answers_is_dead(server, action):
    server.rules.append(Rule(action))
    with ChatClient(server.url + "#m", concurrency=8, timeout=0.25) as client, pytest.raises(QuadragError) as error:
        client(chats(500))
    assert server.url in str(error.value) and server.requests <= 8 * 3


def test_a_stalled_server_is_dead_after_its_first_calls(server):
    """Not after one time limit for each of several attempts, nor of all that would be in flight later."""
    server.rules.append(Rule("stall"))
    with ChatClient(server.url + "#m", concurrency=4, timeout=0.5) as client:
        started = time.monotonic()
        with pytest.raises(QuadragError, match=r"first 2 calls.*no reply within 0\.5 s; see .*--timeout SECONDS"):
            client(chats(50))
        assert time.monotonic() - started < 1
    assert server.requests == 2


def test_a_server_that_says_it_is_busy_is_waited_for(server):
    server.rules.append(Rule("rate", 2, retry_after="0.6"))
    with ChatClient(server.url + "#m", concurrency=2) as client:
        assert all(isinstance(reply, str) for reply in client(chats(4)))


def test_what_nobody_foresaw_is_a_failure_of_one_call(server, monkeypatch):
    """Tests make an error of its warning, so that a mistake of ours shows there, and ends no run."""
    from quadrag.chat import transport

    def read(output):
        if "question 1" in output.choices[0].message.content:
            raise ZeroDivisionError("one\x1b[1m two")
        return completion(output)

    completion = transport.read_completion
    monkeypatch.setattr(transport, "read_completion", read)
    with ChatClient(server.url + "#m", retries=0) as client:
        with pytest.warns(RuntimeWarning, match="quadrag met an error it did not foresee .ZeroDivisionError: one two"):
            replies = client(chats(3))
        assert [isinstance(reply, Failure) for reply in replies] == [False, True, False]
        with pytest.raises(RuntimeWarning):
            client(chats(4))


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (
            b"<!DOCTYPE HTML><html><head><title>Error</title></head><body><h1>Boom</h1><p>Code: 500.</p></html>",
            "Boom Code: 500.",
        ),
        (b"  <html><style>p {}</style><p>a<b", "a<b"),
        (b"<" * 1_000_000, "<" * 4000),
        (b'{"error": {"message": "<b>"}}', "<b>"),
        (b"no page <b>", "no page <b>"),
    ],
)
def test_of_a_page_of_html_the_words_are_told(page, told):
    assert _read_error(page) == (told, "")


THOUGHT = {"content": None, "reasoning_content": "Let me think."}


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (Rule("stream"), "the reply is streamed"),
        (Rule("garbage"), "a page of HTML, as of a proxy: it works"),
        (Rule("status", status=200, body="  <!DOCTYPE html><title>x</title><h1>Sign in</h1>"), "a proxy: Sign in"),
        (
            Rule("reply", message=THOUGHT),
            "the model thought and gave no answer (finish_reason 'stop'); raise --max-tokens",
        ),
        (Rule("reply", message={"content": [], "reasoning": "Hm."}), "the model thought and gave no answer"),
        (Rule("reply", message={"content": None, "reasoning_content": ""}), "the content is null"),
        (Rule("status", status=200, body="data"), "the reply is not a chat completion (Expecting value"),
        (Rule("no_choices"), "the reply is not a chat completion (no choices"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_reply_that_is_none_says_what_it_is(server, rule, told):
    """Of one call, and of all."""
    server.rules.append(rule)
    with ChatClient(server.url + "#m", retries=0) as client, pytest.raises(QuadragError) as error:
        client(chats(4))
    assert told in str(error.value) and "correct the request" not in str(error.value)
    rule.match = "question 1"
    with ChatClient(server.url + "#m", retries=0) as client:
        replies = client(chats(4))
    assert [isinstance(reply, Failure) for reply in replies] == [False, True, False, False]
    assert told in replies[1].detail and replies[1].reason == "api_error"


def test_a_thought_that_was_cut_is_truncated(server):
    server.rules.append(Rule("reply", reply={"finish_reason": "length"}, message=THOUGHT))
    with ChatClient(server.url + "#m") as client:
        assert client(chats(1))[0].reason == "truncated"


def test_a_server_that_always_fails_is_dead_after_its_first_calls(server):
    server.rules.append(Rule("status", status=500))
    with (
        ChatClient(server.url + "#m", concurrency=8, retries=1) as client,
        pytest.raises(QuadragError, match=r"first 8 calls all failed.*answered 500: injected 500"),
    ):
        client(chats(500))
    assert server.requests == 16


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "without a key; set QUADRAG_API_KEY"), (403, "may not use 'm'"), (404, r"no model 'm'.*\(served: m\)")],
)
def test_a_refused_client_is_told_what_to_do(server, status, says):
    server.rules.append(Rule("status", status=status))
    with ChatClient(server.url + "#m", concurrency=4) as client, pytest.raises(QuadragError, match=says):
        client(chats(50))
    assert server.requests == 4


def test_a_wrong_key_is_told(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789")
    server.state.key = "sk-right"
    with ChatClient(server.url + "#m") as client, pytest.raises(QuadragError) as error:
        client(chats(3))
    assert "the key in OPENAI_API_KEY is refused" in str(error.value) and "sk-wrong" not in str(error.value)


def test_a_wrong_login_is_told(server, monkeypatch):
    """Not the key, which the URL's user and password replace."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right-0123456789")
    server.state.key = "sk-right-0123456789"
    place = server.url.replace("//", "//ann:secretword@")
    with ChatClient(place + "#m") as client, pytest.raises(QuadragError) as error:
        client(chats(3))
    assert "the login in the URL is refused; correct it in the spec" in str(error.value)


def test_one_success_among_the_first_calls_keeps_the_run_alive(server):
    server.state.latency = 0.02
    server.rules.append(Rule("status", match="question 0", status=400))
    server.rules.append(Rule("drop", match="question 1", times=4))
    with ChatClient(server.url + "#m", concurrency=3) as client:
        replies = client(chats(30))
    assert isinstance(replies[0], Failure) and all(isinstance(reply, str) for reply in replies[1:])


def test_what_was_committed_before_a_death_stays(server, ledger):
    with ChatClient(server.url + "#m", ledger=ledger, retries=1) as client:
        client(chats(5))
        server.stop()
        replies = client(chats(6))
        assert sum(isinstance(reply, str) for reply in replies) == 5, "after a success a death is a failure"
        assert replies[5].reason == "api_error" and "refused" in replies[5].detail.lower()
    with ChatClient(server.url + "#m", ledger=ledger) as client, pytest.raises(QuadragError):
        client(chats(7))
    assert len(ledger) == 5


def test_calls_are_spread_over_several_servers(server):
    with ChatServer() as second:
        server.state.latency = second.state.latency = 0.02
        with ChatClient(f"{server.url},{second.url}#m", concurrency=8) as client:
            client(chats(80))
        assert server.requests + second.requests == 80
        assert min(server.requests, second.requests) > 25
        assert server.most_in_flight <= 6 and second.most_in_flight <= 6


def test_a_dead_server_among_several_is_rested(server):
    with ChatClient(f"{closed_port()},{server.url}", concurrency=8, retries=0) as client:
        started = time.monotonic()
        replies = client(chats(100))
        assert time.monotonic() - started < 5
    assert all(isinstance(reply, str) for reply in replies) and server.requests == 100


@pytest.mark.parametrize("rule", [Rule("status", status=500), Rule("drop")], ids=["500", "drop"])
def test_a_server_that_gives_nothing_but_faults_is_rested(server, rule):
    server.state.latency = 0.01
    with (
        ChatServer(rules=[rule]) as broken,
        ChatClient(f"{broken.url},{server.url}#m", concurrency=8, retries=3) as client,
    ):
        replies = client(chats(200))
    assert all(isinstance(reply, str) for reply in replies) and server.requests == 200
    assert broken.requests < 20, "calls go elsewhere at once, though it is the one with the least to do"


def test_a_rested_server_is_taken_back(server, monkeypatch):
    monkeypatch.setattr(wire, "_FIRST_REST", 0.05)
    server.state.latency = 0.02
    with (
        ChatServer(latency=0.02) as second,
        ChatClient(f"{second.url},{server.url}#m", concurrency=16, retries=3) as client,
    ):
        client(chats(64))  # so that as many as may are in flight
        second.rules.append(Rule("status", status=500, times=8))
        second.state.requests = 0
        replies = client(chats(400, start=64))
    assert all(isinstance(reply, str) for reply in replies)
    assert second.requests > 60, "eight calls that fail together are one reason to rest, not eight"


def test_a_server_that_dies_on_the_way_is_left_and_others_go_on(server):
    server.state.latency = 0.01
    with (
        ChatServer(latency=0.01) as second,
        ChatClient(f"{second.url},{server.url}#m", concurrency=8, retries=2) as client,
    ):
        client(chats(20))
        second.stop()
        replies = client(chats(100, start=20))
    assert all(isinstance(reply, str) for reply in replies)


def test_all_servers_dead_is_told_within_seconds():
    started = time.monotonic()
    with ChatClient(f"{closed_port()},{closed_port()}#m", concurrency=32) as client, pytest.raises(QuadragError):
        client(chats(300))
    assert time.monotonic() - started < 6


@pytest.mark.slow
def test_a_storm_of_faults_loses_nothing(ledger):
    with (
        ChatServer(fault_rate=0.15, latency=0.002) as server,
        ChatClient(server.url + "#m", ledger=ledger, concurrency=50, retries=12) as client,
    ):
        replies = client(chats(150))
    assert [text.split(" ", 1)[1] for text in replies] == [f"question {n}" for n in range(150)]
    assert len(ledger) == 150


def test_a_message_that_is_no_unicode_is_a_failure(server):
    with ChatClient(server.url + "#m") as client:
        replies = client([[{"role": "user", "content": "\ud800"}], *chats(1)])
    assert replies[0].reason == "api_error" and isinstance(replies[1], str)


def test_a_dead_server_is_told_when_other_calls_fail_by_themselves():
    """A worker that has nothing left to do must not be waited for."""
    broken = [{"role": "user", "content": "\ud800"}]
    with pytest.raises(QuadragError, match="Connection refused"):
        ChatClient(f"{closed_port()}#m", concurrency=2).complete([broken, *chats(1)])


@pytest.mark.parametrize("status", [400, 500])
def test_a_refused_call_is_a_failure_where_the_server_answered_before(server, ledger, status):
    """The same command again must not end in an error because only the refused calls are left."""
    server.rules.append(Rule("status", match="question 3", status=status, body={"error": "content filter"}))
    for _ in range(2):
        with ChatClient(server.url + "#m", ledger=ledger, concurrency=4, retries=0) as client:
            replies = client(chats(8))
        assert [isinstance(reply, Failure) for reply in replies] == [n == 3 for n in range(8)]


def test_a_server_that_went_away_is_not_tried_again_for_every_call(server, monkeypatch):
    monkeypatch.setattr("quadrag.chat.network.dispatch._GONE_AFTER", 0.5)
    with ChatClient(server.url + "#m", concurrency=2) as client:
        assert isinstance(client(chats(1))[0], str)
        server.stop()
        started = time.monotonic()
        replies = client(chats(100, start=1))
    assert all(isinstance(reply, Failure) for reply in replies)
    assert time.monotonic() - started < 10, "a hundred calls with five retries each would take minutes"

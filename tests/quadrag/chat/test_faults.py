"""What the chat client does when a server fails: retries, pauses, one failure or a dead server."""

import email.utils
import errno
import resource
import socket
import threading
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule, chats

from quadrag.chat.client import ChatClient
from quadrag.chat.reply import Failure
from quadrag.errors import QuadragError


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def failed(replies):
    return [n for n, reply in enumerate(replies) if isinstance(reply, Failure)]


RETRIED = [
    Rule("status", status=500),
    Rule("status", status=503, body="<html>busy</html>"),
    Rule("status", status=502, body=["a list"]),
    Rule("status", status=529, headers={"Retry-After": "nonsense"}),
    Rule("status", status=429),
    Rule("status", status=408),
    *map(Rule, ("rate", "drop", "truncate", "garbage", "no_choices", "stall", "drip")),
]


@pytest.mark.slow(3, 13, 13)
def test_a_fault_that_may_pass_is_retried(server, rounds):
    rules = RETRIED if rounds > 3 else [RETRIED[2], RETRIED[4], RETRIED[7]]
    server.rules += [Rule(**{**vars(rule), "match": f"question {n:02}", "times": 1}) for n, rule in enumerate(rules)]
    asked = [[{"role": "user", "content": f"question {n:02}"}] for n in range(20)]
    asked.insert(0, asked.pop())  # which it answers
    with ChatClient(server.url + "#m", timeout=1) as client:
        assert [text.split(" ", 1)[1] for text in client(asked)] == [chat[0]["content"] for chat in asked]
        assert client.spent["retries"] == len(rules)
    assert [server.calls[f"question {n:02}"] for n in range(20)] == [2] * len(rules) + [1] * (20 - len(rules))


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_a_refused_call_is_a_failure_that_is_not_kept_and_the_next_command_may_be_refused_it_alone(
    server, ledger, status
):
    server.rules.append(Rule("status", match="question 1", status=status, body={"error": {"message": "a\nb"}}))
    for calls in (1,) if status == 404 else (1, 2):  # where nothing is found, nothing else is
        with ChatClient(server.url + "#m", ledger=ledger, retries=0) as client:
            replies = client(chats(3))
        assert server.calls["question 1"] == calls and failed(replies) == [1]
        assert replies[1] == Failure("api_error", f"{server.url} answered {status}: a b")
        assert len(ledger) == 2


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
        assert not failed(client(chats(8)))


@pytest.mark.slow
@pytest.mark.parametrize("as_date", [False, True])
def test_retry_after_is_honoured(server, as_date):
    with ChatClient(server.url + "#m") as client:
        client(chats(1))
        started = time.time()
        when = email.utils.formatdate(started + 2, usegmt=True) if as_date else "1.3"
        server.rules.append(Rule("rate", times=1, retry_after=when))
        client(chats(1, start=1))
    # An HTTP date has no fractions of a second.
    assert time.time() - started >= (0.9 if as_date else 1.3)


def test_a_rate_limit_is_waited_for_and_is_no_failure(server):
    # Every other call is refused, far more often than there are retries.
    server.rules.extend([rule for _ in range(30) for rule in (Rule("rate", 1, retry_after="0.01"), Rule("reply", 1))])
    with ChatClient(server.url + "#m", concurrency=8, retries=2) as client:
        assert not failed(client(chats(30))) and client.spent["retries"] == 30


def test_a_refused_connection_ends_the_run_in_one_line(ledger):
    url = closed_port()
    for spec, batch in ((url + "#m", chats(5000)), (url, chats(1))):
        with ChatClient(spec, ledger=ledger, concurrency=64) as client, pytest.raises(QuadragError) as error:
            client(batch)
        assert url in str(error.value) and "refused" in str(error.value).lower() and "\n" not in str(error.value)


def test_a_server_that_comes_up_late_is_tried_again():
    url, server = closed_port(), ChatServer()
    server.port = int(url.rpartition(":")[2].partition("/")[0])
    start = threading.Timer(0.3, server.__enter__)
    start.start()
    try:
        with ChatClient(url + "#m") as client:
            assert not failed(client(chats(3)))
    finally:
        start.join()
        server.stop()


@pytest.mark.parametrize("status", [400, 413])
def test_first_questions_that_are_too_long_are_failures_of_their_own(server, status):
    said = {"error": {"message": "This model's maximum context length is 4096 tokens"}}
    server.rules.append(Rule("status", times=4, status=status, body=said))
    with ChatClient(server.url + "#m", concurrency=2) as client:
        replies = client(chats(6))
    assert len(failed(replies)) == 4 and server.requests == 6
    assert all("send less: fewer passages (--top-k)" in replies[n].detail for n in failed(replies))


@pytest.mark.parametrize(
    ("rule", "answered", "requests"),
    [
        (Rule("stall"), 0, 2),  # not one time limit for each of several attempts, nor of all that would follow
        (Rule("stall"), 50, 50 + 8 + 4),  # nor in mid-run
        (Rule("status", status=500), 0, 24),
        (Rule("status", status=400), 0, 9),
        (Rule("drop"), 0, 24),
        (Rule("garbage"), 0, 24),
    ],
    ids=lambda value: f"{value.action}{value.status}" if isinstance(value, Rule) else "",
)
def test_a_server_that_does_not_answer_is_dead_after_a_few_calls(server, ledger, rule, answered, requests):
    server.rules += [Rule("reply", times=answered), rule]
    client = ChatClient(server.url + "#m", ledger=ledger, concurrency=8, retries=1, timeout=1)
    with client, pytest.raises(QuadragError) as error:
        client(chats(500))
    assert server.url in str(error.value) and server.requests <= requests and len(ledger) == answered


def test_what_a_server_hangs_on_is_a_failure_once_all_is_asked(server):
    server.rules.append(Rule("stall", match="question 3"))
    with ChatClient(server.url + "#m", concurrency=3, timeout=1) as client:
        assert failed(client(chats(4) + chats(1, 30) + chats(20, 40))) == [3, 4]


THOUGHT = {"content": None, "reasoning_content": "Let me think."}


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (Rule("stream"), "begins with 'data:"),
        (Rule("garbage"), "begins with '<html>it works"),
        (Rule("status", status=500, body="<" * 100_000), "answered 500: <<<"),
        (Rule("reply", message=THOUGHT), "thought and gave no answer; raise --max-tokens"),
        (Rule("reply", message={"content": None, "reasoning_content": ""}), "has no text (finish_reason 'stop'"),
        (Rule("no_choices"), "the reply is not a chat completion (no choices"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_reply_that_is_none_says_what_it_is_of_one_call_and_of_all(server, rule, told):
    server.rules.append(rule)
    with ChatClient(server.url + "#m", retries=0) as client, pytest.raises(QuadragError) as error:
        client(chats(4))
    assert told in str(error.value)
    rule.match = "question 1"
    with ChatClient(server.url + "#m", retries=0) as client:
        replies = client(chats(4))
    assert failed(replies) == [1] and told in replies[1].detail and replies[1].reason == "api_error"


@pytest.mark.parametrize(
    ("login", "says"), [("", "sent the key in OPENAI_API_KEY"), ("ann:secretword@", "sent the login in the URL")]
)
def test_what_is_refused_of_key_and_login_is_told(server, monkeypatch, login, says):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789")
    server.state.key = "sk-right"
    place = server.url.replace("//", f"//{login}")
    with ChatClient(place + "#m") as client, pytest.raises(QuadragError, match=says) as error:
        client(chats(3))
    assert server.requests <= 3 and "sk-wrong" not in str(error.value) and "secretword" not in str(error.value)


def test_what_succeeds_among_the_first_calls_keeps_the_run_alive(server):
    server.rules += [Rule("status", match="question 0", status=400), Rule("drop", match="question 1", times=3)]
    server.rules += [Rule("stall", match="question 2", times=1)]
    with ChatClient(server.url + "#m", concurrency=4, timeout=0.5) as client:
        assert failed(client(chats(30))) == [0]


def test_what_was_committed_before_a_death_stays(server, ledger):
    with ChatClient(server.url + "#m", ledger=ledger, retries=0) as client:
        client(chats(5))
        server.stop()
        replies = client(chats(6))
        assert failed(replies) == [5] and "refused" in replies[5].detail.lower(), "after a success it is a failure"
    with ChatClient(server.url + "#m", ledger=ledger) as client, pytest.raises(QuadragError):
        client(chats(7))
    assert len(ledger) == 5


@pytest.mark.parametrize(("status", "is_dead"), [(400, False), (401, True), (404, True), (503, True)])
def test_after_a_kept_reply_only_what_refuses_a_question_is_no_dead_server(server, ledger, status, is_dead):
    with ChatClient(server.url + "#m", ledger=ledger) as client:
        client(chats(1))
    server.rules.append(Rule("status", status=status))
    with ChatClient(server.url + "#m", ledger=ledger, retries=0) as client:
        if is_dead:
            with pytest.raises(QuadragError):
                client(chats(4))
        else:
            assert failed(client(chats(4))) == [1, 2, 3]


@pytest.mark.parametrize("refused", range(3))
def test_of_what_is_lost_at_first_a_refusal_is_told(server, refused):
    server.rules += [Rule("status", match=f"question {refused}", status=400), Rule("status", status=503)]
    with ChatClient(server.url + "#m", concurrency=3, retries=0) as client, pytest.raises(QuadragError, match="400"):
        client(chats(3))

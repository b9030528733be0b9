"""Fields that a server may refuse: what it was sent, what is left out, what is asked again by whom."""

from __future__ import annotations

import pytest
from chat_server import Rule, chats

from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger
from quadrag.chat.prices import Prices
from quadrag.chat.refusals import leave_out_refused
from quadrag.errors import QuadragError

SAMPLING = {"temperature": 0.3, "top_k": 5, "repetition_penalty": 1.05, "max_tokens": 64, "seed": 3}
NAMES = ("top_k", "repetition_penalty", "seed")


def refuse(server, *messages, status=400):
    """Refuse the first requests as OpenAI does, one message each."""
    body = ({"error": {"message": message, "type": "invalid_request_error"}} for message in messages)
    server.rules.extend(Rule("status", times=1, status=status, body=one) for one in body)


def sent(server):
    """Of each request: the answer's length, and which of the fields it had."""
    return [(body["max_tokens"], [name for name in NAMES if name in body]) for body in server.bodies]


def opened(server, **more):
    client = ChatClient(server.url + "#m", **{"parameters": SAMPLING, **more})
    leave_out_refused(client)
    return client


def test_what_a_server_takes_is_sent(server, capsys):
    with opened(server) as client:
        client.complete(chats(2))
    assert sent(server) == [(1, list(NAMES))] + [(64, list(NAMES))] * 2
    assert client.parameters == SAMPLING and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "status, messages, kept",
    [
        (400, ["Unrecognized request argument supplied: top_k"], ["repetition_penalty", "seed"]),
        (400, ["Unrecognized request arguments supplied: repetition_penalty, top_k"], ["seed"]),
        (400, ["Unknown parameter: 'top_k'.", "Unknown parameter: 'repetition_penalty'."], ["seed"]),
        (422, ["Unexpected fields in the request: {'repetition_penalty'}"], ["top_k", "seed"]),
        (422, ["seed: Extra inputs are not permitted"], ["top_k", "repetition_penalty"]),
    ],
)
def test_what_it_refuses_is_left_out_in_one_line(server, capsys, status, messages, kept):
    refuse(server, *messages, status=status)
    with opened(server) as client:
        client.complete(chats(2))
    first, *rest = sent(server)
    assert first == (1, list(NAMES)) and rest[-3:] == [(1, kept), (64, kept), (64, kept)]
    assert len(rest) == len(messages) + 2
    assert client.parameters == {name: value for name, value in SAMPLING.items() if name in kept or name not in NAMES}
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and f"left out, {server.url} answered {status}: {messages[-1]}" in err


def test_a_later_command_and_a_replay_leave_out_the_same_and_ask_nothing(server, tmp_path, capsys):
    refuse(server, "Unrecognized request argument supplied: top_k")
    for more in ({}, {}, {"replay": True}):
        with Ledger(tmp_path / "L") as ledger, opened(server, ledger=ledger, **more) as client:
            assert [reply.text for reply in client.complete(chats(1))]
            assert "top_k" not in client.parameters and "top_k: left out" in capsys.readouterr().err
    assert len(server.bodies) == 3


def test_a_replay_of_a_ledger_that_does_not_know_sends_all(server, tmp_path):
    with Ledger(tmp_path / "L") as ledger:
        with ChatClient(server.url + "#m", parameters=SAMPLING, ledger=ledger) as client:
            client.complete(chats(1))
        with opened(server, ledger=ledger, replay=True) as client:
            assert client.complete(chats(1))[0].cached


def test_without_such_a_field_nothing_is_asked(server):
    with opened(server, parameters={"temperature": 0, "seed": 3}) as client:
        assert client.parameters == {"temperature": 0, "seed": 3}
    assert server.bodies == []


@pytest.mark.parametrize("status, message", [(400, "the prompt is too long"), (401, "top_k"), (503, "top_k")])
def test_another_refusal_ends_the_command(server, status, message):
    server.rules.append(Rule("status", status=status, body={"error": {"message": message}}))
    with pytest.raises(QuadragError, match=f"answered {status}: {message}"):
        opened(server, retries=0)


def test_the_question_is_paid_for_and_kept_within_the_budget(server, tmp_path):
    path = tmp_path / "prices.yaml"
    path.write_text("m: {input: 1000000, output: 1000000}\n", encoding="utf-8")
    with opened(server, prices=Prices.load(path), budget=1) as client:
        assert client.parameters == SAMPLING
    assert server.bodies == [] and client.spent["cost"] == 0
    with opened(server, prices=Prices.load(path), budget=10**6) as client:
        assert client.spent["cost"] == server.prompt_tokens + server.completion_tokens > 0

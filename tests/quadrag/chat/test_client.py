"""The chat client's contract on a server that behaves: order, ledger, replay, reasoning, model names, providers."""

import asyncio
import threading
import time

import pytest
from chat_server import ChatServer, Rule, chats

from quadrag.chat import http
from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger
from quadrag.chat.policy import Budget, Prices
from quadrag.chat.reply import Failure, Reply
from quadrag.errors import QuadragError

NOWHERE = "http://127.0.0.1:9/v1#m"


def test_replies_keep_the_order_of_the_batch(server):
    server.state.latency = 0.02

    async def notebook(client):
        return client.complete(chats(60))

    with ChatClient(server.url + "#m", concurrency=8) as client:
        replies = asyncio.run(notebook(client))
        assert [reply.text.split(" ", 1)[1] for reply in replies] == [f"question {n}" for n in range(60)]
        assert all(reply.finish_reason == "stop" for reply in replies)
        assert all(reply.usage["completion_tokens"] == 3 and 0.02 <= reply.latency < 5 for reply in replies)
        assert 4 <= server.most_in_flight <= 8
        assert [text.split(" ", 1)[1] for text in client(chats(2))] == ["question 0", "question 1"]
        assert client.model == "m" and server.connections <= 11


def test_parameters_and_messages_arrive(server):
    parameters = {"temperature": 0.0, "max_tokens": 7, "seed": 3, "top_p": None, "guided_choice": ["a"]}
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "中文"}]
    with ChatClient(server.url + "#m", parameters=parameters) as client:
        client.complete([messages] * 2, samples=[0, 5])
    sent = {"messages": messages, "model": "m", "stream": False, "temperature": 0.0, "max_tokens": 7}
    sent |= {"guided_choice": ["a"]}
    assert sorted(server.bodies, key=lambda body: body["seed"]) == [{**sent, "seed": 3}, {**sent, "seed": 8}]


PRICED = {"prices": Prices({"m": {"input": 1, "output": 1}})}


@pytest.mark.parametrize(
    "calling",
    [
        {"parameters": {"stop": {1}}},
        {"concurrency": 0},
        {"retries": -1},
        {"timeout": 0},
        {"max_reply_bytes": 0},
        {"replay": True},
        {"budget": Budget(1, "USD"), "parameters": {"max_tokens": 10}},
        {"budget": Budget(1, "USD"), **PRICED},
    ],
)
def test_a_way_of_calling_that_cannot_be_is_refused(calling):
    with pytest.raises(QuadragError):
        ChatClient(NOWHERE, **calling)(chats(1))


def test_equal_calls_are_sent_once_and_samples_are_not_equal(server):
    with ChatClient(server.url + "#m") as client:
        replies = client.complete(chats(2) * 5)
        assert server.requests == 2 and [reply.text for reply in replies[2:4]] == [reply.text for reply in replies[:2]]
        assert client.spent["calls"] == 2
        client.complete(chats(1) * 3, samples=[0, 1, 2])
    assert server.requests == 5
    with pytest.raises(ValueError):
        client.complete(chats(1), samples=[0, 1])


def test_a_stored_reply_is_never_asked_again(server, ledger):
    with ChatClient(server.url + "#m", ledger=ledger, parameters={"seed": 1}) as client:
        first = client.complete(chats(10))
        client.complete(chats(10))
        assert client.spent["cached"] == 0, "what it made itself is none of before"
    with Ledger(ledger.path) as later:
        with ChatClient(server.url + "#m", ledger=later, parameters={"seed": 1}, **PRICED) as client:
            again = client.complete([*chats(12), *chats(2)])
            assert (client.spent["calls"], client.spent["cached"]) == (2, 10)
        assert server.requests == 12
        assert again[:10] == first and again[12:] == first[:2]
        with ChatClient(server.url + "#m", ledger=later, parameters={"seed": 2}) as client:
            client.complete(chats(1))
    assert server.requests == 13, "other parameters are another call"


def test_a_named_model_is_asked_by_its_own_name_and_its_replies_are_kept_wherever_it_is_served(server, ledger):
    with ChatServer(models=["there"]) as other:
        for place, requests in ((f"{server.url}#m", 0), (f"{other.url}#there", 0)):
            with ChatClient(place, ledger=ledger, name="ours") as client:
                assert len(client(chats(2))) == 2
            assert other.requests == requests
        with ChatClient(f"{other.url}#there", ledger=ledger) as client:
            client(chats(1))
        assert other.requests == 1, "by its address it is another"
    assert [body["model"] for body in server.bodies] == ["m", "m"]


def test_kept_replies_that_were_cut_or_are_empty_or_old_are_asked_again_and_replaced(server, tmp_path):
    server.rules += [
        Rule("reply", match="question 0", times=1, reply={"finish_reason": "length"}),
        Rule("reply", match="question 1", times=1, message={"content": " "}),
    ]

    def ask(retry=(), **since):
        with (
            Ledger(tmp_path / "L", retry=retry, **since) as ledger,
            ChatClient(server.url + "#m", ledger=ledger, parameters={"max_tokens": 5}) as client,
        ):
            for _ in range(2):
                client.complete(chats(3))
            return [client.spent[name] for name in ("calls", "cached")]

    assert ask() == [3, 0] and ask() == [0, 3]
    assert ask(["empty"]) == [1, 2]
    assert ask(["cut", "empty"]) == [1, 2]
    assert ask(["cut", "empty"]) == [0, 3] and server.requests == 5
    assert ask(since=time.time()) == [3, 0] and ask() == [0, 3]
    with Ledger(tmp_path / "L") as ledger, ChatClient(server.url + "#m", ledger=ledger) as client:
        client.complete(chats(1))
        with ledger.renewing():
            client.complete(chats(1))
        assert len(ledger) == 4 and server.requests == 9


def test_replay_uses_no_network(server, ledger, monkeypatch):
    with ChatClient(server.url + "#m", ledger=ledger) as client:
        first = client(chats(5))
    server.stop()

    def refuse(*_):
        raise AssertionError("a replay opened a socket")

    monkeypatch.setattr("socket.socket.connect", refuse)
    with pytest.raises(QuadragError):
        ChatClient(server.url, ledger=ledger, replay=True)(chats(5))
    replay = ChatClient(server.url + "#m", ledger=ledger, replay=True)
    assert replay(chats(5)) == first
    more = replay(chats(7))
    assert more[:5] == first, "a call that failed then has no reply now either"
    assert all(isinstance(one, Failure) and not one.asked for one in more[5:])
    with pytest.raises(QuadragError, match="'m'"):
        replay(chats(2, start=5))


def test_the_only_model_is_taken_and_several_are_listed(server):
    with ChatClient(server.url) as client:
        assert client.model == "m" and client.model == "m" and server.listed == 1
    server.state.models = ["m", "k"]
    with ChatClient(server.url) as client, pytest.raises(QuadragError, match="m, k"):
        client(chats(1))


@pytest.mark.parametrize(
    ("message", "finish", "text", "reasoning"),
    [
        ({"content": "<think>so\nso</think>\n\nYes"}, "stop", "Yes", "so\nso"),
        ({"content": "\n<think>\n\n</think>\n\nYes"}, "stop", "Yes", None),
        ({"content": "so </think>Yes"}, "stop", "Yes", "so"),
        ({"content": "Yes", "reasoning_content": "why"}, "stop", "Yes", "why"),
        ({"content": "Yes", "reasoning": "why"}, "stop", "Yes", "why"),
        ({"content": "a <think> b </think> c"}, "stop", "a <think> b </think> c", None),
        ({"content": "  Yes \n"}, "stop", "  Yes \n", None),
        ({"content": "<think>never done"}, "stop", "", "never done"),
        ({"content": "half an ans"}, "length", "half an ans", None),
        ({"content": "<think>hmm, let me"}, "length", None, None),
        ({"content": "", "reasoning_content": "hmm"}, "length", None, None),
        ({"content": None, "reasoning_content": "hmm"}, "length", None, None),
    ],
)
def test_reasoning_is_kept_apart_and_what_was_cut_before_an_answer_is_truncated(
    server, ledger, message, finish, text, reasoning
):
    server.rules.append(Rule("reply", message=message, reply={"finish_reason": finish}))
    with ChatClient(server.url + "#m", ledger=ledger) as client:
        for _ in range(2):
            [reply] = client.complete(chats(1))
            if text is None:
                assert isinstance(reply, Failure) and reply.reason == "truncated"
            else:
                assert (reply.text, reply.reasoning, reply.finish_reason) == (text, reasoning, finish)
        (verdict,) = client(chats(1))
        assert verdict == text if finish == "stop" else verdict.reason == "truncated", "no judge's verdict is cut"
    assert server.requests == 1, "what was paid for is kept"


def test_progress_is_told_in_the_callers_thread_and_its_error_comes_through(server, ledger):
    server.state.latency = 0.15
    told = []

    def tell(done, total):
        assert threading.current_thread() is threading.main_thread()
        told.append((done, total))

    with ChatClient(server.url + "#m", ledger=ledger, concurrency=2, on_progress=tell) as client:
        client(chats(6) + chats(1))
    assert told[-1] == (6, 6) and len(told) >= 2 and told == sorted(told)

    def stop(done, total):
        if done:
            raise KeyboardInterrupt

    with ChatClient(server.url + "#m", ledger=ledger, concurrency=2, on_progress=stop) as client:
        with pytest.raises(KeyboardInterrupt):
            client(chats(100, start=10))
        assert 7 <= len(ledger) <= 20, "at least the reply that was told is kept"
        client.on_progress = None
        assert len(client(chats(6))) == 6, "the client goes on after an interrupt"


def test_a_provider_is_asked_through_the_router(server, monkeypatch):
    assert http.ROUTER == "https://router.huggingface.co/v1"
    monkeypatch.setattr(http, "ROUTER", server.url)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    server.state.models = ["org/model"]
    monkeypatch.setenv("HF_TOKEN", "hf_a_token_of_some_length")
    with ChatClient("provider:org/model", parameters={"max_tokens": 5}) as client:
        (reply,) = client.complete(chats(1))
    assert isinstance(reply, Reply) and reply.text.endswith("question 0")
    assert [path for path, _ in server.asked] == ["/v1/chat/completions"]
    assert server.bodies[0]["model"] == "org/model"
    assert server.authorizations == {"Bearer hf_a_token_of_some_length"}

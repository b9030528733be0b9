"""The chat client's contract on a server that behaves: order, ledger, replay, reasoning, model names, keys."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

import pytest
from chat_server import Rule, chats

from quadrag.chat.client import ChatClient, Failure, Reply
from quadrag.errors import QuadragError


def test_replies_keep_the_order_of_the_batch(server):
    server.state.latency = 0.01
    with ChatClient(server.url + "#m", concurrency=8) as client:
        replies = client.complete(chats(40))
    assert [reply.text.split(" ", 1)[1] for reply in replies] == [f"question {n}" for n in range(40)]
    assert all(isinstance(reply, Reply) and reply.finish_reason == "stop" and not reply.cached for reply in replies)
    assert all(reply.usage["completion_tokens"] == 3 and 0.01 <= reply.latency < 5 for reply in replies)
    assert server.most_in_flight == 8


def test_the_client_is_a_judge(server):
    with ChatClient(server.url + "#m") as client:
        assert client.model == "m"
        texts = client(chats(3))
    assert [text.split(" ", 1)[1] for text in texts] == ["question 0", "question 1", "question 2"]


def test_an_empty_batch_opens_nothing():
    client = ChatClient("http://127.0.0.1:9/v1")
    assert client.complete([]) == [] and client([]) == []


def test_one_client_serves_many_batches_over_the_same_connections(server):
    with ChatClient(server.url + "#m", concurrency=4) as client:
        for start in range(0, 40, 4):
            assert len(client(chats(4, start))) == 4
    assert server.connections <= 4


def test_more_calls_at_once_than_one_http_pool_holds(server):
    server.state.latency = 0.3
    with ChatClient(server.url + "#m", concurrency=130) as client:
        client(chats(400))
    assert server.most_in_flight == 130


def test_it_works_within_a_running_loop(server):
    async def notebook():
        with ChatClient(server.url + "#m") as client:
            return client(chats(3))

    assert len(asyncio.run(notebook())) == 3


def test_importing_it_is_light():
    heavy = ("asyncio", "huggingface_hub", "yaml")
    code = f"import sys, quadrag.chat.client; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.check_output([sys.executable, "-S", "-c", "import site; site.main(); " + code], text=True) == "[]\n"
    )


def test_parameters_and_messages_arrive(server):
    parameters = {"temperature": 0.0, "max_tokens": 7, "seed": 3, "top_p": None, "guided_choice": ["a"]}
    with ChatClient(server.url + "#m", parameters=parameters) as client:
        client.complete([[{"role": "system", "content": "s"}, {"role": "user", "content": "中文"}]] * 2, samples=[0, 5])
    first, second = sorted(server.bodies, key=lambda body: body["seed"])
    assert first["messages"] == [{"role": "system", "content": "s"}, {"role": "user", "content": "中文"}]
    assert first["model"] == "m" and first["max_tokens"] == 7 and first["temperature"] == 0.0
    assert first["guided_choice"] == ["a"] and "top_p" not in first
    assert (first["seed"], second["seed"]) == (3, 8)


@pytest.mark.parametrize("name", ["model", "messages", "n", "stream"])
def test_the_clients_own_parameters_are_refused(name):
    with pytest.raises(QuadragError, match=name):
        ChatClient("http://127.0.0.1:9/v1#m", parameters={name: 2})


def test_equal_calls_are_sent_once_and_samples_are_not_equal(server):
    with ChatClient(server.url + "#m") as client:
        replies = client.complete(chats(2) * 5)
        assert server.requests == 2 and [reply.text for reply in replies[2:4]] == [reply.text for reply in replies[:2]]
        client.complete(chats(1) * 3, samples=[0, 1, 2])
    assert server.requests == 5
    with pytest.raises(ValueError, match="2 samples for 1"):
        client.complete(chats(1), samples=[0, 1])


def test_a_stored_reply_is_never_asked_again(server, ledger):
    with ChatClient(server.url + "#m", ledger=ledger, parameters={"seed": 1}) as client:
        first = client.complete(chats(10))
    with ChatClient(server.url + "#m", ledger=ledger, parameters={"seed": 1}) as client:
        again = client.complete(chats(12))
        assert client.spent["calls"] == 2 and client.spent["cached"] == 10
    assert server.requests == 12
    assert [reply.cached for reply in again] == [True] * 10 + [False] * 2
    for fresh, stored in zip(first, again, strict=False):
        assert (stored.text, stored.usage, stored.latency, stored.cost) == (fresh.text, fresh.usage, fresh.latency, 0.0)
    with ChatClient(server.url + "#m", ledger=ledger, parameters={"seed": 2}) as client:
        client.complete(chats(1))
    assert server.requests == 13, "other parameters are another call"


def test_replay_uses_no_network(server, ledger, monkeypatch):
    with ChatClient(server.url, ledger=ledger) as client:
        first = client(chats(5))
    server.stop()

    def refuse(*_):
        raise AssertionError("a replay opened a socket")

    monkeypatch.setattr("socket.socket.connect", refuse)
    replay = ChatClient(server.url, ledger=ledger, replay=True)
    assert replay.model == "m" and replay(chats(5)) == first
    more = replay(chats(7))
    assert more[:5] == first, "a call that failed then has no reply now either"
    assert all(isinstance(one, Failure) and one.detail.startswith("not asked") for one in more[5:])
    with pytest.raises(QuadragError, match=r"lacks 2 of 2 replies of 'm'"):
        replay(chats(2, start=5))


def test_replay_needs_a_model_and_a_ledger(server, ledger):
    with pytest.raises(QuadragError, match="holds 0 models"):
        ChatClient(server.url, ledger=ledger, replay=True)(chats(1))
    server.state.models = ["m", "k"]
    for name in ("m", "k"):
        with ChatClient(f"{server.url}#{name}", ledger=ledger) as client:
            client(chats(1))
    with pytest.raises(QuadragError, match=r"holds 2 models \(k, m\); append #MODEL"):
        ChatClient(server.url, ledger=ledger, replay=True)(chats(1))
    with pytest.raises(QuadragError, match="needs a ledger"):
        ChatClient(server.url, replay=True)


def test_the_only_model_is_taken_and_several_are_listed(server):
    with ChatClient(server.url) as client:
        assert client.model == "m" and client.model == "m" and server.listed == 1
    server.state.models = ["a", "b"]
    with ChatClient(server.url) as client, pytest.raises(QuadragError, match=r"holds 2 models \(a, b\); append #MODEL"):
        client(chats(1))


@pytest.mark.parametrize("spec", ["", "org/gpt-4", "ftp://x/v1#m", "http://#m", "http://h:99999/v1", "provider:", "#m"])
def test_a_bad_spec_is_one_line(spec):
    with pytest.raises(QuadragError) as error:
        ChatClient(spec)
    assert "expected http://host:port/v1#model or provider:MODEL" in str(error.value) and "\n" not in str(error.value)


def test_a_base_url_may_lack_v1(server):
    with ChatClient(server.url.removesuffix("/v1") + "/#m") as client:
        assert len(client(chats(1))) == 1
    with ChatClient(server.url.removesuffix("/v1")) as client:
        assert client.model == "m"


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
    ],
)
def test_reasoning_is_kept_apart(server, ledger, message, finish, text, reasoning):
    server.rules.append(Rule("reply", message=message, reply={"finish_reason": finish}))
    with ChatClient(server.url + "#m", ledger=ledger) as client:
        for cached in (False, True):
            [reply] = client.complete(chats(1))
            assert (reply.text, reply.reasoning, reply.finish_reason) == (text, reasoning, finish)
            assert reply.cached is cached


@pytest.mark.parametrize("message", [{"content": "<think>hmm, let me"}, {"content": "", "reasoning_content": "hmm"}])
def test_reasoning_cut_by_length_is_truncated(server, ledger, message):
    server.rules.append(Rule("reply", message=message, reply={"finish_reason": "length"}))
    with ChatClient(server.url + "#m", ledger=ledger) as client:
        for _ in range(2):
            [result] = client.complete(chats(1))
            assert isinstance(result, Failure) and result.reason == "truncated"
        assert server.requests == 1, "what was paid for is kept"


def test_a_judge_never_sees_a_cut_reply(server):
    server.rules.append(Rule("reply", match="question 1", reply={"finish_reason": "length"}))
    with ChatClient(server.url + "#m") as client:
        good, cut = client(chats(2))
    assert isinstance(good, str) and cut.reason == "truncated" and "\n" not in cut.detail


def test_usage_may_be_absent(server):
    server.rules.append(Rule("reply", usage=None))
    with ChatClient(server.url + "#m") as client:
        assert client.complete(chats(1))[0].usage is None


def test_progress_is_told_in_the_callers_thread_and_its_error_comes_through(server, ledger):
    import threading

    server.state.latency = 0.15
    told = []

    def tell(done, total):
        assert threading.current_thread() is threading.main_thread()
        told.append((done, total))

    with ChatClient(server.url + "#m", ledger=ledger, concurrency=2, on_progress=tell) as client:
        client(chats(6) + chats(1))
    assert told[-1] == (7, 7) and len(told) >= 2 and told == sorted(told)

    def stop(done, total):
        raise KeyboardInterrupt

    with ChatClient(server.url + "#m", ledger=ledger, concurrency=2, on_progress=stop) as client:
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            client(chats(100, start=10))
        assert time.monotonic() - started < 3
        assert 7 <= len(ledger) <= 12, "at least the reply that was told is kept"
        client.on_progress = None
        assert len(client(chats(6))) == 6, "the client goes on after an interrupt"


@pytest.mark.parametrize("name", ["QUADRAG_API_KEY", "OPENAI_API_KEY", "HF_TOKEN"])
def test_the_key_is_sent_and_never_shown(server, ledger, monkeypatch, name, caplog, capfd):
    caplog.set_level("DEBUG")
    key = "sk-0123456789abcdefghij"
    monkeypatch.setenv(name, key)
    server.state.key = key
    server.rules.append(Rule("echo_key", match="question 1"))
    server.rules.append(Rule("reply", match="question 2", message={"content": f"your key is {key}"}))
    with ChatClient(server.url, ledger=ledger) as client:
        replies = client.complete(chats(3))
        assert server.authorizations == {f"Bearer {key}"}
        assert replies[1].reason == "api_error" and "***" in replies[1].detail
        server.rules.insert(0, Rule("echo_key"))
        with ChatClient(server.url, ledger=ledger) as second, pytest.raises(QuadragError) as error:
            second(chats(3, start=10))
        said = capfd.readouterr()
        shown = f"{replies[1]} {error.value} {client.spent} {vars(client)} {caplog.text} {said}"
    assert key not in shown
    assert replies[2].text == f"your key is {key}", "a reply is kept as it came: its score would be another"
    assert said.err.count("repeats a secret") == 1


def test_the_order_of_the_keys_and_no_saved_login(server, monkeypatch, tmp_path):
    (tmp_path / "token").write_text("hf_savedlogin0123456789")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    with ChatClient(server.url) as client:
        client(chats(1))
    assert server.authorizations == {""}, "a saved Hub login is not sent to any server"
    for name in ("HF_TOKEN", "OPENAI_API_KEY", "QUADRAG_API_KEY"):
        monkeypatch.setenv(name, f"key-of-{name}")
        with ChatClient(server.url + "#m") as client:
            client(chats(1))
        assert f"Bearer key-of-{name}" in server.authorizations


def test_a_password_in_the_url_is_not_shown():
    with pytest.raises(QuadragError) as error:
        ChatClient("http://me:secretword@127.0.0.1:9/v1?token=t0ken#m")(chats(1))
    assert "secretword" not in str(error.value) and "t0ken" not in str(error.value)


def test_a_local_server_is_reached_in_offline_mode(server, tmp_path):
    code = (
        "import sys; from quadrag.chat.client import ChatClient\n"
        "print(len(ChatClient(sys.argv[1])([[{'role': 'user', 'content': 'q'}]])))"
    )
    command = [sys.executable, "-c", code, server.url]
    env = {"HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_provider_without_a_hugging_face_token_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-this-is-no-hub-token")
    client = ChatClient("provider:org/model")
    assert client.model == "org/model"
    with pytest.raises(QuadragError, match=r"api_key|token"):
        client(chats(1))


def test_a_provider_is_asked_through_the_router(server, monkeypatch):
    """The genuine client with its automatic provider; only the router's host is led to the local server."""
    import httpx2
    from huggingface_hub import set_async_client_factory
    from huggingface_hub.utils._http import default_async_client_factory

    asked = []

    class ToLocal(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request):
            asked.append(str(request.url))
            local = httpx2.URL(server.url)
            request.url = request.url.copy_with(scheme="http", host=local.host, port=local.port)
            return await super().handle_async_request(request)

    server.state.models = ["org/model"]
    monkeypatch.setenv("HF_TOKEN", "hf_a_token_of_some_length")
    set_async_client_factory(lambda: httpx2.AsyncClient(transport=ToLocal()))
    try:
        with ChatClient("provider:org/model", parameters={"max_tokens": 5}) as client:
            (reply,) = client.complete(chats(1))
    finally:
        set_async_client_factory(default_async_client_factory)
    assert isinstance(reply, Reply) and reply.text.endswith("question 0")
    assert asked == ["https://router.huggingface.co/v1/chat/completions"]
    assert server.bodies[0]["model"] == "org/model"
    assert server.authorizations == {"Bearer hf_a_token_of_some_length"}

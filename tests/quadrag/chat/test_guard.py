"""What a server may do to the client: send it on, send it much, be asked by a user and a password."""

from __future__ import annotations

import base64

import pytest
from chat_server import ChatServer, Rule, chats

from quadrag.chat.client import ChatClient, Failure
from quadrag.errors import QuadragError

KEY = "sk-0123456789abcdef"


def to(place, times=1_000_000):
    return Rule("status", times, status=307, headers={"Location": place})


def test_a_redirect_on_the_same_host_is_followed(server):
    server.rules.append(to("/v1/chat/completions?again", 3))
    with ChatClient(server.url + "#m") as client:
        assert all(isinstance(reply, str) for reply in client(chats(3)))
    assert server.requests == 6


def test_a_redirect_to_another_host_is_refused_unless_it_is_allowed(server, monkeypatch):
    """The other host is this machine by another name: it must get neither prompts nor, where allowed, the key."""
    monkeypatch.setenv("QUADRAG_API_KEY", KEY)
    with ChatServer() as other:
        server.rules.append(to(f"http://localhost:{other.port}/v1/chat/completions"))
        with ChatClient(server.url + "#m") as client, pytest.raises(QuadragError) as error:
            client(chats(3))
        said = str(error.value)
        assert "redirects to localhost" in said and "--allow-redirect localhost" in said and server.url in said
        assert other.requests == 0
        for host in ("localhost", "LocalHost"):
            with ChatClient(server.url + "#m", allow_redirect=["example.com", host]) as client:
                assert all(isinstance(reply, str) for reply in client(chats(3)))
        assert other.requests == 6 and other.authorizations == {""}


def test_a_later_redirect_is_one_failure(server):
    server.rules.append(Rule("status", match="question 1", status=308, headers={"Location": "http://else.invalid/"}))
    with ChatClient(server.url + "#m") as client:
        replies = client(chats(3))
    assert [isinstance(reply, Failure) for reply in replies] == [False, True, False]
    assert server.calls["question 1"] == 1


@pytest.mark.parametrize("host", ["", "http://h", "h/v1", " h", "a@h"])
def test_a_host_to_allow_is_a_host(host):
    with pytest.raises(QuadragError, match=r"no host to allow a redirect to; expected one as api\.example\.com"):
        ChatClient("http://h/v1#m", allow_redirect=[host])


def test_the_limit_on_a_reply_is_the_users(server):
    server.state.text = "x" * 5000
    with ChatClient(server.url + "#m", max_reply_bytes=6000) as client:
        assert client(chats(1)) == [server.text]
    with ChatClient(server.url + "#m", max_reply_bytes=5000) as client, pytest.raises(QuadragError) as error:
        client(chats(2))
    assert "the reply has more than 5000 bytes; read more with --max-reply-bytes" in str(error.value)
    assert server.requests == 3, "it is not asked for again"
    with pytest.raises(QuadragError, match="max_reply_bytes 0"):
        ChatClient("http://h/v1#m", max_reply_bytes=0)


@pytest.mark.parametrize("password", ["score", "1", "2008"])
def test_a_password_that_is_a_word_is_not_cut_out_of_replies(server, ledger, capfd, password):
    server.state.text = '{"score": 1} 2008 11'
    with ChatClient(server.url.replace("//", f"//user:{password}@") + "#m", ledger=ledger) as client:
        assert client(chats(1)) == client(chats(1)) == [server.text]
    assert capfd.readouterr().err == ""


def test_user_and_password_go_before_the_key_and_that_is_told(server, monkeypatch, capfd):
    place = server.url.replace("//", "//ann:pa%20ss%C3%A9@")
    basic = "Basic " + base64.b64encode("ann:pa ss\u00e9".encode()).decode()
    with ChatClient(place) as client:
        assert isinstance(client(chats(1))[0], str)
    assert server.authorizations == {basic} and capfd.readouterr().err == ""
    monkeypatch.setenv("QUADRAG_API_KEY", KEY)
    with ChatClient(f"{place},{server.url}#m", concurrency=8) as client:
        client(chats(20, start=1))
    assert server.authorizations == {basic, f"Bearer {KEY}"}
    told = f"quadrag: {server.url}: the user and password of its URL are sent, not the key in QUADRAG_API_KEY"
    assert capfd.readouterr().err.splitlines() == [told]

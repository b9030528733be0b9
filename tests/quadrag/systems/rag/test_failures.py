"""What fails of a RAG service, and how: tried again, one failure, or a dead service in one line that tells no key."""

import pytest
from rag_asking import ask, asked
from rag_server import Rule

from quadrag.errors import QuadragError

pytestmark = pytest.mark.plugins


@pytest.mark.slow
@pytest.mark.parametrize("body", ["<html>it works</html>", {"error": {"message": "overloaded"}}])
def test_what_may_pass_is_tried_again(server, ledger, body):
    server.rules.append(Rule("body", times=2, body=body))
    replies, spent = ask(server.url, asked(4), ledger, concurrency=2)
    assert all(reply.text for reply in replies) and spent["retries"] >= 1


def test_a_question_on_which_it_hangs_is_asked_once_more(server, ledger):
    server.rules.append(Rule("stall", match="number 1", seconds=1))
    replies, spent = ask(server.url, asked(2), ledger, concurrency=1, timeout=0.3, retries=2)
    assert [getattr(reply, "reason", "ok") for reply in replies] == ["ok", "api_error"] and spent["retries"] == 1


@pytest.mark.parametrize("body", [{"text": "x"}, {"answer": "x", "passages": "none"}, {"answer": None}, [1]])
def test_a_reply_of_another_form_is_one_failure_and_is_not_kept(server, ledger, body):
    server.rules.append(Rule("body", match="number 1", body=body))
    replies, spent = ask(server.url, asked(3), ledger, concurrency=1)
    assert [getattr(reply, "reason", "ok") for reply in replies] == ["ok", "unparsable", "ok"]
    assert "\n" not in replies[1].detail
    assert spent["retries"] == 0 and len(ledger) == 2
    server.rules.clear()
    replies, spent = ask(server.url, asked(3), ledger)
    assert all(reply.text for reply in replies) and spent["calls"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "path", "words"),
    [
        (Rule("body", body={"text": "x"}), "/rag", "with the keys text"),
        (Rule("body", body="<html>welcome</html>"), "/rag", "<html>"),
        (Rule("body", body={"error": "index is empty"}), "/rag", "index is empty"),
        (Rule("status", status=422, body={"detail": "no query"}), "/rag", "answered 422: no query"),
        (Rule("status", status=500), "/rag", "answered 500: injected"),
        (None, "/wrong", "answered 404: Not Found"),
        (None, "/v1x#small", "answered 404"),
    ],
)
def test_a_dead_service_is_one_line(server, ledger, rule, path, words):
    if rule:
        server.rules.append(rule)
    with pytest.raises(QuadragError) as caught:
        ask(server.base + path, asked(6), ledger, concurrency=2, retries=1)
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert server.requests <= 2 * 3, "the rest is not asked"


def test_the_key_is_sent_and_never_shown_or_kept(server, ledger, monkeypatch, capfd):
    key, token = "quadrag-key-0123456789", "hf_token0123456789"
    monkeypatch.setenv("HF_TOKEN", token)
    ask(server.url, asked(1), ledger)
    assert server.authorizations == {""}, "a token for the Hub goes to the Hub alone"
    monkeypatch.setenv("QUADRAG_API_KEY", key)
    server.key = key
    said = {"answer": f"your key is {key}, your token {token}", "passages": [{"id": key, "text": f"of {token}"}]}
    server.rules.append(Rule("merge", match="number 2", body=said))
    replies, _ = ask(server.url, asked(3), ledger)
    assert replies[2].text == "your key is ***, your token ***" and f"Bearer {key}" in server.authorizations
    assert replies[2].passages[0][:3] == ("***", "", "of ***")
    server.key = "another"
    with pytest.raises(QuadragError) as caught:
        ask(server.url, asked(1), ledger, name="fresh")
    assert key not in str(caught.value) and "bad key: Bearer ***" in str(caught.value)
    assert key not in (shown := capfd.readouterr().err) and token not in shown

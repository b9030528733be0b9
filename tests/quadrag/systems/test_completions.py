"""Completions of a prompt: what is sent and read, apart in the ledger from chats, dead servers, the budget's sizes."""

import pytest
from chat_server import Rule

from quadrag.chat.client import ChatClient, Failure
from quadrag.chat.ledger import Ledger
from quadrag.chat.prices import Prices
from quadrag.errors import QuadragError
from quadrag.systems.completions import CompletionsTransport

CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
PROMPT = "Human: Be brief.\n\nWho?\n\nAssistant:"


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


def asking(url, template="belle", **more):
    transport = CompletionsTransport(template)
    parameters = {"temperature": 0.2, "max_tokens": 9, **more.pop("parameters", {}), **transport.parameters}
    return ChatClient(f"{url}#m", transport=transport, parameters=parameters, **more)


@pytest.mark.parametrize("end", ["", "/", "/chat/completions", "/completions"])
def test_the_prompt_goes_to_the_completions_of_any_base_url(server, end):
    with asking(server.url + end) as client:
        (reply,) = client.complete([CHAT])
    assert server.bodies == [{"model": "m", "prompt": PROMPT, "temperature": 0.2, "max_tokens": 9}]
    assert reply.text.endswith(PROMPT) and reply.finish_reason == "stop" and reply.usage["prompt_tokens"] > 0


def test_blanks_around_the_text_go_and_reasoning_is_apart(server):
    server.rules.append(Rule("reply", reply={"text": "<think>hm</think>\n Paris.\n\n", "finish_reason": "length"}))
    with asking(server.url) as client:
        (reply,) = client.complete([CHAT])
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("Paris.", "hm", "length")


def test_chats_and_templates_are_apart_in_the_ledger(server, ledger):
    same = {"temperature": 0.2, "max_tokens": 9}
    with ChatClient(f"{server.url}#m", parameters=same, ledger=ledger) as client:
        client.complete([CHAT])
    for template in ("belle", "belle", "plain"):
        with asking(server.url, template, ledger=ledger) as client:
            client.complete([CHAT])
    assert ["prompt" in body for body in server.bodies] == [False, True, True]
    with asking(server.url, ledger=ledger, replay=True) as client:
        assert client.complete([CHAT])[0].text


@pytest.mark.parametrize(
    "rule",
    [
        Rule("no_choices"),
        Rule("garbage"),
        Rule("reply", reply={"text": None}),
        Rule("reply", reply={"text": 7}),
    ],
)
def test_a_reply_that_is_none_is_a_failure(server, rule):
    rule.match = "NEVER"
    server.rules.append(rule)
    with asking(server.url, retries=0) as client:
        assert client.complete([CHAT])[0].text
        (failed,) = client.complete([[{"role": "user", "content": "NEVER"}]])
    assert isinstance(failed, Failure)


def test_a_server_without_the_page_is_one_line(server):
    server.rules.append(Rule("status", status=404))
    with asking(server.url) as client, pytest.raises(QuadragError, match=r"answered 404"):
        client.complete([CHAT])


def test_a_budget_goes_by_the_prompt_that_is_sent(server, tmp_path):
    path = tmp_path / "prices.yaml"
    path.write_text("m: {input: 1000000, output: 0}\n", encoding="utf-8")
    long = CompletionsTransport("vicuna")
    with (
        ChatClient(
            f"{server.url}#m", transport=long, prices=Prices.load(path), budget=100, parameters={"max_tokens": 1}
        ) as client,
        pytest.raises(QuadragError, match="budget"),
    ):
        client.complete([CHAT])
    assert server.bodies == []

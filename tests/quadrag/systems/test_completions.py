"""Completions of a prompt: what is sent and read, apart in the ledger from chats, dead servers, the budget's sizes."""

import pytest
from chat_server import Rule

from quadrag.chat.client import ChatClient
from quadrag.chat.reply import Failure
from quadrag.systems.models import CompletionsTransport

CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
PROMPT = "Human: Be brief.\n\nWho?\n\nAssistant:"


def asking(url, template="belle", **more):
    transport = CompletionsTransport(template)
    parameters = {"temperature": 0.2, "max_tokens": 9, **more.pop("parameters", {}), **transport.parameters}
    return ChatClient(f"{url}#m", transport=transport, parameters=parameters, **more)


@pytest.mark.parametrize("end", ["", "/", "/chat/completions", "/completions"])
def test_the_prompt_goes_to_the_completions_of_any_base_url(server, end):
    server.state.text = lambda body: f"\n {body['prompt']}\n"
    with asking(server.url + end) as client:
        (reply,) = client.complete([CHAT])
    assert server.bodies == [{"model": "m", "prompt": PROMPT, "temperature": 0.2, "max_tokens": 9}]
    assert reply.text == PROMPT and reply.finish_reason == "stop" and reply.usage["prompt_tokens"] > 0


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

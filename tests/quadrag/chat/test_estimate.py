"""A model that is asked nothing: what its calls would take."""

from decimal import Decimal

import pytest
from chat_server import chats

from quadrag.chat.client import ChatClient
from quadrag.chat.estimate import Estimate, StandIn
from quadrag.chat.prices import Prices
from quadrag.systems.completions import CompletionsTransport

RATE = Prices({"m": {"input": 2_000_000, "output": 3_000_000}}).rate("m")
LETTERS = "by letters"


def stand_in(client, rate=None):
    estimate = Estimate(lambda model: (len, f"{LETTERS} of {model}"))
    return StandIn(estimate, client, "answers", lambda batch: ["123456789"] * len(batch), rate)


@pytest.mark.parametrize(("bound", "reply", "most"), [(None, 9, None), (4, 4, 4), (20, 9, 20)])
def test_calls_are_noted_and_kept_replies_taken(server, ledger, bound, reply, most):
    with ChatClient(server.url + "#m", ledger=ledger, parameters={"max_tokens": bound}) as client:
        (kept,) = client.complete(chats(1))
        model = stand_in(client, RATE)
    system = [{"role": "system", "content": "abcd"}, *chats(1, 2)[0]]
    replies = model.complete([*chats(3), system, *chats(1, 2)])
    assert [one.text for one in replies] == [kept.text, *["123456789"] * 4]
    assert model(chats(1, 1)) == ["123456789"] and server.requests == 1
    (stage,) = model.estimate.stages
    assert (stage.name, stage.calls, stage.kept) == ("answers", 3, 1)
    assert stage.most_tokens == (None if most is None else 3 * most)
    # Of a message its letters and four, of a call three.
    assert (stage.prompt_tokens, stage.reply_tokens) == (2 * (10 + 4 + 3) + 14 + 8 + 3, 3 * reply)
    assert stage.cost(stage.reply_tokens) == Decimal(2 * 59 + 3 * 3 * reply)
    assert stage.cost(None) is None and model.estimate.how == {"m": f"{LETTERS} of m"}


def test_a_prompt_is_counted_as_it_is_sent_and_other_samples_are_other_calls():
    model = stand_in(ChatClient("http://127.0.0.1:9/v1#m", transport=CompletionsTransport("plain")))
    model.complete(chats(1) * 3, samples=[0, 1, 1])
    (stage,) = model.estimate.stages
    prompt = CompletionsTransport("plain").compose(chats(1)[0])[0]["content"]
    assert (stage.calls, stage.prompt_tokens, stage.most_tokens) == (2, 2 * len(prompt), None)
    assert stage.cost(7) is None

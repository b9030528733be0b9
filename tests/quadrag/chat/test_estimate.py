"""A model that is asked nothing: what its calls would take."""

from decimal import Decimal

import pytest
from chat_server import chats

from quadrag.chat.client import ChatClient
from quadrag.chat.estimate import Estimate, StandIn
from quadrag.chat.policy import Prices
from quadrag.chat.tokens import reckon
from quadrag.systems.models import CompletionsTransport

RATE = Prices({"m": {"input": 2_000_000, "output": 3_000_000}}).rate("m")
REPLY = "x" * 40  # ten tokens


def stand_in(client, rate=None):
    return StandIn(Estimate(), client, "answers", lambda batch: [REPLY] * len(batch), rate)


def test_tokens_are_reckoned_by_characters():
    assert reckon("") == 0
    assert reckon(REPLY) == 10 == reckon("赛" * 10)
    assert reckon("，。：「" + "가" * 6) == 10


@pytest.mark.parametrize(("bound", "reply", "most"), [(None, 10, None), (4, 4, 4), (20, 10, 20)])
def test_calls_are_noted_and_kept_replies_taken(server, ledger, bound, reply, most):
    with ChatClient(server.url + "#m", ledger=ledger, parameters={"max_tokens": bound}) as client:
        (kept,) = client.complete(chats(1))
        model = stand_in(client, RATE)
    system = [{"role": "system", "content": "abcd"}, *chats(1, 2)[0]]
    replies = model.complete([*chats(3), system, *chats(1, 2)])
    assert [one.text for one in replies] == [kept.text, *[REPLY] * 4]
    assert model(chats(1, 1)) == [REPLY] and server.requests == 1
    (stage,) = model.estimate.stages
    assert (stage.name, stage.calls, stage.kept) == ("answers", 3, 1)
    assert stage.most_tokens == (None if most is None else 3 * most)
    # Of a question two tokens and of "abcd" one, of a message four more, of a call three.
    assert (stage.prompt_tokens, stage.reply_tokens) == (2 * (2 + 4 + 3) + (1 + 4) + (2 + 4) + 3, 3 * reply)
    assert stage.cost(stage.reply_tokens) == Decimal(2 * 32 + 3 * 3 * reply) and stage.cost(None) is None


def test_a_prompt_is_counted_as_it_is_sent_and_other_samples_are_other_calls():
    model = stand_in(ChatClient("http://127.0.0.1:9/v1#m", transport=CompletionsTransport("plain")))
    model.complete(chats(1) * 3, samples=[0, 1, 1])
    (stage,) = model.estimate.stages
    assert (stage.calls, stage.prompt_tokens, stage.most_tokens) == (2, 2 * reckon("question 0"), None)
    assert stage.cost(7) is None

"""A model that is asked nothing: what its calls would take."""

from decimal import Decimal

import pytest
from chat_server import chats

from quadrag.chat.client import ChatClient
from quadrag.chat.estimate import Estimate, Estimator
from quadrag.chat.prices import Prices

RATE = Prices({"m": {"input": 2_000_000, "output": 3_000_000}}).rate("m")
LETTERS = "by letters"


@pytest.mark.parametrize(("bound", "reply", "most"), [(None, 9, None), (4, 4, 4), (20, 9, 20)])
def test_calls_are_noted_and_kept_replies_taken(server, ledger, bound, reply, most):
    parameters = {} if bound is None else {"max_tokens": bound}
    estimate = Estimate(lambda model: (len, f"{LETTERS} of {model}"))
    with ChatClient(server.url + "#m", ledger=ledger, parameters=parameters) as client:
        (kept,) = client.complete(chats(1))
        model = Estimator(estimate, "m", parameters, client.shelf, service=client.service, rate=RATE)
    model.expect = lambda batch: [("answers", "123456789") for _ in batch]
    system = [{"role": "system", "content": "abcd"}, *chats(1, 2)[0]]
    replies = model.complete([*chats(3), system, *chats(1, 2)])
    assert [(one.text, one.cached) for one in replies] == [(kept.text, True), *[("123456789", False)] * 4]
    assert model(chats(1, 1)) == ["123456789"] and server.requests == 1
    (stage,) = estimate.stages
    assert (stage.name, stage.calls, stage.kept, stage.most_tokens) == (
        "answers",
        3,
        1,
        None if most is None else 3 * most,
    )
    # Of a message its letters and four, of a call three.
    assert (stage.prompt_tokens, stage.reply_tokens) == (2 * (10 + 4 + 3) + 14 + 8 + 3, 3 * reply)
    assert stage.cost(stage.reply_tokens) == Decimal(2 * 59 + 3 * 3 * reply)
    assert stage.cost(None) is None and estimate.how == {"m": f"{LETTERS} of m"}


def test_a_prompt_is_counted_as_it_is_sent_and_other_samples_are_other_calls():
    estimate = Estimate(lambda model: (len, LETTERS))
    model = Estimator(estimate, "m", {}, None)
    model.complete([[{"role": "prompt", "content": "abcde"}]] * 3, samples=[0, 1, 1])
    (stage,) = estimate.stages
    assert (stage.calls, stage.prompt_tokens, stage.most_tokens) == (2, 10, None) and stage.cost(7) is None

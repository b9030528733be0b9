"""Prices, and a budget that is never passed."""

import json
import threading

import pytest
from chat_server import Rule, chats

from quadrag.chat.client import ChatClient
from quadrag.chat.policy import Budget, BudgetReached, Prices
from quadrag.chat.reply import Failure, Reply
from quadrag.errors import QuadragError

PRICES = Prices({"m": {"input": 1_000_000, "output": 2_000_000}, "currency": "EUR"})
BOUND = {"prices": PRICES, "parameters": {"max_tokens": 10}}
# A call's worst case is about 130 here: 64 for the template, 44 bytes, 10 tokens at 2.
WORST = 140


def test_a_budget_below_nothing_is_refused():
    with pytest.raises(QuadragError):
        Budget(-1, "EUR")


def paid(server):
    return server.prompt_tokens + 2 * server.completion_tokens


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_price_file(tmp_path, suffix):
    table = {"org/model": {"input": 0.5, "output": 1.5}, "currency": "CNY"}
    text = json.dumps(table) if suffix == "json" else "currency: CNY\norg/model: {input: 0.5, output: 1.5}\n"
    file = tmp_path / f"prices.{suffix}"
    file.write_text(text)
    prices = Prices.load(file)
    assert prices.currency == "CNY" and float(prices.rate("org/model").cost(1000, 2000)) == 0.0035
    with pytest.raises(QuadragError, match="org/modle"):
        prices.rate("org/modle")


@pytest.mark.parametrize(
    "text", ["- 1", "m: 3", "m: {input: 1}", "m: {input: -1, output: 1}", "m: {input: a, output: 1}", "m: [", None]
)
def test_a_bad_price_file_is_one_line(tmp_path, text):
    file = tmp_path / "p.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(QuadragError) as error:
        Prices.load(file)
    assert str(file) in str(error.value) and "\n" not in str(error.value)


def test_the_model_must_have_a_price(server):
    with pytest.raises(QuadragError, match="'x'"):
        ChatClient(server.url + "#x", prices=PRICES)
    server.state.models = ["found"]
    with ChatClient(server.url, prices=PRICES) as client, pytest.raises(QuadragError, match="'found'"):
        client(chats(1))
    assert server.requests == 0


@pytest.mark.parametrize("concurrency", [1, 16])
def test_the_budget_is_never_passed(server, ledger, concurrency):
    server.state.latency = 0.005
    options = {"ledger": ledger, "concurrency": concurrency, **BOUND}
    with ChatClient(server.url + "#m", budget=Budget(1000, "EUR"), **options) as client:
        with pytest.raises(BudgetReached) as stop:
            client.complete(chats(100))
        assert (stop.value.params["limit"], stop.value.params["currency"]) == ("1000", "EUR")
        assert float(stop.value.params["spent"]) + float(stop.value.params["next"]) > 1000
        assert client.spent["cost"] == paid(server) <= 1000
        assert paid(server) > 1000 - WORST, "what is left would not have paid for another call"
    results = stop.value.results
    asked = [result for result in results if isinstance(result, Reply)]
    assert len(results) == 100 and len(asked) == server.requests == len(ledger)
    assert all(result.reason == "api_error" and not result.asked for result in results[len(asked) :])
    with ChatClient(server.url + "#m", budget=Budget(0, "EUR"), **options) as client:
        assert len(client(chats(len(asked)))) == len(asked), "what is in the ledger is free"
        with pytest.raises(BudgetReached) as stop:
            client(chats(len(asked) + 1))
    assert all(isinstance(result, str) for result in stop.value.results[:-1])
    assert isinstance(stop.value.results[-1], Failure)


@pytest.mark.slow
@pytest.mark.parametrize("action", ["truncate", "stall", "garbage"])
def test_work_that_was_lost_counts(server, action):
    server.rules.append(Rule(action, match="question 1"))
    with ChatClient(server.url + "#m", budget=Budget(600, "EUR"), concurrency=2, timeout=0.3, **BOUND) as client:
        client(chats(1))
        with pytest.raises(BudgetReached):
            client(chats(100, start=1))
    assert paid(server) <= 600
    assert server.calls["question 1"] <= 5, "each lost attempt is charged at its worst case"


@pytest.mark.parametrize(
    "usage", [None, {"prompt_tokens": 5}, {"prompt_tokens": 5, "completion_tokens": -60}, {"prompt_tokens": 1e12}]
)
def test_a_count_that_is_none_or_cannot_be_charges_the_worst_case(server, usage):
    server.rules.append(Rule("reply", usage=usage))
    budget = Budget(400, "EUR")
    with ChatClient(server.url + "#m", budget=budget, **BOUND) as client, pytest.raises(BudgetReached) as stop:
        client.complete(chats(10))
    assert sum(isinstance(result, Reply) for result in stop.value.results) == 3


def test_two_clients_at_the_same_time_share_one_budget(server):
    server.state.latency = 0.01
    budget = Budget(600, PRICES.currency)
    spent = []

    def work(start):
        with ChatClient(server.url + "#m", budget=budget, concurrency=4, **BOUND) as client:
            with pytest.raises(BudgetReached):
                client.complete(chats(100, start=start))
            spent.append(client.spent["cost"])

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert len(spent) == 2 and sum(spent) == paid(server) <= 600
    assert 600 - WORST < float(budget.used) == paid(server) and budget.reserved == 0

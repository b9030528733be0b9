"""Fields that a server refuses: what it is asked after that, what is told, what is kept, who asks so."""

import json
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule, chats

from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger
from quadrag.chat.policy import Budget, Prices
from quadrag.chat.reply import Failure, Reply
from quadrag.cli import main
from quadrag.errors import QuadragError

pytestmark = pytest.mark.plugins

ASKED = {"temperature": 0.3, "top_k": 5, "repetition_penalty": 1.05, "max_tokens": 64, "seed": 3}
PRICES = {"m": {"input": 1, "output": 1}}
INSTEAD = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
ONLY = "Unsupported value: 'temperature' does not support {} with this model. Only the default (1) value is supported."


FORMS = {
    "error": lambda message, name: {"error": {"message": message, "param": None}},
    "param": lambda message, name: {"error": {"message": message, "param": name}},
    "message": lambda message, name: {"message": message},
    "text": lambda message, name: message,
    "detail": lambda message, name: {"detail": [{"loc": ["body", name], "msg": message, "input": 3}]},
}


def refusing(messages, status=400, form="error"):
    """Refuse each field in the words given for it, one after the other, as long as it is sent."""

    def manner(body):
        for name, message in messages.items():
            if name in body:
                return Rule("status", status=status, body=FORMS[form](message.format(body[name]), name))
        return None

    return manner


like_gpt_5 = refusing({"max_tokens": INSTEAD, "temperature": ONLY}, form="param")


def fields(body):
    return {name: value for name, value in body.items() if name not in ("messages", "model", "stream")}


@pytest.mark.parametrize(
    ("messages", "status", "form"),
    [
        ({"top_k": "Unrecognized request argument supplied: top_k"}, 400, "error"),
        ({"top_k": "property 'top_k' is unsupported", "seed": "property 'seed' is unsupported"}, 400, "error"),
        ({"temperature": ONLY}, 400, "error"),
        ({"temperature": "This value is not taken"}, 400, "param"),
        ({"repetition_penalty": "repetition_penalty: Extra inputs are not permitted"}, 422, "text"),
        ({"seed": "Extra inputs are not permitted"}, 422, "detail"),
        ({"max_tokens": "Unknown field: max_tokens"}, 400, "message"),
    ],
)
def test_what_a_server_refuses_is_left_out_in_one_line(server, capsys, messages, status, form):
    server.state.manner = refusing(messages, status, form)
    server.state.latency = 0.02
    with ChatClient(server.url + "#m", parameters=ASKED) as client:
        assert all(isinstance(reply, Reply) for reply in client.complete(chats(30)))
        assert all(isinstance(reply, Reply) for reply in client.complete(chats(5, start=30)))
    taken = {name: value for name, value in ASKED.items() if name not in messages}
    whole = [body for body in server.bodies if fields(body) == taken]
    assert len(whole) == 35 and len(server.bodies) - len(whole) <= 2 * len(messages), "the first two calls find out"
    assert client.spent["refused"] == dict.fromkeys(messages) and client.parameters == ASKED
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and all(f"{name} left out" in err for name in messages)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (INSTEAD, "max_completion_tokens"),
        ("max_tokens is deprecated, send max_output_tokens", "max_output_tokens"),
        ("Unknown parameter: 'max_tokens'. Did you mean 'max_new_tokens'?", "max_new_tokens"),
    ],
)
def test_a_length_is_sent_by_the_name_that_the_server_gives(server, capsys, message, name):
    server.state.manner = refusing({"max_tokens": message})
    with ChatClient(server.url + "#m", parameters={"max_tokens": 64}) as client:
        client.complete(chats(3))
    assert fields(server.bodies[-1]) == {name: 64} and f"max_tokens sent as {name}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "message",
    [
        "temperature must be less than or equal to 2",
        "Invalid 'max_tokens': integer above maximum value. Expected a value <= 4096, but got 8192 instead.",
        "the prompt is flagged",
    ],
)
def test_another_refusal_ends_the_command(server, message):
    asked = {"temperature": 3.0, "max_tokens": 8192}
    server.rules.append(Rule("status", status=400, body={"error": {"message": message}}))
    with ChatClient(server.url + "#m", parameters=asked) as client, pytest.raises(QuadragError, match="400"):
        client.complete(chats(20))
    assert all(fields(body) == asked for body in server.bodies)


def test_a_server_that_names_fields_without_end_is_dead(server):
    message = "temperature, top_k, repetition_penalty, max_tokens and seed are not supported"
    server.rules.append(Rule("status", status=400, body={"error": {"message": message}}))
    with ChatClient(server.url + "#m", parameters=ASKED) as client, pytest.raises(QuadragError):
        client.complete(chats(50))
    assert len(server.bodies) <= 17 * (len(ASKED) + 1)


def test_a_refused_question_that_speaks_of_a_field_takes_none_from_the_others(server, capsys):
    said = {"error": {"message": "flagged: 'what is the temperature of the sun, and the seed of a plum?'"}}
    server.rules.append(Rule("status", match="question 3", status=400, body=said))
    with ChatClient(server.url + "#m", parameters=ASKED) as client:
        replies = client.complete(chats(8))
    assert [isinstance(reply, Failure) for reply in replies] == [n == 3 for n in range(8)]
    others = [fields(body) for body in server.bodies if body["messages"][-1]["content"] != "question 3"]
    assert others == [ASKED] * 7 and capsys.readouterr().err == ""


def test_kept_replies_are_those_of_what_the_user_asked_for(server, tmp_path, capsys):
    server.state.manner = like_gpt_5
    found = {"temperature": None, "max_tokens": "max_completion_tokens"}
    for count, more in ((2, {}), (4, {}), (4, {"replay": True})):
        with (
            Ledger(tmp_path / "L") as ledger,
            ChatClient(
                server.url + "#m", ledger=ledger, parameters={"temperature": 0, "max_tokens": 9}, **more
            ) as client,
        ):
            assert all(isinstance(reply, Reply) for reply in client.complete(chats(count)))
            assert client.spent["refused"] == found
            assert capsys.readouterr().err.count("\n") == ("replay" not in more)
    assert [fields(body) for body in server.bodies][-2:] == [{"max_completion_tokens": 9}] * 2
    assert len(server.bodies) == 3 + 1 + 2, "what kept replies say of the server is not found out again"


def test_with_a_budget_a_length_that_has_no_other_name_is_not_left_out(server):
    server.state.manner = refusing({"max_tokens": "Unknown parameter: 'max_tokens'."})
    calls = {"parameters": {"max_tokens": 9}, "prices": Prices(PRICES)}
    with (
        ChatClient(server.url + "#m", **calls, budget=Budget(1, "USD")) as client,
        pytest.raises(QuadragError, match="leave --budget"),
    ):
        client.complete(chats(3))
    with ChatClient(server.url + "#m", **calls) as client:
        assert isinstance(client.complete(chats(1))[0], Reply)


@pytest.mark.parametrize("judge", [False, True])
def test_a_run_asks_so_and_says_what_was_refused(judge, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with ChatServer(manner=like_gpt_5, text='{"score": 1}', latency=0.01) as server:
        command = ["run", "rgb", "negative_rejection_en", "--limit", "3", "--data-dir", "sample", "--out", "out"]
        command += ["--judge" if judge else "--llm", server.url + "#m", "--ledger", "L", "--max-tokens", "50"]
        code = main(command[: -2 if judge else None])
    err = capsys.readouterr().err
    assert code in (0, 3), err
    taken = [body for body in server.bodies if "max_completion_tokens" in body and "temperature" not in body]
    assert taken and len(server.bodies) - len(taken) <= 4
    assert err.count("sent as max_completion_tokens") == 1
    usage = json.loads(Path("out/run.json").read_text())["usage"]["judge" if judge else "llm"]
    assert usage["refused"] == {"temperature": None, "max_tokens": "max_completion_tokens"}

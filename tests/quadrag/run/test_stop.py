"""Texts to stop at: sent by both ways of asking, part of a reply's key, named by recipes, left out where refused."""

from pathlib import Path

import pytest
from chat_server import Rule
from specs import spec_file

from quadrag.results import read_run

pytestmark = pytest.mark.plugins

ONE = ("run", "rgb", "noise_robustness_en", "--split", "noise_0", "--data-dir", "sample", "--limit", 1)


@pytest.mark.slow
@pytest.mark.parametrize("way", [{}, {"api": "completions", "template": "plain"}], ids=["chat", "completions"])
def test_texts_to_stop_at_are_sent_and_are_part_of_the_key(cli, server, way):
    def stopping(*stop):
        return spec_file(system={**way, **({"sampling": {"stop": stop}} if stop else {})})

    asked = (*ONE, "--llm", f"{server.url}#m", "--ledger", "L")
    assert cli(*asked, *stopping("\n\n", "Question:"), "--out", "a").code == 0
    (body,) = server.bodies
    assert body["stop"] == ["\n\n", "Question:"] and ("prompt" in body) == bool(way)
    assert read_run(Path("a")).parameters["stop"] == ["\n\n", "Question:"]
    assert cli(*asked, *stopping(), "--out", "b").code == 0
    assert len(server.bodies) == 2 and "stop" not in server.bodies[-1], "a reply that was stopped is another one"
    assert cli(*asked, *stopping("\n\n", "Question:"), "--out", "c").code == 0
    assert len(server.bodies) == 2
    ran = cli(*asked, *stopping("Question:"), "--out", "a")
    assert ran.code == 2 and "stop" in ran.err, "another run"


def test_a_server_that_refuses_them_is_asked_without(cli, server):
    why = {"error": {"message": "Unsupported parameter: 'stop' is not supported with this model."}}
    server.rules.append(Rule("status", status=400, times=1, body=why))
    stop = spec_file(system={"sampling": {"stop": ["Question:"]}})
    ran = cli(*ONE, "--llm", f"{server.url}#m", *stop, "--ledger", "L", "--out", "a")
    assert ran.code == 0 and "stop" in ran.err and ran.err.count("\n") == 1
    assert ["stop" in body for body in server.bodies] == [True, False]
    assert read_run(Path("a")).usage["llm"]["refused"] == {"stop": None}

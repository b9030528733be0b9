"""Replies belong to the service that gave them, and to the model that the user named there."""

from pathlib import Path

import pytest
from chat_server import ChatServer
from kept_runs import ONE
from specs import spec_file

from quadrag.results import read_run

pytestmark = pytest.mark.plugins


def test_a_folder_is_of_its_services_or_of_models_by_their_names(cli, server, judge):
    judged = ("--judge", f"{judge.url}#j")
    assert cli(*ONE, "--llm", f"{server.url}#m", *judged, "--out", "r").code == 0
    named = ("--llm-name", "ours", *spec_file(judges=[{"name": "a judge"}]))
    assert cli(*ONE, "--llm", f"{server.url}#m", *judged, *named, "--out", "n").code == 0
    with ChatServer() as moved, ChatServer(models=["k"]) as other:
        ran = cli(*ONE, "--llm", f"{moved.url}#m", *judged, "--out", "r")
        assert ran.code == 2 and ran.err.count("\n") == 1 and "--llm-name" in ran.err and "--out" in ran.err
        kept = cli(*ONE, "--llm", f"{moved.url}#m", "--judge", f"{other.url}#k", *named, "--out", "n")
        assert "shown again" in kept.out and moved.requests == other.requests == 0


def test_a_model_may_be_called_as_the_user_likes(cli, server, judge):
    server.state.models = ["tiny"]
    asked = (*ONE, "--llm", f"{server.url}#tiny")
    another = ("--judge", f"{judge.url}#j", *spec_file(judges=[{"name": "another"}]))
    ran = cli(*asked, "--llm-name", "gpt-4", *another, "--out", "a")
    assert ran.code == 0 and server.bodies[0]["model"] == "tiny"
    made, page = read_run(Path("a")), Path("a/report.html").read_text(encoding="utf-8")
    assert (made.llm, made.judge) == ("gpt-4", "another") and "gpt-4" in page and "another" in page


def test_a_service_is_named_without_its_secrets(cli, server):
    url = server.url.replace("://", "://user:pa@ss-word@")
    asked = (*ONE, "--llm", f"{url}?api_key=sesame-open#m", "--out", "a")
    assert cli(*asked).code == 0
    assert read_run(Path("a")).services == {"llm": f"{server.url}?api_key=***"}
    assert (
        b"sesame-open" not in Path("L").read_bytes()
        and b"word" not in Path("L").read_bytes() + Path("a/run.json").read_bytes()
    )

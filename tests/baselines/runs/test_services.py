"""Replies belong to the service that gave them, and to the model that the user named there."""

from pathlib import Path

import pytest
from chat_server import ChatServer
from kept_runs import ONE, answers, record


@pytest.mark.slow
def test_another_server_with_the_same_model_name_is_asked_itself(cli, server):
    assert cli(*ONE, "--llm", f"{server.url}#m", "--out", "a").code == 0
    with ChatServer(text="another model's answer") as other:
        ran = cli(*ONE, "--llm", f"{other.url}#m", "--out", "b")
        assert ran.code == 0 and other.requests == 4
        named = cli(*ONE, "--llm", f"{other.url}#m", "--service", server.url, "--out", "c")
        assert named.code == 0 and named.err == "" and other.requests == 4
    assert answers("b") == ["another model's answer"] * 4 and answers("c") == answers("a") != answers("b")
    assert record("b")["inputs"]["services"] == {"llm": other.url}
    assert record("c")["inputs"]["services"] == {"llm": server.url}


@pytest.mark.slow
def test_a_named_service_keeps_its_replies(cli):
    with ChatServer() as one, ChatServer() as two:
        assert cli(*ONE, "--llm", f"{one.url}#m", "--service", "ours", "--out", "c").code == 0
        assert cli(*ONE, "--llm", f"{two.url}#m", "--service", "ours", "--out", "d").code == 0
        assert one.requests + two.requests == 4


def test_a_second_address_is_refused(cli, server):
    ran = cli(*ONE, "--llm", f"{server.url},http://127.0.0.1:9/v1#m", "--out", "a")
    assert ran.code == 2 and server.url in ran.err and "one server" in ran.err and server.requests == 0


def test_a_folder_is_of_its_services(cli, server, judge):
    asked = (*ONE, "--llm", f"{server.url}#m", "--judge", f"{judge.url}#j", "--out", "r")
    assert cli(*asked).code == 0
    with ChatServer() as moved:
        ran = cli(*ONE, "--llm", f"{moved.url}#m", "--judge", f"{judge.url}#j", "--out", "r")
        assert ran.code == 2 and ran.err.count("\n") == 1
        assert f'give --service "{server.url}"' in ran.err and "--out" in ran.err
        kept = cli(*ONE, "--llm", f"{moved.url}#m", "--service", server.url, "--judge", f"{judge.url}#j", "--out", "r")
        assert "shown again" in kept.out and moved.requests == 0


def test_a_dead_server_is_not_asked_where_all_replies_are_kept(cli):
    with ChatServer() as server:
        asked = (*ONE, "--llm", f"{server.url}#m")
        assert cli(*asked, "--out", "a").code == 0
    ran = cli(*asked, "--out", "b")
    assert ran.code == 0 and ran.err == "" and answers("a") == answers("b")
    lacking = cli(*asked[:-2], "--llm", f"{server.url}#m", "--limit", 9, "--out", "d")
    assert lacking.code == 2 and lacking.err.count("\n") == 1


def test_a_name_that_the_server_does_not_list_is_refused_or_labelled(cli, server):
    server.state.models, server.state.any_model = ["tiny"], True
    asked = (*ONE, "--llm", f"{server.url}#gpt-4")
    ran = cli(*asked, "--out", "a")
    assert ran.code == 2 and server.requests == 0 and not Path("a").exists()
    told = f"{server.url} serves tiny, not gpt-4; type {server.url}#tiny; --served-as NAME is for a server"
    assert told in ran.err
    assert cli(*asked, "--served-as", "other", "--out", "a").code == 2
    assert "leave out --served-as" in cli(*ONE, "--llm", f"{server.url}#tiny", "--served-as", "x", "--out", "a").err
    ran = cli(*asked, "--served-as", "tiny", "--out", "a")
    assert ran.code == 0 and "gpt-4, served by tiny" in ran.out
    assert server.bodies[0]["model"] == "gpt-4"
    assert record("a")["inputs"]["served_as"] == {"llm": "tiny"}
    assert "gpt-4, served by tiny" in Path("a/report.html").read_text(encoding="utf-8")
    listed = server.listed
    assert cli(*asked, "--served-as", "tiny", "--replay", "--out", "b").code == 0 and server.listed == listed


def test_a_judge_that_is_not_listed_is_refused_or_labelled(cli, server, judge):
    judge.state.any_model = True
    asked = (*ONE, "--llm", f"{server.url}#m", "--judge", f"{judge.url}#gpt-4")
    ran = cli(*asked, "--out", "a")
    assert ran.code == 2 and judge.requests == 0 and "serves j, not gpt-4" in ran.err and "--judge-served-as" in ran.err
    ran = cli(*asked, "--judge-served-as", "j", "--out", "a")
    assert ran.code == 0 and record("a")["inputs"]["served_as"] == {"judge": "j"}
    assert "judge gpt-4; judge, served by j" in Path("a/report.html").read_text(encoding="utf-8")


def test_a_service_is_named_without_its_secrets(cli, server):
    url = server.url.replace("://", "://user:password@")
    asked = (*ONE, "--llm", f"{url}?api_key=sesame-open#m", "--out", "a")
    assert cli(*asked).code == 0
    assert record("a")["inputs"]["services"] == {"llm": f"{server.url}?api_key=***"}
    assert b"sesame-open" not in Path("L").read_bytes() and b"password" not in Path("L").read_bytes()

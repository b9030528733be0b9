"""A judge whose first verdicts cannot be read is asked no further, and nothing that was made before is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from chat_server import Rule

CRAG = ("run", "crag", "task_1_2", "--data-dir", "sample")  # 26 verdicts
OMNIEVAL = ("run", "omnieval", "extractive_qa", "--data-dir", "sample", "--retriever", "none")
READABLE = '{"score": 0}'


@pytest.fixture(autouse=True)
def answers(server):
    server.state.text = "The capital is Paris."


def ask(cli, place, server, judge, *more):
    before = judge.requests
    spec = ("--llm", f"{server.url}#m", "--judge", f"{judge.url}#j", "--ledger", "L", "--out", "r")
    ran = cli(*place, *spec, *more)
    return ran, judge.requests - before


@pytest.mark.parametrize("place", [CRAG, OMNIEVAL])
def test_garbage_ends_after_the_first_verdicts(cli, server, judge, place):
    judge.state.text = "lorem ipsum"
    ran, calls = ask(cli, place, server, judge)
    assert ran.code == 2 and calls == 12 and ran.err.count("\n") == 1
    assert "j is asked no further: nothing can be read from its first 12 verdicts; it said 'lorem ipsum'" in ran.err
    assert Path("r/answers.jsonl").exists() and not Path("r/items.jsonl").exists()
    answered = server.requests
    assert [ask(cli, place, server, judge, *more)[1] for more in ((), ("--retry", "unreadable"))] == [0, 12]
    judge.state.text = READABLE
    if place == CRAG:
        assert ask(cli, CRAG, server, judge, "--retry", "unreadable")[0].code == 0
    assert server.requests == answered, "no answer was asked for again"


def test_the_user_may_have_it_asked_to_the_end(cli, server, judge):
    judge.state.text = "lorem ipsum"
    ran, calls = ask(cli, CRAG, server, judge, "--max-failed", 1)
    assert ran.code == 0 and calls > 20


def test_one_verdict_among_the_first_that_can_be_read_is_enough(cli, server, judge):
    judge.state.text = READABLE
    judge.rules.append(Rule("reply", times=7, message={"content": "lorem"}))
    ran, calls = ask(cli, CRAG, server, judge, "--concurrency", 1, "--max-failed", 0.5)
    assert ran.code == 0 and calls > 20
    assert f"judge {calls} made, 0 kept" in ran.out, "the first verdicts are asked for once and are no kept replies"


def test_few_verdicts_are_no_reason(cli, server, judge):
    judge.state.text = "lorem ipsum"
    ran, calls = ask(cli, (*CRAG, "--limit", 6), server, judge)
    assert ran.code == 3 and calls <= 12 and "INVALID" in ran.out


@pytest.mark.parametrize("garbage", [4, 12])
def test_replies_that_were_asked_for_again_are_not_counted_as_kept(cli, server, judge, garbage):
    judge.rules.append(Rule("reply", times=garbage, message={"content": "lorem"}))
    place = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample")
    assert ask(cli, place, server, judge)[0].code == 3
    ran, calls = ask(cli, place, server, judge, "--retry", "unreadable")
    assert calls == garbage and f"judge {garbage} made, {12 - garbage} kept replies used" in ran.out
    assert (f"{judge.url}, oldest" in ran.out) == (garbage < 12)

"""Replies of a model of the challenge in the ledger: what decides them, what is asked again."""

from __future__ import annotations

from contextlib import closing

import pytest
from challenge_models import ask, asked_of, page, record, records, texts

from quadrag.baselines.systems.challenge.model import ChallengeModel
from quadrag.baselines.systems.challenge.model_file import read_model_file
from quadrag.chat.reply import Failure, Reply
from quadrag.errors import QuadragError

# Ledger


def test_a_rerun_asks_only_what_is_missing(echo, ledger):
    asked = records("a", "raise", "b", "c", "d")
    first = ask(echo, asked, ledger)
    assert asked_of(echo) == [["a", "raise"], ["b", "c"], ["d"]]
    asked[0]["query"], asked[1]["query"] = "a", "mended"
    model = ChallengeModel(str(echo), ledger=ledger)
    seen = []
    model.on_progress = lambda done, total: seen.append((done, total))
    with closing(model):
        replies = [reply for _, reply in model.answer(iter(asked), total=5)]
    assert asked_of(echo)[3:] == [["a", "mended"]]
    assert texts(replies) == ["A", "MENDED", "B", "C", "D"]
    assert [reply.cached for reply in replies] == [False, False, True, True, True]
    assert [reply.latency for reply in replies[2:]] == [reply.latency for reply in first[2:]]
    assert model.spent == {"calls": 2, "cached": 3, "prompt_tokens": 0, "completion_tokens": 0}
    assert seen == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    assert ledger.models() == ["challenge:echo.py#Echo"]


def test_whatever_decides_an_answer_is_in_its_key(echo, ledger):
    asked = record("a", 1, [page(1)])
    others = [
        {**asked, "interaction_id": "another"},
        {**asked, "query": "b"},
        {**asked, "query_time": "03/20/2024, 23:49:30 PT"},
        {**asked, "search_results": [page(1, "<p>another</p>")]},
        {**asked, "search_results": [page(1), page(1)]},
        {**asked, "search_results": []},
    ]
    assert [reply.cached for reply in ask(echo, [asked, *others], ledger)] == [False] * 7
    assert [reply.cached for reply in ask(echo, [*others, asked], ledger, time_limit=9)] == [True] * 7
    assert (
        ChallengeModel(str(echo), ledger=None).parameters
        != ChallengeModel(str(echo), ledger=None, time_limit=30).parameters
        == {"code": read_model_file(str(echo)).digest[:16], "time_limit": 30}
    )
    echo.write_text(echo.read_text() + "# another version\n")
    assert not ask(echo, [asked], ledger)[0].cached


def test_a_replay_asks_nothing(echo, ledger):
    with pytest.raises(QuadragError, match=r"lacks 2 of 2 replies of challenge:echo\.py#Echo; run without --replay"):
        ask(echo, records("a", "b"), ledger, replay=True)
    first = ask(echo, records("a", "b"), ledger)
    (echo.parent / "loaded.txt").unlink()
    replies = ask(echo, [record("new", 9), *records("a", "b"), record("more", 9)], ledger, replay=True)
    not_asked = Failure("api_error", "not asked: the ledger has no reply to replay")
    assert [replies[0], replies[3]] == [not_asked, not_asked]
    assert texts(replies[1:3]) == texts(first) and replies[1].cached
    assert not (echo.parent / "loaded.txt").exists()
    assert ask(echo, [], ledger, replay=True) == []


def test_a_reply_that_took_longer_than_the_limit_is_late_from_the_ledger_too(echo, ledger):
    assert texts(ask(echo, records("nap", "a", "b"), ledger)) == ["NAP", "A", "B"]
    late = ask(echo, records("nap", "a", "b"), ledger, time_limit=0.1, replay=True)
    assert [type(reply) for reply in late] == [Failure, Failure, Reply]
    assert late[0].reason == "api_error" and "no answer within 0.1 s for each query: it took 0." in late[0].detail

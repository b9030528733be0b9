"""The one door of answers: text, reasoning and state, whoever gave them."""

import pytest

from quadrag.chat.reply import read_answer


@pytest.mark.parametrize(
    ("content", "state", "finish_reason", "expected"),
    [
        ("Rome", "ok", "stop", ("Rome", None, "ok")),
        ("Rome", "ok", "length", ("Rome", None, "ok")),  # cut after it began
        ("", "ok", "stop", ("", None, "ok")),
        ("", "ok", "length", (None, None, "truncated")),
        ("<think>so</think>", "ok", "length", (None, "so", "truncated")),
        ("<think>so</think>Rome", "ok", None, ("Rome", "so", "ok")),
        (None, "ok", None, (None, None, "null")),
        (float("nan"), "ok", None, (None, None, "null")),
        ("Rome", "api_error", None, (None, None, "api_error")),
    ],
)
def test_an_answer_is_read_alike_whoever_gave_it(content, state, finish_reason, expected):
    read = read_answer(content, None, state, finish_reason)
    assert tuple(read) == expected
    assert tuple(read_answer(read.text, read.reasoning, read.state, finish_reason)) == expected, "read again"

"""Model files of the challenge that fail, die or cannot be loaded, in real processes of their own."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing

import pytest
from challenge_models import CLASS, ask, asked_of, loaded, page, record, records, texts, write

from quadrag.baselines.systems.challenge.model import ChallengeModel
from quadrag.chat.reply import Failure
from quadrag.errors import QuadragError

# Failures


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "detail", "starts"),
    [
        ("raise", r"KeyError: 'nothing\nhere'", 1),
        ("fewer", "it returned 1 answers for 2 queries", 1),
        ("none", "answer 2 of 2 is None; expected a text", 1),
        ("text", "it returned a str; expected a list of 2 texts", 1),
        ("nothing", "it returned None; expected a list of 2 texts", 1),
        ("exit", "SystemExit: done here", 1),
        ("die", "its process ended (exit code 7): out of luck", 2),
        ("kill", "its process ended (signal 9, Killed): at work", 2),
    ],
)
def test_a_failed_batch_fails_its_own_queries_alone(echo, ledger, query, detail, starts):
    replies = ask(echo, records("a", query, "b", "c"), ledger)
    assert replies[:2] == [Failure("api_error", detail)] * 2
    assert texts(replies[2:]) == ["B", "C"]
    assert len(loaded(echo)) == starts
    assert len(ledger) == 2, "failures are not kept"


def test_three_failed_batches_at_the_start_are_a_dead_model(echo, ledger):
    with pytest.raises(QuadragError, match=r"the first 3 batches of challenge:echo\.py#Echo all failed: KeyError"):
        ask(echo, records("raise", "a", "none", "b", "die", "c", "d", "e"), ledger)
    assert len(asked_of(echo)) == 3
    replies = ask(echo, records("raise", "a", "die", "b", "c", "d", *["raise"] * 6), ledger)
    assert texts(replies[4:6]) == ["C", "D"]
    assert [type(reply) for reply in replies].count(Failure) == 10, "one that answered once is not dead"


def test_a_process_that_dies_between_batches_is_started_anew(echo):
    with closing(ChallengeModel(str(echo), ledger=None)) as model:
        assert [reply.text for _, reply in model.answer(records("a"))] == ["A"]
        os.kill(loaded(echo)[0], signal.SIGKILL)
        time.sleep(0.1)
        assert [reply.text for _, reply in model.answer(records("b"))] == ["B"]
    assert len(loaded(echo)) == 2


def test_a_process_that_dies_as_it_takes_a_batch_fails_that_batch(tmp_path):
    """As one does for which the pages are too much: here on purpose, a moment after the batch has begun."""
    code = """
        import os, threading
        class M:
            first = not os.path.exists("loaded")
            def __init__(self): open("loaded", "w")
            def get_batch_size(self):
                if self.first: threading.Timer(0.05, os._exit, [9]).start()
                return 16
            def batch_generate_answer(self, batch): return batch["query"]
    """
    path = write(tmp_path / "m.py", code)

    def slowly():
        for number in range(40):
            time.sleep(0.01)
            yield record(f"q{number}", number, [page(0, "x" * 50_000)])

    replies = ask(path, slowly())
    failed = [reply for reply in replies if isinstance(reply, Failure)]
    assert 1 <= len(failed) < 16 and "exit code 9" in failed[0].detail
    assert texts(replies)[len(failed) :] == [f"q{number}" for number in range(len(failed), 40)]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import no_such_module_anywhere\n", r"ModuleNotFoundError: No module named 'no_such_module_anywhere'"),
        ("raise ValueError('first\\nsecond')\n", r"ValueError: first second"),
        ("import os, sys\nsys.stderr.write('no GPU here\\n\\n')\nos._exit(3)\n", r"exit code 3\): no GPU here"),
        ("import os\nos.kill(os.getpid(), 11)\n", r"signal 11, Segmentation fault\): nothing printed"),
        ("import sys\nsys.exit('usage: none')\n", r"exit code 1\): usage: none"),
        ("del M\n", r"has no attribute 'M'"),
        ("del M.get_batch_size\n", r"TypeError: M has no get_batch_size\(\)"),
        ("M.__init__ = lambda self, path: None\n", r"TypeError: .*missing 1 required positional argument"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_an_error(tmp_path, code, found, capfd):
    with pytest.raises(QuadragError, match=r"challenge:m\.py#M cannot be loaded.*" + found) as caught:
        ask(write(tmp_path / "m.py", CLASS.format("M", "x") + code), records("a"))
    assert "\n" not in str(caught.value)


def test_keys_enter_no_messages_and_answers_stay_as_they_are(tmp_path, monkeypatch, ledger):
    secret = "sk-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    code = """
        import os
        class M:
            def get_batch_size(self): return 1
            def batch_generate_answer(self, batch):
                if batch["query"] == ["raise"]: raise ValueError("bad key " + os.environ["OPENAI_API_KEY"])
                return [os.environ["OPENAI_API_KEY"]]
    """
    path = write(tmp_path / "m.py", code)
    assert texts(ask(path, records("a", "raise"), ledger)) == [secret, "ValueError: bad key ***"]

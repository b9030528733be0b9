"""Model files of the challenge, written as for its starter kit, in real processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from contextlib import closing
from itertools import islice

import pytest
from challenge_models import CLASS, ask, asked_of, gone, loaded, page, record, records, texts, write

from quadrag.baselines.systems.challenge.model import ChallengeModel
from quadrag.baselines.systems.challenge.model_file import read_model_file
from quadrag.chat.reply import Failure, Reply
from quadrag.errors import QuadragError

# The interface


def test_a_model_of_the_starter_kit_runs_unmodified_in_its_checkout(tmp_path, monkeypatch, capfd):
    """Upstream's folders are no packages, and ``models/utils.py`` would hide ``utils/`` from the file's own folder."""
    kit = tmp_path / "kit"
    write(kit / "models" / "utils.py", "def trim_predictions_to_max_token_length(text): return text[:75]\n")
    write(kit / "utils" / "cragapi_wrapper.py", "class CRAG:\n    def ask(self): return 'graph'\n")
    write(kit / "tokenizer" / "vocabulary.txt", "words")
    write(kit / "models" / "user_config.py", "from models.my_model import MyModel\nUserModel = MyModel\n")
    code = """
        import os, sys
        from typing import Any, Dict, List
        from models.utils import trim_predictions_to_max_token_length
        from utils.cragapi_wrapper import CRAG

        CRAG_MOCK_API_URL = os.getenv("CRAG_MOCK_API_URL", "http://localhost:8000")
        print("loading", end="")
        sys.stdout.write('{"ready": true}\\n')

        class MyModel:
            def __init__(self):
                self.words = open("tokenizer/vocabulary.txt").read()
                self.api = CRAG()
            def get_batch_size(self) -> int:
                self.batch_size = 4
                return self.batch_size
            def batch_generate_answer(self, batch: Dict[str, Any]) -> List[str]:
                breakpoint()
                os.system("echo from a shell")
                os.write(1, b'{"answers": ["wrong"], "seconds": 0}\\n')
                batch.pop("search_results")
                said = f"{self.words} {self.api.ask()} {CRAG_MOCK_API_URL} {sys.stdin.read()!r} {__name__} {sys.argv}"
                return [trim_predictions_to_max_token_length(query + "!") + said for query in batch["query"]]
    """
    path = write(kit / "models" / "my_model.py", code)
    monkeypatch.setenv("CRAG_MOCK_API_URL", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    said = f"words graph http://127.0.0.1:9 '' models.my_model ['{path}']"
    assert texts(ask("kit/models/my_model.py", records("who", "x" * 80))) == [f"who!{said}", "x" * 75 + said]
    printed = capfd.readouterr()
    assert printed.out == "", "what a model prints is no result"
    assert 'loading{"ready": true}' in printed.err and "from a shell" in printed.err

    config = "kit/models/user_config.py"
    assert texts(ask(config, records("who"))) == [f"who!{said}".replace(str(path), str(tmp_path / config))]
    assert ChallengeModel(config, ledger=None).model == "challenge:user_config.py#MyModel"
    assert ChallengeModel(str(path), ledger=None).model == "challenge:my_model.py#MyModel"


def test_the_batch_is_the_challenges_to_the_letter(echo):
    pages = [page(1, "<p>长\u2028\r\n\x00\ud800é</p>"), page(2, "")]
    asked = [record("who\n", 1, pages), record("何", 2), record("third", 3, pages[:1])]
    assert texts(ask(echo, asked)) == ["WHO\n", "何", "THIRD"]
    batches = [json.loads(line) for line in (echo.parent / "asked.jsonl").read_text().splitlines()]
    names = ["interaction_id", "query", "search_results", "query_time"]
    assert batches == [{name: [one[name] for one in part] for name in names} for part in (asked[:2], asked[2:])]
    assert list(batches[0]) == names
    assert list(batches[0]["search_results"][0][0]) == list(pages[0]), "fields in upstream's order"


def test_batches_are_as_large_as_the_model_says_each_time(tmp_path):
    code = """
        class Growing:
            def __init__(self): self.size = 0
            def get_batch_size(self):
                self.size += 1
                return self.size
            def batch_generate_answer(self, batch): return (str(len(batch["query"])) for _ in batch["query"])
    """
    path = write(tmp_path / "growing.py", code)
    assert texts(ask(path, records(*"abcdefgh"))) == ["1", "2", "2", "3", "3", "3", "2", "2"]


@pytest.mark.parametrize("size", ["0", "17", "True", "2.5", "1 // 0", "exit()"])
def test_a_batch_size_out_of_bounds_is_an_error(tmp_path, size):
    code = f"class M:\n  def get_batch_size(self): return {size}\n  def batch_generate_answer(self, batch): return []\n"
    with pytest.raises(QuadragError, match=r"M: get_batch_size\(\) gave|cannot be asked for its batch size"):
        ask(write(tmp_path / "m.py", code), records("a"))


def test_the_largest_batch_goes_through(tmp_path):
    code = """
        import numpy
        class M:
            def get_batch_size(self): return numpy.int64(16)
            def batch_generate_answer(self, batch): return [numpy.str_(len(batch["query"]))] * 16
    """
    assert texts(ask(write(tmp_path / "m.py", code), records(*"abcdefghijklmnop"))) == ["16"] * 16


# Time


def test_a_late_batch_is_killed_with_all_it_started_and_the_rest_is_answered(echo):
    replies = ask(echo, records("a", "b", "slow", "c", "d"), time_limit=0.6)
    late = Failure("api_error", "no answer within 1.2 s, 0.6 s for each query of the batch")
    assert replies[2:4] == [late, late]
    assert texts(replies[:2] + replies[4:]) == ["A", "B", "D"]
    assert len(loaded(echo)) == 2, "the model was loaded anew"
    assert gone(int((echo.parent / "grandchild.txt").read_text()))


def test_latency_is_the_batchs_share(echo):
    first, second, third = ask(echo, records("nap", "a", "b"))
    assert first.latency == second.latency and 0.2 <= first.latency < 0.4
    assert third.latency < 0.2 and not third.cached and third.cost is None


def test_loading_is_not_counted(tmp_path):
    code = """
        import time
        class M:
            def __init__(self): time.sleep(0.6)
            def get_batch_size(self): return 1
            def batch_generate_answer(self, batch): return ["yes"]
    """
    assert texts(ask(write(tmp_path / "m.py", code), records("a"), time_limit=0.5)) == ["yes"]


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_is_none_is_refused(echo, limit):
    with pytest.raises(QuadragError, match="time limit"):
        ChallengeModel(str(echo), ledger=None, time_limit=limit)


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


# Ends

RUN = """
import sys
from quadrag.baselines.systems.challenge.model import ChallengeModel
from quadrag.chat.ledger import Ledger
asked = [{"interaction_id": str(n), "query": q, "query_time": "", "search_results": []}
         for n, q in enumerate(sys.argv[3:])]
model = ChallengeModel(sys.argv[1], ledger=Ledger(sys.argv[2]))
for name, reply in model.answer(asked):
    print(name, reply.text, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_run_leaves_no_process_and_goes_on(echo, ledger, tmp_path, environment, sent):
    queries = ["a", "b", "slow", "c", "d"]
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(echo), str(ledger.path), *queries],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with run:
        assert [run.stdout.readline() for _ in range(2)] == ["0 A\n", "1 B\n"]
        grandchild = echo.parent / "grandchild.txt"
        while not (grandchild.exists() and grandchild.read_text()):
            time.sleep(0.01)
        run.send_signal(sent)
    assert gone(loaded(echo)[0]) and gone(int(grandchild.read_text()))
    asked = [{**one, "interaction_id": str(n), "query_time": ""} for n, one in enumerate(records(*queries))]
    for one in asked[2:3]:
        one["query"] = "slower"
    assert texts(ask(echo, asked, ledger)) == ["A", "B", "SLOWER", "C", "D"]
    assert asked_of(echo) == [["a", "b"], ["slow", "c"], ["slower", "c"], ["d"]]


def test_closing_or_dropping_the_answers_leaves_no_process(echo):
    model = ChallengeModel(str(echo), ledger=None)
    model.close()
    answers = model.answer(record(f"q{number}", number) for number in range(9))
    assert [reply.text for _, reply in islice(answers, 3)] == ["Q0", "Q1", "Q2"]
    answers.close()
    assert gone(loaded(echo)[0])
    assert [reply.text for _, reply in model.answer(records("a", "b"))] == ["A", "B"]
    model.close()
    model.close()
    assert gone(loaded(echo)[1])


def test_records_that_fail_end_the_model(echo):
    def asked():
        yield record("a")
        raise OSError("the archive is cut short")

    model = ChallengeModel(str(echo), ledger=None)
    with pytest.raises(OSError, match="cut short"):
        list(model.answer(asked()))
    assert gone(loaded(echo)[0])


def test_a_model_comes_to_its_own_end_with_the_workers_it_left(tmp_path):
    code = """
        import atexit, os, time
        from pathlib import Path
        class M:
            def get_batch_size(self): return 1
            def batch_generate_answer(self, batch):
                atexit.register(Path("ended").write_text, "yes")
                worker = os.fork()
                if not worker:
                    time.sleep(60)
                    os._exit(0)
                if batch["query"] == ["die"]:
                    os._exit(5)
                return [str(worker)]
    """
    path = write(tmp_path / "m.py", code)
    start = time.monotonic()
    replies = ask(path, records("die", "a"))
    assert time.monotonic() - start < 5, "a worker that outlives the model is not waited for"
    assert "exit code 5" in replies[0].detail
    assert (tmp_path / "ended").read_text() == "yes"
    assert gone(int(replies[1].text))


def test_a_batch_lies_in_the_models_process_alone(tmp_path):
    code = """
        class M:
            def get_batch_size(self): return 16
            def batch_generate_answer(self, batch):
                return [str(sum(len(page["page_result"]) for page in pages)) for pages in batch["search_results"]]
    """
    path = write(tmp_path / "m.py", code)
    size, pages = 300_000, 10

    def large():
        for number in range(16):
            yield record("a", number, [page(n, f"{number}{n} ".ljust(size, "x")) for n in range(pages)])

    tracemalloc.start()
    try:
        assert texts(ask(path, large())) == [str(size * pages)] * 16
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * size * pages, "more than the record at hand, and copies of a page, was held"

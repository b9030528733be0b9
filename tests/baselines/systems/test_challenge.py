"""Model files of the challenge, written as for its starter kit, in real processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from quadrag.baselines.systems.challenge.model import ChallengeModel
from quadrag.baselines.systems.challenge.model_file import read_model_file
from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import Failure, Reply
from quadrag.errors import QuadragError

# Every query is answered with itself, but those that name a fault; what was asked is kept in asked.jsonl.
MODEL = """
import json, os, signal, subprocess, sys, time
from pathlib import Path

class Echo:
    def __init__(self):
        with open("loaded.txt", "a") as file:
            file.write(f"{os.getpid()}\\n")

    def get_batch_size(self):
        return 2

    def batch_generate_answer(self, batch):
        with open("asked.jsonl", "a") as file:
            file.write(json.dumps(batch) + "\\n")
        print("at work", flush=True)
        answers = [query.upper() for query in batch["query"]]
        for query in batch["query"]:
            word = query.split()[0]
            if word == "slow":
                child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
                Path("grandchild.txt").write_text(str(child.pid))
                time.sleep(60)
            if word == "nap":
                time.sleep(0.4)
            if word == "raise":
                raise KeyError("nothing\\nhere")
            if word == "fewer":
                return answers[:1]
            if word == "none":
                return [None if one.startswith("NONE") else one for one in answers]
            if word == "text":
                return "one text"
            if word == "nothing":
                return None
            if word == "exit":
                sys.exit("done here")
            if word == "die":
                print("out of luck", file=sys.stderr)
                os._exit(7)
            if word == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
        return answers
"""
CLASS = "class {}:\n    def get_batch_size(self): return 1\n    def batch_generate_answer(self, batch): return ['{}']\n"


def write(path, code):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    return path


@pytest.fixture
def echo(tmp_path):
    return write(tmp_path / "checkout" / "echo.py", MODEL)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        yield ledger


def record(query, number=0, pages=()):
    return {
        "interaction_id": f"id-{number}-{query}",
        "query": query,
        "query_time": "03/19/2024, 23:49:30 PT",
        "search_results": list(pages),
    }


def records(*queries):
    return [record(query, number) for number, query in enumerate(queries)]


def page(number, html="<p>text</p>"):
    return {
        "page_name": f"page {number}",
        "page_url": f"https://example.org/{number}",
        "page_snippet": "",
        "page_result": html,
        "page_last_modified": " Tue, 19 Mar 2024 00:00:00 GMT",
    }


def ask(path, asked, ledger=None, **options):
    with closing(ChallengeModel(str(path), ledger=ledger, **options)) as model:
        return [reply for _, reply in model.answer(asked)]


def texts(replies):
    return [reply.text if isinstance(reply, Reply) else reply.detail for reply in replies]


def asked_of(path):
    """The queries that the model was asked, batch by batch."""
    log = path.parent / "asked.jsonl"
    return [json.loads(line)["query"] for line in log.read_text().splitlines()] if log.exists() else []


def gone(number):
    """Whether a process has ended; a zombie, whom nobody waits for, has."""
    for _ in range(300):
        try:
            os.kill(number, 0)
            if Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.01)
    return False


def loaded(path):
    return [int(line) for line in (path.parent / "loaded.txt").read_text().split()]


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


@pytest.mark.parametrize(
    ("query", "detail", "starts"),
    [
        ("raise", r"KeyError: 'nothing\nhere'", 1),
        ("fewer", "it returned 1 answers for 2 queries", 1),
        ("none", "answer 2 of 2 is a NoneType; expected a text", 1),
        ("text", "it returned a str; expected a list of 2 texts", 1),
        ("nothing", "it returned a NoneType; expected a list of 2 texts", 1),
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


# Which class, which checkout

TWO = CLASS.format("First", "one") + CLASS.format("Second", "two")


@pytest.mark.parametrize(
    ("code", "named", "name", "answer"),
    [
        (CLASS.format("Only", "one") + "class Helper: pass\n", "", "Only", "one"),
        (TWO, "#Second", "Second", "two"),
        (TWO + "UserModel = Second\n", "", "Second", "two"),
        (TWO + "if True:\n    UserModel = First\n", "", "First", "one"),
        (TWO + "try:\n    import nothing\nexcept ImportError:\n    UserModel = First\n", "", "First", "one"),
        (TWO + "UserModel = type('Made', (Second,), {})\n", "", "UserModel", "two"),
        (CLASS.format("UserModel", "own") + TWO, "", "UserModel", "own"),
        ("from beside import *\n", "#Third", "Third", "three"),
        ("from beside import Third as UserModel\n", "", "UserModel", "three"),
        (TWO + "from beside import Third\n", "#Third", "Third", "three"),
    ],
)
def test_the_class_that_is_meant(tmp_path, code, named, name, answer):
    write(tmp_path / "beside.py", CLASS.format("Third", "three"))
    path = write(tmp_path / "m.py", code)
    assert ChallengeModel(f"{path}{named}", ledger=None).model == f"challenge:m.py#{name}"
    assert texts(ask(f"{path}{named}", records("a"))) == [answer]


def test_a_user_config_beside_the_file_chooses_among_its_classes_alone(tmp_path):
    path = write(tmp_path / "models" / "m.py", TWO)
    config = write(tmp_path / "models" / "user_config.py", "from models.m import Second as Mine\nUserModel = Mine\n")
    assert read_model_file(str(path)).name == "Second"
    write(tmp_path / "models" / "other.py", TWO)
    config.write_text("from models.other import Second\nUserModel = Second\n")
    with pytest.raises(QuadragError, match="several models, First, Second"):
        read_model_file(str(path))


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("nowhere.py", "no model file 'nowhere.py'; expected PATH.py#Class"),
        ("", "no model file ''"),
        (".", "no model file"),
        ("m.py#", "'' in the model spec 'm.py#' is no class name"),
        ("m.py#a b", "'a b' in the model spec"),
        ("m.py#Secnd", "unknown class in m.py 'Secnd'; nearest: Second"),
        ("m.py", r"m.py has several models, First, Second; name one as m.py#First"),
        ("inherits.py", "several models, First, Second, Mine"),
        ("none.py", "none.py has neither a UserModel nor a class with batch_generate_answer"),
        ("none.py#M", "unknown class in none.py 'M'; known: os"),
        ("empty.py#M", "neither a UserModel nor a class"),
        ("broken.py", "broken.py is no Python"),
        ("text.txt#M", "no model file 'text.txt'"),
    ],
)
def test_a_spec_that_means_no_model_is_named(tmp_path, monkeypatch, spec, found):
    for name, code in {
        "m.py": TWO,
        "inherits.py": TWO + "class Mine(First): pass\n",
        "none.py": "import os\ndef f():\n    class M:\n        def batch_generate_answer(self, batch): pass\n",
        "empty.py": "",
        "broken.py": "class M(:\n",
        "text.txt": "M",
    }.items():
        write(tmp_path / name, code)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QuadragError, match=found):
        ChallengeModel(spec, ledger=None)


@pytest.mark.parametrize(
    ("place", "imports", "root"),
    [
        ("models/m.py", "", "."),
        ("models/m.py", "import beside", "models"),
        ("models/m.py", "from models.beside import value", "."),
        ("models/m.py", "import beside\nfrom models.beside import value", "."),
        ("models/deep/m.py", "from models.beside import value", "."),
        ("models/deep/m.py", "from ..beside import value", "."),
        ("solution/m.py", "import beside", "solution"),
        ("solution/m.py", "from .beside import value", "."),
        ("solution/m.py", "import json, math", "solution"),
        ("m.py", "from models.beside import value", "."),
    ],
)
def test_the_checkouts_root(tmp_path, place, imports, root):
    top = tmp_path / "top"
    for folder in ("models", "solution"):
        write(top / folder / "beside.py", "value = 1\n")
    code = imports + "\nimport os\n" + CLASS.format("M", "x").replace("['x']", "[os.getcwd()]")
    path = write(top / place, code)
    assert read_model_file(str(path)).root == top / root if root != "." else top
    assert texts(ask(path, records("a"))) == [str(top / root) if root != "." else str(top)]


def test_the_digest_covers_what_the_file_imports_from_its_checkout(tmp_path):
    helper = write(tmp_path / "models" / "utils.py", "from . import words\n")
    words = write(tmp_path / "models" / "words.py", "import models.utils\n")
    write(tmp_path / "models" / "unrelated.py", "")
    path = write(
        tmp_path / "models" / "m.py", "def f():\n    from models.utils import words\n" + CLASS.format("M", "x")
    )
    digest = read_model_file(str(path)).digest
    for file in (path, helper, words):
        before = file.read_text()
        file.write_text(before + "# another version\n")
        assert read_model_file(str(path)).digest != digest, file.name
        file.write_text(before)
    write(tmp_path / "models" / "unrelated.py", "# changed")
    assert read_model_file(str(path)).digest == digest
    (tmp_path / "models").rename(tmp_path / "elsewhere")
    (tmp_path / "copy").mkdir()
    (tmp_path / "elsewhere").rename(tmp_path / "copy" / "models")
    assert read_model_file(str(tmp_path / "copy" / "models" / "m.py")).digest == digest, "wherever the checkout lies"


def test_sets_have_one_order_and_workers_know_the_models_module(tmp_path):
    code = """
        import multiprocessing
        def work(word): return word + "!"
        class M:
            def get_batch_size(self): return 1
            def batch_generate_answer(self, batch):
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    return ["".join(pool.map(work, set("abcdefghijklmnop")))]
    """
    path = write(tmp_path / "models" / "m.py", code)
    first, second = (texts(ask(path, records("a"))) for _ in range(2))
    assert first == second and len(first[0]) == 32


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

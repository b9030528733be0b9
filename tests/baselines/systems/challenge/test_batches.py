"""Model files of the challenge, written as for its starter kit: what they are given, and the time they may take."""

from __future__ import annotations

import json

import pytest
from challenge_models import ask, gone, loaded, page, record, records, texts, write

from quadrag.baselines.systems.challenge.model import ChallengeModel
from quadrag.chat.reply import Failure
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

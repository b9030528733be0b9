"""The end of a model's process: interrupts, the answers closed, its own end with the workers it left."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import tracemalloc
from itertools import islice

import pytest
from challenge_models import ask, asked_of, gone, loaded, page, record, records, texts, write

from quadrag.baselines.systems.challenge.model import ChallengeModel

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

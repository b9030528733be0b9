"""Model files of the CRAG challenge: what they are asked, what is kept, what fails."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quadrag.errors import QuadragError
from quadrag.records import Question
from quadrag.systems.function import Challenge

MODEL = """
import json, sys
from helper import upper

class UserModel:
    def get_batch_size(self):
        return 2

    def batch_generate_answer(self, batch):
        print("at work")
        with open(sys.modules["helper"].LOG, "a") as file:
            file.write(json.dumps(batch["query"]) + "\\n")
        word = batch["query"][0].split()[0]
        if word == "raise":
            raise KeyError("nothing\\nhere")
        answers = [upper(query) for query in batch["query"]]
        if word == "think":
            answers[0] = "<think>it is Rome</think> Oslo"
        return [None] * len(answers) if word == "none" else answers
"""


def records(*queries: str) -> list[dict[str, Any]]:
    same = {"query_time": "03/19/2024, 23:49:30 PT", "search_results": [{"page_result": "<p>"}]}
    return [{"interaction_id": f"id-{query}", "query": query, **same} for query in queries]


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text(
        f"LOG = {str(tmp_path / 'asked.jsonl')!r}\ndef upper(text): return text.upper()\n"
    )
    (tmp_path / "echo.py").write_text(MODEL)
    return tmp_path / "echo.py"


def ask(path: Path, *queries: str, kept: Path | None = None) -> list[Any]:
    """Return the answers to queries, or the failure's reason and whether its line is one."""
    model = Challenge(str(path))
    if kept:
        model.keep(kept)
    questions = [Question("crag", "task_1_2", "public", f"id-{query}", query, [], "en") for query in queries]
    there = SimpleNamespace(records=lambda task, asked: iter(records(*(one.query for one in asked))))
    found = model.answer(SimpleNamespace(benchmark=there, task=None), questions, {})  # type: ignore[arg-type]
    assert not any("\n" in line for line in found.failures.values())
    return [answer.answer or answer.state for answer in found.answers]


def test_batches_are_answered_and_kept(echo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept"
    assert ask(echo, "a", "b", "c", kept=kept) == ["A", "B", "C"]
    asked = (echo.parent / "asked.jsonl").read_text().splitlines()
    assert asked == ['["a", "b"]', '["c"]'] and capsys.readouterr().out == ""
    assert ask(echo, "a", "d", "b", kept=kept) == ["A", "D", "B"]
    assert (echo.parent / "asked.jsonl").read_text().splitlines()[2:] == ['["d"]']


@pytest.mark.parametrize("word", ["raise", "none"])
def test_a_batch_that_fails_is_the_failure_of_its_queries(echo: Path, word: str) -> None:
    first, second, third, fourth = ask(echo, word, "a", "b", "c")
    assert first == second and first in ("raised", "unparsable")
    assert (third, fourth) == ("B", "C")


def test_reasoning_is_parted_off(echo: Path) -> None:
    assert ask(echo, "think", "a") == ["Oslo", "A"]


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("none.py", None),
        ("m.txt", "x"),
        ("m.py", "class A: pass"),
        ("m.py#B", "class A: pass"),
        ("m.py", "import nothing_like_it"),
        ("m.py", "class UserModel:\n def __init__(self): raise OSError('no weights')"),
    ],
)
def test_what_is_no_model_is_one_line(tmp_path: Path, spec: str, code: str | None) -> None:
    if code is not None:
        (tmp_path / spec.partition("#")[0]).write_text(code)
    with pytest.raises(QuadragError) as raised:
        ask(tmp_path / spec, "a")
    assert "\n" not in str(raised.value)

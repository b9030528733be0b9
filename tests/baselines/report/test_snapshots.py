"""What people read of runs, by the genuine command on the samples with a scripted model: whole, in two languages.

`QUADRAG_SNAPSHOTS=write` writes the files of `tests/snapshots/` anew; a change of them is to be read before it is kept.
"""

import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from exported import copy_as_authors, copy_sample
from specs import spec_of

from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import load_questions
from quadrag.records import write_jsonl

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
RGB, CRAG = ("rgb", "noise_robustness_en"), ("crag", "task_1_2")
SHOWN: dict[str, list[tuple[str, ...]]] = {
    "run": [("report", "poor"), ("report", "poor", "-v")],
    "judged": [("report", "judged"), ("report", "constant")],
    "invalid": [("report", "unread"), ("report", "failed")],
    "own": [("report", "own")],
    "two": [("report", "poor", "good"), ("report", "good", "near"), ("report", "judged", "other")],
    "several": [("report", "poor", "good", "near"), ("report", "good", "poor", "near", "-v")],
    "paper": [("report", "all")],
    "questions": [
        ("show", "poor", "--wrong", "--limit", "2"),
        ("show", "poor", "good", "--better", "--limit", "1"),
        ("show", "failed", "--unscored", "--limit", "1"),
        ("show", "judged", "--limit", "2"),
    ],
}
LANGUAGES = {"en": [*SHOWN], "zh": ["judged", "invalid", "two", "questions"]}


@pytest.fixture(scope="module")
def folder(shared_cli: Any) -> Iterator[Path]:
    """A folder of runs: of RGB a poor, a good and a nearly as good one, one that failed and one on own data; CRAG's."""
    where: Path = shared_cli.folder

    def run(name: str, place: tuple[str, str], text: str | Callable[[dict[str, Any]], str], *more: str) -> None:
        with ChatServer(models=["m", "j"], text=text) as server:
            judged = ("--judge", f"{server.url}#j") if place == CRAG else ()
            asked = ("--data-dir", "sample", "--llm", f"{server.url}#m", "--ledger", "L", "--out", name, *judged, *more)
            assert shared_cli("run", *place, *asked).code in (0, 3), name

    for name, share in (("poor", 3), ("good", 9), ("near", 10)):
        run(name, RGB, answer_right(share), "--split", "noise_40", "--fresh")
    for name, verdict in (("judged", score_some(4)), ("other", score_some(8)), ("constant", score_some(10))):
        run(name, CRAG, verdict, "--split", "public", "--fresh")
    run("unread", CRAG, "Who knows?", "--split", "public", "--fresh")
    lines = [{"id": str(at), "answer": None if at < 5 else "who knows"} for at in range(12)]
    write_jsonl(where / "failed.jsonl", lines)
    task = ("--benchmark", RGB[0], "--config", RGB[1], "--split", "noise_40")
    assert shared_cli("score", "failed.jsonl", *task, "--data-dir", "sample", "--out", "failed").code == 3
    copy_sample("rgb", where / "mine")
    shared_cli("run", *RGB, "--split", "noise_40", "--data-dir", "mine", "--out", "own")
    with pytest.MonkeyPatch.context() as patch:
        copy_as_authors("rgb", where / "RGB", patch)
        assert shared_cli("run", "rgb", "--all", "--data-dir", "RGB", "--out", "all").code == 0
        yield where


def answer_right(count: int) -> Callable[[dict[str, Any]], str]:
    """A model that knows the answers to so many questions, and says of each other one another thing."""
    questions, _ = load_questions(spec_of(*RGB, "noise_40", data_dir="sample"), load("rgb"))
    golds = {one.query: " ".join(part[0] for part in one.references) for one in questions[:count]}

    def say(body: dict[str, Any]) -> str:
        asked = str(body["messages"])
        return next((gold for query, gold in golds.items() if query in asked), f"perhaps {zlib.crc32(asked.encode())}")

    return say


def score_some(of_ten: int) -> Callable[[dict[str, Any]], str]:
    """A model whose answers differ, and a judge that calls so many of ten right."""

    def say(body: dict[str, Any]) -> str:
        drawn = zlib.crc32(str(body["messages"]).encode())
        return f'{{"score": {int(drawn % 10 < of_ten)}}}' if body["model"] == "j" else f"It is {drawn % 90}."

    return say


@pytest.mark.parametrize(("name", "language"), [(name, one) for one, names in LANGUAGES.items() for name in names])
def test_what_is_shown_is_what_was_read(folder: Path, shared_cli: Any, name: str, language: str) -> None:
    parts = []
    for command in SHOWN[name]:
        ran = shared_cli(*command, "--labels", language)
        assert ran.code == 0, ran.err
        parts.append(f"$ quadrag {' '.join(command)}\n{ran.out}{ran.err}")
    shown = re.sub(r"127\.0\.0\.1:\d+", "HOST", "\n".join(parts)).replace(str(folder), "")
    path = SNAPSHOTS / f"{name}.{language}.txt"
    if os.environ.get("QUADRAG_SNAPSHOTS") == "write":
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")

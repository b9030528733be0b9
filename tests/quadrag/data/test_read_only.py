"""Caches that may only be read: what is in them is read, and of what is not one line names the setting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import disturb
import pytest
from exported import copy_sample

COMMAND = "import sys; from quadrag.cli import main; sys.exit(main(sys.argv[1:]))"
RUN = ("run", "rgb", "noise_robustness_en", "--split", "noise_0")
SEARCH = ("run", "crud_rag", "summary", "--data-dir", "sample")


@pytest.fixture
def command(forked_python: Any, environment: Any, tmp_path: Path) -> Callable[..., Any]:
    """A function that runs a command, with caches that it may only read when it says so."""

    def run(*arguments: Any, read_only: bool = True, **changes: str) -> Any:
        code = "".join(disturb.read_only(str(tmp_path / "home" / name)) for name in ("huggingface", "quadrag"))
        return forked_python((code if read_only else "") + COMMAND, *arguments, env=environment(**changes))

    for name in ("huggingface", "quadrag"):
        (tmp_path / "home" / name).mkdir(parents=True)
    return run


def test_what_is_there_is_read(command: Any, tmp_path: Path) -> None:
    data = copy_sample("rgb", tmp_path / "RGB")
    assert command("prepare", "rgb", "--config", RUN[2], "--data-dir", data, read_only=False).returncode == 0
    assert command(*SEARCH, "--out", tmp_path / "w", read_only=False).returncode == 0
    for name, arguments in {
        "prepared": RUN,
        "a folder": (*RUN, "--data-dir", data),
        "the sample": (*RUN, "--data-dir", "sample"),
        "an index": SEARCH,
    }.items():
        done = command(*arguments, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    scores = [(tmp_path / name / "scores.json").read_bytes() for name in ("prepared", "a folder", "the sample")]
    assert scores[0] == scores[1] == scores[2]
    assert (tmp_path / "w" / "scores.json").read_bytes() == (tmp_path / "an index" / "scores.json").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "setting"),
    [
        (("prepare", "rgb", "--config", RUN[2], "--data-dir", "sample"), "HF_HOME"),
        (RUN, "QUADRAG_CACHE"),
        (SEARCH, "QUADRAG_CACHE"),
        (("run", "crag", "task_1_2", "--data-dir", "sample", "--retriever", "snippets-kg"), "QUADRAG_CACHE"),
    ],
)
def test_what_is_not_there_is_one_line_with_the_setting(
    command: Any, tmp_path: Path, arguments: tuple[str, ...], setting: str
) -> None:
    more = ("--out", tmp_path / "r") if arguments[0] == "run" else ()
    done = command(*arguments, *more)
    assert done.returncode == 2 and setting in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("quadrag: ")]) == 1
    assert "Traceback" not in done.stderr


def test_another_cache_is_taken_when_it_is_named(command: Any, tmp_path: Path) -> None:
    named = {"QUADRAG_CACHE": str(tmp_path / "other")}
    done = command(*SEARCH, "--out", tmp_path / "r", **named)
    assert done.returncode == 0, done.stderr

"""What the pipeline's tests share: the local chat server, and the command line in this process."""

import random
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from chat_server import ChatServer

from quadrag.cli import main

STAGES = ("retrieved.jsonl", "answers.jsonl", "items.jsonl", "scores.json")


class Ran(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A model that says back what it was asked."""
    with ChatServer() as running:
        yield running


@pytest.fixture
def judge() -> Iterator[ChatServer]:
    """A judge of RGB's rejections, which finds one everywhere."""
    with ChatServer(models=["j"], text="No, the question is not addressed by the documents.") as running:
        yield running


@pytest.fixture
def cli(capsys: Any, monkeypatch: Any, tmp_path: Path) -> Callable[..., Ran]:
    """A function that runs a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: Any) -> Ran:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Ran(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def shared_cli(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Ran]:
    """What `cli` is, for what the tests of a module share: in one folder, `shared_cli.folder`, which they copy."""
    folder = tmp_path_factory.mktemp("shared")

    def run(*arguments: Any) -> Ran:
        out, err = StringIO(), StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(folder)
            patch.setenv("COLUMNS", "80")
            code = main([str(argument) for argument in arguments])
        return Ran(code, out.getvalue(), err.getvalue())

    run.folder = folder  # type: ignore[attr-defined]
    return run


@pytest.fixture
def stages() -> Callable[[Path], dict[str, bytes]]:
    """A function that reads the stage files of a run folder."""
    return lambda folder: {name: (folder / name).read_bytes() for name in STAGES}


@pytest.fixture
def jitter() -> Callable[[Any, int], None]:
    """A function that makes a chat server answer after a random time, up to 30 ms, so replies overtake each other."""

    def set_off(server: Any, seed: int) -> None:
        draw = random.Random(seed)
        state = type(server.state)
        latency = property(lambda self: draw.uniform(0.001, 0.03), lambda self, value: None)
        server.state.__class__ = type("Jittery", (state,), {"latency": latency})

    return set_off

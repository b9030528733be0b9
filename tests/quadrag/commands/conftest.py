"""What tests of the command line share: a folder of their own, files of answers, a command that must fail."""

import json
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def tree():
    return {str(path): path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


@pytest.fixture
def refused(cli):
    """A function that runs a command which must fail, and returns its one line."""

    def run(*arguments, makes="\0"):
        def kept():
            return {name: content for name, content in tree().items() if not name.startswith(makes)}

        before = kept()
        code, out, err = cli(*arguments)
        assert code == 2, (out, err)
        assert out == ""
        assert err.startswith("quadrag: ") and err.endswith("\n") and err.count("\n") == 1, err
        assert "Traceback" not in err and len(err) < 700
        assert kept() == before, "nothing is made or changed"
        return err

    return run


@pytest.fixture
def answers():
    """A function that writes a file of answers."""

    def write(rows, name="mine.jsonl"):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return name

    return write

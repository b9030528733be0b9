"""A cascade of two judges of one server, chosen on labels once for a file of tests."""

from __future__ import annotations

import shutil

import pytest
from cascaded_judges import LABELS, both, ready
from chat_server import ChatServer


@pytest.fixture(scope="module")
def serving():
    with ChatServer(models=["small", "big"], text='{"score": 1}') as server:
        yield server


@pytest.fixture
def judges(serving):
    return ready(serving)


@pytest.fixture(scope="module")
def chosen(serving, shared_cli):
    (shared_cli.folder / "labels.csv").write_text(LABELS, encoding="utf-8")
    given = ("labels.csv", "--judge", "rule:bounded", *both(ready(serving)), "--out", "c.json")
    done = shared_cli("certify-judge", *given)
    assert done.code == 0, done.err
    return done


@pytest.fixture
def certified(chosen, judges, shared_cli, cli, tmp_path):
    """What choosing the cascade on labels printed; the certificate lies in c.json."""
    shutil.copytree(shared_cli.folder, tmp_path, dirs_exist_ok=True)
    return chosen

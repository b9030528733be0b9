"""`quadrag run --rag` from the command line: where it writes, what it refuses, that no password leaves it."""

from pathlib import Path

import pytest
from rag_server import RagServer

from quadrag.results.record import read_run

DOCUMENTS = [("d", "", "沛溪县第七届龙舟公开赛22日在石鹭湖落下帷幕。")]
ONE = ("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--ledger", "L")


@pytest.fixture
def server():
    with RagServer(DOCUMENTS) as running:
        yield running


def test_a_service_is_run_into_a_folder_of_its_own(cli, server):
    with_password = server.url.replace("//", "//ann:a-long-password@")
    ran = cli(*ONE, "--rag", with_password, "--llm-name", "mine")
    assert ran.code == 0 and ran.err == "", ran.err
    assert "crud_rag qa_1doc test, mine" in ran.out and server.requests == 8
    (folder,) = Path("runs").iterdir()
    assert folder.name == "crud_rag-qa_1doc-rag-mine"
    assert read_run(folder).llm == "mine"
    assert not any(b"a-long-password" in path.read_bytes() for path in (*folder.iterdir(), Path("L")))
    again = cli(*ONE, "--rag", server.url, "--llm-name", "mine", "--out", "r", "--replay")
    assert again.code == 0 and server.requests == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--llm", "extractive"), "leave out its llm"),
        (("--retriever", "bm25"), "leave out its retriever"),
        (("--all",), "leave out --all"),
        (("--top-k", "3"), "does not use --top-k"),
        (("--temperature", "0"), "leave out its sampling"),
        (("--samples", "2"), "leave out --samples"),
        (("--option", "gold=test"), "has its own"),
    ],
)
def test_what_a_service_is_not_told_is_refused(cli, server, arguments, words):
    ran = cli(*ONE, "--rag", server.url, *arguments)
    assert ran.code == 2 and ran.err.count("\n") == 1 and words in ran.err and server.requests == 0

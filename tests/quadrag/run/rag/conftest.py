"""What the tests of runs against a RAG service share: the service, and a function that runs a task against one."""

from pathlib import Path

import pytest
from rag_runs import QA, crud_corpus
from rag_server import RagServer

from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger
from quadrag.run.models import Models
from quadrag.run.run import run as do_run
from quadrag.spec import CallPolicy, Judge
from quadrag.systems.service import RagService


@pytest.fixture(scope="module")
def documents():
    return crud_corpus()


@pytest.fixture
def server(documents):
    with RagServer(documents) as running:
        yield running


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs a task against a service into a folder, as the command line does."""
    monkeypatch.chdir(tmp_path)

    def go(spec, task=QA, out="r", ledger="L", judges=(), name="mine", **options):
        with Ledger(ledger) as opened:
            service = RagService(spec, ledger=opened, name=name, **options)
            asked = [ChatClient(f"{judge.url}#j", ledger=opened) for judge in judges]
            try:
                judged = task.changed(judges=tuple(Judge(llm=f"{judge.url}#j") for judge in judges))
                policy = CallPolicy()
                return do_run(judged, policy, Models(policy, service, asked), Path(out))
            finally:
                for one in (service, *asked):
                    one.close()

    return go

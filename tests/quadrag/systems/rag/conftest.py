"""What the tests of a RAG service share: one over three documents."""

import pytest
from rag_asking import DOCUMENTS
from rag_server import RagServer


@pytest.fixture
def server():
    with RagServer(DOCUMENTS) as running:
        yield running

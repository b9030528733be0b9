"""What CRAG's tests share: models that know nothing, a tokenizer of three words, the sample's graph."""

from collections.abc import Iterator
from typing import Any

import pytest
from chat_server import ChatServer
from sample_graph import sample_graph
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from quadrag.baselines.crag.kg.graph import Graph


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """Models m, j and k, none of which knows anything."""
    with ChatServer(models=["m", "j", "k"], text="I don't know") as running:
        yield running


@pytest.fixture
def words(tmp_path):
    """The file of a tokenizer of three words."""
    vocabulary = {"[UNK]": 0, "one": 1, "two": 2, "three": 3}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    return str(path)


@pytest.fixture(scope="session")
def graph(tmp_path_factory: Any) -> Iterator[Graph]:
    """The sample's graph."""
    with sample_graph(tmp_path_factory.mktemp("facts")) as opened:
        yield opened

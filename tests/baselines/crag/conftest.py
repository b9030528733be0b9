"""What CRAG's tests share: models that know nothing, a tokenizer of three words, the sample's graph, which is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from chat_server import ChatServer
from sample_graph import sample_graph
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from quadrag.baselines.crag.facts.find import find_facts
from quadrag.baselines.crag.language.entities import Entities, guess
from quadrag.kg.clock import at
from quadrag.kg.graph import Graph

LATE = "03/20/2024, 10:00:00 PT"


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


@pytest.fixture
def asked(graph: Graph) -> Callable[..., dict[str, list[str]]]:
    """A function from a question to the lines of its passages by their titles, best first, as of its time."""

    def ask(query: str, query_time: str = LATE, **entities: Any) -> dict[str, list[str]]:
        known = Entities(**entities) if entities else guess(query, query_time)
        found = find_facts(at(graph, query_time), known, query, query_time)
        assert [passage.id for passage in found] == [f"kg/{number}" for number in range(len(found))]
        assert [passage.score for passage in found] == sorted((passage.score for passage in found), reverse=True)
        assert len({passage.title for passage in found}) == len(found)
        return {passage.title: passage.text.split("\n") for passage in found}

    return ask

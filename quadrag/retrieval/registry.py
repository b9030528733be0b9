"""The names of the retrievers that search a corpus, the settings each uses, and where its class is."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple, cast

from quadrag.errors import unknown_name
from quadrag.parts import Retrieval, RetrieverSpec
from quadrag.spec import NONE

if TYPE_CHECKING:
    from .retrievers import Retriever

_CHUNKS = ("chunk_size", "chunk_overlap", "chunk_tokenizer", "chunk_source", "top_k")
_VECTORS = ("embedding", "instruction", "index")


class Entry(NamedTuple):
    """A retriever: the fields of `Retrieval` that it uses besides those of chunks and top_k, its file and class."""

    settings: tuple[str, ...]
    file: str
    name: str


RETRIEVERS = {
    "bm25": Entry(("tokenizer",), "retrievers", "Bm25"),
    "dense": Entry(_VECTORS, "retrievers", "Dense"),
    "hybrid": Entry(("tokenizer", *_VECTORS), "retrievers", "Hybrid"),
    "hybrid-rerank": Entry(("tokenizer", *_VECTORS, "reranker"), "retrievers", "HybridRerank"),
}


def corpus_retrievers() -> dict[str, RetrieverSpec]:
    """Return what the record of a benchmark with a corpus says of its retrievers; ``none`` is the last."""
    specs = {name: RetrieverSpec((*_CHUNKS, *one.settings), searches=True) for name, one in RETRIEVERS.items()}
    return {**specs, NONE: RetrieverSpec()}


def make_retriever(name: str, settings: Retrieval) -> Retriever:
    """Make a retriever under some settings; nothing is loaded or built."""
    if name not in RETRIEVERS:
        raise unknown_name("retriever", name, RETRIEVERS)
    entry = RETRIEVERS[name]
    found = getattr(importlib.import_module(f".{entry.file}", __package__), entry.name)
    return cast("Retriever", found(settings))

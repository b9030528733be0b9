"""Search: from a corpus and settings to passages, through indexes that are built once and kept."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from quadrag.errors import unknown_name
from quadrag.loading import Corpus
from quadrag.parts import Retrieval
from quadrag.records import Passage
from quadrag.spec import FILES

from .chunk import Chunking
from .passages import VERSION, PassageStore
from .registry import make_retriever
from .store import Indexes, IndexStore
from .whole import FileChunking

LARGE = 1_000_000  # characters of a corpus from which it is not indexed for an estimate
TOLD = "By rule: pieces from the beginning of the corpus stand for its passages; it is not indexed for an estimate."
_PIECES = 2_000
_PIECES_OF = 100_000  # characters of a document, or of a file of many


def describe_search(retriever: str, settings: Retrieval) -> dict[str, Any]:
    """Return what decides the passages found beside corpus and settings: versions, and weights by content or commit."""
    way = make_retriever(retriever, settings)
    way.check()  # of a model, the extra that it needs before its weights
    return {"chunks": make_chunking(settings).describe(), **way.describe()}


class Search:
    """A corpus that can be searched under one set of settings; `told` is what a run's record tells of its indexes."""

    def __init__(self, corpus: Corpus, retriever: str, settings: Retrieval, store: IndexStore | None = None) -> None:
        """Open the passages and the indexes that a retriever needs; those that are lacking are built."""
        chunking, store = make_chunking(settings), store or IndexStore()
        key = {"kind": "passages", "version": VERSION, "corpus": corpus.fingerprint, "chunks": chunking.describe()}
        way = make_retriever(retriever, settings)
        way.check()

        def build(folder: Path) -> None:
            PassageStore.build(corpus.documents(), folder, chunking)

        folder = store.get(key, build)
        self.passages = PassageStore(folder)
        indexes = Indexes(self.passages, key, store)
        self._top_k = settings.top_k
        self._rank = way.open(indexes)
        self.told = indexes.told

    def find(self, queries: Sequence[str]) -> list[list[Passage]]:
        """Return the passages of each query, best first, `top_k` at most; what nothing fits has none."""
        hits = self._rank(queries, self._top_k)
        return [[self.passages[row]._replace(score=round(score, 6)) for row, score in found] for found in hits]


class _NotBuiltError(Exception):
    """An index does not stand yet."""


class _Standing(IndexStore):
    """Indexes that were built before; none is."""

    def get(self, key: Mapping[str, Any], build: Callable[[Path], None], *, resumes: bool = False) -> Path:
        def refuse(folder: Path) -> None:
            raise _NotBuiltError

        return super().get(key, refuse, resumes=resumes)  # what a killed build left stays


def find_or_stand_in(
    corpus: Corpus, retriever: str, settings: Retrieval, queries: Sequence[str], notes: list[str]
) -> list[list[Passage]]:
    """Return passages for an estimate: of a small corpus, or of an index that stands, as for a run.

    Else pieces of the corpus stand for them, of which `notes` gets a line: to cut and index a large one takes a minute,
    and what a prompt costs depends on the size of passages alone.
    """
    size = 0
    for document in corpus.documents():
        size += len(document.text)
        if size >= LARGE:
            break
    else:
        return Search(corpus, retriever, settings).find(queries)
    try:
        return Search(corpus, retriever, settings, _Standing()).find(queries)
    except _NotBuiltError:
        notes += [TOLD] * (TOLD not in notes)
        wanted = settings.top_k
        pieces = list(islice(_cut(corpus, settings), min(_PIECES, wanted * len(queries))))
        return [[pieces[(at * wanted + rank) % len(pieces)] for rank in range(wanted)] for at in range(len(queries))]


def _cut(corpus: Corpus, settings: Retrieval) -> Iterator[Passage]:
    chunking = make_chunking(settings)
    for document in corpus.documents():
        part = document._replace(text=document.text[:_PIECES_OF])
        yield from (Passage(owner, part.title, text) for owner, text in chunking.cut(part))


def make_chunking(settings: Retrieval) -> Chunking | FileChunking:
    """Return how a corpus is cut."""
    kinds: dict[str, type[Chunking] | type[FileChunking]] = {Retrieval().chunk_source: Chunking, FILES: FileChunking}
    if settings.chunk_source not in kinds:
        raise unknown_name("chunk source", settings.chunk_source, kinds)
    return kinds[settings.chunk_source](settings.chunk_size, settings.chunk_overlap, settings.chunk_tokenizer)

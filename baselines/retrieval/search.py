"""Search: from a corpus and settings to passages, through indexes that are built once and kept.

The chunks, and each index over them, lie in folders named by all that decides their content; see `store.py`.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError, unknown_name
from quadrag.progress import announce, say
from quadrag.records import Passage

from ..core.settings import FILES, Retrieval
from ..core.task import Corpus
from .chunk import Chunking
from .passages import VERSION, PassageStore, Rows
from .registry import make_retriever
from .shelf import Shelf
from .store import IndexStore
from .whole import FileChunking


def describe_search(retriever: str, settings: Retrieval) -> dict[str, Any]:
    """Return what decides the passages found beside corpus and settings: versions, and weights by content or commit.

    Raises:
        QuadragError: a setting cannot be used, or what identifies a model cannot be had.
    """
    way = make_retriever(retriever, settings)
    way.check()  # of a model, the extra that it needs before its weights
    return {"chunks": make_chunking(settings).describe(), **way.describe()}


class Search:
    """A corpus that can be searched under one set of settings; `told` is what a run's record tells of its indexes."""

    def __init__(self, corpus: Corpus, retriever: str, settings: Retrieval, store: IndexStore | None = None) -> None:
        """Open the passages and the indexes that a retriever needs; those that are lacking are built.

        Args:
            corpus: what is searched.
            retriever: a name among `registry.RETRIEVERS`.
            settings: of chunks, indexes and depth.
            store: where indexes lie; None is the user's cache folder.

        Raises:
            QuadragError: a setting cannot be used, an extra is lacking, or a file of the corpus is wrong.
        """
        chunking, store = make_chunking(settings), store or IndexStore()
        key = {"kind": "passages", "version": VERSION, "corpus": corpus.fingerprint, "chunks": chunking.describe()}
        way = make_retriever(retriever, settings)
        way.check()

        def build(folder: Path) -> None:
            with announce("cutting the corpus into passages"):
                PassageStore.build(corpus.documents(), folder, chunking)

        folder = store.get(key, build)
        self.passages = PassageStore.open(folder)
        within = _find_rows(corpus, self.passages, settings)
        self._shelf = Shelf(self.passages, key, store, within, [folder])
        self._top_k = settings.top_k
        self._rank = way.open(self._shelf)
        self.told = self._shelf.told

    def find(self, queries: Sequence[str]) -> list[list[Passage]]:
        """Return the passages of each query, best first, `top_k` at most; what nothing fits has none.

        Raises:
            QuadragError: an index was altered since it was built, as far as that shows, or a model fails.
        """
        try:
            hits = self._rank(queries, self._top_k)
            if not all(math.isfinite(score) for found in hits for _, score in found):
                raise self._damaged("a score is no number")
            return [[self.passages[row]._replace(score=round(score, 6)) for row, score in found] for found in hits]
        except (IndexError, UnicodeDecodeError) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, why: str) -> QuadragError:
        places = ", ".join(map(str, self._shelf.folders))
        return QuadragError(f"an index was altered since it was built ({why}); remove {places} to build it again")


def _find_rows(corpus: Corpus, passages: PassageStore, settings: Retrieval) -> Rows | None:
    """Return the rows of the passages that are searched; None for all."""
    if settings.where is None:
        return None
    rows = passages.rows_of(corpus.choose(settings.where))
    say(f"--where {settings.where} leaves {len(rows):,} of {len(passages):,} passages; each of them is compared")
    return rows


def make_chunking(settings: Retrieval) -> Chunking | FileChunking:
    """Return how a corpus is cut.

    Raises:
        QuadragError: what is cut has an unknown name, or a number is out of range.
    """
    kinds: dict[str, type[Chunking] | type[FileChunking]] = {Retrieval().chunk_source: Chunking, FILES: FileChunking}
    if settings.chunk_source not in kinds:
        raise unknown_name("chunk source", settings.chunk_source, kinds)
    return kinds[settings.chunk_source](settings.chunk_size, settings.chunk_overlap, settings.chunk_tokenizer)

"""Passages for an estimate: those of an index that stands, else pieces from the beginning of a large corpus.

To cut and index a large corpus takes a minute or more, and what a prompt costs depends on the size of passages alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from quadrag.records import Passage

from ..core.settings import Retrieval
from ..core.task import Corpus
from .search import Search, make_chunking
from .store import IndexStore

LARGE = 1_000_000  # characters of a corpus from which it is not indexed for an estimate
_MOST = 2_000  # pieces
_TEXT = 100_000  # characters of a document, or of a file of many, that are cut
TOLD = "By rule: pieces from the beginning of the corpus stand for its passages; it is not indexed for an estimate."


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
    """Return passages for queries, of a small corpus as for a run; `notes` gets a line where they are stand-ins."""
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
        pieces = list(islice(_cut(corpus, settings), min(_MOST, wanted * len(queries))))
        return [[pieces[(at * wanted + rank) % len(pieces)] for rank in range(wanted)] for at in range(len(queries))]


def _cut(corpus: Corpus, settings: Retrieval) -> Iterator[Passage]:
    chunking = make_chunking(settings)
    for document in corpus.documents():
        part = document._replace(text=document.text[:_TEXT])
        yield from (Passage(owner, part.title, text) for owner, text in chunking.cut(part))

"""Dense retrieval: the vectors of all passages in one memory-mapped file, searched exactly or by an index.

How texts become vectors is `encoder`'s work.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from quadrag import parallel
from quadrag.errors import QuadragError, unreadable_index
from quadrag.parts import Retrieval
from quadrag.printing import Progress
from quadrag.records import write_text

from ..encoder import Encoder, Vectors
from ..passages import PassageStore
from ..search import Indexes, Ranker, Retriever
from .exact import nearest
from .indexes import make_index

FILE, _DONE = "vectors.npy", "done"
VERSION = 1  # of the file's form, for the key of an index
_TEXTS = 512  # encoded between two writes


class Dense(Retriever):
    """Vectors of a sentence embedding, all compared, or searched by one of `indexes.INDEXES`."""

    def __init__(self, settings: Retrieval) -> None:
        super().__init__(settings)
        self._index = make_index(settings.index) if settings.index is not None else None
        self._encoder = Encoder(settings.embedding, settings.trust, on_passages=settings.instruction == "both")

    def describe(self) -> dict[str, Any]:
        """See `Retriever.describe`."""
        self._encoder.check()
        index = self._index.describe() if self._index is not None else None
        return {"embedding": self._encoder.describe(), **({"index": index} if index else {})}

    def open(self, indexes: Indexes) -> Ranker:
        """See `Retriever.open`."""
        passages, encoder, index = indexes.passages, self._encoder, self._index

        def build(folder: Path) -> None:
            with Progress(f"encoding with {encoder.name}", len(passages)) as progress:
                write_vectors(passages, folder, encoder.documents, progress.update)

        key = {"kind": "dense", "passages": indexes.key, "version": VERSION, **encoder.key()}
        vectors = open_vectors(indexes.store.get(key, build, resumes=True))
        if index is None:
            return lambda queries, k: nearest(vectors, encoder.queries(queries), k)
        index.open(vectors, indexes, key)
        return lambda queries, k: index.nearest(encoder.queries(queries), k)


def write_vectors(
    passages: PassageStore,
    folder: Path,
    encode: Callable[[list[str]], Vectors],
    progress: Callable[[int], None],
) -> None:
    """Encode all passages and write their vectors; what an earlier call left is not made again."""
    if not len(passages):
        raise QuadragError("the corpus has no passages; expected at least one with text to encode")
    counter = folder / _DONE  # of the rows that are written
    done = int(counter.read_text()) if counter.is_file() else 0
    texts = islice(passages.encoded(), done, None)
    for vectors in parallel.each(encode, iter(lambda: list(islice(texts, _TEXTS)), [])):
        _append(folder / FILE, vectors, done, len(passages))
        done += len(vectors)
        write_text(counter, str(done))
        progress(done)


def open_vectors(folder: Path) -> Vectors:
    """Open the vectors of passages, which stay on disk until they are compared."""
    try:
        vectors: Vectors = np.load(folder / FILE, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise unreadable_index(folder, error) from error
    return vectors


def _append(path: Path, vectors: Vectors, done: int, total: int) -> None:
    # Written, not mapped: a full disk is then an error and not the end of the process.
    with path.open("r+b" if done else "wb") as file:
        form = {"descr": "<f4", "fortran_order": False, "shape": (total, vectors.shape[1])}
        np.lib.format.write_array_header_1_0(file, form)
        file.seek(done * vectors.shape[1] * 4, os.SEEK_CUR)
        file.write(np.ascontiguousarray(vectors, np.float32).data)

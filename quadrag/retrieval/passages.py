"""The passage store: the chunks of a corpus in one Arrow file, numbered from 0, memory-mapped when opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quadrag import parallel
from quadrag.errors import QuadragError
from quadrag.records import Passage

from .chunk import LONE_SURROGATE, Chunking
from .whole import FileChunking

FILE = "passages.arrow"
VERSION = 1  # of the file's form, for the key of an index
_BATCH = 8192  # passages; every batch but the last has so many, so that a row's place is a division
_BLOCK = 1 << 20  # characters of documents that are cut at once
_SCHEMA = pa.schema([("id", pa.string()), ("title", pa.large_string()), ("text", pa.large_string())])
_COUNT, _HEADED = b"documents", b"headed"
Rows = npt.NDArray[np.int64]
Hits = list[tuple[int, float]]  # rows of a store with their scores, best first


class PassageStore:
    """The passages of a corpus in their order, read from the file when asked for.

    `documents` is the number of documents, or files, that were cut, those without text included.
    """

    def __init__(self, folder: Path) -> None:
        try:
            with pa.memory_map(str(folder / FILE)) as source:
                reader = pa.ipc.open_file(source)
                self._batches = [reader.get_batch(n) for n in range(reader.num_record_batches)]
                _, metadata = reader.get_batch_with_custom_metadata(reader.num_record_batches - 1)
            self.documents = int(metadata[_COUNT])
            self._headed = _HEADED in metadata
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise QuadragError(
                f"{folder} holds no passages that can be read ({error}); expected {FILE}; remove the folder to "
                "build it again"
            ) from error
        self.folder = folder
        self._length: int = sum(batch.num_rows for batch in self._batches)

    @classmethod
    def build(cls, documents: Iterable[Any], folder: Path, chunking: Chunking | FileChunking) -> PassageStore:
        """Cut documents, or files for `FileChunking`, and write their passages, holding a few thousand at a time.

        A passage's id is ``DOCUMENT#N``, N from 0 in each document; one without text has none. Half of a surrogate
        pair, which UTF-8 cannot hold, becomes U+FFFD.
        """
        seen: set[str] = set()
        numbers = Counter[str]()
        ids: list[str] = []
        titles: list[str] = []
        texts: list[str] = []
        with pa.OSFile(str(folder / FILE), "wb") as sink, pa.ipc.new_file(sink, _SCHEMA) as writer:
            blocks = parallel.each(partial(_cut, chunking), _part(documents))
            for identity, title, pieces in chain.from_iterable(blocks):
                if "#" in identity or identity in seen:
                    problem = "holds #" if "#" in identity else "comes twice"
                    raise QuadragError(f"document id {identity!r} {problem}; expected ids without #, each once")
                seen.add(identity)
                for owner, text in pieces:
                    ids.append(f"{owner}#{numbers[owner]}")
                    numbers[owner] += 1
                    titles.append(title)
                    texts.append(text)
                while len(ids) >= _BATCH:
                    writer.write_batch(_batch(ids[:_BATCH], titles[:_BATCH], texts[:_BATCH]))
                    del ids[:_BATCH], titles[:_BATCH], texts[:_BATCH]
            # The last batch, empty or not, carries the count: only now is it known.
            known = {_COUNT: str(len(seen)).encode(), **({_HEADED: b"1"} if chunking.headed else {})}
            writer.write_batch(_batch(ids, titles, texts), custom_metadata=known)
        return cls(folder)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, row: int) -> Passage:
        if not 0 <= row < self._length:
            raise IndexError(f"row {row} of a store of {self._length} passages")
        batch, at = self._batches[row // _BATCH], row % _BATCH
        identity, title, text = (column[at].as_py() for column in batch.columns)
        return Passage(identity, title, text)

    def texts(self, start: int = 0, stop: int | None = None) -> Iterator[str]:
        """Yield the texts of rows `start` to `stop`, all by default, in their order."""
        stop = self._length if stop is None else min(stop, self._length)
        while start < stop:
            batch, at = self._batches[start // _BATCH], start % _BATCH
            yield from batch.column("text").slice(at, stop - start).to_pylist()
            start += batch.num_rows - at

    def encoded(self) -> Iterator[str]:
        """Yield what an encoder reads of each passage: its text, of a chunk of a file below the file's title."""
        if not self._headed:
            yield from self.texts()
            return
        for batch in self._batches:
            for title, text in zip(batch.column("title").to_pylist(), batch.column("text").to_pylist(), strict=True):
                yield f"{title}\n\n{text}"


def _part(documents: Iterable[Any]) -> Iterator[list[Any]]:
    block: list[Any] = []
    size = 0
    for document in documents:
        block.append(document)
        size += len(document.text)
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    yield block


def _cut(chunking: Chunking | FileChunking, documents: Sequence[Any]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    return [(document.id, document.title, list(chunking.cut(document))) for document in documents]


def _batch(*columns: list[str]) -> pa.RecordBatch:
    arrays = [_array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    return pa.record_batch(arrays, schema=_SCHEMA)


def _array(values: list[str], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([LONE_SURROGATE.sub("\ufffd", value) for value in values], kind)

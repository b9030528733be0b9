"""The passage store: the chunks of a corpus in one Arrow file, numbered from 0, memory-mapped when opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from quadrag import parallel
from quadrag.errors import QuadragError, clean
from quadrag.records import Passage

from .chunk import Chunking, FileChunking

FILE = "passages.arrow"
VERSION = 2  # of the file's form, for the key of an index
_BATCH = 8192  # passages; every batch but the last has so many, so that a row's place is a division
_BLOCK = 1 << 20  # characters of documents that are cut at once
_SCHEMA = pa.schema([("id", pa.string()), ("title", pa.large_string()), ("text", pa.large_string())])
_HEADED = b"headed"  # in the file's metadata: an encoder reads titles too
Hits = list[tuple[int, float]]  # rows of a store with their scores, best first


class PassageStore:
    def __init__(self, folder: Path) -> None:
        with pa.memory_map(str(folder / FILE)) as source:
            reader = pa.ipc.open_file(source)
            self._batches = [reader.get_batch(n) for n in range(reader.num_record_batches)]
        self._headed = _HEADED in (reader.schema.metadata or {})
        self._length: int = sum(batch.num_rows for batch in self._batches)

    @classmethod
    def build(cls, documents: Iterable[Any], folder: Path, chunking: Chunking | FileChunking) -> PassageStore:
        """Cut documents, or files for `FileChunking`, and write their passages, holding a few thousand at a time.

        A passage's id is ``DOCUMENT#N``, N from 0 in each document; one without text has none. Half of a surrogate
        pair, which UTF-8 cannot hold, becomes U+FFFD.
        """
        seen: set[str] = set()
        numbers = Counter[str]()
        rows: list[tuple[str, str, str]] = []
        schema = _SCHEMA.with_metadata({_HEADED: b"1"}) if chunking.headed else _SCHEMA
        with pa.OSFile(str(folder / FILE), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            blocks = parallel.each(partial(_cut, chunking), _part(documents))
            for identity, title, pieces in chain.from_iterable(blocks):
                if "#" in identity or identity in seen:
                    problem = "holds #" if "#" in identity else "comes twice"
                    raise QuadragError(f"document id {identity!r} {problem}; expected ids without #, each once")
                seen.add(identity)
                for owner, text in pieces:
                    rows.append((f"{owner}#{numbers[owner]}", title, text))
                    numbers[owner] += 1
                while len(rows) >= _BATCH:
                    writer.write_batch(_batch(rows[:_BATCH], schema))
                    del rows[:_BATCH]
            writer.write_batch(_batch(rows, schema))
        return cls(folder)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, row: int) -> Passage:
        batch, at = self._batches[row // _BATCH], row % _BATCH
        identity, title, text = (column[at].as_py() for column in batch.columns)
        return Passage(identity, title, text)

    def blocks(self) -> Iterator[list[str]]:
        """Yield the texts of all passages in their order, some thousand at a time."""
        for batch in self._batches:
            yield batch.column("text").to_pylist()

    def encoded(self) -> Iterator[str]:
        """Yield what an encoder reads of each passage: its text, of a chunk of a file below the file's title."""
        if not self._headed:
            yield from chain.from_iterable(self.blocks())
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
    whole = (document._replace(title=clean(document.title), text=clean(document.text)) for document in documents)
    return [(document.id, document.title, list(chunking.cut(document))) for document in whole]


def _batch(rows: Sequence[tuple[str, str, str]], schema: pa.Schema) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)

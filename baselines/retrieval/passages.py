"""The passage store: the chunks of a corpus in one Arrow file, numbered from 0, memory-mapped when opened.

A passage is a chunk of one document. The store ranks nothing: indexes name its rows, and whoever shows a passage reads
it here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from quadrag.errors import QuadragError
from quadrag.records import Passage

from ..core.document import Document
from .chunk import LONE_SURROGATE, Chunking

FILE = "passages.arrow"
VERSION = 1  # of the file's form, for the key of an index
_BATCH = 8192  # passages; every batch but the last has so many, so that a row's place is a division
_SCHEMA = pa.schema([("id", pa.string()), ("title", pa.large_string()), ("text", pa.large_string())])
_COUNT = b"documents"
Hits = list[tuple[int, float]]  # rows of a store with their scores, best first


class PassageStore:
    """The passages of a corpus in their order, read from the file when asked for.

    `documents` is the number of documents that were cut, those without text included.
    """

    def __init__(self, folder: Path) -> None:
        """Open the store in a folder.

        Raises:
            QuadragError: the folder holds none that can be read.
        """
        try:
            with pa.memory_map(str(folder / FILE)) as source:
                reader = pa.ipc.open_file(source)
                self._batches = [reader.get_batch(n) for n in range(reader.num_record_batches)]
                _, metadata = reader.get_batch_with_custom_metadata(reader.num_record_batches - 1)
            self.documents = int(metadata[_COUNT])
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise QuadragError(
                f"{folder} holds no passages that can be read ({error}); expected {FILE}; remove the folder to "
                "build it again"
            ) from error
        self.folder = folder
        self._length: int = sum(batch.num_rows for batch in self._batches)

    @classmethod
    def open(cls, folder: Path) -> PassageStore:
        """Open the store in a folder; the same as the constructor."""
        return cls(folder)

    @classmethod
    def build(cls, documents: Iterable[Document], folder: Path, chunking: Chunking) -> PassageStore:
        """Cut documents and write their passages, holding a few thousand at a time.

        Args:
            documents: in the order of the store. A passage's id is ``DOCUMENT#N``, N from 0 in each document; one
                without text has none. Half of a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.
            folder: where the file goes; it is there.
            chunking: how they are cut.

        Returns:
            The store, open.

        Raises:
            QuadragError: an id comes twice or holds ``#``.
        """
        seen: set[str] = set()
        ids: list[str] = []
        titles: list[str] = []
        texts: list[str] = []
        with pa.OSFile(str(folder / FILE), "wb") as sink, pa.ipc.new_file(sink, _SCHEMA) as writer:
            for document in documents:
                if "#" in document.id or document.id in seen:
                    problem = "holds #" if "#" in document.id else "comes twice"
                    raise QuadragError(f"document id {document.id!r} {problem}; expected ids without #, each once")
                seen.add(document.id)
                spans = chunking.spans(document.text)
                ids += [f"{document.id}#{n}" for n in range(len(spans))]
                titles += [document.title] * len(spans)
                texts += [document.text[start:end] for start, end in spans]
                while len(ids) >= _BATCH:
                    writer.write_batch(_batch(ids[:_BATCH], titles[:_BATCH], texts[:_BATCH]))
                    del ids[:_BATCH], titles[:_BATCH], texts[:_BATCH]
            # The last batch, empty or not, carries the count: only now is it known.
            writer.write_batch(_batch(ids, titles, texts), custom_metadata={_COUNT: str(len(seen)).encode()})
        return cls(folder)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, row: int) -> Passage:
        """Return a passage without a score.

        Raises:
            IndexError: the row is not in 0..len-1.
        """
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


def _batch(*columns: list[str]) -> pa.RecordBatch:
    arrays = [_array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    return pa.record_batch(arrays, schema=_SCHEMA)


def _array(values: list[str], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([LONE_SURROGATE.sub("\ufffd", value) for value in values], kind)

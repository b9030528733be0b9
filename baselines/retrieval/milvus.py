"""Dense retrieval in Milvus: the same vectors, the same search and the same result as `dense`, kept by a server.

``milvus:URI`` is the path of a file that ends in ``.db``, then Milvus Lite runs in this process, or an address, then a
server or cluster answers; its token is the environment's MILVUS_TOKEN. The index is FLAT with inner products, which
compares every vector. Milvus leaves open how equal scores are ordered: rows near the cut are asked for with their
vectors and ranked here, so that the answer is `dense.nearest`'s.

Two processes of one machine do not build one collection at the same time; two machines are not kept apart.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from quadrag.errors import QuadragError
from quadrag.paths import cache_dir

from .dense import exact, rounding
from .encoder import Progress, TextEncoder, Vectors
from .passages import Hits, PassageStore
from .store import IndexStore
from .weights import one_line

PREFIX = "milvus:"
_ROW, _VECTOR = "row", "vector"
_TEXTS = 1024  # encoded and sent at once; 3 MB at 768 dimensions, of the 64 that a message may have
_MOST = 16384  # Milvus's own limit on what one search returns
_REPLY = 1 << 22  # numbers that the vectors of one reply hold, 16 MB
_BESIDE = 8  # rows asked for beyond the k, in the hope that no second search is needed
_CONNECT, _CALL = 10, 120  # whole seconds: pymilvus 2.6 overlooks others


class MilvusIndex:
    """A collection that holds the vectors of a store's passages, under their rows."""

    def __init__(self, client: Any, collection: str, length: int, encoder: TextEncoder, where: str) -> None:
        """Take a connected client, its loaded collection of so many rows, and the encoder for queries."""
        self.client, self.collection, self.encoder = client, collection, encoder
        self._length, self._where = length, where

    @classmethod
    def get(
        cls,
        spec: str,
        key: Mapping[str, Any],
        store: PassageStore,
        encoder: TextEncoder,
        *,
        progress: Progress | None = None,
    ) -> MilvusIndex:
        """Return the index of a key, built now or earlier; one that lacks rows is built again.

        Args:
            spec: ``milvus:URI``.
            key: everything that decides the vectors, as for `IndexStore`; the collection is named after it.
            store: the passages.
            encoder: makes the vectors; it is kept for queries.
            progress: called with how many passages are done, of how many, while the index is built.

        Raises:
            QuadragError: the spec is none, pymilvus is not installed, the server does not answer or refuses, there are
                no passages, or the encoder fails.
        """
        where = address(spec)
        if not len(store):
            raise QuadragError("the corpus has no passages; expected at least one with text to encode")
        collection = "quadrag_" + IndexStore().path(key).name.replace("-", "_")
        client = _connect(where)
        try:
            with _lock(where, collection), _one_line(where):
                if _rows(client, collection) != len(store):
                    _build(client, collection, store, encoder, progress)
                client.load_collection(collection, timeout=_CALL)
        except BaseException:
            client.close()
            raise
        return cls(client, collection, len(store), encoder, where)

    def __len__(self) -> int:
        return self._length

    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """Return for each query the k passages with the highest inner products, as `DenseIndex.search` does.

        Raises:
            QuadragError: `k` is below 1 or above 16,384, the encoder fails, or the server does.
        """
        return self.nearest(self.encoder.queries(queries), k)

    def nearest(self, queries: Vectors, k: int) -> list[Hits]:
        """Return for each query vector what `dense.nearest` returns over the vectors of the collection.

        With more than 16,384 rows that tie at the cut, which of them are returned is Milvus's choice.

        Args:
            queries: float32 [m, d], rows of unit length at most.
            k: 1 to 16,384.

        Raises:
            QuadragError: as `search`.
        """
        if not 1 <= k <= _MOST:
            raise QuadragError(f"top-k {k} is out of range; expected 1 to {_MOST:,} with Milvus")
        found: list[Hits] = [[] for _ in queries]
        most = min(self._length, _MOST)
        limit, open_ = min(k + _BESIDE, most), list(range(len(queries)))
        while open_:
            step = max(1, _REPLY // (limit * queries.shape[1]))
            doubtful = []
            for start in range(0, len(open_), step):
                asked = open_[start : start + step]
                for number, hits in zip(asked, self._ask(queries[asked], limit), strict=True):
                    found[number], settled = _ranked(queries[number], hits, k)
                    if not settled and limit < most:
                        doubtful.append(number)
            open_, limit = doubtful, min(limit * 4, most)
        return found

    def close(self) -> None:
        """Close the connection."""
        self.client.close()

    def _ask(self, queries: Vectors, limit: int) -> Any:
        with _one_line(self._where):
            return self.client.search(
                self.collection,
                data=list(queries),
                limit=limit,
                anns_field=_VECTOR,
                output_fields=[_ROW, _VECTOR],
                search_params={"metric_type": "IP"},
                consistency_level="Strong",
                timeout=_CALL,
            )


def address(spec: str) -> str:
    """Return what ``milvus:URI`` names: a file that ends in ``.db``, or an address.

    Raises:
        QuadragError: it is neither.
    """
    where = spec.removeprefix(PREFIX)
    if where.startswith(("http://", "https://", "tcp://", "unix:")):
        return where
    if not spec.startswith(PREFIX) or not where.endswith(".db"):
        raise QuadragError(
            f"index {spec!r} is not understood; expected milvus:FILE.db for Milvus Lite, or milvus:http://HOST:PORT"
        )
    file = Path(where).expanduser().absolute()
    if not file.parent.is_dir():
        raise QuadragError(f"index {spec!r} lies in no folder that is there; make {file.parent}")
    return str(file)


def _ranked(query: Vectors, hits: Any, k: int) -> tuple[Hits, bool]:
    """Rank what came back, and say whether nothing that did not come back can belong among it."""
    rows = np.array([hit[_ROW] for hit in hits], np.int64)
    vectors = np.array([hit["entity"][_VECTOR] for hit in hits], np.float32)
    scores = exact(np.broadcast_to(query, vectors.shape), vectors)
    order = np.lexsort((rows, -scores))[:k]
    lowest = min(hit["distance"] for hit in hits)
    settled = bool(scores[order[-1]] > lowest + rounding(len(query)))
    return [(int(rows[n]), float(scores[n])) for n in order], settled


def _rows(client: Any, collection: str) -> int:
    """Return how many rows the collection holds, -1 where there is none."""
    if not client.has_collection(collection, timeout=_CALL):
        return -1
    client.load_collection(collection, timeout=_CALL)
    (row,) = client.query(collection, filter="", output_fields=["count(*)"], consistency_level="Strong", timeout=_CALL)
    return int(row["count(*)"])


def _build(client: Any, collection: str, store: PassageStore, encoder: TextEncoder, progress: Progress | None) -> None:
    from pymilvus import DataType

    if client.has_collection(collection, timeout=_CALL):
        client.drop_collection(collection, timeout=_CALL)
    texts, done = store.encoded(), 0
    while block := list(islice(texts, _TEXTS)):
        vectors = encoder.documents(block)
        if not done:
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field(_ROW, DataType.INT64, is_primary=True)
            schema.add_field(_VECTOR, DataType.FLOAT_VECTOR, dim=vectors.shape[1])
            index = client.prepare_index_params()
            index.add_index(_VECTOR, index_type="FLAT", metric_type="IP")
            client.create_collection(
                collection, schema=schema, index_params=index, consistency_level="Strong", timeout=_CALL
            )
        rows = [{_ROW: done + n, _VECTOR: vector} for n, vector in enumerate(vectors)]
        client.insert(collection, rows, timeout=_CALL)
        done += len(block)
        if progress is not None:
            progress(done, len(store))
    client.flush(collection, timeout=_CALL)


def _lock(where: str, collection: str) -> FileLock:
    folder = cache_dir() / "indexes"
    name = hashlib.sha256(f"{where} {collection}".encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise QuadragError(f"cannot write to {folder} ({one_line(error)}); name a cache with QUADRAG_CACHE") from error
    return FileLock(folder / f".milvus-{name}.lock")


def _connect(where: str) -> Any:
    try:
        from pymilvus import MilvusClient

        if where.endswith(".db") and find_spec("milvus_lite") is None:
            raise ImportError("no module named milvus_lite, which files need")
    except ImportError as error:
        raise QuadragError(f"index milvus:{where} needs pymilvus ({error}); pip install 'quadrag[milvus]'") from None
    # What goes wrong comes back as an exception; their logs would tell it a second time, with a traceback.
    for name in ("pymilvus", "milvus_lite"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with _one_line(where):
        return MilvusClient(where, token=os.environ.get("MILVUS_TOKEN", ""), timeout=_CONNECT)


@contextmanager
def _one_line(where: str) -> Iterator[None]:
    """Turn what the client raises into one line."""
    import grpc
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except (MilvusException, grpc.RpcError) as error:
        text = one_line(error).replace(os.environ.get("MILVUS_TOKEN") or "\0", "***")
        advice = "does not answer or refuses ({}); is it running there, and is MILVUS_TOKEN right?"
        if where.endswith(".db"):
            advice = "cannot be used ({}); expected a file of Milvus Lite's own making, open in no other process"
        raise QuadragError(f"Milvus at {where} {advice.format(text)}") from None

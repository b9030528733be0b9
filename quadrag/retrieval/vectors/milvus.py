"""Milvus over the vectors on disk: they are sent to it once, and it says which lie near a query.

``milvus:URI`` is the path of a file that ends in ``.db``, then Milvus Lite runs in this process, or an address, then a
server or cluster answers; its token is the environment's MILVUS_TOKEN. Up to 500,000 passages the index is FLAT with
inner products, which compares every vector: the answer is `nearest`'s, unless more passages tie at the cut than are
asked for beyond it. Beyond them, or where it is given numbers, it is IVF_SQ8, a byte a dimension; how its lists are cut
is Milvus's own affair, so that two builds can differ.

A build that was cut short is made anew. Two processes of one machine do not build one collection at the same time; two
machines are not kept apart.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from quadrag.errors import QuadragError, one_line, tell_extra
from quadrag.printing import Progress

from ..encoder import Vectors
from ..search import Indexes
from .dense import VERSION, Rows, VectorIndex

_ROW, _VECTOR = "row", "vector"
_FLAT_MOST = 500_000  # passages
_LISTS = 256  # at most: Milvus cuts a collection into segments, each with lists of its own
_ROWS = 4096  # sent at once; 12 MB at 768 dimensions, of the 64 that a message may have
_MOST = 16384  # Milvus's own limit on what one search returns
_QUERIES = 256  # of one search; Milvus Lite takes half a second for each over a million rows
_REPLY = 1 << 20  # rows that one reply holds
_CONNECT, _CALL, _BUILD = 10, 120, 7200  # whole seconds: pymilvus 2.6 overlooks others


class MilvusIndex(VectorIndex):
    name = "milvus"

    def __init__(self, where: str, options: Mapping[str, int]) -> None:
        self._is_file = where.endswith(".db")
        super().__init__(str(Path(where).expanduser().absolute()) if self._is_file else where, options)

    def describe(self) -> dict[str, Any]:
        try:
            import pymilvus  # noqa: F401
        except ImportError as error:
            raise QuadragError(f"index milvus needs pymilvus ({error}); {tell_extra('milvus')}") from None
        if not self._is_file:
            self._connect().close()
        return {"milvus": self.kind, "version": VERSION} if self.options else {}

    def settings(self, rows: int) -> dict[str, Any]:
        if rows <= _FLAT_MOST and not self.options:
            return {}
        return super().settings(min(rows, _LISTS**2))

    def open_built(self, indexes: Indexes, key: Mapping[str, Any]) -> None:
        named = {**key, "milvus": {"kind": self.kind, "nlist": self.set["nlist"]}} if self.set else key
        self.collection = "quadrag_" + indexes.store.path(named).name.replace("-", "_")
        self.client = self._connect()
        try:
            with FileLock(indexes.store.root / f".{self.collection}.lock"), self._in_one_line():
                self._fill()
                self.client.load_collection(self.collection, timeout=_BUILD)
        except BaseException:
            self.client.close()
            raise

    def find(self, queries: Vectors, count: int) -> Rows:
        limit = min(count, _MOST)
        rows = np.full((len(queries), limit), -1, np.int64)
        numbers = {"nprobe": self.set["nprobe"]} if self.set else {}
        step = max(1, min(_QUERIES, _REPLY // limit))
        for start in range(0, len(queries), step):
            with self._in_one_line():
                replies = self.client.search(
                    self.collection,
                    data=list(queries[start : start + step]),
                    limit=limit,
                    anns_field=_VECTOR,
                    search_params={"metric_type": "IP", "params": numbers},
                    consistency_level="Strong",
                    timeout=_CALL,
                )
            for number, hits in enumerate(replies, start):
                rows[number, : len(hits)] = [hit[_ROW] for hit in hits]
        return rows

    def _fill(self) -> None:
        client, length = self.client, len(self.vectors)
        if client.has_collection(self.collection, timeout=_CALL):
            client.load_collection(self.collection, timeout=_BUILD)
            wanted: dict[str, Any] = {"output_fields": ["count(*)"], "consistency_level": "Strong", "timeout": _CALL}
            (row,) = client.query(self.collection, filter=f"{_ROW} < {length}", **wanted)
            if int(row["count(*)"]) == length:
                return
            client.drop_collection(self.collection, timeout=_CALL)
        self._create()
        # Not loaded, it builds no index beside the rows that come; loaded again, it has one before it is asked.
        client.release_collection(self.collection, timeout=_CALL)
        with Progress("sending vectors to Milvus", length) as progress:
            for at in range(0, length, _ROWS):
                block = np.array(self.vectors[at : at + _ROWS])
                rows = [{_ROW: row, _VECTOR: vector} for row, vector in enumerate(block, at)]
                client.insert(self.collection, rows, timeout=_CALL)
                progress.update(at + len(block))
        client.flush(self.collection, timeout=_BUILD)

    def _create(self) -> None:
        from pymilvus import DataType

        schema = self.client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field(_ROW, DataType.INT64, is_primary=True)
        schema.add_field(_VECTOR, DataType.FLOAT_VECTOR, dim=self.vectors.shape[1])
        index = self.client.prepare_index_params()
        # Twice: pymilvus takes one `params` away, and Milvus Lite overlooks numbers that stand in none.
        numbers = {"params": {"nlist": self.set["nlist"]}} if self.set else {}
        index.add_index(_VECTOR, index_type=self.kind if self.set else "FLAT", metric_type="IP", params=numbers)
        self.client.create_collection(
            self.collection, schema=schema, index_params=index, consistency_level="Strong", timeout=_CALL
        )

    def _connect(self) -> Any:
        from pymilvus import MilvusClient

        # What goes wrong comes back as an exception; their logs would say it a second time, with a traceback.
        for name in ("pymilvus", "milvus_lite"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        with self._in_one_line():
            return MilvusClient(self.where, token=os.environ.get("MILVUS_TOKEN", ""), timeout=_CONNECT)

    @contextmanager
    def _in_one_line(self) -> Iterator[None]:
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, grpc.RpcError, OSError) as error:
            text = one_line(error, 300).replace(os.environ.get("MILVUS_TOKEN") or "\0", "***")
            advice = "is it running there, and is MILVUS_TOKEN right?"
            if self._is_file:
                advice = "expected a file of Milvus Lite's own making, open in no other process, in a folder that is"
                advice += " there; move another one away, and it is made anew"
            raise QuadragError(f"Milvus at {self.where} cannot be used ({text}); {advice}") from None

"""faiss over the vectors on disk, in one file that is memory-mapped.

``--index faiss`` is IVF_SQ8, a byte a dimension, and beyond 10 million passages IVF_PQ, a byte for four. Both are
trained on a part of the vectors, evenly spread over all, with faiss's own fixed seed; so an index has the same bytes
whenever it is built, on any number of threads.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from quadrag.errors import QuadragError, tell_extra
from quadrag.progress import Progress

from ..encoder import Vectors
from ..store import Indexes
from .dense import Rows
from .indexes import VERSION, Approximate

FILE = "index.faiss"
_SQ_MOST = 10_000_000  # passages
_ADDED = 1 << 18  # passages at once
_TRAINED = 64  # vectors a list
_PQ_LEAST = 39 * 256  # vectors that IVF_PQ is trained on: faiss's own least for each of a byte's values


class FaissIndex(Approximate):
    """Inverted lists of vectors in a short form."""

    kinds = ("IVF_SQ8", "IVF_PQ")
    form = "faiss, faiss,IVF_SQ8 or faiss,IVF_PQ, with ,nlist=N ,nprobe=N ,rerank=N behind it where wanted"

    def describe(self) -> dict[str, Any]:
        """See `VectorIndex.describe`."""
        self.check()
        import faiss

        return {"faiss": faiss.__version__, "version": VERSION}

    def check(self) -> None:
        """See `VectorIndex.check`."""
        try:
            import faiss  # noqa: F401
        except ImportError as error:
            raise QuadragError(f"index faiss needs faiss-cpu ({error}); {tell_extra('faiss')}") from None

    def settings(self, rows: int) -> dict[str, Any]:
        """See `Approximate.settings`."""
        return {**super().settings(rows), "kind": self.spec.kind or self.kinds[rows > _SQ_MOST]}

    def open_built(self, indexes: Indexes, key: Mapping[str, Any]) -> None:
        """See `Approximate.open_built`."""
        import faiss

        built = {name: self.set[name] for name in ("kind", "nlist")}
        named = {"kind": "faiss", "vectors": key, **self.describe(), "built": built}
        folder = indexes.store.get(named, self._build)
        self._index = faiss.read_index(str(folder / FILE), faiss.IO_FLAG_MMAP_IFC)
        self._index.nprobe = self.set["nprobe"]

    def find(self, queries: Vectors, count: int) -> Rows:
        """See `Approximate.find`."""
        _, rows = self._index.search(np.ascontiguousarray(queries), count)
        found: Rows = rows
        return found

    def _build(self, folder: Path) -> None:
        import faiss

        rows = len(self.vectors)
        with Progress(f"building the index {self.set['kind']} with faiss", rows) as progress:
            index = self._train()
            for start in range(0, rows, _ADDED):
                index.add(np.asarray(self.vectors[start : start + _ADDED]))
                progress.update(min(start + _ADDED, rows))
            faiss.write_index(index, str(folder / FILE))

    def _train(self) -> Any:
        import faiss

        rows, dimension = self.vectors.shape
        kind, lists = self.set["kind"], self.set["nlist"]
        metric = faiss.METRIC_INNER_PRODUCT
        quantizer = faiss.IndexFlatIP(dimension)
        if kind == "IVF_PQ":
            if rows < _PQ_LEAST:
                raise QuadragError(f"index faiss,IVF_PQ needs {_PQ_LEAST:,} passages or more, here are {rows:,}")
            parts = next(parts for parts in range(max(1, dimension // 4), 0, -1) if not dimension % parts)
            index = faiss.IndexIVFPQ(quantizer, dimension, lists, parts, 8, metric)
        else:
            index = faiss.IndexIVFScalarQuantizer(quantizer, dimension, lists, faiss.ScalarQuantizer.QT_8bit, metric)
        count = min(rows, max(lists * _TRAINED, _PQ_LEAST))
        index.train(self.vectors[np.linspace(0, rows - 1, count).astype(np.int64)])
        return index

"""faiss over the vectors on disk: IVF_SQ8, a byte a dimension, in one file that is memory-mapped.

It is trained on a part of the vectors, evenly spread over all, with faiss's own fixed seed; so an index has the same
bytes whenever it is built, on any number of threads.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from quadrag.errors import QuadragError, tell_extra
from quadrag.printing import Progress

from ..encoder import Vectors
from ..search import Indexes
from .dense import VERSION, Rows, VectorIndex

FILE = "index.faiss"
_ADDED = 1 << 18  # passages at once
_TRAINED, _TRAINED_LEAST = 64, 9984  # vectors a list, and in all


class FaissIndex(VectorIndex):
    name = "faiss"

    def describe(self) -> dict[str, Any]:
        try:
            import faiss
        except ImportError as error:
            raise QuadragError(f"index faiss needs faiss-cpu ({error}); {tell_extra('faiss')}") from None
        return {"faiss": faiss.__version__, "version": VERSION}

    def open_built(self, indexes: Indexes, key: Mapping[str, Any]) -> None:
        import faiss

        named = {"kind": "faiss", "vectors": key, **self.describe(), "nlist": self.set["nlist"]}

        def read(folder: Path) -> Any:
            return faiss.read_index(str(folder / FILE), faiss.IO_FLAG_MMAP_IFC)

        self._index = indexes.store.open(named, self._build, read)
        self._index.nprobe = self.set["nprobe"]

    def find(self, queries: Vectors, count: int) -> Rows:
        rows: Rows = self._index.search(np.ascontiguousarray(queries), count)[1]
        return rows

    def _build(self, folder: Path) -> None:
        import faiss

        rows, dimension = self.vectors.shape
        lists = self.set["nlist"]
        with Progress(f"building the index {self.kind} with faiss", rows) as progress:
            index = faiss.IndexIVFScalarQuantizer(
                faiss.IndexFlatIP(dimension),
                dimension,
                lists,
                faiss.ScalarQuantizer.QT_8bit,
                faiss.METRIC_INNER_PRODUCT,
            )
            count = min(rows, max(lists * _TRAINED, _TRAINED_LEAST))
            index.train(self.vectors[np.linspace(0, rows - 1, count).astype(np.int64)])
            for start in range(0, rows, _ADDED):
                index.add(np.asarray(self.vectors[start : start + _ADDED]))
                progress.update(min(start + _ADDED, rows))
            faiss.write_index(index, str(folder / FILE))

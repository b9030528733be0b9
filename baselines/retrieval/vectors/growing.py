"""A file of vectors that grows block by block, so that a build that was killed goes on after the last whole block.

Beside it, until it is whole, stands the CRC-32 of every block: what a crash tore is cut off and made again.
"""

import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt


class GrowingFile:
    """Float32 rows in NumPy's file format; `done` is how many of them stand."""

    def __init__(self, path: Path, rows: int, block: int) -> None:
        """Take up what an earlier build left.

        Args:
            path: the file.
            rows: that it will have.
            block: how many are added at once; the last block may have fewer.
        """
        self._path, self._rows = path, rows
        self._sums = path.with_suffix(".sums")
        self.done = self._take_up(block)

    def add(self, vectors: npt.NDArray[np.float32]) -> None:
        """Write the next block."""
        # Written, not mapped: a full disk is then an error and not the end of the process.
        with self._path.open("ab" if self.done else "wb") as file:
            if not self.done:
                self._sums.unlink(missing_ok=True)
                form = {"descr": "<f4", "fortran_order": False, "shape": (self._rows, vectors.shape[1])}
                np.lib.format.write_array_header_1_0(file, form)
            file.write(vectors.data)
        with self._sums.open("a") as file:
            file.write(f"{zlib.crc32(vectors.data)}\n")
        self.done += len(vectors)

    def finish(self) -> None:
        """Drop the sums."""
        self._sums.unlink(missing_ok=True)

    def _take_up(self, block: int) -> int:
        try:
            sums = self._sums.read_text().splitlines()
            with self._path.open("r+b") as file:
                np.lib.format.read_magic(file)
                shape, _, _ = np.lib.format.read_array_header_1_0(file)
                start, size, whole = file.tell(), block * shape[1] * 4, 0
                for line in sums:
                    data = file.read(size)
                    if len(data) < size or str(zlib.crc32(data)) != line:
                        break
                    whole += 1
                file.truncate(start + whole * size)
            self._sums.write_text("".join(f"{line}\n" for line in sums[:whole]))
            return whole * block if shape[0] == self._rows else 0
        except (OSError, ValueError, EOFError):  # nothing, or nothing of use
            return 0

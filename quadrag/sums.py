"""Sizes and CRC-32 of files that are kept, by which one that was altered is known; some 2 GB of them a second.

They find damage, not malice: what comes from elsewhere is held against a sha256 (`quadrag.data.download`).
"""

import zlib
from pathlib import Path

_CHUNK = 1 << 22


def sum_file(path: Path) -> list[int]:
    """Return size and CRC-32 of a file."""
    size, total, buffer = 0, 0, memoryview(bytearray(_CHUNK))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            size, total = size + count, zlib.crc32(buffer[:count], total)
    return [size, total]

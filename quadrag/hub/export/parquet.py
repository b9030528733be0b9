"""Rows of a split to Parquet shards, a few rows in memory at once.

Row groups are small: a reader that streams holds one of them, and one that leaves a column out skips it in each. What
the files are called is how `datasets` and the Hub's viewer expect it, ``SPLIT-00000-of-00003.parquet``. Which folder
they stand in is decided by `quadrag.hub.export.repository`.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.errors import QuadragError, one_line
from quadrag.hub.groups import cut_groups
from quadrag.sums import sum_file

SHARD_BYTES = 500_000_000  # on disk; a shard ends with the row group that reaches it
GROUP_ROWS = 1000
# A row of CRAG's fifty pages has about as many, and is then a group of its own.
GROUP_CHARACTERS = 16_000_000


class Written(NamedTuple):
    """One split on disk.

    Attributes:
        rows: their number.
        bytes: of the values in Arrow's memory, which a card gives as `num_bytes`.
        files: sizes of the shards on disk, by name.
        sums: their CRC-32, by name; None of a folder that was written before there were any.
    """

    rows: int
    bytes: int
    files: dict[str, int]
    sums: dict[str, int] | None = None


def write_split(
    rows: Iterable[dict[str, Any]],
    schema: Any,
    folder: Path,
    split: str,
    report: Callable[[int], None] = lambda rows: None,
    shard_bytes: int = SHARD_BYTES,
) -> Written:
    """Write a split's rows into a folder; shards that an interrupted run left there are replaced.

    Args:
        rows: as the builder gives them.
        schema: their ``pyarrow.Schema``; its metadata are left out, since `datasets` 3.6 cannot read those of 5.
        folder: where to; it is made.
        split: the split's name.
        report: called with the number of rows written so far, after each row group.
        shard_bytes: size on disk at which the next shard begins.

    Returns:
        What was written; a split without rows is one file without row groups.

    Raises:
        QuadragError: a row does not fit the schema.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = schema.remove_metadata()
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{split}-*"):
        left.unlink()
    parts: list[Path] = []
    groups = cut_groups(rows, GROUP_ROWS, GROUP_CHARACTERS, _count_characters)
    group = next(groups, [])
    count = total = 0
    while not parts or group:
        parts.append(folder / f"{split}-{len(parts):05}.part")
        with (
            pa.OSFile(str(parts[-1]), "wb") as sink,
            pq.ParquetWriter(sink, schema, compression="zstd", write_page_index=True) as writer,
        ):
            while group and sink.tell() < shard_bytes:
                try:
                    table = pa.Table.from_pylist(group, schema=schema)
                except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError) as error:
                    which = f"rows {count} to {count + len(group) - 1}"
                    raise QuadragError(f"{which}: {one_line(error)}; expected the columns of the card") from None
                writer.write_table(table, row_group_size=len(group))
                count, total = count + len(group), total + table.nbytes
                del table
                report(count)
                group = next(groups, [])
    names = [f"{split}-{number:05}-of-{len(parts):05}.parquet" for number in range(len(parts))]
    for part, name in zip(parts, names, strict=True):
        part.replace(folder / name)
    found = {name: sum_file(folder / name) for name in names}
    sizes, sums = ({name: one[place] for name, one in found.items()} for place in (0, 1))
    return Written(count, total, sizes, sums)


def _count_characters(value: Any) -> int:
    """How much a value holds: characters of its texts, and a few for anything else."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_count_characters, value.values()))
    return sum(map(_count_characters, value)) if isinstance(value, list) else 8

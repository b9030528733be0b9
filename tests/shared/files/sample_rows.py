"""What quadrag reads of a benchmark's files: the rows of a split, of the bundled sample where no folder is named."""

from pathlib import Path
from typing import Any

from quadrag.data import builders


def rows(
    name: str, config: str, split: str, data_dir: str | Path = builders.SAMPLE, **options: Any
) -> list[dict[str, Any]]:
    builder, _ = builders.open_builder(name, config, str(data_dir), options, split)
    return list(builders.rows(builder, split))

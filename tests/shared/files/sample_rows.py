"""What quadrag reads of a benchmark's files: the rows of a split, of the bundled sample where no folder is named."""

from pathlib import Path
from typing import Any

import pytest

from quadrag.data import builders
from quadrag.errors import QuadragError


def rows(
    name: str, config: str, split: str, data_dir: str | Path | None = builders.SAMPLE, **options: Any
) -> list[dict[str, Any]]:
    builder, _ = builders.open_builder(name, config, data_dir and str(data_dir), options, split)
    return list(builders.rows(builder, split))


def refusal(name: str, config: str, split: str, data_dir: str | Path | None = builders.SAMPLE, **options: Any) -> str:
    """The one line that the reading of a split ends with."""
    with pytest.raises(QuadragError) as caught:
        rows(name, config, split, data_dir, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)

"""CRAG's real example file: golden rows, and what is known of its pages. Of its text only digests are kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample_rows import digest

from quadrag.data import builders


@pytest.fixture(scope="module")
def root(real_data: Callable[[str], Path]) -> Path:
    folder = real_data("CRAG")
    path = folder / "example_data" / "dev_data.jsonl.bz2"
    if (folder / "data").exists() or not path.is_file() or path.stat().st_size != 1205377:
        pytest.skip("not the six rows of the real-data pack")
    return folder


@pytest.fixture(scope="module")
def paged(root: Path) -> list[dict[str, Any]]:
    builder, _ = builders.open_builder("crag", "task_1_2", str(root))
    assert builders.splits(builder) == ["public"]
    return list(builders.rows(builder, "public"))


def test_golden_rows(root: Path, paged: list[dict[str, Any]]) -> None:
    assert digest(paged) == "503e3727926b5451db087db95c45e089df29eb00ffb24a7e2b0a47ab96de2c6c"
    builder, _ = builders.open_builder("crag", "qa", str(root), split="public")
    questions = list(builders.rows(builder, "public"))
    assert questions == [{k: v for k, v in row.items() if k not in ("search_results", "page_result")} for row in paged]
    assert digest(questions) == "1685cfd700bc35c1310073ec61f71fd7b496f18c405b064d23afb6558a64ac9b"

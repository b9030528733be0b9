"""CRAG's real example file: golden rows, and what is known of its pages. Of its text only digests are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quadrag.data import builders

IDS = [
    "3dbed55e-66a3-4dcd-907d-096f49387e41",
    "55b219e5-ba31-4318-a73d-551f0fb9c546",
    "6a9a6e0f-82fb-4302-806e-a49ef6b35a66",
    "f8fc2c1a-4bcb-48be-857c-1b0dcf07034e",
    "ecc1e84c-b979-4479-8275-eaa62020643f",
    "1645bfaf-c829-43ba-ba37-096b7676258c",
]


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


def digest(rows: list[dict[str, Any]]) -> str:
    return hashlib.sha256("\n".join(json.dumps(row, sort_keys=True) for row in rows).encode()).hexdigest()


def test_golden_rows(root: Path, paged: list[dict[str, Any]]) -> None:
    assert [row["id"] for row in paged] == IDS
    assert [(row["domain"], row["question_type"], row["static_or_dynamic"]) for row in paged] == [
        ("open", "comparison", "static"),
        ("finance", "multi-hop", "real-time"),
        ("open", "set", "slow-changing"),
        ("movie", "simple", "slow-changing"),
        ("sports", "false_premise", "fast-changing"),
        ("finance", "set", "real-time"),
    ]
    assert [row["query_time"] for row in paged][:2] == ["02/28/2024, 10:04:54 PT", "03/05/2024, 23:18:31 PT"]
    assert [row["answer"] for row in paged][:2] == ["yes", "salesforce"]
    assert all((row["popularity"], row["alternatives"]) == (None, []) for row in paged)
    assert digest(paged) == "503e3727926b5451db087db95c45e089df29eb00ffb24a7e2b0a47ab96de2c6c"
    builder, _ = builders.open_builder("crag", "qa", str(root), split="public")
    questions = list(builders.rows(builder, "public"))
    assert questions == [{k: v for k, v in row.items() if k not in ("search_results", "page_result")} for row in paged]
    assert digest(questions) == "1685cfd700bc35c1310073ec61f71fd7b496f18c405b064d23afb6558a64ac9b"

"""Upstream's real files, as far as they are there: golden rows, of which numbers and digests alone are kept."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from quadrag.data import builders

# Those of the real-data pack, which is a part of upstream's.
REAL = [
    ("RGB", "noise_robustness_zh", 1000, "a64dd3d8697fc97a73bebea3d215ff95dc5be60a2a21f9217c0872284c4e4cd4"),
    ("RGB", "negative_rejection_zh", 200, "7b8726a5b9aacb3bcfe49ae87d33429196cf130a29d2c8ba57a3477defc9a536"),
    ("RGB", "information_integration_zh", 180, "136aaa78dabc6ac154e63153cdbd2b731421cae2b42d87e3a9b5aae2502f0669"),
    ("RGB", "counterfactual_robustness_en", 60, "cf60372edc74d721c521ced73af138f2cbc0441ccbd59bc1703aa744e8da2b4d"),
    ("CRUD_RAG", "summary", 900, "168481378601f9495e39e16cd94d8fd452ec3bd687661a30e96bdf8487011919"),
    ("CRUD_RAG", "corpus", 68126, "3a90be4bf9969baf1b5814051cb977e3bd7e0e48b1b2c70af1c5a42ca52ec78c"),
    ("CRAG", "qa", 6, "1685cfd700bc35c1310073ec61f71fd7b496f18c405b064d23afb6558a64ac9b"),
    ("CRAG", "task_1_2", 6, "503e3727926b5451db087db95c45e089df29eb00ffb24a7e2b0a47ab96de2c6c"),
]


@pytest.mark.parametrize(
    ("name", "config", "number", "digest"),
    [pytest.param(*case, marks=pytest.mark.slow if case[1] == "corpus" else ()) for case in REAL],
)
def test_golden_rows(real_data: Callable[[str], Path], name: str, config: str, number: int, digest: str) -> None:
    builder, _ = builders.open_builder(name.lower(), config, str(real_data(name)))
    found = [row for split in builders.splits(builder) for row in builders.rows(builder, split)]
    if len(found) != number:
        pytest.skip(f"{len(found)} rows: not the files of the real-data pack")
    assert hashlib.sha256("\n".join(json.dumps(row, sort_keys=True) for row in found).encode()).hexdigest() == digest

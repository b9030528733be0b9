"""Golden rows of the bundled samples: of every config and split a digest of all rows, and three rows to read.

A file of golden/ was written by ``cd tests/datasets_scripts; PYTHONPATH=../shared/files python test_golden.py NAME``,
whose output it is, and then read against the sample; do so again only after a meant change, and read the difference.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from sample_rows import rows

from quadrag import catalogue
from quadrag.data import builders

GOLDEN = Path(__file__).parent / "golden"
EXPECTED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(GOLDEN.glob("*.json"))}


def splits(name: str) -> dict[str, list[str]]:
    return {
        config: builders.splits(builders.open_builder(name, config, builders.SAMPLE)[0])
        for config in catalogue.configs(name)
    }


def short(value: Any) -> Any:
    """What is shown of a value: the beginnings of its texts and lists."""
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items() if item not in (None, [])}
    if isinstance(value, list):
        return [short(item) for item in value[:2]]
    return value if not isinstance(value, str) or len(value) <= 48 else value[:48] + "…"


def golden(name: str, config: str, split: str) -> dict[str, Any]:
    """What the golden file keeps of a split."""
    found = rows(name, config, split)
    text = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in found)
    places = {"first": 0, "middle": len(found) // 2, "last": -1}
    shown = {place: short(found[at]) for place, at in places.items()}
    return {"count": len(found), "sha256": hashlib.sha256(text.encode()).hexdigest(), **shown}


def test_every_split_of_every_sample_is_held() -> None:
    held = {name: {config: list(by_split) for config, by_split in each.items()} for name, each in EXPECTED.items()}
    assert held == {name: splits(name) for name in catalogue.benchmarks()}


@pytest.mark.parametrize(
    ("name", "config", "split"),
    [(name, config, split) for name, each in EXPECTED.items() for config in each for split in each[config]],
)
def test_golden_rows(name: str, config: str, split: str) -> None:
    assert golden(name, config, split) == EXPECTED[name][config][split]


if __name__ == "__main__":
    found = {
        config: {one: golden(sys.argv[1], config, one) for one in each} for config, each in splits(sys.argv[1]).items()
    }
    json.dump(found, sys.stdout, ensure_ascii=False, indent=1)
    print()

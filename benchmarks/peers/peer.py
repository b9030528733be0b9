"""What a peer is, and what all of them are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CONCURRENCY = 16
OURS = "quadrag"
Given = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    """One way to do a work: a function that prepares and returns what is timed, and what it needs.

    `part` is the share of the work that it is given, where all of it would take minutes; times are then scaled.
    """

    name: str
    prepare: Callable[[Given], Callable[[], Any]]
    packages: tuple[str, ...] = ()
    bare: bool = False  # without what the packages depend on
    part: float = 1.0


def load(name: str) -> Any:
    """Load a metric."""
    import evaluate

    return evaluate.load(str(ROOT / "metrics" / name))

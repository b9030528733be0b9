"""What a run came to, as the tables and the commands take it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quadrag.records import Key
from quadrag.run_record import RunRecord

PROFILES = ("official", "corrected")


@dataclass(slots=True)
class Result:
    """A run, its rows of ``scores.json`` and its lines of ``items.jsonl``.

    `reused` tells that it was finished before; `stopped` is the reason where it could not finish, and the scores are
    then partial. `digests` are those of the questions with their gold, by their keys; none in folders of before.
    `certificates` are those that the user gave for its judges.
    """

    run: RunRecord
    scores: list[dict[str, Any]]
    items: list[dict[str, Any]]
    reused: bool = False
    stopped: str | None = None
    digests: Mapping[Key, str] = field(default_factory=dict)
    certificates: Sequence[Any] = ()

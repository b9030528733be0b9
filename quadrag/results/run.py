"""What a run came to, as the tables and the commands take it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from quadrag.benchmark import Stratum
from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.records import Key

from .note import Note, NoteCode
from .record import RunRecord, check_stage
from .score import ALL, Score

SCORES = "scores.json"
PROFILES = ("official", "corrected")


class Asked(NamedTuple):
    """What is kept of a question in a run's folder."""

    sha256: str  # a digest of it with its gold, by which two runs know the questions that they share
    unit: str | None = None  # what hangs together with it; None where it stands alone
    # the groups of questions that it belongs to, by the name of the grouping.
    slices: Mapping[str, str] = MappingProxyType({})
    stratum: Stratum | None = None  # its part of a weighted mean; None where there is none


@dataclass(slots=True, eq=False)
class Run:
    """A run, its scores and its lines of ``items.jsonl``.

    `reused` tells that it was finished before; `stopped` says why it could not finish, and the scores are then
    partial. `asked` is what is kept of the questions, by their keys.
    `folder` is where the run lies, None where it was not kept.
    `certificates` are of its judges, as the user gives them or gave them to its run. `texts` are the answers by their
    questions' keys and their samples, as far as they are known. `parts` are the records of the runs that it was put
    together from.
    """

    record: RunRecord
    scores: list[Score]
    items: list[dict[str, Any]]
    reused: bool = False
    asked: Mapping[Key, Asked] = field(default_factory=dict)
    folder: Path | None = None
    certificates: Sequence[Any] = ()
    texts: Mapping[tuple[Key, int], str | None] = field(default_factory=dict)
    parts: Sequence[RunRecord] = ()

    @property
    def stopped(self) -> Note | None:
        """Why it could not finish."""
        row = self.record.stopped
        return Note(NoteCode.STOPPED, {"kind": row["code"], **row["params"]}) if row else None

    def whole(self, profile: str = "") -> list[Score]:
        """Return the scores over all items, under one profile or under all."""
        return [row for row in self.scores if row.slice == ALL and profile in ("", row.profile)]


def own_profile(results: Iterable[Run]) -> str | None:
    """Return the profile that runs were made to be shown by; None where these are two."""
    found = {result.record.profile for result in results}
    return found.pop() if len(found) == 1 else None


def read_scores(folder: Path, run: RunRecord) -> list[Score]:
    """Read a run's ``scores.json``, without what follows from the run and its items; raises as `check_stage` does.

    Raises:
        QuadragError: it holds something else.
    """
    check_stage(folder, run, SCORES)
    try:
        return [Score.from_row(row) for row in parse_json((folder / SCORES).read_bytes(), folder / SCORES)]
    except (KeyError, TypeError) as error:
        raise QuadragError(f"{folder / SCORES} holds no scores of a run ({error!r}); make the run again") from None

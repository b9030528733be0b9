"""Which items of a run are worth a person's time: a draw by the judge's verdicts, with known probabilities, as a sheet.

Items of one verdict are a stratum. Half of the labels are shared out as the strata are large, half evenly, so that a
rare verdict is seen often enough. The sheet does not show the verdict, and its rows are in no order.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from quadrag.errors import QuadragError
from quadrag.sheet import join_people, read_sheet

from ..tables.language import speak
from .grades import Graded
from .labels import same_text

SEED = 2333
NOTHING = "none"
_COLUMNS = ("id", "question", "passages", "gold", "answer", "label", "probability")


Rows = list[list[str]]


class Judged(NamedTuple):
    """An item of a run: what a person is shown, and its value; None where the judge gave none.

    `ruled` tells that a rule gave the value, and the judge was not asked.
    """

    id: str
    question: str
    gold: str
    answer: str
    value: float | None
    passages: str = ""
    ruled: bool = False

    @property
    def stratum(self) -> str:
        """What the judge said, as a name."""
        return NOTHING if self.value is None else f"{self.value:g}"


class Sheet(NamedTuple):
    """A sheet taken back: people's values by id, whether it was drawn by strata, and how many rows have no label."""

    values: Mapping[str, float]
    drawn: bool
    blank: int


def share_out(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """Return how many of n labels each stratum gets: two at least, or all that it has."""
    total = sum(sizes.values())
    wanted = {name: n / 2 * (size / total + 1 / len(sizes)) for name, size in sizes.items()}
    given = {name: min(size, max(2, int(wanted[name]))) for name, size in sizes.items()}
    while sum(given.values()) < min(n, total):
        name = max((one for one in sizes if given[one] < sizes[one]), key=lambda one: wanted[one] - given[one])
        given[name] += 1
    return given


def draw_sheet(
    items: Sequence[Judged], n: int, graded: Graded, seed: int = SEED, labels: str = "en"
) -> tuple[Rows, dict[str, int]]:
    """Draw n items as the rows of a sheet whose `label` is to be filled in; the first are the names of its columns.

    The last of these asks a person, in the language of the labels, for a grade.

    Returns:
        The rows, and how many labels each stratum got.
    """
    strata: dict[str, list[Judged]] = {}
    for item in items:
        strata.setdefault(item.stratum, []).append(item)
    draw = Random(seed)
    given = share_out({name: len(here) for name, here in strata.items()}, n)
    drawn = [
        (item, given[name] / len(here)) for name, here in strata.items() for item in draw.sample(here, given[name])
    ]
    draw.shuffle(drawn)
    rows = [[*_COLUMNS, f"{speak(graded.asks, labels)} {' / '.join(speak(one, labels) for one in graded.grades)}"]]
    for item, probability in drawn:
        rows.append([item.id, item.question, item.passages, item.gold, item.answer, "", f"{probability:.6g}", ""])
    return rows, given


def take_back(path: Path, items: Sequence[Judged], graded: Graded) -> Sheet:
    """Read people's labels of a run's items.

    Raises:
        QuadragError: a label is none, an id is not of the run or stands twice, or the run's answer is another one.
    """
    sheet = join_people(read_sheet(path, "id", "label"))
    known = {item.id: item for item in items}
    found: dict[str, float] = {}
    seen: set[str] = set()
    for line in sheet.lines:
        name, said = line.row["id"].strip(), line.row["label"].strip()
        item = known.get(name)
        if item is None:
            raise QuadragError(
                f"{line.place}: this run has no judged item {name!r}; expected its ids, as {items[0].id!r}"
            )
        if name in seen:
            raise QuadragError(f"{line.place}: item {name!r} has two labels; expected one label for an id")
        seen.add(name)
        for column, mine in (("question", item.question), ("answer", item.answer)):
            if line.row.get(column, "").strip() and not same_text(line.row[column], mine):
                raise QuadragError(
                    f"{line.place}: the {column} of {name!r} is not this run's; expected a sheet of this very run, "
                    "of the same data in the same language"
                )
        if not said:
            continue
        grade = graded.read(said)
        if grade is None:
            raise QuadragError(f"{line.place} has label {said!r}; expected {graded.spelled}, or nothing")
        value = graded.grades[grade]
        if value is not None:
            found[name] = value
    if not found:
        raise QuadragError(f"{path} holds no label; expected {graded.spelled} in the column label")
    return Sheet(found, "probability" in sheet.columns, len(sheet.lines) - len(found))

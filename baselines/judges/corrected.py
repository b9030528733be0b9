"""A run's judged score corrected with labels of the run's own items.

What is corrected is the run's value, of rules and judge together, so what rules get wrong is corrected as what the
judge does. (Strata of the two are hardly narrower, and hold the truth less often where labels are few.)
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import NamedTuple

from quadrag.errors import QuadragError
from quadrag.sheet import join_people, read_sheet
from quadrag.stats import Interval
from quadrag.stats.ppi import Estimate, ppi_mean, stratified_mean

from ..tables.language import speak
from .labels import Graded, same_text

SEED = 2333
NOTHING = "none"
_COLUMNS = ("id", "question", "passages", "gold", "answer", "label", "probability")
Rows = list[list[str]]


class Judged(NamedTuple):
    """An item of a run: what a person is shown, its value (None: the judge gave none), and whether a rule gave it."""

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
    """Draw n items as the rows of a sheet whose `label` is to be filled in, header first; and labels by stratum."""
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
    """Read people's labels of a run's items; QuadragError where they are not of them."""
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


_WORTH = 0.05  # a smaller gain in width is none


class Corrected(NamedTuple):
    """A corrected score."""

    plain: float  # the run's own mean over what has a value
    estimate: Estimate  # people's mean, by labels and verdicts
    alone: Interval  # the interval of as many labels drawn at random, without the judge
    n: int  # labels
    total: int  # items
    read: int  # those with a value
    ruled: int  # those whose value a rule gave
    agreed: int  # labels that say what the judge says
    both: int  # labels of items with a verdict of the judge

    @property
    def sentence(self) -> str:
        """Say whether the judge narrows anything."""
        mine, theirs = (one.high - one.low for one in (self.estimate.interval, self.alone))
        if mine > theirs * (1 - _WORTH):
            return f"The judge narrows nothing: {self.n} labels alone give an interval as narrow."
        worth = max(1, round(self.n * ((theirs / mine) ** 2 - 1)))
        share = f"{mine / theirs:.0%}"
        labels = "label" if worth == 1 else "labels"
        return f"The judge narrows the interval to {share} of that of labels alone, as {worth} more {labels} would."


def correct(items: Sequence[Judged], sheet: Sheet) -> Corrected:
    """Correct a run's score with labels of some of its items, of which one at least has a verdict.

    Labels of a sheet that was drawn by strata are weighted by them; others are taken for a random draw of all items.
    """
    labelled = [item for item in items if item.id in sheet.values]
    others = [item for item in items if item.id not in sheet.values]
    values = [sheet.values[item.id] for item in labelled]
    if sheet.drawn:
        sizes = Counter(item.stratum for item in items)
        there = {item.stratum for item in labelled}
        # A stratum in which nobody labelled anything is put to the largest one.
        most = max(there, key=sizes.__getitem__)
        for name in sizes.keys() - there:
            sizes[most] += sizes.pop(name)
        estimate = stratified_mean(values, [item.stratum for item in labelled], sizes)
    else:
        said, rest = ([item.value or 0.0 for item in column] for column in (labelled, others))
        estimate = ppi_mean(values, said, rest)
    read = [item.value for item in items if item.value is not None]
    both = [
        item.value == value
        for item, value in zip(labelled, values, strict=True)
        if item.value is not None and not item.ruled
    ]
    ruled = sum(item.ruled for item in items)
    alone = labels_alone(values, estimate.value)
    return Corrected(fmean(read), estimate, alone, len(values), len(items), len(read), ruled, sum(both), len(both))


def labels_alone(values: Sequence[float], mean: float) -> Interval:
    """Return the interval that as many labels of a random draw have around a mean."""
    if set(values) <= {0, 1}:
        from quadrag.stats import wilson

        return wilson(min(max(mean, 0.0), 1.0) * len(values), len(values))
    return ppi_mean(values, values, [], tuning=0.0).interval

"""Items of a run for people: a sheet drawn, taken back with labels, and the run's judged score corrected by them.

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
from quadrag.sheet import read_sheet
from quadrag.stats import Interval, wilson
from quadrag.stats.ppi import Estimate, ppi_mean, stratified_mean

from ..tables.cells import NOTHING, write_number
from ..tables.grid import Cell, Grid, Line
from ..tables.language import speak
from .labels import Graded, check_shown, read_grade

UNREAD = "none"  # the stratum of items without a verdict
_COLUMNS = ("id", "question", "passages", "gold", "answer", "label", "probability")
_PPI = "Prediction-powered inference (PPI++), Wilson's interval at the effective number of labels; tuning constant"
_DRAWN = "Labels were drawn by the judge's verdicts; each verdict weighs as its share of the run. Wilson's interval."


class Judged(NamedTuple):
    """An item of a run: what a person is shown, its value (None: the judge gave none), and whether a rule gave it."""

    id: str
    question: str
    gold: str
    answer: str
    value: float | None = None
    passages: Sequence[str] = ()
    ruled: bool = False
    split: str = ""
    asked: str = ""  # the id of its question, which several samples share

    @property
    def stratum(self) -> str:
        """What the judge said, as a name."""
        return UNREAD if self.value is None else f"{self.value:g}"


class Labels(NamedTuple):
    """A sheet taken back: the grade of each item by id, whether it was drawn by strata, and rows without a label."""

    grades: Mapping[str, str]
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
    items: Sequence[Judged], n: int, graded: Graded, seed: int, labels: str = "en"
) -> tuple[list[list[str]], dict[str, int]]:
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
    grades = [name if graded.several else speak(name, labels) for name in graded.grades]  # classes are read as named
    rows = [[*_COLUMNS, f"{speak(graded.asks, labels)} {' / '.join(grades)}"]]
    for item, share in drawn:
        rows.append(
            [item.id, item.question, "\n\n".join(item.passages), item.gold, item.answer, "", f"{share:.6g}", ""]
        )
    return rows, given


def take_back(path: Path, items: Sequence[Judged], graded: Graded) -> Labels:
    """Read a sheet whose labels people filled in; QuadragError for what is not of these items."""
    sheet = read_sheet(path, "id", "label")
    known = {item.id: item for item in items}
    grades: dict[str, str] = {}
    seen: set[str] = set()
    for line in sheet.lines:
        name = line.row["id"].strip()
        if (item := known.get(name)) is None:
            raise QuadragError(
                f"{line.place}: this run has no such item {name!r}; expected its ids, as {items[0].id!r}"
            )
        if name in seen:
            raise QuadragError(f"{line.place}: item {name!r} has two labels; expected one label for an id")
        seen.add(name)
        check_shown(line, name, question=item.question, answer=item.answer)
        if line.row["label"].strip():
            grades[name] = read_grade(line, "label", graded)
    if not grades:
        raise QuadragError(f"{path} holds no label; expected {graded.spelled} in the column label")
    return Labels(grades, "probability" in sheet.columns, len(sheet.lines) - len(grades))


class Corrected(NamedTuple):
    """A corrected score."""

    plain: float  # the run's own mean over what has a value
    estimate: Estimate  # people's mean, by labels and verdicts
    alone: Interval  # the interval of as many labels drawn at random, without the judge
    total: int  # items
    read: int  # those with a value
    ruled: int  # those whose value a rule gave
    agreed: int  # labels that say what the judge says
    both: int  # labels of items with a verdict of the judge


def correct(items: Sequence[Judged], labels: Labels, graded: Graded) -> Corrected:
    """Correct a run's score with labels of some of its items, of which one at least has a verdict.

    Labels of a sheet that was drawn by strata are weighted by them; others are taken for a random draw of all items.
    """
    values = {name: value for name, grade in labels.grades.items() if (value := graded.grades[grade]) is not None}
    if not values:
        raise QuadragError("no label is a value, so there is nothing to correct; label more items")
    labelled = [item for item in items if item.id in values]
    people = [values[item.id] for item in labelled]
    if labels.drawn:
        sizes = Counter(item.stratum for item in items)
        there = {item.stratum for item in labelled}
        # A stratum in which nobody labelled anything is put to the largest one.
        most = max(there, key=sizes.__getitem__)
        for name in sizes.keys() - there:
            sizes[most] += sizes.pop(name)
        estimate = stratified_mean(people, [item.stratum for item in labelled], sizes)
    else:
        others = [item.value or 0.0 for item in items if item.id not in values]
        estimate = ppi_mean(people, [item.value or 0.0 for item in labelled], others)
    alone = ppi_mean(people, people, []).interval
    if set(people) <= {0, 1}:
        alone = wilson(min(max(estimate.value, 0.0), 1.0) * len(people), len(people))
    read = [item.value for item in items if item.value is not None]
    both = [item.value == values[item.id] for item in labelled if item.value is not None and not item.ruled]
    ruled = sum(item.ruled for item in items)
    return Corrected(fmean(read), estimate, alone, len(items), len(read), ruled, sum(both), len(both))


def tabulate_corrected(name: str, found: Corrected, labels: Labels) -> Grid:
    """Make the table of a corrected score: the judge's own, that of labels alone, and the corrected one."""
    value, interval = found.estimate.value, found.estimate.interval
    who = "rules and the judge" if found.ruled else "the judge alone"
    lines = [
        Line(label, [Cell(write_number(100 * mean, 1)), Cell(_between(bounds)), Cell(str(n))])
        for label, mean, bounds, n in (
            (who, found.plain, None, found.read),
            ("corrected by labels", value, interval, found.total),
            ("labels alone", value, found.alone, found.estimate.n),
        )
    ]
    notes = ["Percent."]
    if found.both:
        notes.append(f"The judge and the labels agree on {found.agreed} of {found.both}.")
    notes.append(_DRAWN if labels.drawn else f"{_PPI} {found.estimate.tuning:.2f}.")
    if unread := found.total - found.read:
        notes.append(f"{unread} of {found.total} items have no verdict that could be read.")
    if labels.blank:
        notes.append(f"{labels.blank} rows have no label; the others are taken for the draw.")
    if not labels.drawn:
        notes.append("The labels are taken for a random draw of this run's items.")
    return Grid(f"{name}, corrected for the judge", "score", ["value", "95% interval", "n"], lines, notes)


def _between(interval: Interval | None) -> str:
    if interval is None or interval.low == interval.high:
        return NOTHING
    return " to ".join(write_number(100 * bound, 1) for bound in interval)

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
from quadrag.reporting.cells import NOTHING, write_number
from quadrag.reporting.messages import translate
from quadrag.reporting.table import Cell, Row, Table
from quadrag.sheet import read_sheet
from quadrag.stats.ppi import Estimate, ppi_mean, stratified_mean

from .labels import Graded, list_lines, read_grade

_UNREAD = "none"  # the stratum of items without a verdict
_COLUMNS = ("id", "question", "passages", "gold", "answer", "label", "probability")
_PPI = "Prediction-powered inference (PPI++), Wilson's interval at the effective number of labels; tuning constant"
_DRAWN = "Labels were drawn by the judge's verdicts; each verdict weighs as its share of the run. Wilson's interval."
_RANDOM = "The labels are taken for a random draw of this run's items."


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
        return _UNREAD if self.value is None else f"{self.value:g}"


class Labels(NamedTuple):
    """A sheet taken back: the grade of each item by id, whether it was drawn by strata, and rows without a label."""

    grades: Mapping[str, str]
    drawn: bool
    blank: int


def share_out(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """Return how many of n labels each stratum gets: two at least, or all that it has."""
    total = sum(sizes.values())
    wanted = {name: n / 2 * (size / total + 1 / len(sizes)) for name, size in sizes.items()}
    shares = {name: min(size, max(2, int(wanted[name]))) for name, size in sizes.items()}
    while sum(shares.values()) < min(n, total):
        name = max((each for each in sizes if shares[each] < sizes[each]), key=lambda each: wanted[each] - shares[each])
        shares[name] += 1
    return shares


def draw_sheet(items: Sequence[Judged], n: int, graded: Graded, seed: int, labels: str = "en") -> list[list[str]]:
    """Draw n items as the rows of a sheet whose `label` is to be filled in, header first."""
    strata: dict[str, list[Judged]] = {}
    for item in items:
        strata.setdefault(item.stratum, []).append(item)
    draw = Random(seed)
    shares = share_out({name: len(here) for name, here in strata.items()}, n)
    drawn = [
        (item, shares[name] / len(here)) for name, here in strata.items() for item in draw.sample(here, shares[name])
    ]
    draw.shuffle(drawn)
    grades = [
        name if graded.several else translate(name, labels) for name in graded.grades
    ]  # classes are read as named
    rows = [[*_COLUMNS, f"{graded.ask(labels)} {' / '.join(grades)}"]]
    for item, share in drawn:
        passages = "\n\n".join(item.passages)
        rows.append([item.id, item.question, passages, item.gold, item.answer, "", f"{share:.6g}", ""])
    return rows


def take_back(path: Path, items: Sequence[Judged], graded: Graded) -> Labels:
    """Read a sheet whose labels people filled in; QuadragError for what is not of these items."""
    sheet = read_sheet(path, "id", "label")
    lines = list_lines(sheet, {item.id: {"question": item.question, "answer": item.answer} for item in items})
    grades = {name: read_grade(line, "label", graded) for name, line in lines.items() if line.row["label"].strip()}
    if not grades:
        raise QuadragError(f"{path} holds no label; expected {graded.spelled} in the column label")
    return Labels(grades, "probability" in sheet.columns, len(lines) - len(grades))


def correct(items: Sequence[Judged], labels: Labels, graded: Graded) -> Estimate:
    """Estimate a run's score as people see it, of labels of some of its items.

    Labels of a sheet that was drawn by strata are weighted by them; others are taken for a random draw of all items.
    """
    values = _values(labels, graded)
    labelled = [item for item in items if item.id in values]
    people = [values[item.id] for item in labelled]
    if not labels.drawn:
        others = [item.value or 0.0 for item in items if item.id not in values]
        return ppi_mean(people, [item.value or 0.0 for item in labelled], others)
    sizes = Counter(item.stratum for item in items)
    there = {item.stratum for item in labelled}
    # A stratum in which nobody labelled anything is put to the largest one.
    most = max(there, key=sizes.__getitem__)
    for name in sizes.keys() - there:
        sizes[most] += sizes.pop(name)
    return stratified_mean(people, [item.stratum for item in labelled], sizes)


def _values(labels: Labels, graded: Graded) -> dict[str, float]:
    values = {name: value for name, grade in labels.grades.items() if (value := graded.grades[grade]) is not None}
    if not values:
        raise QuadragError("no label is a value, so there is nothing to correct; label more items")
    return values


def tabulate_corrected(name: str, items: Sequence[Judged], labels: Labels, graded: Graded) -> Table:
    """Make the table of a score, by the run's verdicts, of which there must be one, and corrected by labels."""
    estimate, people = correct(items, labels, graded), _values(labels, graded)
    verdicts = [item.value for item in items if item.value is not None]
    both = [item for item in items if item.id in people and item.value is not None and not item.ruled]
    agreed = sum(item.value == people[item.id] for item in both)
    low, high = (write_number(100 * bound, 1) for bound in estimate.interval)
    between = NOTHING if low == high else f"{low} to {high}"
    who = "rules and the judge" if any(item.ruled for item in items) else "the judge alone"
    lines = [
        Row(who, [Cell(write_number(100 * fmean(verdicts), 1)), Cell(NOTHING), Cell(str(len(verdicts)))]),
        Row("corrected by labels", [Cell(write_number(100 * estimate.value, 1)), Cell(between), Cell(str(len(items)))]),
    ]
    notes = ["Percent."]
    if both:
        notes.append(f"The judge and the labels agree on {agreed} of {len(both)}.")
    notes += [_DRAWN] if labels.drawn else [f"{_PPI} {estimate.tuning:.2f}.", _RANDOM]
    if unread := len(items) - len(verdicts):
        notes.append(f"{unread} of {len(items)} items have no verdict that could be read.")
    if labels.blank:
        notes.append(f"{labels.blank} rows have no label; the others are taken for the draw.")
    return Table(f"{name}, corrected for the judge", "score", ["value", "95% interval", "n"], lines, notes)

"""A run's judged score corrected by the labels that people gave to some of its items.

What is corrected is the run's value, of rules and judge together, so what rules get wrong is corrected as what the
judge does. (Strata of the two are hardly narrower, and hold the truth less often where labels are few.)
"""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from quadrag.errors import QuadragError
from quadrag.reporting.cells import NOTHING, write_number
from quadrag.reporting.table import Cell, Row, Table
from quadrag.stats.ppi import Estimate, ppi_mean, stratified_mean

from .labelled import Judged, Labels
from .labels import Graded

_PPI = "Prediction-powered inference (PPI++), Wilson's interval at the effective number of labels; tuning constant"
_DRAWN = "Labels were drawn by the judge's verdicts; each verdict weighs as its share of the run. Wilson's interval."
_RANDOM = "The labels are taken for a random draw of this run's items."


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

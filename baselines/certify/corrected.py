"""A run's judged score corrected with labels of the run's own items.

What is corrected is the run's value, of rules and judge together: the value of each item, whoever gave it, stands on
both sides, so what rules get wrong is corrected as what the judge does. (Strata of the two are hardly narrower, and
hold the truth less often where labels are few.) A certificate, which knows nothing of the
rules' errors, takes what they decide as it is. How often labels agree with the judge is told of its own verdicts alone.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from quadrag.stats import Interval
from quadrag.stats.ppi import Estimate, ppi_mean, ppi_stratified

from .draw import Judged, Sheet

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
    """Correct a run's score with labels of some of its items.

    Labels of a sheet that was drawn by strata are weighted by them; others are taken for a random draw of all items.
    One item at least has a verdict.
    """
    labelled = [item for item in items if item.id in sheet.values]
    others = [item for item in items if item.id not in sheet.values]
    values = [sheet.values[item.id] for item in labelled]
    said, rest = ([item.value or 0.0 for item in column] for column in (labelled, others))
    if sheet.drawn:
        there = {item.stratum for item in labelled}
        # A stratum in which nobody labelled anything is put to the largest one.
        most = max(there, key=lambda name: sum(item.stratum == name for item in items))
        strata, theirs = (
            [one.stratum if one.stratum in there else most for one in column] for column in (labelled, others)
        )
        estimate = ppi_stratified(values, said, rest, strata, theirs)
    else:
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

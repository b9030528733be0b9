"""Evaluations side by side: what they are called, which cannot be compared, how they are shown."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from quadrag.baselines.core.result import Result
from quadrag.baselines.page.page import write_page
from quadrag.baselines.report.compared.comparison import tabulate_several
from quadrag.baselines.report.compared.names import name_columns
from quadrag.baselines.tables.cells import FEW
from quadrag.baselines.tables.draw import write_plainly
from quadrag.baselines.tables.grid import Alarm, Grid
from quadrag.errors import QuadragError
from quadrag.measure.arguments import entrance
from quadrag.measure.evaluation import Evaluation, tell_answers
from quadrag.measure.notebook import table_html
from quadrag.measure.words import in_python, spell_notes
from quadrag.printing import clean
from quadrag.stats import Pair


class Sides(ABC):
    """Two evaluations or more of one profile; the first is what the others are compared with."""

    def __init__(self, runs: Sequence[Evaluation], labels: str) -> None:
        """Take the evaluations, and the language in which they are shown, ``en`` or ``zh``.

        Raises:
            QuadragError: they have different profiles.
        """
        own, *others = dict.fromkeys(one.profile for one in runs)
        if others:
            raise QuadragError(
                f"one has the profile {own}, another {others[0]}; compare them under one: "
                f'quadrag.compare(..., profile="{own}")'
            )
        self.runs = list(runs)
        self.profile = own
        self.labels = labels

    @property
    @entrance
    def invalid(self) -> list[str]:
        """Why metrics are not compared, a line each: too many of their items failed in one of the runs."""
        return [in_python(line) for side in self._sides for line in tell_invalid(*side)]

    @property
    def _names(self) -> list[str]:
        """What the runs are called: by their systems or, where two of these have one name, by their folders."""
        systems = Counter(one.name for one in self.runs)
        names = [one.name if systems[one.name] == 1 else one.folder.resolve().name for one in self.runs]
        return names if len({*names}) == len(names) else [str(one.folder) for one in self.runs]

    @property
    def _runs(self) -> list[tuple[str, Result]]:
        return [(name, one.result) for name, one in zip(self._names, self.runs, strict=True)]

    @property
    def _sides(self) -> list[tuple[str, Evaluation]]:
        """The runs with what they are called side by side."""
        return list(zip(name_columns(self._names), self.runs, strict=True))

    @entrance
    def report(self, path: str | Path) -> Path:
        """Write the page of the runs, all answers side by side, and return where it lies."""
        place = Path(path)
        grids = tabulate_several(self._runs, self.profile, labels=self.labels)
        write_page(place, [(name, [one]) for name, one in self._runs], grids, self.labels, profile=self.profile)
        return place

    def _mark(self, grid: Grid) -> Grid:
        """Say above a table of which runs answers are kept ones; its notes are in words of Python."""
        kept = [Alarm(f"{name}: {told}.") for name, one in self._sides if (told := tell_answers(one.result))]
        return spell_notes(replace(grid, notes=[*kept, *grid.notes]))

    @abstractmethod
    def _tabulate(self, html: bool) -> list[Grid]:
        """Make the tables that are printed, or those for a cell of a notebook."""

    @entrance
    def __repr__(self) -> str:
        """Say which is better, and show the differences of the headlines, a line each."""
        return clean("\n\n".join("\n".join(write_plainly(grid)) for grid in self._tabulate(False)))

    @entrance
    def _repr_html_(self) -> str:
        """Show a notebook the same as a table."""
        return "".join(map(table_html, self._tabulate(True)))


def tell_invalid(name: str, one: Evaluation) -> list[str]:
    """Say which metrics of a run are not valid, and why."""
    return [f"{name} is INVALID, {line}" for line in one.invalid]


def bounds(pair: Pair) -> tuple[float | None, float | None]:
    """Return the interval of a difference; None twice where it is of too few questions to have one."""
    return pair.interval if pair.n >= FEW else (None, None)

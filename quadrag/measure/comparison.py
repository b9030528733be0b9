"""Two evaluations compared, question by question."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from quadrag.baselines.report.changes import write_changes
from quadrag.baselines.report.comparison import compare_runs
from quadrag.baselines.report.item_lines import Manner
from quadrag.baselines.report.items import RunReader, Which
from quadrag.baselines.report.names import tell_apart
from quadrag.baselines.report.pairs import pair_results
from quadrag.baselines.report.words import tell_pairs, tell_same
from quadrag.baselines.tables.cells import NOTHING, STAR, difference_cell, format_value, unit_of
from quadrag.baselines.tables.grid import Alarm, Cell, Grid, Line, print_grids, write_plainly
from quadrag.errors import QuadragError
from quadrag.measure.evaluation import Evaluation, find_name, result
from quadrag.measure.notebook import table_html
from quadrag.measure.words import speaking_python, spell_notes
from quadrag.stats import Pair

_UNEVEN = "before, after: over all questions of each; the difference is over the n that both have."


class Comparison(Mapping[str, Pair]):
    """The paired differences, `after` less `before`, by metric: ``comparison["rouge_l"].difference``."""

    def __init__(self, before: Evaluation, after: Evaluation) -> None:
        """Pair the questions that both answered.

        Raises:
            QuadragError: they are of other benchmarks, configs or profiles, or share no scored question.
        """
        for name in ("benchmark", "config"):
            values = [getattr(one.result.run.inputs, name) for one in (before, after)]
            if values[0] != values[1]:
                raise QuadragError(f"one is of the {name} {values[0]}, the other of {values[1]}; expected the same")
        if before.profile != after.profile:
            raise QuadragError(f"one has the profile {before.profile}, the other {after.profile}; expected the same")
        self.before = before
        self.after = after
        self.pairs: dict[str, Pair] = {
            name: pair
            for name, score in before.scores.items()
            if (pair := pair_results(before.result, after.result, _place(before, name), before.profile)) is not None
        }
        if not self.pairs:
            why = self.invalid[0] if self.invalid else "no question was scored in both"
            raise QuadragError(f"nothing to compare: {why}; expected runs over the same questions")

    def __getitem__(self, name: str) -> Pair:
        """Return the difference of a score.

        Raises:
            KeyError: none has this name, or several have; the message lists those there are.
        """
        return self.pairs[find_name(name, {known: self.before.scores[known] for known in self.pairs})]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the scores that both have."""
        return iter(self.pairs)

    def __len__(self) -> int:
        """Return how many scores both have."""
        return len(self.pairs)

    @property
    def invalid(self) -> list[str]:
        """Why metrics are not compared, a line each: too many of their items failed in one of the two."""
        return [f"{one.name} is INVALID, {line}" for one in (self.before, self.after) for line in one.invalid]

    def show(self, verbose: bool = False, *, worse: bool = False, better: bool = False, limit: int = 10) -> None:
        """Print the table or, when `worse` or `better`, single questions with both answers.

        Args:
            verbose: all metrics, not the headlines alone.
            worse: what ``quadrag show BEFORE AFTER --worse`` prints, the greatest difference first; raises as
                `Evaluation.to_pandas` does.
            better: the same of the questions on which `after` is better.
            limit: so many questions.
        """
        both = (self.before, self.after)
        if worse or better:
            which = Which(worse=worse, better=better)
            before, after = (RunReader(one.folder, one.result) for one in both)
            print("\n".join(write_changes(before, after, which, Manner(limit, every=verbose))))
            return
        runs = list(zip(self._names, (one.result for one in both), strict=True))
        print_grids([spell_notes(compare_runs(runs, self.before.profile, verbose))], verbose=verbose)

    @property
    def _names(self) -> list[str]:
        """What the two are called: by their systems or, where these have one name, by their folders."""
        both = (self.before, self.after)
        names = [one.name for one in both]
        return names if len(set(names)) > 1 else [str(one.folder) for one in both]

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` of the differences, a row for each score."""
        import pandas  # type: ignore[import-untyped]

        rows = [(name, pair.difference, *pair.interval, pair.n, pair.p) for name, pair in self.pairs.items()]
        return pandas.DataFrame(rows, columns=["score", "difference", "low", "high", "n", "p"])

    @property
    def _grid(self) -> Grid:
        lines, uneven = [], False
        others = {_place(self.after, name): score for name, score in self.after.scores.items()}
        for label, name in self.before.headlines.items():
            if pair := self.pairs.get(name):
                sides = self.before.scores[name], others[_place(self.before, name)]
                unit = unit_of({"metric": sides[0].metric, "key": sides[0].key})
                cell = difference_cell(pair, unit)
                values = [Cell(format_value(one.value, unit, one.n)) for one in sides]
                lines.append(Line(label, [*values, Cell(cell.text), Cell(cell.sub or NOTHING), Cell(str(pair.n))]))
                uneven = uneven or any(one.n != pair.n for one in sides)
        first, second = tell_apart(self._names)
        title = f"{second} minus {first}, paired"
        starred = any(cell.text.endswith("*") for line in lines for cell in line.cells)
        same = tell_same(self.before.result, self.after.result)
        shown = {_place(self.before, name): self.pairs[name] for name in self.before.headlines.values() if name in self}
        told = tell_pairs(shown, (first, second) if first != second else ("before", "after"))
        notes = [*map(Alarm, self.invalid), *same, *told, *[f"{STAR}."] * starred, *[_UNEVEN] * uneven]
        return Grid(title, "metric", ["before", "after", "difference", "95% interval", "n"], lines, notes)

    def __repr__(self) -> str:
        """Show the differences of the headlines, a line each, and what is not compared."""
        return "\n".join(write_plainly(self._grid.title, self._grid))

    def _repr_html_(self) -> str:
        """Show a notebook the same as a table."""
        return table_html(self._grid.title, self._grid)


def _place(one: Evaluation, name: str) -> tuple[str, str, str, str]:
    score = one.scores[name]
    return (one.result.run.inputs.config, score.split, score.metric, score.key)


@speaking_python()
def compare(before: Evaluation | str | Path, after: Evaluation | str | Path) -> Comparison:
    """Compare two evaluations on the questions that both answered.

    Args:
        before: of one system, or the folder of its run.
        after: of another, or of the same after a change.

    Raises:
        QuadragError: they are of other benchmarks, configs or profiles, or share no scored question.
    """
    profile = next((one.profile for one in (before, after) if isinstance(one, Evaluation)), "official")
    return Comparison(*(one if isinstance(one, Evaluation) else result(one, profile) for one in (before, after)))

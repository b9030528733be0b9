"""Three evaluations or more, all but the first compared with it."""

from dataclasses import replace
from typing import Any, NoReturn

from quadrag.baselines.report.compared.comparison import find_sides, refuse_apart, refuse_same, tabulate_several
from quadrag.baselines.report.compared.names import Place, lift_place, tell_under
from quadrag.baselines.report.compared.said import find_verdict
from quadrag.baselines.tables.cells import NOTHING, join_bounds, write_number
from quadrag.baselines.tables.draw import print_grids
from quadrag.baselines.tables.grid import Cell, Grid
from quadrag.errors import QuadragError
from quadrag.labels import LANGUAGES
from quadrag.measure.arguments import entrance, refuse_unknown
from quadrag.measure.difference import Difference
from quadrag.measure.evaluation import Evaluation
from quadrag.measure.frame import check_rows, find_heads, score_frame, spell_place
from quadrag.measure.score import find_name
from quadrag.measure.sides import Sides, bounds
from quadrag.measure.words import in_python, speaking_python, spell_notes

_DIFFERENCE = ("difference", "difference_low", "difference_high", "difference_n", "p", "p_holm")
_QUESTIONS = ("worse", "better", "metric", "limit")  # what `Comparison.show` shows single questions by
_OF_TWO = "of three runs or more there is no {}; compare two, or take to_pandas(by={})"


class Comparisons(Sides):
    """What ``quadrag report A B C`` prints: the runs line by line, the best first, and what each differs by."""

    def __init__(self, *runs: Evaluation, labels: str = LANGUAGES[0]) -> None:
        """Take the evaluations, the one that the others are compared with first.

        Raises:
            QuadragError: one is there twice, or they are of other benchmarks or profiles, or no two share a split.
        """
        refuse_same([str(one.folder) for one in runs])
        super().__init__(runs, labels)
        refuse_apart([(name, [result]) for name, result in self._runs])

    @entrance
    def __getitem__(self, name: str) -> dict[str, Difference]:
        """Return the differences of a score from the first run's, by system, of those that are compared.

        Raises:
            KeyError: no score has this name, or several have, and the message lists those there are.
        """
        found = find_sides([result for _, result in self._runs], self.profile, every=True)
        places = {spelled: place for place, spelled in self._spell_places().items()}
        place = places[find_name(name, places)]
        sides = zip(self._names, found.get(place, ()), strict=False)  # a score that ran in no run has none
        return {system: Difference.of(side.pair, place, self.labels) for system, side in sides if side.pair}

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse what a comparison of two alone has.

        Raises:
            AttributeError: always; it says where the differences are.
        """
        with speaking_python(vars(self).get("labels")):
            raise AttributeError(in_python(_OF_TWO.format(name, '"metric"')), name=name, obj=self)

    @entrance
    def show(self, verbose: bool = False, **options: object) -> None:
        """Print the table, or when `verbose` those of all metrics.

        Raises:
            QuadragError: there is another argument, as ``worse=True``, which is of two runs and says so.
        """
        for name in options:
            if name in _QUESTIONS:
                two = ", ".join(repr(str(self.runs[at].folder)) for at in (0, -1))
                raise QuadragError(f"of three runs or more there is no {name}=; name two, as quadrag.compare({two})")
        refuse_unknown(self.show, options)
        first, *others = map(lift_place, tabulate_several(self._runs, self.profile, verbose, self.labels))
        print_grids([self._mark(first), *map(spell_notes, others)], verbose=verbose)

    @entrance
    def to_pandas(self, *, texts: bool = True, by: str = "question") -> Any:
        """Return a `pandas.DataFrame` with a row for each run's questions or, `by` ``"metric"``, for each run's scores.

        Of questions it has the column ``system`` and those of `Evaluation.to_pandas`. Of scores they are ``score``,
        its name; ``system``; the run's ``value``, its interval's ``low`` and ``high``, ``n`` and ``valid``; then over
        the ``difference_n`` questions scored in the first run too ``difference``, its value less the first one's,
        ``difference_low`` and ``difference_high``, ``p``, ``p_holm``, which is adjusted for all headlines of all runs,
        or for all other scores, ``verdict`` and whether it is a ``headline``, which stand first; ``reason``, why there
        is no ``value``; ``split``, ``pooled``, ``metric`` and ``config``; and the run's ``folder``.

        Args:
            texts: with query, answer and gold; raises as `Evaluation.to_pandas` does.
            by: ``question`` or ``metric``.
        """
        check_rows(by)
        if by == "question":
            import pandas  # type: ignore[import-untyped]

            frames = {name: one.to_pandas(texts=texts) for name, one in zip(self._names, self.runs, strict=True)}
            return pandas.concat(frames, names=["system"]).reset_index("system").reset_index(drop=True)
        names = self._spell_places()
        rows, heads = [], find_heads([result for _, result in self._runs], self.profile)
        for place, sides in find_sides([result for _, result in self._runs], self.profile, every=True).items():
            name, parts = names.get(place, f"{place[1]}/{place[3]}"), (place[0], *place[2:])
            for system, one, pair in zip(self._names, self.runs, (side.pair for side in sides), strict=True):
                scores = {at: one.scores[known] for known, at in one.places.items() if (at[0], *at[2:]) == parts}
                score, lacking = scores.get(place), (known.reason for known in scores.values() if known.reason)
                interval = (score and score.interval) or (None, None)
                own = (score.value, *interval, score.n, score.valid) if score else (None, *interval, None, False)
                beside = (pair.difference, *bounds(pair), pair.n, pair.p, pair.p_holm) if pair else [None] * 6
                rows.append(
                    {"score": name, "system": system}
                    | dict(zip(("value", "low", "high", "n", "valid", *_DIFFERENCE), (*own, *beside), strict=True))
                    | {"verdict": find_verdict(place, pair) if pair else "", "headline": parts in heads}
                    | {"reason": score.reason if score else next(lacking, in_python("not run"))}
                    | spell_place(name, place)
                    | {"folder": str(one.folder)}
                )
        return score_frame(rows)

    def _spell_places(self) -> dict[Place, str]:
        """Return the names of scores by their places."""
        return {place: name for one in reversed(self.runs) for name, place in one.places.items()}

    def _tabulate(self, html: bool) -> list[Grid]:
        first, *others = tabulate_several(self._runs, self.profile, every=False)
        first = replace(first, notes=[note for note in first.notes if note not in tell_under(first)])
        first = _show_intervals(first) if html else first
        return [self._mark(first), *map(spell_notes, others)]


def _show_intervals(grid: Grid) -> Grid:
    """Put the intervals of the values, which a notebook draws, into a column: they are not those of the differences."""
    figures = [line.cells[0].figure for line in grid.lines]
    if not any(figures):
        return grid
    texts = [join_bounds([write_number(end, 1) for end in (one and one.interval) or ()]) for one in figures]
    lines = [
        replace(line, cells=[line.cells[0], Cell(text or NOTHING), *line.cells[1:]])
        for line, text in zip(grid.lines, texts, strict=True)
    ]
    first, *others = grid.columns
    return replace(grid, columns=[first, "95% interval", *others], lines=lines)

"""Evaluations compared with the first of them, question by question: two, or any number; as tables, page and pandas."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, overload

from quadrag.baselines.judges.certificate import lay_beside
from quadrag.baselines.page.page import write_page
from quadrag.baselines.report.compared.comparison import (
    compare_two,
    find_sides,
    refuse_apart,
    refuse_same,
    tabulate_several,
)
from quadrag.baselines.report.compared.names import Place, lift_place, name_columns, tell_under
from quadrag.baselines.report.compared.pairs import (
    Changes,
    compare_each,
    count_changes,
    is_same,
    pick_places,
    pool_splits,
)
from quadrag.baselines.report.compared.said import find_verdict, say_missing
from quadrag.baselines.report.question_text import DisplayOptions, write_changed
from quadrag.baselines.report.questions import ItemFilter, RunReader
from quadrag.baselines.results.run import PROFILES, Result
from quadrag.baselines.tables.cells import FEW, NOTHING, join_bounds, write_number
from quadrag.baselines.tables.draw import print_grids, spread_subs, write_plainly
from quadrag.baselines.tables.grid import Alarm, Cell, Grid
from quadrag.baselines.tables.names import is_whole
from quadrag.errors import QuadragError, UnknownScore
from quadrag.labels import LANGUAGES, choose_labels
from quadrag.measure.arguments import check_count, entrance, in_python, speak_python
from quadrag.measure.evaluation import Evaluation, result, tell_answers, tell_retries
from quadrag.measure.frame import Metric, check_rows, find_heads, pair_frame, score_frame, spell_place
from quadrag.measure.notebook import table_html
from quadrag.measure.score import Difference, Score, find_name, match_names
from quadrag.printing import GLANCE, clean, write
from quadrag.stats import Pair


class Sides(ABC):
    """Two evaluations or more of one profile; the first is what the others are compared with."""

    def __init__(self, runs: Sequence[Evaluation], labels: str) -> None:
        """Take the evaluations, and the language in which they are shown, ``en`` or ``zh``.

        Raises:
            QuadragError: they have different profiles, or one is there twice.
        """
        refuse_same([str(one.folder) for one in runs])
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
    def invalid(self) -> list[str]:
        """Why metrics are not compared, a line each: too many of their items failed in one of the runs."""
        sides = zip(name_columns(self._names), self.runs, strict=True)
        return [f"{name} is INVALID, {line}" for name, one in sides for line in one.invalid]

    @entrance
    def report(self, path: str | Path) -> Path:
        """Write the page of the runs, all answers side by side, and return where it lies."""
        place = Path(path)
        grids = tabulate_several(self._runs, self.profile, labels=self.labels)
        write_page(place, [(name, [one]) for name, one in self._runs], grids, self.labels, profile=self.profile)
        return place

    @entrance
    def __repr__(self) -> str:
        """Say which is better, and show the differences of the headlines, a line each."""
        return clean("\n\n".join("\n".join(write_plainly(grid)) for grid in self._tabulate(html=False)))

    @entrance
    def _repr_html_(self) -> str:
        """Show a notebook the same as a table."""
        return "".join(map(table_html, self._tabulate(html=True)))

    @abstractmethod
    def _tabulate(self, html: bool) -> list[Grid]:
        """Make the tables that are printed, or those for a cell of a notebook."""

    @property
    def _names(self) -> list[str]:
        """What the runs are called: by their systems or, where two of these have one name, by their folders."""
        systems = Counter(one.name for one in self.runs)
        names = [one.name if systems[one.name] == 1 else one.folder.resolve().name for one in self.runs]
        return names if len({*names}) == len(names) else [str(one.folder) for one in self.runs]

    @property
    def _runs(self) -> list[tuple[str, Result]]:
        return [(name, one.result) for name, one in zip(self._names, self.runs, strict=True)]

    def _mark(self, grid: Grid) -> Grid:
        """Say above a table of which runs answers are kept ones; its notes are in words of Python."""
        sides = zip(name_columns(self._names), self.runs, strict=True)
        kept = [Alarm(f"{name}: {told}.") for name, one in sides if (told := tell_answers(one.result))]
        return self._speak(replace(grid, notes=[*kept, *grid.notes]))

    def _speak(self, grid: Grid) -> Grid:
        return speak_python(grid, self.labels)


class Comparison(Sides, Mapping[str, Difference]):
    """The paired differences, `after` less `before`, by metric: ``comparison["rouge_l"].difference``."""

    def __init__(self, before: Evaluation, after: Evaluation, labels: str = LANGUAGES[0]) -> None:
        """Pair the questions that both answered; it is shown in the language of the labels.

        Raises:
            QuadragError: they are of other benchmarks, configs or profiles, or share no scored question.
        """
        if before.result.items == after.result.items:
            refuse_same([str(one.folder) for one in (before, after)])
        for name in ("benchmark", "config"):
            values = [getattr(one.result.run, name) for one in (before, after)]
            if values[0] != values[1]:
                raise QuadragError(f"one is of the {name} {values[0]}, the other of {values[1]}; expected the same")
        super().__init__((before, after), labels)
        self.before = before
        self.after = after
        both = (before.result, after.result)
        heads = pick_places(both, self.profile)
        rest = [place for place in before.places.values() if not is_whole(place[1]) and place not in heads]
        compared, others = (compare_each(both[0], both[1:], one, self.profile)[0] for one in (heads, rest))
        self._overall = pool_splits(*both, heads, compared, self.profile)
        self._overall |= pool_splits(*both, rest, others, self.profile)
        found = {at: one.compared for at, one in self._overall.items()} | compared | others
        names = {at: name for one in (after, before) for name, at in one.places.items()}
        order = dict.fromkeys((*before.places.values(), *after.places.values()))
        self.places: dict[str, Place] = {names[at]: at for at in order}
        self.pairs: dict[str, Difference] = {
            name: Difference.of(found[at].pair, at, labels, self._tell_doubt(at))
            for name, at in self.places.items()
            if at in found
        }
        if not self.pairs:
            bad = [one.result.run for one in self.runs if one.invalid]
            why = "; ".join(self.invalid) + "".join(map(tell_retries, bad))
            why = why or "no question was scored in both; expected runs over the same questions"
            raise QuadragError(f"nothing to compare: {why}")

    @entrance
    def __getitem__(self, name: str) -> Difference:
        """Return the difference of a score.

        Raises:
            KeyError: none has this name, or several have, and the message lists those there are; or it is not compared,
                and the message says why.
        """
        compared = {known: self.places[known] for known in self.pairs}
        if not match_names(name, compared):
            for known in match_names(name, self.places)[:1]:
                raise UnknownScore(f"Not compared, {self._tell_why(known)}: {known}.")
        return self.pairs[find_name(name, compared)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def counts(self) -> dict[str, Changes]:
        """On how many questions `after` is ``better``, ``worse`` and ``equal``, by each score with a better end."""
        both = (self.before.result, self.after.result)
        places = {name: self.places[name] for name in self.pairs}
        found = {
            name: self._overall[at].changes if at in self._overall else count_changes(*both, at, self.profile)
            for name, at in places.items()
        }
        return {name: one for name, one in found.items() if one}

    @entrance
    def show(
        self,
        verbose: bool = False,
        *,
        worse: bool = False,
        better: bool = False,
        metric: str | None = None,
        limit: int = 10,
    ) -> None:
        """Print the table or, when `worse` or `better`, single questions with both answers.

        Args:
            verbose: all metrics, not the headlines alone; of questions their texts whole.
            worse: what ``quadrag show BEFORE AFTER --worse`` prints, the greatest difference first; raises as
                `Evaluation.to_pandas` does.
            better: the same of the questions on which `after` is better.
            metric: what says so; the first headline that both scored when None.
            limit: so many questions.
        """
        if worse or better:
            check_count("limit", limit)
            wanted = ItemFilter(metric=metric, profile=self.profile)
            readers = [RunReader(one.folder, one.result) for one in self.runs]
            runs = list(zip(self._names, readers, strict=True))
            options = DisplayOptions(limit, None if verbose else GLANCE, verbose, self.labels, python=True)
            write(*write_changed(runs, wanted, options, better))
            return
        grid = lift_place(compare_two(self._runs, self.profile, verbose, counted=not verbose))
        print_grids([self._mark(grid)], verbose=verbose)

    @entrance
    def to_pandas(self, *, texts: bool = True, by: str = "question") -> Any:
        """Return a `pandas.DataFrame` with a row for each question that both have or, `by` ``"metric"``, each score.

        Columns that are mostly alike in all rows stand last. Of questions they are ``id`` and ``split``; ``query``,
        ``gold``, ``answer_before`` and ``answer_after``; of each metric three, as ``accuracy_before``, ``..._after``
        and ``..._difference``, after less before; ``unscored_before`` and ``unscored_after``; and ``config``. Of
        scores they are ``score``, its name; ``before`` and ``after``, each over all questions of its run, and over all
        splits those of both; then over the ``n`` questions scored in both ``difference``, its interval's ``low`` and
        ``high``, ``p`` and ``p_holm``, which is adjusted for all headlines, or for all other scores, the ``verdict``,
        and whether it is a ``headline``, which stand first; ``n``, and on how many of these `after` is ``better``,
        ``worse`` and ``equal``; ``reason``, why a score is not compared; ``split``, ``pooled``, ``metric`` and
        ``config``; and ``system_before``, ``system_after``, ``folder_before`` and ``folder_after``.

        Args:
            texts: with query, gold and answers; raises as `Evaluation.to_pandas` does.
            by: ``question`` or ``metric``.
        """
        check_rows(by)
        first, second = self.before, self.after
        if by == "metric":
            counts = self.counts
            heads = find_heads([first.result, second.result], self.profile)
            return score_frame([self._row(name, counts.get(name), heads) for name in self.places])
        frames = first.to_pandas(texts=texts), second.to_pandas(texts=texts)
        return pair_frame(*frames, lambda key: is_same(first.result, second.result, key))

    def _row(self, name: str, counts: Changes | None, heads: Collection[Metric]) -> dict[str, Any]:
        """Return the row of a score, compared or not; `heads` are the headlines."""
        place, pair = self.places[name], self.pairs.get(name)
        values = [one and one.value for one in self._both(place)]
        if place in self._overall:
            values = [*self._overall[place].values]
        low, high = bounds(pair) if pair else (None, None)
        return {
            "score": name,
            "before": values[0],
            "after": values[1],
            "difference": pair and pair.difference,
            "low": low,
            "high": high,
            "p": pair and pair.p,
            "p_holm": pair and pair.p_holm,
            "verdict": pair.verdict if pair else "",
            "headline": (place[0], *place[2:]) in heads,
            "n": pair.n if pair else 0,
            **(counts._asdict() if counts else dict.fromkeys(Changes._fields)),
            "reason": pair.reason if pair else in_python(self._tell_why(name)),
            **spell_place(name, place),
            **dict(zip(("system_before", "system_after"), self._names, strict=True)),
            "folder_before": str(self.before.folder),
            "folder_after": str(self.after.folder),
        }

    def _tell_why(self, name: str) -> str:
        """Say why a score is not compared, of one over all splits why that of the first split is not."""
        place = self.places[name]
        parts = [place]
        if is_whole(place[1]):
            same = [at for at in self.places.values() if (at[0], *at[2:]) == (place[0], *place[2:])]
            compared = [pair.place for pair in self.pairs.values()]
            parts = [at for at in same if at not in compared and not is_whole(at[1])]
        both, names = (self.before.result, self.after.result), name_columns(self._names)
        told = (say_missing(*both, at, self.profile, names) for at in parts)
        return next(filter(None, (*told, *(one.reason for one in self._both(place) if one))), "")

    def _tell_doubt(self, place: Place) -> str:
        """Say why a score of either says nothing of the answers; "" where both do."""
        doubts = (one.reason for one in self._both(place) if one and one.value is not None)
        return next(filter(None, doubts), "")

    def _both(self, place: Place) -> list[Score | None]:
        """Return a score of both, None where one has it not."""
        return [next((one.scores[name] for name, at in one.places.items() if at == place), None) for one in self.runs]

    def _tabulate(self, html: bool) -> list[Grid]:
        two = compare_two(self._runs, self.profile)
        raised = any(line.cells[-1].sub.startswith("Holm") for line in two.lines)
        names = {"difference": "95% interval", "verdict": "p (Holm)" if raised else "p"}
        return [self._mark(lift_place(spread_subs(two, names)))]


class Comparisons(Sides):
    """What ``quadrag report A B C`` prints: the runs line by line, the best first, and what each differs by."""

    def __init__(self, *runs: Evaluation, labels: str = LANGUAGES[0]) -> None:
        """Take the evaluations, the one that the others are compared with first.

        Raises:
            QuadragError: one is there twice, or they are of other benchmarks or profiles, or no two share a split.
        """
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

    @entrance
    def show(self, verbose: bool = False) -> None:
        """Print the table, or when `verbose` those of all metrics."""
        first, *others = map(lift_place, tabulate_several(self._runs, self.profile, verbose, self.labels))
        print_grids([self._mark(first), *map(self._speak, others)], verbose=verbose)

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
        names, results = self._spell_places(), [result for _, result in self._runs]
        heads = find_heads(results, self.profile)
        rows = []
        for place, sides in find_sides(results, self.profile, every=True).items():
            name, parts = names.get(place, f"{place[1]}/{place[3]}"), (place[0], *place[2:])
            for system, one, side in zip(self._names, self.runs, sides, strict=True):
                row = {"score": name, "system": system, **_row_of(one, place, side.pair), "headline": parts in heads}
                rows.append({**row, **spell_place(name, place), "folder": str(one.folder)})
        return score_frame(rows)

    def _spell_places(self) -> dict[Place, str]:
        """Return the names of scores by their places."""
        return {place: name for one in reversed(self.runs) for name, place in one.places.items()}

    def _tabulate(self, html: bool) -> list[Grid]:
        first, *others = tabulate_several(self._runs, self.profile, every=False)
        first = replace(first, notes=[note for note in first.notes if note not in tell_under(first)])
        first = _show_intervals(first) if html else first
        return [self._mark(first), *map(self._speak, others)]


def _row_of(run: Evaluation, place: Place, pair: Pair | None) -> dict[str, Any]:
    """Return the score of a run, and its difference from the first run's, as columns; None is what is not there."""
    alike = {at: run.scores[name] for name, at in run.places.items() if (at[0], *at[2:]) == (place[0], *place[2:])}
    score = alike.get(place)
    low, high = (score and score.interval) or (None, None)
    row: dict[str, Any] = {
        "value": score and score.value,
        "low": low,
        "high": high,
        "n": score and score.n,
        "valid": bool(score and score.valid),
    }
    names = ("difference", "difference_low", "difference_high", "difference_n", "p", "p_holm")
    values = (pair.difference, *bounds(pair), pair.n, pair.p, pair.p_holm) if pair else [None] * len(names)
    lacking = next((one.reason for one in alike.values() if one.reason), "not run")
    told = {"verdict": find_verdict(place, pair) if pair else "", "reason": score.reason if score else lacking}
    return {**row, **dict(zip(names, values, strict=True)), **told}


def bounds(pair: Pair) -> tuple[float | None, float | None]:
    """Return the interval of a difference; None twice where it is of too few questions to have one."""
    return pair.interval if pair.n >= FEW else (None, None)


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


_Run: TypeAlias = Evaluation | str | Path


@overload
def compare(before: _Run, after: _Run, *, profile: str | None = None, labels: str | None = None) -> Comparison: ...


@overload
def compare(
    before: _Run, after: _Run, third: _Run, /, *others: _Run, profile: str | None = None, labels: str | None = None
) -> Comparisons: ...


@entrance
def compare(
    before: _Run, after: _Run | None = None, *others: _Run, profile: str | None = None, labels: str | None = None
) -> Comparison | Comparisons:
    """Compare two evaluations on the questions that both answered, or of more each with the first.

    Args:
        before: of one system, or the folder of its run.
        after: of another, or of the same after a change.
        others: more of them.
        profile: ``official`` or ``corrected``, whatever theirs is; the one that all have when None. A folder has that
            of the first evaluation given, else that of its run.
        labels: ``en`` or ``zh``, the language in which it is shown; that of the evaluations when None.

    Raises:
        QuadragError: one alone is given; they are of other benchmarks or profiles, or share no split; two are of other
            configs, or share no scored question.
    """
    if isinstance(before, list | tuple):
        raise QuadragError(f"compare takes evaluations, not a {type(before).__name__} of them; write compare(*runs)")
    if after is None:
        raise QuadragError("compare takes two evaluations or more, here is one")
    for one in others:
        if one in PROFILES:
            raise QuadragError(f"{one!r} is no run; a profile is given by its name: profile={one!r}")
    given = (before, after, *others)
    evaluations = [one for one in given if isinstance(one, Evaluation)]
    shown_in = choose_labels(labels or next((one.labels for one in evaluations), None))
    beside = profile or next((one.profile for one in evaluations), None)
    results = []
    for one in given:
        if not isinstance(one, Evaluation):
            one = result(one, beside)
        elif profile not in (None, one.profile):
            one = result(one.folder, profile)
        results.append(Evaluation(replace(one.result), one.folder, one.profile, one.labels))
    lay_beside([one.result for one in results])
    if others:
        return Comparisons(*results, labels=shown_in)
    return Comparison(results[0], results[1], shown_in)

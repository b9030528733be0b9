"""Two evaluations compared, question by question."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag.baselines.certify.notes import note_judges
from quadrag.baselines.core.result import Result
from quadrag.baselines.page.page import write_page
from quadrag.baselines.report.compared.changes import write_changes
from quadrag.baselines.report.compared.comparison import compare_runs, compare_two
from quadrag.baselines.report.compared.names import lift_place, name_columns
from quadrag.baselines.report.compared.pairs import compare_each, pick_places
from quadrag.baselines.report.compared.several import refuse_same, tabulate_several
from quadrag.baselines.report.compared.shared import is_same
from quadrag.baselines.report.compared.words import Changes, count_changes, say_missing
from quadrag.baselines.report.items.lines import Manner
from quadrag.baselines.report.items.reader import RunReader, Which
from quadrag.baselines.tables.cells import FEW
from quadrag.baselines.tables.grid import Alarm, Grid, print_grids, spread_subs, write_plainly
from quadrag.errors import QuadragError, UnknownScore
from quadrag.labels import LANGUAGES
from quadrag.measure.arguments import check_count, check_one, entrance, refuse_metric
from quadrag.measure.difference import Difference
from quadrag.measure.evaluation import Evaluation, check_profile, result, tell_answers, tell_retries
from quadrag.measure.frame import check_rows, pair_frame, score_frame
from quadrag.measure.notebook import table_html
from quadrag.measure.score import Score, find_name, match_names
from quadrag.measure.words import in_python, labels_in_use, spell_notes
from quadrag.wrapping import GLANCE, fit


class Comparison(Mapping[str, Difference]):
    """The paired differences, `after` less `before`, by metric: ``comparison["rouge_l"].difference``."""

    def __init__(self, before: Evaluation, after: Evaluation, labels: str = LANGUAGES[0]) -> None:
        """Pair the questions that both answered; it is shown in the language of the labels.

        Raises:
            QuadragError: they are of other benchmarks, configs or profiles, or share no scored question.
        """
        if before.result.items == after.result.items:
            refuse_same([str(one.folder) for one in (before, after)])
        for name in ("benchmark", "config"):
            values = [getattr(one.result.run.inputs, name) for one in (before, after)]
            if values[0] != values[1]:
                raise QuadragError(f"one is of the {name} {values[0]}, the other of {values[1]}; expected the same")
        if before.profile != after.profile:
            raise QuadragError(
                f"one has the profile {before.profile}, the other {after.profile}; compare them under one: "
                f'quadrag.compare(before, after, profile="{before.profile}")'
            )
        self.before = before
        self.after = after
        self.profile = before.profile
        self.labels = labels
        places = {name: _place(before, name) for name in before.scores}
        both = (before.result, after.result)
        heads = pick_places(both, self.profile)
        rest = [place for place in places.values() if place not in heads]
        compared, others = (compare_each(both[0], both[1:], one, self.profile)[0] for one in (heads, rest))
        compared |= others
        self.pairs: dict[str, Difference] = {
            name: Difference.of(compared[at].pair, at) for name, at in places.items() if at in compared
        }
        if not self.pairs:
            bad = [(name, one) for name, one in self._sides if one.invalid]
            told = ["; ".join(_tell_invalid(name, one)) + tell_retries(one.result.run) for name, one in bad]
            why = "; ".join(told) or "no question was scored in both; expected runs over the same questions"
            raise QuadragError(f"nothing to compare: {why}")

    @entrance
    def __getitem__(self, name: str) -> Difference:
        """Return the difference of a score.

        Raises:
            KeyError: none has this name, or several have, and the message lists those there are; or it is not compared,
                and the message says why.
        """
        compared = {known: self.before.scores[known] for known in self.pairs}
        if not match_names(name, compared):
            for one in (self.before, self.after):
                for known in match_names(name, one.scores)[:1]:
                    raise UnknownScore(in_python(f"Not compared, {self._tell_why(one, known)}: {known}."))
        return self.pairs[find_name(name, compared)]

    def _tell_why(self, one: Evaluation, name: str) -> str:
        """Say why a score of one of the two is not compared."""
        place = _place(one, name)
        both = (self.before.result, self.after.result)
        return say_missing(*both, place, self.profile, name_columns(self._names)) or one.scores[name].reason

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the scores that both have."""
        return iter(self.pairs)

    def __len__(self) -> int:
        """Return how many scores both have."""
        return len(self.pairs)

    @property
    @entrance
    def counts(self) -> dict[str, Changes]:
        """On how many questions `after` is ``better``, ``worse`` and ``equal``, by each score with a better end."""
        both = (self.before.result, self.after.result)
        found = {name: count_changes(*both, _place(self.before, name), self.profile) for name in self.pairs}
        return {name: one for name, one in found.items() if one}

    @property
    @entrance
    def invalid(self) -> list[str]:
        """Why metrics are not compared, a line each: too many of their items failed in one of the two."""
        return [in_python(line) for side in self._sides for line in _tell_invalid(*side)]

    @property
    def _sides(self) -> tuple[tuple[str, Evaluation], ...]:
        """The two with what they are called side by side."""
        first, second = name_columns(self._names)
        return ((first, self.before), (second, self.after))

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
        both = (self.before, self.after)
        if worse or better:
            check_count("limit", limit)
            check_one(worse=worse, better=better)
            which = Which(worse=worse, better=better, metric=metric, profile=self.profile)
            readers = [RunReader(one.folder, one.result) for one in both]
            runs = list(zip(self._names, readers, strict=True))
            manner = Manner(limit, None if verbose else GLANCE, verbose, spell=in_python)
            print(fit("\n".join(write_changes(runs, which, manner))))
            return
        refuse_metric(metric, "worse=True", "better=True")
        grid = lift_place(compare_runs(self._runs, self.profile, verbose))
        print_grids([spell_notes(replace(grid, notes=[*self._kept, *grid.notes]))], verbose=verbose)

    @entrance
    def report(self, path: str | Path) -> Path:
        """Write the page of both runs, all answers side by side, and return where it lies."""
        place = Path(path)
        grids = tabulate_several(self._runs, self.profile)
        write_page(place, [(name, [one]) for name, one in self._runs], grids, self.labels, profile=self.profile)
        return place

    @property
    def _runs(self) -> list[tuple[str, Result]]:
        return list(zip(self._names, (self.before.result, self.after.result), strict=True))

    @property
    def _kept(self) -> list[Alarm]:
        """Say of which of the two answers are kept ones."""
        return [Alarm(f"{name}: {told}.") for name, one in self._sides if (told := tell_answers(one.result))]

    @property
    def _names(self) -> list[str]:
        """What the two are called: by their systems or, where these have one name, by their folders."""
        both = (self.before, self.after)
        names = [one.name for one in both]
        return names if len(set(names)) > 1 else [str(one.folder) for one in both]

    @entrance
    def to_pandas(self, texts: bool = True, *, by: str = "question") -> Any:
        """Return a `pandas.DataFrame` with a row for each question that both have or, `by` ``"metric"``, each score.

        Of questions its columns are ``config``, ``split`` and ``id``; ``query``, ``gold``, ``answer_before`` and
        ``answer_after``; of each metric three, as ``rgb_accuracy.accuracy_before``, ``..._after`` and
        ``..._difference``, after less before; ``unscored_before`` and ``unscored_after``. Of scores they are ``score``;
        ``before`` and ``after``, each over all questions of its run; then over the ``n`` questions scored in both
        ``difference``, its interval's ``low`` and ``high``, ``n``, on how many of these `after` is ``better``,
        ``worse`` and ``equal``, ``p`` and ``p_holm``, which is adjusted for all headlines, or for all other scores,
        and the ``verdict``.

        Args:
            texts: with query, gold and answers; raises as `Evaluation.to_pandas` does.
            by: ``question`` or ``metric``.
        """
        check_rows(by)
        if by == "metric":
            counts, none = self.counts, (None,) * len(Changes._fields)
            rows = []
            for name, pair in self.pairs.items():
                before, after = (one.value for one in self._both(name))
                found = [pair.n, *counts.get(name, none), pair.p, pair.p_holm, pair.verdict]
                rows.append((name, before, after, pair.difference, *_bounds(pair), *found))
            columns = ["score", "before", "after", "difference", "low", "high", "n", *Changes._fields, "p", "p_holm"]
            columns.append("verdict")
            return score_frame(rows, columns)
        first, second = self.before, self.after
        frames = first.to_pandas(texts), second.to_pandas(texts)
        return pair_frame(*frames, lambda key: is_same(first.result, second.result, key))

    def _both(self, name: str) -> tuple[Score, Score]:
        """Return a score of both, by its name in the first."""
        others = {_place(self.after, other): score for other, score in self.after.scores.items()}
        return self.before.scores[name], others[_place(self.before, name)]

    @property
    def _grid(self) -> Grid:
        ran = (self.before.result, self.after.result)
        names = {"difference": "95% interval", "verdict": "p"}
        grid = lift_place(spread_subs(compare_two(self._runs, self.profile), names))
        warned = [line for line in note_judges(ran, self.profile) if isinstance(line, Alarm)]
        return spell_notes(replace(grid, notes=[*self._kept, *warned, *grid.notes]))

    @entrance
    def __repr__(self) -> str:
        """Say which is better, and show the differences of the headlines, a line each."""
        return "\n".join(write_plainly(self._grid))

    @entrance
    def _repr_html_(self) -> str:
        """Show a notebook the same as a table."""
        return table_html(self._grid)


def _tell_invalid(name: str, one: Evaluation) -> list[str]:
    return [f"{name} is INVALID, {line}" for line in one.invalid]


def _bounds(pair: Difference) -> tuple[float | None, float | None]:
    return pair.interval if pair.n >= FEW else (None, None)


def _place(one: Evaluation, name: str) -> tuple[str, str, str, str]:
    score = one.scores[name]
    return (one.result.run.inputs.config, score.split, score.metric, score.key)


@entrance
def compare(
    before: Evaluation | str | Path,
    after: Evaluation | str | Path,
    profile: str | None = None,
    *more: object,
    labels: str | None = None,
) -> Comparison:
    """Compare two evaluations on the questions that both answered.

    Args:
        before: of one system, or the folder of its run.
        after: of another, or of the same after a change.
        profile: ``official`` or ``corrected``, whatever theirs is; the one that both have when None. A folder has that
            of the evaluation beside it, else that of its run.
        more: nothing, as it takes two.
        labels: ``en`` or ``zh``, the language in which it is shown; that of the evaluations when None.

    Raises:
        QuadragError: they are of other benchmarks, configs or profiles, or share no scored question.
    """
    if more or not isinstance(profile, str | None):
        raise QuadragError("compare takes two runs; of more, `quadrag report A B C` makes tables")
    spoken = labels or next((one.labels for one in (before, after) if isinstance(one, Evaluation)), labels_in_use())
    beside = profile or next((one.profile for one in (before, after) if isinstance(one, Evaluation)), None)

    def take(one: Evaluation | str | Path) -> Evaluation:
        if not isinstance(one, Evaluation):
            return result(one, beside)
        return one if profile in (None, one.profile) else Evaluation(one.result, one.folder, check_profile(profile))

    return Comparison(take(before), take(after), spoken)

"""Two evaluations compared, question by question; and the entrance for any number of them."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, overload

from quadrag.baselines.certify.certificate import lay_beside
from quadrag.baselines.core.result import PROFILES
from quadrag.baselines.report.compared.changes import write_changes
from quadrag.baselines.report.compared.comparison import compare_two, refuse_same
from quadrag.baselines.report.compared.names import Place, lift_place, name_columns
from quadrag.baselines.report.compared.pairs import (
    Changes,
    compare_each,
    count_changes,
    is_same,
    pick_places,
    pool_splits,
)
from quadrag.baselines.report.compared.said import say_missing
from quadrag.baselines.report.items.lines import Manner
from quadrag.baselines.report.items.reader import RunReader, Which
from quadrag.baselines.tables.draw import print_grids, spread_subs
from quadrag.baselines.tables.grid import Grid
from quadrag.baselines.tables.names import is_whole
from quadrag.errors import QuadragError, UnknownScore
from quadrag.labels import LANGUAGES
from quadrag.measure.arguments import check_count, check_one, entrance, refuse_metric
from quadrag.measure.difference import Difference
from quadrag.measure.evaluation import Evaluation, result, tell_retries
from quadrag.measure.frame import Metric, check_rows, find_heads, pair_frame, score_frame, spell_place
from quadrag.measure.named import Named
from quadrag.measure.score import Score, find_name, match_names, refuse_attribute
from quadrag.measure.several import Comparisons
from quadrag.measure.sides import Sides, bounds, tell_invalid
from quadrag.measure.words import in_python, labels_in_use
from quadrag.printing import write
from quadrag.wrapping import GLANCE, fit


class Comparison(Sides, Named[Difference]):
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
        names: dict[Place, str] = {}
        for one in (before, after):
            names |= {at: name for name, at in one.places.items() if at not in names}
        self.places: dict[str, Place] = {name: at for at, name in names.items()}
        self.pairs: dict[str, Difference] = {
            name: Difference.of(found[at].pair, at, labels, self._tell_doubt(at))
            for name, at in self.places.items()
            if at in found
        }
        if not self.pairs:
            bad = [(name, one) for name, one in self._sides if one.invalid]
            told = ["; ".join(tell_invalid(name, one)) + tell_retries(one.result.run) for name, one in bad]
            why = "; ".join(told) or "no question was scored in both; expected runs over the same questions"
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
                raise UnknownScore(in_python(f"Not compared, {self._tell_why(known)}: {known}."))
        return self.pairs[find_name(name, compared)]

    def _tell_why(self, name: str) -> str:
        """Say why a score of one of the two is not compared; of all splits, why the first that is not is not."""
        place = self.places[name]
        parts = [name]
        if is_whole(place[1]):
            same = [known for known, at in self.places.items() if (at[0], *at[2:]) == (place[0], *place[2:])]
            parts = [known for known in same if known not in self.pairs and not is_whole(self.places[known][1])]
        ran = (self.before.result, self.after.result)
        told = (say_missing(*ran, self.places[one], self.profile, name_columns(self._names)) for one in parts)
        lacking = (one.reason for one in self._both(name) if one)
        return next(filter(None, (*told, *lacking)), "")

    @property
    def _named(self) -> dict[str, Difference]:
        return self.pairs

    if not TYPE_CHECKING:  # a misspelt one is an error there

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse an attribute that there is none of; of a score it says how it is found."""
            refuse_attribute(self, name, vars(self).get("places", {}))

    @property
    @entrance
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
        both = (self.before, self.after)
        if worse or better:
            check_count("limit", limit)
            check_one(worse=worse, better=better)
            which = Which(worse=worse, better=better, metric=metric, profile=self.profile)
            readers = [RunReader(one.folder, one.result) for one in both]
            runs = list(zip(self._names, readers, strict=True))
            manner = Manner(limit, None if verbose else GLANCE, verbose, spell=in_python)
            write(fit("\n".join(write_changes(runs, which, manner))))
            return
        refuse_metric(metric, "worse=True", "better=True")
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
        if by == "metric":
            counts = self.counts
            heads = find_heads([self.before.result, self.after.result], self.profile)
            return score_frame([self._row(name, counts.get(name), heads) for name in self.places])
        first, second = self.before, self.after
        frames = first.to_pandas(texts=texts), second.to_pandas(texts=texts)
        return pair_frame(*frames, lambda key: is_same(first.result, second.result, key))

    def _row(self, name: str, counts: Changes | None, heads: Collection[Metric]) -> dict[str, Any]:
        """Return the row of a score, compared or not; `heads` are the headlines."""
        place, pair = self.places[name], self.pairs.get(name)
        values = [one and one.value for one in self._both(name)]
        if place in self._overall:
            values = [*self._overall[place].values]
        low, high = bounds(pair) if pair else (None, None)
        return {
            "score": name,
            **dict(zip(("before", "after"), values, strict=True)),
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

    def _tell_doubt(self, place: Place) -> str:
        """Say why a score of either says nothing of the answers; "" where both do."""
        sides = (
            (one.scores[name] for name, at in one.places.items() if at == place) for one in (self.before, self.after)
        )
        return next((score.reason for side in sides for score in side if score.reason and score.value is not None), "")

    def _both(self, name: str) -> list[Score | None]:
        """Return a score of both, None where one has it not."""
        place = self.places[name]
        both = (self.before, self.after)
        return [next((one.scores[known] for known, at in one.places.items() if at == place), None) for one in both]

    def _tabulate(self, html: bool) -> list[Grid]:
        two = compare_two(self._runs, self.profile)
        raised = any(line.cells[-1].sub.startswith("Holm") for line in two.lines)
        names = {"difference": "95% interval", "verdict": "p (Holm)" if raised else "p"}
        return [self._mark(lift_place(spread_subs(two, names)))]


def _lay_beside(runs: Sequence[Evaluation]) -> list[Evaluation]:
    """Return evaluations with the marks that they have beside each other; those that are given stay as they are."""
    results = [replace(one.result, scores=[dict(row) for row in one.result.scores]) for one in runs]
    lay_beside(results)
    return [Evaluation(found, one.folder, one.profile, one.labels) for found, one in zip(results, runs, strict=True)]


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
    runs = (before, after, *others)
    spoken = labels or next((one.labels for one in runs if isinstance(one, Evaluation)), labels_in_use())
    beside = profile or next((one.profile for one in runs if isinstance(one, Evaluation)), None)

    def take(one: _Run) -> Evaluation:
        if not isinstance(one, Evaluation):
            return result(one, beside)
        return one if profile in (None, one.profile) else result(one.folder, profile)

    first, second, *more = _lay_beside([take(one) for one in runs])
    return Comparisons(first, second, *more, labels=spoken) if more else Comparison(first, second, spoken)

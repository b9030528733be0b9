"""Runs compared in Python, question by question, each with the first: as numbers, tables of pandas, the page."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.api.result import (
    Evaluation,
    Number,
    check_profile,
    check_rows,
    entrance,
    find_name,
    manner,
    place_columns,
    result,
    score_frame,
    to_html,
    to_text,
    type_reasons,
)
from quadrag.baselines.judges.certificate import lay_beside
from quadrag.baselines.page.page import write_page
from quadrag.baselines.report.compared.changes import write_changes
from quadrag.baselines.report.compared.comparison import refuse_apart, refuse_same, tabulate_several
from quadrag.baselines.report.compared.names import lift_place
from quadrag.baselines.report.compared.pairs import (
    compare_each,
    count_changes,
    is_same,
    list_places,
    pick_places,
    pool_each,
)
from quadrag.baselines.report.compared.said import find_verdict, say_missing, write_pair
from quadrag.baselines.report.items.reader import Which
from quadrag.baselines.results.run import Result
from quadrag.baselines.results.score import Place, ScoreKey
from quadrag.baselines.tables.cells import FEW
from quadrag.baselines.tables.draw import print_grids
from quadrag.baselines.tables.grid import Grid
from quadrag.baselines.tables.language import speak_grid
from quadrag.errors import QuadragError, UnknownScore
from quadrag.labels import choose_labels
from quadrag.printing import write
from quadrag.stats import Pair

_QUESTION = ["config", "split", "id"]


class Difference(Number):
    """The paired difference of a score from the first run's: a float, of the questions that both scored.

    Attributes:
        difference: the second run's value less the first one's.
        interval: its 95% interval.
        n: on how many questions it is.
        p: how often chance alone would make a difference at least as large.
        p_holm: p adjusted for all headlines, or for all other scores; None where it is of one by itself.
        detectable: the smallest true difference that as many questions show in four of five cases.
        better, worse, equal: on how many questions the second run is so; None of a score without a better end.
        verdict: what the second run is: ``better``, ``worse``, ``not decided``, ``all equal``, ``too few questions``.
        reason: why it says nothing of the answers, as of a score; "" where all is well.
    """

    difference: float
    interval: tuple[float, float]
    n: int
    p: float
    p_holm: float | None
    detectable: float
    better: int | None
    worse: int | None
    equal: int | None
    verdict: str
    reason: str


class Comparison(Mapping[str, Any]):
    """Runs compared with the first of them: ``comparison["rouge_l"].difference``.

    Of two runs a name stands for a `Difference`, of more for a dictionary of these by system.

    Attributes:
        runs: what is compared.
        profile: ``official`` or ``corrected``.
        labels: ``en`` or ``zh``, the language in which it is shown.
    """

    def __init__(self, runs: Sequence[Evaluation], labels: str) -> None:
        """Pair the questions that each has with those of the first one."""
        self.runs = list(runs)
        self.profile = runs[0].profile
        self.labels = labels
        names = {key: name for one in reversed(runs) for name, key in one.keys_by_name.items()}
        order = dict.fromkeys(key for one in runs for key in one.keys_by_name.values())
        self._keys = {names[key]: key for key in order}
        self._found = _compare([one.result for one in runs], self.profile)
        self._pairs = {
            name: {run: self._difference(key, run) for run, found in enumerate(self._found) if key[1:] in found}
            for name, key in self._keys.items()
            if any(key[1:] in found for found in self._found)
        }

    def __getitem__(self, name: str) -> Any:
        """Return the difference of a score, or of several runs those by system.

        Raises:
            KeyError: none has this name, or several have, and the message lists those there are; or it is not compared,
                and the message says why.
        """
        called = find_name(name, self._keys)
        if called not in self._pairs:
            raise UnknownScore(f"{called} is not compared: {self._tell_why(self._keys[called], 0)}")
        found = {self._names[run + 1]: pair for run, pair in self._pairs[called].items()}
        return found if len(self.runs) > 2 else found[self._names[1]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

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
        """Print what ``quadrag report A B ...`` prints or, when `worse` or `better`, single questions of two runs.

        Args:
            verbose: all metrics, not the headlines alone; of questions their texts whole.
            worse: those on which the second is worse, the greatest difference first; raises as `to_pandas` does.
            better: those on which it is better.
            metric: what says so; the first headline that both scored when None.
            limit: so many questions.
        """
        if not (worse or better):
            print_grids(self._tables(verbose), verbose=verbose)
            return
        if len(self.runs) > 2:
            raise QuadragError("worse and better are of two runs; compare the two alone")
        which = Which(worse=worse, better=better, metric=metric, profile=self.profile)
        readers = [(name, one.reader) for name, one in zip(self._names, self.runs, strict=True)]
        write(*write_changes(readers, which, manner(limit, verbose, self.labels)))

    @entrance
    def report(self, path: str | Path) -> Path:
        """Write the page of the runs, all answers side by side, and return where it lies."""
        place, grids = Path(path), tabulate_several(self._runs, self.profile, labels=self.labels)
        write_page(place, [(name, [one]) for name, one in self._runs], grids, self.labels, profile=self.profile)
        return place

    @entrance
    def to_pandas(self, *, texts: bool = True, by: str = "question") -> Any:
        """Return a `pandas.DataFrame` with a row for each question that two have or, `by` ``"metric"``, each score.

        Of more than two runs each but the first has rows. Columns that are mostly alike in all rows stand last. Of
        questions they are, of more than two, ``system``; ``id`` and ``split``; ``query``, ``gold``, ``answer_before``
        and ``answer_after``; of each metric three, as ``accuracy_before``, ``..._after`` and ``..._difference``, after
        less before; ``unscored_before`` and ``unscored_after``; and ``config``. Of scores they are ``score``, its name;
        ``before`` and ``after``, each over all questions of its run; then over the ``n`` questions scored in both
        ``difference``, its interval's ``low`` and ``high``, ``p`` and ``p_holm``, the ``verdict``, and whether it is a
        ``headline``, which stand first; ``n``, and on how many of these the second is ``better``, ``worse`` and
        ``equal``; ``reason``, why a score is not compared; ``split``, ``pooled``, ``metric`` and ``config``; and
        ``system_before``, ``system_after``, ``folder_before`` and ``folder_after``.

        Args:
            texts: with query, gold and answers; raises as `Evaluation.to_pandas` does.
            by: ``question`` or ``metric``.
        """
        import pandas  # type: ignore[import-untyped]

        if check_rows(by) == "metric":
            pairs = [(name, run) for name in self._keys for run in range(len(self.runs) - 1)]
            rows = [self._row(name, run) for name, run in pairs]
            return score_frame(sorted(rows, key=lambda row: not row["headline"]))
        first, *others = (one.to_pandas(texts=texts) for one in self.runs)
        frames = [self._pair(first, other, run) for run, other in enumerate(others)]
        if len(frames) == 1:
            return frames[0]
        named = dict(zip(self._names[1:], frames, strict=True))
        return pandas.concat(named, names=["system"]).reset_index("system").reset_index(drop=True)

    def __repr__(self) -> str:
        """Say which is better, and show the differences of the headlines."""
        return to_text(self._tables())

    def _repr_html_(self) -> str:
        """Show a notebook the same."""
        return to_html(self._tables())

    @property
    def _names(self) -> list[str]:
        """What the runs are called: by their systems or, where two of these have one name, by their folders."""
        systems = Counter(one.name for one in self.runs)
        names = [one.name if systems[one.name] == 1 else one.folder.resolve().name for one in self.runs]
        return names if len({*names}) == len(names) else [str(one.folder) for one in self.runs]

    @property
    def _runs(self) -> list[tuple[str, Result]]:
        return [(name, one.result) for name, one in zip(self._names, self.runs, strict=True)]

    def _tables(self, verbose: bool = False) -> list[Grid]:
        grids = tabulate_several(self._runs, self.profile, verbose, self.labels)
        return [speak_grid(lift_place(grid), self.labels, python=True) for grid in grids]

    def _scores(self, key: ScoreKey, run: int) -> list[Any]:
        """Return the score of the first run and that of another, None where one has it not."""
        return [
            next((one.scores[name] for name, at in one.keys_by_name.items() if at == key), None)
            for one in (self.runs[0], self.runs[run + 1])
        ]

    def _difference(self, key: ScoreKey, run: int) -> Difference:
        pair, counts = self._found[run][key[1:]]
        doubts = (
            one.reason for one in self._scores(key, run) if one is not None and one.value is not None and one.reason
        )
        return Difference(
            pair.difference,
            write_pair(key[1:], pair),
            difference=pair.difference,
            interval=pair.interval,
            n=pair.n,
            p=pair.p,
            p_holm=pair.p_holm,
            detectable=pair.detectable,
            **dict(zip(("better", "worse", "equal"), counts or [None] * 3, strict=True)),
            verdict=find_verdict(key[1:], pair),
            reason=next(doubts, ""),
        )

    def _row(self, name: str, run: int) -> dict[str, Any]:
        """Return the row of a score of two runs, compared or not."""
        key, first, second = self._keys[name], self.runs[0], self.runs[run + 1]
        pair = self._pairs.get(name, {}).get(run)
        told: dict[str, Any] = {"verdict": "", "n": 0} if pair is None else vars(pair)
        before, after = (None if one is None else one.value for one in self._scores(key, run))
        low, high = told["interval"] if told["n"] >= FEW else (None, None)
        row = {"score": name, "before": before, "after": after, "difference": told.get("difference")}
        row |= {"low": low, "high": high, "p": told.get("p"), "p_holm": told.get("p_holm"), "verdict": told["verdict"]}
        row |= {"headline": self._is_headline(key), "n": told["n"]}
        row |= {what: told.get(what) for what in ("better", "worse", "equal")}
        row |= {"reason": self._tell_why(key, run) if pair is None else pair.reason, **place_columns(name, key)}
        row |= {"system_before": self._names[0], "system_after": self._names[run + 1]}
        return row | {"folder_before": str(first.folder), "folder_after": str(second.folder)}

    def _is_headline(self, key: ScoreKey) -> bool:
        heads = pick_places([one.result for one in self.runs], self.profile)
        return any((key.config, key.metric, key.key) == (at[0], *at[2:]) for at in heads)

    def _tell_why(self, key: ScoreKey, run: int) -> str:
        """Say why a score is not compared, of one over all splits why that of the first split is not."""
        both, names = (self.runs[0].result, self.runs[run + 1].result), (self._names[0], self._names[run + 1])
        parts = [at for at in self._keys.values() if (at.metric, at.key) == (key.metric, key.key)]
        parts = [at for at in parts if at[1:] not in self._found[run]]
        told = (say_missing(*both, at[1:], self.profile, names) for at in (key, *parts))
        lacking = (one.reason for one in self._scores(key, run) if one is not None)
        return next(filter(None, (*told, *lacking)), "")

    def _pair(self, before: Any, after: Any, run: int) -> Any:
        """Put the tables of two runs side by side: a row for each question that both have, with the differences.

        Where a run has several samples of a question, its values are their means, and its answer is the first one.
        """
        values = [name for name in before if name in after and before[name].dtype == "float64"]
        means = dict.fromkeys(values, "mean")
        sides = []
        for frame in (before, after):
            how = {name: means.get(name, "first") for name in frame if name not in (*_QUESTION, "sample")}
            sides.append(frame.groupby(_QUESTION, sort=False, as_index=False).agg(how))
        both = sides[0].merge(
            sides[1].drop(columns=["query", "gold"], errors="ignore"), on=_QUESTION, suffixes=("_before", "_after")
        )
        first, second = self.runs[0].result, self.runs[run + 1].result
        both = both[[is_same(first, second, key) for key in both[_QUESTION].itertuples(index=False, name=None)]]
        for name in values:
            both[f"{name}_difference"] = both[f"{name}_after"] - both[f"{name}_before"]
        columns = [f"{name}_{what}" for name in values for what in ("before", "after", "difference")]
        texts = [name for name in ("query", "gold", "answer_before", "answer_after") if name in both]
        reasons = ("unscored_before", "unscored_after")
        both = both[["id", "split", *texts, *columns, *reasons, "config"]].reset_index(drop=True)
        return type_reasons(both, *reasons)


class _Found(NamedTuple):
    pair: Pair
    counts: tuple[int, int, int] | None


def _compare(results: Sequence[Result], profile: str) -> list[dict[Place, _Found]]:
    first, *others = results
    heads = pick_places(results, profile)
    rest = [place for place in list_places(results, profile) if place not in heads]
    found: list[dict[Place, _Found]] = [{} for _ in others]
    for places in (heads, rest):
        compared = compare_each(first, others, places, profile)
        pooled = pool_each(first, others, places, compared, profile)
        for own, other, whole, here in zip(found, others, pooled, compared, strict=True):
            own |= {at: _Found(one.compared.pair, one.changes) for at, one in whole.items()}
            own |= {at: _Found(one.pair, count_changes(first, other, at, profile)) for at, one in here.items()}
    return found


@entrance
def compare(*runs: Evaluation | str | Path, profile: str | None = None, labels: str | None = None) -> Comparison:
    """Compare two runs on the questions that both answered, or of more each with the first.

    Args:
        runs: evaluations, or folders of runs.
        profile: ``official`` or ``corrected``; that of the first run when None.
        labels: ``en`` or ``zh``, the language in which it is shown; that of the first evaluation when None.

    Raises:
        QuadragError: one alone is given, or one twice; they are of other benchmarks, or no two share a split.
    """
    check_profile(profile)
    if len(runs) < 2:
        raise QuadragError("compare takes two runs or more, here is one; of a list: compare(*runs)")
    evaluations = [one for one in runs if isinstance(one, Evaluation)]
    shown_in = choose_labels(labels or next((one.labels for one in evaluations), None))
    by = profile or next((one.profile for one in evaluations), None)
    sides: list[Evaluation] = []
    for one in runs:
        side = one if isinstance(one, Evaluation) else result(one, by)
        by = by or side.profile
        side = side if side.profile == by else result(side.folder, by)
        sides.append(Evaluation(replace(side.result), shown_in))
    refuse_same([str(side.folder) for side in sides])
    refuse_apart([(side.name, [side.result]) for side in sides])
    lay_beside([side.result for side in sides])
    return Comparison(sides, shown_in)

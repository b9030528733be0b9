"""Runs compared in Python, question by question, each with the first: as numbers, tables of pandas, the page."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from quadrag.errors import QuadragError, UnknownScore
from quadrag.printing import write
from quadrag.reporting.comparison import (
    check_gate,
    explain_missing,
    refuse_apart,
    refuse_same,
    tabulate_comparison,
    write_difference,
)
from quadrag.reporting.messages import say, say_score
from quadrag.reporting.page.page import write_page
from quadrag.reporting.questions import ItemFilter, write_changed
from quadrag.reporting.table import Table, name_runs
from quadrag.reporting.text import print_tables
from quadrag.results import compare as results
from quadrag.results.run import Place

from .result import (
    ROWS,
    Evaluation,
    Number,
    check,
    display,
    entrance,
    find_name,
    place_columns,
    result,
    score_frame,
    to_html,
    to_text,
    type_reasons,
)

_QUESTION = ["config", "split", "id"]
_PARTS = ("difference", "interval", "n", "p", "p_holm", "detectable")


class Difference(Number):
    """The paired difference of a score from the first run's, on the questions that both scored: a float."""

    difference: float  # the second run's value less the first one's
    interval: tuple[float, float]  # of 95%
    n: int  # on how many questions
    p: float  # how often chance alone would make a difference at least as large
    p_holm: float | None  # adjusted for all headlines, or for all other scores; None of one by itself
    detectable: float  # the smallest true difference that as many questions show in four of five cases
    better: int | None  # on how many questions the second run is so; None of a score without a better end
    worse: int | None
    equal: int | None
    verdict: str  # what the second run is: better, worse, not decided, all equal, too few questions
    reason: str  # why it says nothing of the answers, as of a score; "" where all is well

    @classmethod
    def of(cls, one: results.Difference) -> Self:
        """Make one of what a run differs by, of runs that are compared by it."""
        assert one.delta is not None and one.interval
        doubts = (say_score(score) for score in one.scores if score and score.value is not None)
        parts = {name: getattr(one, name) for name in _PARTS if name != "difference"}
        parts |= one.changes._asdict() if one.changes else dict.fromkeys(results.Changes._fields)
        parts |= {"verdict": str(one.verdict), "reason": next(filter(None, doubts), "")}
        return cls(one.delta, write_difference(one), difference=one.delta, **parts)


class Comparison(Mapping[str, Any]):
    """Runs compared with the first of them: ``comparison["KEY"].difference``.

    Of two runs a name stands for a `Difference`, of more for a dictionary of these by system.

    Attributes:
        runs: what is compared.
        profile: ``official`` or ``corrected``.
        labels: ``en`` or ``zh``, the language in which it is shown.
    """

    def __init__(self, runs: Sequence[Evaluation]) -> None:
        """Pair the questions that each has with those of the first one; all have one profile."""
        self.runs, self.profile, self.labels = list(runs), runs[0].profile, runs[0].labels
        names = [one.name for one in runs]
        self._names = names if len({*names}) == len(names) else name_runs([str(one.folder) for one in runs])
        self._keys = {name: score.key for one in reversed(runs) for name, score in one.rows.items()}
        order = {score.key: None for one in runs for score in one.rows.values()}
        called = {key: name for name, key in self._keys.items()}
        self._keys = {called[key]: key for key in order}

    def __getitem__(self, name: str) -> Any:
        """Return the difference of a score, or of several runs those by system.

        Raises:
            KeyError: none has this name, or several have, and the message lists those there are; or it is not compared,
                and the message says why.
        """
        called = find_name(name, self._keys)
        pairs = {self._names[run]: Difference.of(one) for run, one in self._list(called) if one.n}
        if not pairs:
            raise UnknownScore(f"{called} is not compared: {self._explain(called, 1)}")
        return pairs if len(self.runs) > 2 else pairs[self._names[1]]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._keys if any(one.n for _, one in self._list(name)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @entrance
    def check(self, *, below: Mapping[str, float] | None = None) -> None:
        """Raise where a run is worse than the first one, as ``quadrag report A B --fail-if worse`` exits with 4.

        Args:
            below: what scores of the last run must reach, ``{"KEY": 0.8}``, else it is raised too.

        Raises:
            GateFailed: a run is worse by a headline (p below 0.05, by Holm's rule), the 95% interval of a score lies
                below what it must reach, or one of these is invalid.
        """
        first, *others = (one.result for one in self.runs)
        compared = results.compare(first, others, self.profile)
        check_gate([compared], self._names, [self.runs[-1].result], below or {}, self.profile)

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
            print_tables([self._table(verbose)], verbose=verbose, language=self.labels)
            return
        if len(self.runs) > 2:
            raise QuadragError("worse and better are of two runs; compare the two alone")
        readers = [(name, one.reader) for name, one in zip(self._names, self.runs, strict=True)]
        wanted = ItemFilter(metric=metric, profile=self.profile)
        write(*write_changed(readers, wanted, display(limit, verbose, self.labels), better))

    @entrance
    def report(self, path: str | Path) -> Path:
        """Write the page of the runs, all answers side by side, and return where it lies."""
        place, runs = Path(path), [(name, [one.result]) for name, one in zip(self._names, self.runs, strict=True)]
        write_page(place, runs, [self._table(verbose=True)], self.labels, profile=self.profile)
        return place

    @entrance
    def to_pandas(self, *, texts: bool = True, by: str = "question") -> Any:
        """Return a `pandas.DataFrame` with a row for each question that two have or, `by` ``"metric"``, each score.

        Of more than two runs each but the first has rows; of questions they have the column ``system``. Of questions
        there are ``answer_before`` and ``answer_after``; of each metric three columns, ``KEY_before``, ``KEY_after``
        and ``KEY_difference``; ``unscored_before`` and ``unscored_after``; the others are those of
        `Evaluation.to_pandas`. Of scores there are ``before`` and ``after``, each over all questions of its run; then
        over the ``n`` questions scored in both the parts of `Difference`, its interval as ``low`` and ``high``; whether
        it is a ``headline``; ``reason``, why it is not compared; system and folder of both runs.

        Args:
            texts: with query, gold and answers; raises as `Evaluation.to_pandas` does.
            by: ``question`` or ``metric``.
        """
        import pandas  # type: ignore[import-untyped]

        check("value of by", by, ROWS)
        if by == "metric":
            rows = [self._row(name, run) for name in self._keys for run in range(1, len(self.runs))]
            return score_frame(sorted(rows, key=lambda row: not row["headline"]))
        first, *others = (one.to_pandas(texts=texts) for one in self.runs)
        frames = [self._pair(first, other, run) for run, other in enumerate(others, 1)]
        if len(frames) == 1:
            return frames[0]
        named = dict(zip(self._names[1:], frames, strict=True))
        return pandas.concat(named, names=["system"]).reset_index("system").reset_index(drop=True)

    def __repr__(self) -> str:
        """Say which is better, and show the differences of the headlines."""
        return to_text([self._table()], self.labels)

    def _repr_html_(self) -> str:
        """Show a notebook the same."""
        return to_html([self._table()], self.labels)

    def _table(self, verbose: bool = False) -> Table:
        runs = zip(self._names, (one.result for one in self.runs), strict=True)
        return tabulate_comparison([*runs], self.profile, verbose)

    @cached_property
    def _found(self) -> dict[tuple[Place, int], results.Difference]:
        """What runs differ by, or why it is not known, by the score's place and the run's."""
        first, *others = (one.result for one in self.runs)
        compared = results.compare(first, others, self.profile, every=True)
        return {(one.place, one.run): one for one in compared.differences}

    def _list(self, name: str) -> list[tuple[int, results.Difference]]:
        place = self._keys[name][1:]
        return [(run, one) for run in range(1, len(self.runs)) if (one := self._found.get((place, run)))]

    def _row(self, name: str, run: int) -> dict[str, Any]:
        """Return the row of a score of two runs, compared or not."""
        key, one = self._keys[name], dict(self._list(name)).get(run)
        scores = [{score.key: score for score in self.runs[at].rows.values()}.get(key) for at in (0, run)]
        before, after = one.values if one else (score and score.value for score in scores)
        told: dict[str, Any] = vars(Difference.of(one)) if one and one.n else {}
        low, high = told["interval"] if told.get("n", 0) >= results.FEW else (None, None)
        row = {"score": name, "before": before, "after": after, "difference": told.get("difference")}
        row |= {"low": low, "high": high, "p": told.get("p"), "p_holm": told.get("p_holm")}
        row |= {"verdict": told.get("verdict", ""), "headline": bool(one and one.headline), "n": told.get("n", 0)}
        row |= {count: told.get(count) for count in results.Changes._fields}
        row |= {"reason": told["reason"] if told else self._explain(name, run), **place_columns(name, key)}
        row |= {"system_before": self._names[0], "system_after": self._names[run]}
        return row | {"folder_before": str(self.runs[0].folder), "folder_after": str(self.runs[run].folder)}

    def _explain(self, name: str, run: int) -> str:
        """Say why a score is not compared, of one over all splits why that of the first such split is not."""
        key = self._keys[name]
        for other in (name, *(other for other, at in self._keys.items() if at[3:] == key[3:])):
            if (one := dict(self._list(other)).get(run)) and one.reason:
                return say(explain_missing(one, self._names, [side.result for side in self.runs]))
        scores = (score for at in (0, run) for score in self.runs[at].rows.values() if score.key == key)
        return next(filter(None, (say_score(score) for score in scores)), "")

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
        first, second = self.runs[0].result, self.runs[run].result
        both = both[[results.is_same(first, second, key) for key in both[_QUESTION].itertuples(index=False, name=None)]]
        for name in values:
            both[f"{name}_difference"] = both[f"{name}_after"] - both[f"{name}_before"]
        columns = [f"{name}_{what}" for name in values for what in ("before", "after", "difference")]
        texts = [name for name in ("query", "gold", "answer_before", "answer_after") if name in both]
        reasons = ("unscored_before", "unscored_after")
        both = both[["id", "split", *texts, *columns, *reasons, "config"]].reset_index(drop=True)
        return type_reasons(both, *reasons)


@entrance
def compare(*runs: Evaluation | str | Path, profile: str | None = None, labels: str | None = None) -> Comparison:
    """Compare two runs on the questions that both answered, or of more each with the first.

    Args:
        runs: evaluations, or folders of runs.
        profile: ``official`` or ``corrected``; that of the first run when None.
        labels: ``en`` or ``zh``, the language in which it is shown; that of the first run when None.

    Raises:
        QuadragError: one alone is given, or one twice; they are of other benchmarks, or no two share a split.
    """
    if len(runs) < 2:
        raise QuadragError("compare takes two runs or more, here is one; of a list: compare(*runs)")
    first = runs[0] if isinstance(runs[0], Evaluation) else result(runs[0], profile, labels=labels)
    folders = [str(one.folder if isinstance(one, Evaluation) else one) for one in runs]
    refuse_same(folders)
    sides = [result(folder, profile or first.profile, labels=labels or first.labels) for folder in folders]
    refuse_apart([(side.name, [side.result]) for side in sides])
    return Comparison(sides)

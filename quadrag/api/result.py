"""Runs in Python, one or several compared: their numbers, tables of pandas, what a terminal shows, the page.

Nothing is computed or laid out here: values are those of `quadrag/results`, tables those of the command line.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from math import nan
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from quadrag.errors import QuadragError, UnknownScore, clean, one_line, unknown_name
from quadrag.labels import LANGUAGES, choose_labels
from quadrag.metric_record import show_key
from quadrag.printing import GLANCE, write
from quadrag.reporting.comparison import (
    check_gate,
    explain_missing,
    refuse_apart,
    refuse_same,
    tabulate_comparison,
    write_difference,
)
from quadrag.reporting.facts import describe_kept
from quadrag.reporting.messages import pick_notes, say, say_invalid, say_item, say_score, translate_table
from quadrag.reporting.page.page import make_environment, write_page
from quadrag.reporting.questions import DisplayOptions, ItemFilter, RunReader, write_changed, write_items
from quadrag.reporting.table import FEW, RATE, Table, count_all, count_both, format_interval, format_value, name_runs
from quadrag.reporting.tables import tabulate
from quadrag.reporting.text import print_tables
from quadrag.reporting.text import to_text as draw_text
from quadrag.results import PROFILES, Level, Note, NoteCode, Place, Run, ScoreKey, Status
from quadrag.results import Score as RunScore
from quadrag.results import compare as comparisons
from quadrag.results.items import FAILED, is_whole, pick_headlines, read_items, reason_of, with_pooled
from quadrag.run.folder import read_runs

PAGE = "report.html"  # of a run, in its folder
_TEXTS = ("query", "answer", "gold")
_P = ParamSpec("_P")
_T = TypeVar("_T")


def entrance(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Have a function of the Python entrance tell bad input in one line, without the way that it took in here."""

    @wraps(function)
    def call(*arguments: _P.args, **named: _P.kwargs) -> _T:
        try:
            return function(*arguments, **named)
        except QuadragError as error:
            error.args = (one_line(error),)
            raise error.with_traceback(None) from None

    return call


class Number(float):
    """A float with the parts that it is told by; printed it is a line as tables write it."""

    def __new__(cls, number: float | None = None, line: str = "", **parts: Any) -> Self:
        found = super().__new__(cls, nan if number is None else number)
        found.__dict__.update(parts, line=line)
        return found

    def __repr__(self) -> str:
        return str(self.__dict__["line"])


class Score(Number):
    """One metric over all questions of a split: a float, NaN where there is no value.

    Of what is over all splits, ``all 5 splits``, a question counts once.
    """

    value: float | None  # in the metric's own unit, mostly 0 to 1; None where it could not be computed, or is not valid
    interval: tuple[float, float] | None  # of 95%; None where there is none, as of fewer than 5 questions
    n: int  # the questions that it is over; of a score that is not valid, those that could be read
    n_total: int
    unscored: dict[str, int]  # how many questions have no value, by reason
    metric: str  # the evaluate module
    key: str  # of its result
    split: str
    signature: str  # how it was computed
    valid: bool  # False where more than a fifth of the items failed, by no fault of the system's answers
    reason: str  # why there is no value, or why it says nothing of the answers; "" where all is well

    @classmethod
    def of(cls, score: RunScore) -> Self:
        (n, total), unit, reason = count_both(score), score.record.unit, say_score(score)
        interval = score.interval if score.interval and (score.n or 0) >= FEW else None
        line = f"{score.key.key} {format_value(score.value, unit, score.n)}"
        line += "" if score.value is None else "%" if unit == RATE else f" {unit}"
        line += f" (95% {format_interval(interval, unit)})" if interval else ""
        line += f", n {n} of {total}" + (f"; {reason}" if reason else "")
        parts = {name: getattr(score.key, name) for name in ("metric", "key", "split")}
        parts |= {"value": score.value, "interval": interval, "n": n, "n_total": count_all(score), "reason": reason}
        parts |= {"unscored": dict(score.counts.unscored), "valid": score.status is not Status.INVALID}
        return cls(score.value, line, **parts, signature=score.signature)


class Shown:
    labels: str
    page = ""  # the file that a notebook links to

    def _tables(self, verbose: bool = False) -> list[Table]:
        raise NotImplementedError

    def __repr__(self) -> str:
        tables = (translate_table(table, self.labels) for table in self._tables())
        return clean("".join(map(draw_text, tables)).strip("\n"))

    def _repr_html_(self) -> str:
        tables = [translate_table(table, self.labels) for table in self._tables()]
        return clean(make_environment().get_template("notebook.html").render(tables=tables, page=self.page))


class Evaluation(Shown, Mapping[str, Score]):
    """The scores of a system by name, ``result["KEY"].value``, and how they are shown.

    Where a config has several splits a name has the split before it: ``result["SPLIT/KEY"]``. There is a score over all
    of them, too, ``result["all 5 splits/KEY"]``, which ``result["KEY"]`` finds, as ``METRIC.KEY`` finds it.

    Attributes:
        result: what the run came to.
        folder: where its files lie.
        profile: ``official`` or ``corrected``.
        labels: ``en`` or ``zh``, the language in which it is shown.
    """

    def __init__(self, result: Run, labels: str = LANGUAGES[0]) -> None:
        self.result = result
        self.folder = Path(result.folder or "")
        self.profile = result.record.profile
        self.labels = labels
        self.page = str(self.folder / PAGE)

    def __getitem__(self, name: str) -> Score:
        """Return a score.

        Raises:
            KeyError: none has this name, or several have; the message lists those there are.
        """
        return self.scores[find_name(name, {called: score.key for called, score in self.rows.items()})]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def scores(self) -> dict[str, Score]:
        """The scores by name: first those over all splits, last those included that could not be computed."""
        return {name: Score.of(score) for name, score in self.rows.items()}

    @cached_property
    def rows(self) -> dict[str, RunScore]:
        own = self.result.whole(self.profile)
        many = len({score.key.split for score in own}) > 1
        scores = with_pooled(self.result, own, self.profile)
        return {f"{score.key.split}/" * many + self._names[score.key.name]: score for score in scores}

    @property
    def name(self) -> str:
        """What was measured."""
        return self.result.record.llm

    @property
    def invalid(self) -> list[str]:
        """Why metrics are not valid, a line each: too many of their items failed, or the judge does not answer."""
        record, stopped = self.result.record, self.result.stopped
        early = [say(stopped)] if stopped and not record.dead_judge else []
        return [*early, *say_invalid(record)]

    @property
    def valid(self) -> bool:
        """Whether the run came to its end, and no metric lost more than a fifth of its items to failures."""
        return not self.invalid

    @property
    def notes(self) -> list[str]:
        """What stands above the numbers where they are printed, a line each: what is partial, invalid, odd or kept."""
        return pick_notes(translate_table(self._tables()[0], self.labels).notes, Level.WARNING)

    @entrance
    def to_pandas(self, *, texts: bool = True) -> Any:
        """Return a `pandas.DataFrame` with a row for each sample of a question.

        There are ``id``, ``split``, ``query``, ``answer``, ``gold``; the values that it counts as in the scores, those
        of the headlines first, each by its key or, where two metrics have a key of one name, as ``METRIC.KEY``;
        ``unscored``, why one has none of its own, as ``raised`` with the exception; ``sample`` and ``config``.

        Args:
            texts: with query, answer and gold, read from the folder and from the benchmark's data.

        Raises:
            QuadragError: `texts`, and the data are not those any more.
        """
        import pandas  # type: ignore[import-untyped]

        rows, record = [], self.result.record
        for item in read_items(self.result):
            key = (item["config"], item["split"], item["id"])
            answer = self.result.texts.get((key, item["sample"]))
            row = {name: item[name] for name in ("id", "split", "sample", "config")}
            if texts:
                question = self.reader.questions[key]
                row |= {"query": question.query, "answer": answer, "gold": question.references}
            failure, reasons = record.failures.get("/".join((*key, str(item["sample"])))), dict[str, None]()
            for name, entry in item.items():
                if isinstance(entry, Mapping):
                    row[name] = entry.get(self.profile)
                    if reason := reason_of(entry, self.profile):
                        said = say_item(name, reason, record, answer is not None)
                        reasons[f"{reason}: {failure}" if failure and reason in FAILED else said] = None
            rows.append({**row, "unscored": ", ".join(reasons) or None})
        frame = pandas.DataFrame(clean(rows)).rename(columns=self._names)
        others = ["id", "split", *_TEXTS, "unscored", "sample", "config"]
        values = [name for name in dict.fromkeys((*self._names.values(), *frame)) if name in {*frame} - {*others}]
        order = [*others[:2], *(_TEXTS if texts else ()), *values, *others[-3:]]
        return type_reasons(frame[order].astype(dict.fromkeys(values, "float64")), "unscored")

    @entrance
    def show(
        self,
        verbose: bool = False,
        *,
        wrong: bool = False,
        unscored: bool = False,
        metric: str | None = None,
        limit: int = 10,
    ) -> None:
        """Print the summary and the folder or, when `wrong` or `unscored`, single questions.

        Args:
            verbose: all tables; of questions all metrics, and texts whole.
            wrong: what ``quadrag show FOLDER --wrong`` prints, the worst questions first; raises as `to_pandas` does.
            unscored: what ``quadrag show FOLDER --unscored`` prints, the questions that some metric has no value of.
            metric: what says that an answer is wrong; the first valid headline when None.
            limit: so many questions.
        """
        if wrong or unscored:
            wanted = ItemFilter(wrong=wrong, unscored=unscored, metric=metric, profile=self.profile)
            write(*write_items(self.reader, wanted, display(limit, verbose, self.labels)))
            return
        print_tables(self._tables(verbose), verbose=verbose, language=self.labels)
        write(f"\n{self.page}")

    @entrance
    def report(self, path: str | Path) -> Path:
        """Write the page to a file, and return where it lies."""
        place, systems = Path(path), [(self.name, [self.result])]
        write_page(place, systems, tabulate(systems, self._profiles, self.labels, page=True), self.labels, self.profile)
        return place

    @cached_property
    def reader(self) -> RunReader:
        return RunReader(self.folder, self.result)

    @cached_property
    def _names(self) -> dict[str, str]:
        """What metrics are called, the headlines first: by their keys, where no other has such a key."""
        every = (*pick_headlines(self.result.scores, self.profile), *self.result.whole(self.profile))
        keys = {score.key.name: score.key.key for score in every}
        times = Counter(keys.values())
        return {name: key if times[key] == 1 else name for name, key in keys.items()}

    @property
    def _profiles(self) -> list[str]:
        return [self.profile, *(other for other in PROFILES if other != self.profile)]

    def _tables(self, verbose: bool = False) -> list[Table]:
        tables = tabulate([(self.name, [self.result])], self._profiles, self.labels, verbose)
        tables[0].notes[:0] = [Note(NoteCode.KEPT, {"said": said}) for said in describe_kept([self.result])]
        return tables


@entrance
def result(folder: str | Path, profile: str | None = None, *, labels: str | None = None) -> Evaluation:
    """Read a finished run back: one of `evaluate`, of ``quadrag run`` or of ``quadrag score --out``.

    Args:
        folder: of the run.
        profile: ``official`` or ``corrected``; the one that the run was made with when None.
        labels: ``en`` or ``zh``, the language in which it is shown; that of QUADRAG_LABELS, or English, when None.

    Raises:
        QuadragError: it holds no finished run, or several.
    """
    check("profile", profile or PROFILES[0], PROFILES)
    shown_in = choose_labels(labels)
    ((_, found),) = read_runs([str(folder)], profile)
    if len(found) > 1:
        inside = ", ".join(str(one.folder) for one in found)
        raise QuadragError(f"{folder} holds {len(found)} runs; expected the folder of one: {inside}")
    return Evaluation(found[0], shown_in)


def check(what: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise unknown_name(what, value, known)


def find_name(name: str, known: Mapping[str, ScoreKey]) -> str:
    """Return the name of the one score that is called so, with its split and its metric or without.

    Of several splits it is the score over all of them, where there is one.

    Raises:
        KeyError: there is none, or more than one; the message lists those there are.
    """
    if name in known:
        return name
    found = []
    for called, at in known.items():
        if str(name).removeprefix(f"{at.split}/") in (at.key, at.name, show_key(at.metric, at.key)):
            found.append(called)
    found = [called for called in found if is_whole(known[called].split)] or found
    if len(found) == 1:
        return found[0]
    if found:
        uses = ", ".join(f"result[{called!r}]" for called in found)
        raise UnknownScore(f"{name} stands for several scores: use {uses}")
    raise UnknownScore(str(unknown_name("score", name, dict.fromkeys((*known, *(at.key for at in known.values()))))))


def display(limit: int, verbose: bool, labels: str) -> DisplayOptions:
    return DisplayOptions(limit, None if verbose else GLANCE, verbose, labels)


def type_reasons(frame: Any, *columns: str) -> Any:
    """Return a table whose columns of reasons are texts or None, whether there are any or not."""
    return frame.assign(**{name: frame[name].astype(object).where(frame[name].notna(), None) for name in columns})


_QUESTION = ["config", "split", "id"]


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
    def of(cls, one: comparisons.Difference) -> Self:
        assert one.delta is not None and one.interval
        doubts = (say_score(score) for score in one.scores if score and score.value is not None)
        parts = {name: getattr(one, name) for name in ("interval", "n", "p", "p_holm", "detectable")}
        parts |= one.changes._asdict() if one.changes else dict.fromkeys(comparisons.Changes._fields)
        parts |= {"verdict": str(one.verdict), "reason": next(filter(None, doubts), "")}
        return cls(one.delta, write_difference(one), difference=one.delta, **parts)


class Comparison(Shown, Mapping[str, Any]):
    """Runs compared with the first of them: ``comparison["KEY"].difference``.

    Of two runs a name stands for a `Difference`, of more for a dictionary of these by system.

    Attributes:
        runs: what is compared.
        profile: ``official`` or ``corrected``.
        labels: ``en`` or ``zh``, the language in which it is shown.
    """

    def __init__(self, runs: Sequence[Evaluation]) -> None:
        self.runs, self.profile, self.labels = list(runs), runs[0].profile, runs[0].labels
        names = [run.name for run in runs]
        self._names = names if len({*names}) == len(names) else name_runs([str(run.folder) for run in runs])
        self._keys = {name: score.key for run in reversed(runs) for name, score in run.rows.items()}
        order = {score.key: None for run in runs for score in run.rows.values()}
        called = {key: name for name, key in self._keys.items()}
        self._keys = {called[key]: key for key in order}

    def __getitem__(self, name: str) -> Any:
        """Return the difference of a score, or of several runs those by system.

        Raises:
            KeyError: none has this name, or several have, and the message lists those there are; or it is not compared,
                and the message says why.
        """
        called = find_name(name, self._keys)
        pairs = {system: Difference.of(one) for system, one in self._by_system(called).items()}
        if not pairs:
            raise UnknownScore(f"{called} is not compared: {self._explain(called)}")
        return pairs if len(self.runs) > 2 else pairs[self._names[1]]

    def __iter__(self) -> Iterator[str]:
        return filter(self._by_system, self._keys)

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
        compared = comparisons.compare(first, others, self.profile)
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
            print_tables(self._tables(verbose), verbose=verbose, language=self.labels)
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
        write_page(place, runs, self._tables(verbose=True), self.labels, profile=self.profile)
        return place

    @entrance
    def to_pandas(self, *, texts: bool = True) -> Any:
        """Return a `pandas.DataFrame` with a row for each question that two have.

        Of more than two runs each but the first has rows, and there is the column ``system``. There are
        ``answer_before`` and ``answer_after``; of each metric three columns, ``KEY_before``, ``KEY_after`` and
        ``KEY_difference``; ``unscored_before`` and ``unscored_after``; the others are those of `Evaluation.to_pandas`.

        Args:
            texts: with query, gold and answers; raises as `Evaluation.to_pandas` does.
        """
        import pandas

        first, *others = (one.to_pandas(texts=texts) for one in self.runs)
        frames = [self._pair(first, other, run) for run, other in enumerate(others, 1)]
        if len(frames) == 1:
            return frames[0]
        named = dict(zip(self._names[1:], frames, strict=True))
        return pandas.concat(named, names=["system"]).reset_index("system").reset_index(drop=True)

    def _tables(self, verbose: bool = False) -> list[Table]:
        runs = zip(self._names, (run.result for run in self.runs), strict=True)
        return [tabulate_comparison([*runs], self.profile, verbose)]

    @cached_property
    def _differences(self) -> dict[tuple[Place, int], comparisons.Difference]:
        first, *others = (run.result for run in self.runs)
        compared = comparisons.compare(first, others, self.profile, every=True)
        return {(difference.place, difference.run): difference for difference in compared.differences}

    def _by_system(self, name: str) -> dict[str, comparisons.Difference]:
        place, differences = self._keys[name][1:], self._differences
        found = {system: differences.get((place, run)) for run, system in enumerate(self._names) if run}
        return {system: difference for system, difference in found.items() if difference and difference.n}

    def _explain(self, name: str) -> str:
        """Say why a score is not compared, of one over all splits why that of the first such split is not."""
        key = self._keys[name]
        for other in (key, *(other for other in self._keys.values() if other[3:] == key[3:])):
            if (one := self._differences.get((other[1:], 1))) and one.reason:
                return say(explain_missing(one, self._names, [side.result for side in self.runs]))
        scores = (score for run in self.runs[:2] for score in run.rows.values() if score.key == key)
        return next(filter(None, (say_score(score) for score in scores)), "")

    def _pair(self, before: Any, after: Any, run: int) -> Any:
        """Put the tables of two runs side by side.

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
        both = both[
            [comparisons.is_same(first, second, key) for key in both[_QUESTION].itertuples(index=False, name=None)]
        ]
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

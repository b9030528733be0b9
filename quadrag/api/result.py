"""One run in Python: its scores as numbers, tables of pandas, what a terminal shows, the page.

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
from quadrag.reporting.facts import describe_kept
from quadrag.reporting.messages import pick_notes, say, say_invalid, say_item, say_score, translate_table
from quadrag.reporting.page.page import make_environment, write_page
from quadrag.reporting.questions import DisplayOptions, ItemFilter, RunReader, write_items
from quadrag.reporting.table import FEW, RATE, Table, count_all, count_both, format_interval, format_value
from quadrag.reporting.tables import tabulate
from quadrag.reporting.text import print_tables
from quadrag.reporting.text import to_text as draw_text
from quadrag.results import run as results
from quadrag.results.certificates import lay_beside
from quadrag.results.items import FAILED, read_items
from quadrag.results.note import Level, Note, NoteCode
from quadrag.results.run import PROFILES, Run, ScoreKey, Status
from quadrag.results.selection import is_whole, pick_headlines, pool_rows
from quadrag.run.folder import read_runs

PAGE = "report.html"  # of a run, in its folder
ROWS = ("question", "metric")  # what a row of a table of pandas is of
_TEXTS = ("query", "answer", "gold")
_KINDS = dict.fromkeys(("value", "low", "high", "before", "after", "difference", "p", "p_holm"), "float64")
_KINDS |= dict.fromkeys(("n", "n_total", "better", "worse", "equal"), "Int64")
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
        """Take a number, None for NaN, its line, and its parts by name."""
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
    def of(cls, score: results.Score) -> Self:
        """Make one of a score of a run."""
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


class Evaluation(Mapping[str, Score]):
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
        """Take a run's result."""
        self.result = result
        self.folder = Path(result.folder or "")
        self.profile = result.record.profile
        self.labels = labels

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
    def rows(self) -> dict[str, results.Score]:
        """The same as the run has them."""
        own = self.result.whole(self.profile)
        many = len({score.key.split for score in own}) > 1
        every = (*pool_rows(self.result, own, self.profile), *own)
        return {f"{one.key.split}/" * many + self._names[one.key.name]: one for one in every}

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
    def to_pandas(self, *, texts: bool = True, by: str = "question") -> Any:
        """Return a `pandas.DataFrame` with a row for each question or, `by` ``"metric"``, for each score.

        Of questions there are ``id``, ``split``, ``query``, ``answer``, ``gold``; the values that they count as in the
        scores, those of the headlines first, each by its key or, where two metrics have a key of one name, as
        ``METRIC.KEY``; ``unscored``, why one has none of its own, as ``raised`` with the exception;
        ``sample`` and ``config``. Of scores there are ``score``, its name; the parts of `Score`, its interval as
        ``low`` and ``high``; ``pooled``, whether it is over all splits; ``config``; and the run's ``system`` and
        ``folder``.

        Args:
            texts: with query, answer and gold, read from the folder and from the benchmark's data.
            by: ``question`` or ``metric``.

        Raises:
            QuadragError: `texts`, and the data are not those any more; or `by` is neither.
        """
        check("value of by", by, ROWS)
        if by == "question":
            return self._items(texts)
        rows = []
        for name, score in self.scores.items():
            low, high = score.interval or (None, None)
            row = {"score": name, "value": score.value, "low": low, "high": high}
            row |= {part: getattr(score, part) for part in ("n", "n_total", "valid", "reason")}
            row |= {**place_columns(name, self.rows[name].key), "system": self.name, "folder": str(self.folder)}
            rows.append(row)
        return score_frame(rows)

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
        write(f"\n{self.folder / PAGE}")

    @entrance
    def report(self, path: str | Path) -> Path:
        """Write the page to a file, and return where it lies."""
        place, systems = Path(path), [(self.name, [self.result])]
        write_page(place, systems, tabulate(systems, self._profiles, self.labels, page=True), self.labels, self.profile)
        return place

    def __repr__(self) -> str:
        """Show the summary."""
        return to_text(self._tables(), self.labels)

    def _repr_html_(self) -> str:
        """Show a notebook the summary."""
        return to_html(self._tables(), self.labels, str(self.folder / PAGE))

    @cached_property
    def reader(self) -> RunReader:
        """The folder and the benchmark's data, question by question."""
        return RunReader(self.folder, self.result)

    @cached_property
    def _names(self) -> dict[str, str]:
        """What metrics are called, the headlines first: by their keys, where no other has such a key."""
        every = (*pick_headlines(self.result.scores, self.profile), *self.result.whole(self.profile))
        keys = {score.key.name: score.key.key for score in every}
        times = Counter(keys.values())
        return {name: key if times[key] == 1 else name for name, key in keys.items()}

    def _items(self, texts: bool) -> Any:
        """Make the table of questions, a row for each sample."""
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
                    if reason := (entry.get("reason") or {}).get(self.profile):
                        said = say_item(name, reason, record, answer is not None)
                        reasons[f"{reason}: {failure}" if failure and reason in FAILED else said] = None
            rows.append({**row, "unscored": ", ".join(reasons) or None})
        frame = pandas.DataFrame(clean(rows)).rename(columns=self._names)
        others = ["id", "split", *_TEXTS, "unscored", "sample", "config"]
        values = [name for name in dict.fromkeys((*self._names.values(), *frame)) if name in {*frame} - {*others}]
        order = [*others[:2], *(_TEXTS if texts else ()), *values, *others[-3:]]
        return type_reasons(frame[order].astype(dict.fromkeys(values, "float64")), "unscored")

    @property
    def _profiles(self) -> list[str]:
        return [self.profile, *(other for other in PROFILES if other != self.profile)]

    def _tables(self, verbose: bool = False) -> list[Table]:
        """Make what the command prints, with what of it is kept on top."""
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
    lay_beside(found)
    return Evaluation(found[0], shown_in)


def check(what: str, value: str, known: Collection[str]) -> None:
    """Refuse a value that is not among the known ones."""
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
    """Say how single questions are shown."""
    return DisplayOptions(limit, None if verbose else GLANCE, verbose, labels)


# Tables.


def place_columns(name: str, key: ScoreKey) -> dict[str, str | bool]:
    """Return the columns that say what a score of this name is of; its metric is its name without the split."""
    metric = name.removeprefix(f"{key.split}/")
    return {"split": key.split, "pooled": is_whole(key.split), "metric": metric, "config": key.config}


def score_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Make a `pandas.DataFrame` with a row for each score; what is not there is NaN, of counts NA."""
    import pandas

    frame = pandas.DataFrame(clean([*rows]))
    return frame.astype({name: _KINDS[name] for name in frame if name in _KINDS})


def type_reasons(frame: Any, *columns: str) -> Any:
    """Return a table whose columns of reasons are texts or None, whether there are any or not."""
    return frame.assign(**{name: frame[name].astype(object).where(frame[name].notna(), None) for name in columns})


def to_text(tables: Sequence[Table], language: str) -> str:
    """Draw tables as a terminal has them."""
    return clean("".join(draw_text(translate_table(table, language)) for table in tables).strip("\n"))


def to_html(tables: Sequence[Table], language: str, page: str = "") -> str:
    """Draw tables as the page does, for a notebook, with a link to the page."""
    shown = [translate_table(table, language) for table in tables]
    return clean(make_environment().get_template("notebook.html").render(tables=shown, page=page))

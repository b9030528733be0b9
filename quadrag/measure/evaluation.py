"""The scores of one run: by name, as tables of pandas, printed, in a notebook, as a page; and a run read back."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from quadrag.baselines.core.run_record import RunRecord
from quadrag.baselines.judges.certificate import lay_beside
from quadrag.baselines.judges.notes import note_judges
from quadrag.baselines.page.page import write_page
from quadrag.baselines.report.compared.names import Place
from quadrag.baselines.report.facts import tell_kept, tell_reused, tell_verdicts
from quadrag.baselines.report.pooled import pool_rows
from quadrag.baselines.report.question_text import DisplayOptions, write_items
from quadrag.baselines.report.questions import ItemFilter, RunReader
from quadrag.baselines.report.run import tabulate_run, title_of
from quadrag.baselines.report.samples import tabulate_samples
from quadrag.baselines.report.summary import headline_grid, pick_headlines, pool_lines, summarise_run
from quadrag.baselines.reporting.messages import join_names, say_invalid, say_score
from quadrag.baselines.results import score as results_score
from quadrag.baselines.results.check import check_lacking
from quadrag.baselines.results.note import Level
from quadrag.baselines.results.run import PROFILES, Result
from quadrag.baselines.results.score import Status
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.tables.cells import FEW, count_all, count_both
from quadrag.baselines.tables.draw import print_grids, write_plainly
from quadrag.baselines.tables.grid import Alarm, Grid, level_of
from quadrag.baselines.tables.language import speak
from quadrag.baselines.tables.names import number_of
from quadrag.baselines.tables.notes import note_lower, note_units
from quadrag.baselines.tables.slices import select_whole
from quadrag.errors import QuadragError, unknown_name
from quadrag.labels import LANGUAGES, choose_labels
from quadrag.measure.arguments import check_count, entrance, in_python, speak_python
from quadrag.measure.frame import check_rows, item_frame, score_frame, spell_place
from quadrag.measure.notebook import table_html
from quadrag.measure.score import Score, find_name
from quadrag.printing import GLANCE, clean, write

PAGE = "report.html"  # of a run, in its folder


class Evaluation(Mapping[str, Score]):
    """The scores of a system, by metric, ``result["rouge_l"].value``, and how they are shown: as text or a page.

    Where a config has several splits a name has the split before it: ``result["noise_40/accuracy"]``. There is a score
    over all of them, too, ``result["all 5 splits/accuracy"]``, which ``result["accuracy"]`` finds. A score is also
    found by its metric and key, as ``rgb_accuracy.accuracy``.
    """

    def __init__(self, result: Result, folder: Path, profile: str, labels: str = LANGUAGES[0]) -> None:
        """Take a run's result.

        Args:
            result: of the run.
            folder: where its files lie.
            profile: ``official`` or ``corrected``.
            labels: ``en`` or ``zh``, the language in which it is shown.
        """
        self.result = result
        self.folder = folder
        self.profile = profile
        self.labels = labels

    @entrance
    def __getitem__(self, name: str) -> Score:
        """Return a score.

        Raises:
            KeyError: none has this name, or several have; the message lists those there are.
        """
        return self.scores[find_name(name, self.places)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def scores(self) -> dict[str, Score]:
        """The scores by name: first those over all splits, last those included that could not be computed."""
        rows = self._rows
        many = len({row.key.split for row in rows}) > 1
        found = {}
        for row in (*pool_rows(self.result, rows, self.profile), *rows):
            own = self._called[row.key.name]
            found[f"{row.key.split}/{own}" if many else own] = Score(
                value=row.value,
                interval=row.interval if row.interval and (row.n or 0) >= FEW else None,
                n=count_both(row)[0],
                n_total=count_all(row),
                unscored=dict(row.counts.unscored),
                metric=row.key.metric,
                key=row.key.key,
                split=row.key.split,
                signature=row.signature,
                valid=row.status is not Status.INVALID,
                reason=say_score(row, python=True),
                labels=self.labels,
            )
        return found

    @cached_property
    def places(self) -> dict[str, Place]:
        """The config, split, metric and key of each score, by its name."""
        config = self.result.run.config
        return {name: (config, one.split, one.metric, one.key) for name, one in self.scores.items()}

    @cached_property
    def headlines(self) -> dict[str, str]:
        """The names of the scores that a summary shows, the most telling first, by what they are called there."""
        rows = pick_headlines(self.result.scores, self.profile)
        names = {place: name for name, place in self.places.items()}
        pooled = pool_rows(self.result, rows, self.profile)
        lines = [*pool_lines(self.result, rows, self.profile), *headline_grid(self.result, self.profile).lines]
        found = [names[place] for place in (row.place for row in (*pooled, *rows))]
        return dict(zip((line.label for line in lines), found, strict=True))

    @property
    def name(self) -> str:
        """What was measured; measured again into a folder of its own it has the folder's number, as ``rag-2``."""
        return f"{self.result.run.llm}{number_of(self.result)}"

    @property
    def invalid(self) -> list[str]:
        """Why metrics are not valid, a line each: too many of their items failed, or the judge does not answer."""
        run = self.result.run
        stopped = [self.result.stopped] if self.result.stopped and not run.dead_judge else []
        return [*map(in_python, stopped), *say_invalid(run, python=True)]

    @property
    def valid(self) -> bool:
        """Whether the run came to its end, and no metric lost more than a fifth of its items to failures."""
        return not self.invalid

    @property
    def notes(self) -> list[str]:
        """What stands above the numbers where they are printed, a line each: what is partial, invalid, odd or kept."""
        grid = self._mark(summarise_run(self.result, self.profile))
        return [str(note) for note in grid.notes if level_of(note) is Level.WARNING]

    @entrance
    def to_pandas(self, *, texts: bool = True, by: str = "question") -> Any:
        """Return a `pandas.DataFrame` with a row for each question or, `by` ``"metric"``, for each score.

        Columns that are mostly alike in all rows stand last. Of questions they are ``id`` and ``split``; ``query``,
        ``answer`` and ``gold``; the values that they count as in the scores, those of the headlines first, each named
        as ``accuracy`` or, where two metrics have a key of one name, as ``rgb_accuracy.accuracy``; ``unscored``, why
        one has none of its own, as ``raised`` with the exception: ``corrected`` counts what failed as wrong;
        ``sample`` and ``config``. Of scores they are ``score``, its name; ``value``, the interval's ``low`` and
        ``high``, ``n``, ``n_total`` and ``valid``; ``reason``, why there is no value, or why it says nothing of the
        answers; ``split``; ``pooled``, whether it is over all splits; ``metric`` and ``config``; and the run's
        ``system`` and ``folder``.

        Args:
            texts: with query, answer and gold, read from the folder and from the benchmark's data.
            by: ``question`` or ``metric``.

        Raises:
            QuadragError: `texts`, and the data are not those any more; or `by` is neither.
        """
        check_rows(by)
        if by == "question":
            return item_frame(self.result, self.profile, self._reader if texts else None, self._called)
        rows = []
        for name, score in self.scores.items():
            low, high = score.interval or (None, None)
            rows.append(
                {"score": name, "value": score.value, "low": low, "high": high, "n": score.n, "n_total": score.n_total}
                | {"valid": score.valid, "reason": score.reason, **spell_place(name, self.places[name])}
                | {"system": self.name, "folder": str(self.folder)}
            )
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
            check_count("limit", limit)
            wanted = ItemFilter(wrong=wrong, unscored=unscored, metric=metric, profile=self.profile)
            options = DisplayOptions(limit, None if verbose else GLANCE, verbose, self.labels, python=True)
            write(*write_items(self._reader, wanted, options))
            return
        spread = tabulate_samples(self.result, self.profile, title_of(self.result))
        summary = [summarise_run(self.result, self.profile), *spread]
        first, *others = tabulate_run(self.result, self._profiles, self.labels) if verbose else summary
        print_grids([self._mark(first), *(speak_python(grid, self.labels) for grid in others)], verbose=verbose)
        write(f"\n{self._page if self._page.exists() else self.folder}")

    @entrance
    def report(self, path: str | Path) -> Path:
        """Write the page to a file, and return where it lies."""
        place, grids = Path(path), tabulate_run(self.result, self._profiles, self.labels, every=True)
        write_page(place, [(self.name, [self.result])], grids, self.labels, self.profile)
        return place

    @entrance
    def __repr__(self) -> str:
        """Show the headlines, a line each."""
        return clean("\n".join(write_plainly(self._grid)))

    @entrance
    def _repr_html_(self) -> str:
        """Show a notebook the headlines with a bar for each share that is measured."""
        return table_html(self._grid, str(self._page))

    @property
    def _rows(self) -> list[results_score.Score]:
        return [row for row in select_whole(self.result.scores) if row.profile == self.profile]

    @cached_property
    def _called(self) -> dict[str, str]:
        """What each metric, as ``rgb_accuracy.accuracy``, is called; the headlines first.

        By its key, where no other metric has a key of that name.
        """
        rows = (*pick_headlines(self.result.scores, self.profile), *self._rows)
        found = dict.fromkeys((row.key.metric, row.key.key) for row in rows)
        keys = Counter(key for _, key in found)
        return {f"{metric}.{key}": key if keys[key] == 1 else f"{metric}.{key}" for metric, key in found}

    @cached_property
    def _reader(self) -> RunReader:
        return RunReader(self.folder, self.result)

    @property
    def _page(self) -> Path:
        return self.folder / PAGE

    @property
    def _profiles(self) -> list[str]:
        return [self.profile, *(other for other in PROFILES if other != self.profile)]

    @property
    def _grid(self) -> Grid:
        grid = headline_grid(self.result, self.profile)
        rows = pick_headlines(self.result.scores, self.profile)
        pooled = pool_lines(self.result, rows, self.profile)
        notes = [
            note_units(rows, self.profile),
            *grid.notes,
            *check_lacking(self._rows),
            *note_judges([self.result], self.profile),
            *note_lower((row.key.metric, row.key.key) for row in rows),
        ]
        title = f"{grid.title}, {self.profile} profile"
        grid = self._mark(replace(grid, title=title, lines=[*pooled, *grid.lines], notes=notes))
        return replace(grid, notes=[*grid.notes, *[self._say(f"The page: {self._page}")] * self._page.exists()])

    def _mark(self, grid: Grid) -> Grid:
        """Say above a table what is kept, below it which answers failed; in the language, and in words of Python."""
        told = filter(None, (tell_answers(self.result), tell_verdicts([self.result], every=True)))
        kept = [Alarm(" ".join(f"{each}.".splitlines())) for each in told]
        return speak_python(replace(grid, notes=[*kept, *grid.notes, *self._failed]), self.labels)

    def _say(self, text: str) -> str:
        return in_python(speak(text, self.labels))

    @property
    def _failed(self) -> list[str]:
        """Say how many answers failed, and why the first did; of invalid metrics that is told already."""
        failures = self.result.run.failures
        if not failures or self.invalid:
            return []
        place, why = next(iter(failures.items()))
        ways = 'show(unscored=True) shows them, retry="failed" asks those again'
        return [f"Answers that failed: {len(failures)} (the first, {place}: {why}); {ways}."]


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
    check_profile(profile or PROFILES[0])
    shown_in = choose_labels(labels)
    ((_, found),) = read_runs([str(folder)], profile)
    if len(found) > 1:
        inside = [Path(one.folder).relative_to(folder).as_posix() for one in found if one.folder]
        raise QuadragError(f"{folder} holds {len(found)} runs; expected the folder of one: {join_names(inside)}")
    lay_beside(found)
    return Evaluation(found[0], found[0].folder or Path(folder), found[0].run.profile, shown_in)


def check_profile(profile: str) -> str:
    """Return a profile.

    Raises:
        QuadragError: there is none of this name.
    """
    if profile not in PROFILES:
        raise unknown_name("profile", profile, dict.fromkeys(PROFILES))
    return profile


def tell_answers(found: Result) -> str:
    """Say how many answers of a run are kept ones, or that it is shown again; "" where neither is so."""
    return tell_kept([found]) or " ".join(tell_reused([found])).rstrip(".")


def tell_retries(run: RunRecord) -> str:
    """Say which part of a finished run may be asked again; "" where all is well."""
    failed, unread = len(run.failures), run.unreadable
    again = f'; retry="failed" asks it again about the {failed} questions on which it failed'
    judge = f'; retry="unreadable" asks the judge again about the {unread} answers whose verdict cannot be read'
    return again * bool(failed) + judge * bool(unread)

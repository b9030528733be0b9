"""The scores of one run as they are shown: printed, in a notebook, as a page; and a finished run read back."""

from dataclasses import replace
from pathlib import Path

from quadrag.baselines.certify.certificate import lay_beside
from quadrag.baselines.certify.notes import note_judges
from quadrag.baselines.core.result import PROFILES, Result
from quadrag.baselines.page.page import write_page
from quadrag.baselines.report.facts import tell_kept, tell_reused, tell_verdicts
from quadrag.baselines.report.items.lines import Manner, write_items
from quadrag.baselines.report.items.reader import Which
from quadrag.baselines.report.run import tabulate_run, title_of
from quadrag.baselines.report.samples import tabulate_samples
from quadrag.baselines.report.summary import headline_grid, pick_headlines, pool_lines, summarise_run
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.scoring.faults import shorten_list
from quadrag.baselines.tables.draw import print_grids, write_plainly
from quadrag.baselines.tables.grid import Alarm, Grid
from quadrag.baselines.tables.names import keep_name, number_of
from quadrag.baselines.tables.notes import name_units, note_directions, note_not_run
from quadrag.baselines.tables.run_notes import note_sample
from quadrag.errors import QuadragError, unknown_name
from quadrag.measure.arguments import check_count, check_one, entrance, refuse_metric
from quadrag.measure.notebook import table_html
from quadrag.measure.scores import Scores
from quadrag.measure.words import in_python, labels_in_use, spell_notes
from quadrag.printing import clean, write
from quadrag.run_record import NAME, RunRecord
from quadrag.wrapping import GLANCE, fit

PAGE = "report.html"  # of a run, in its folder


class Evaluation(Scores):
    """The scores of a system, ``result["rouge_l"].value``, and how they are shown: as text or a page."""

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
            check_one(wrong=wrong, unscored=unscored)
            which = Which(wrong=wrong, unscored=unscored, metric=metric, profile=self.profile)
            manner = Manner(limit, None if verbose else GLANCE, verbose, spell=in_python)
            write(fit("\n".join(write_items(self._reader, which, manner))))
            return
        refuse_metric(metric, "wrong=True", "unscored=True")
        spread = tabulate_samples(self.result, self.profile, title_of(self.result))
        summary = [summarise_run(self.result, self.profile), *spread]
        grids = tabulate_run(self.result, self._profiles, self.labels) if verbose else summary
        print_grids([self._mark(grids[0]), *map(spell_notes, grids[1:])], verbose=verbose)
        write(f"\n{self._page if self._page.exists() else self.folder}")

    @entrance
    def report(self, path: str | Path, *, ledger: str | None = None) -> Path:
        """Write the page, and return where it lies.

        Args:
            path: the file.
            ledger: where the judge's words are kept; in the user's cache folder when None.
        """
        place, grids = Path(path), tabulate_run(self.result, self._profiles, self.labels, every=True)
        write_page(place, [(self.name, [self.result])], grids, self.labels, ledger, self.profile)
        return place

    @property
    def _page(self) -> Path:
        return self.folder / PAGE

    @property
    def _profiles(self) -> list[str]:
        return [self.profile, *(other for other in PROFILES if other != self.profile)]

    @property
    def kept(self) -> str:
        """How many answers are kept ones, which a change of the system is not in; "" where none is."""
        return in_python(tell_answers(self.result))

    @property
    @entrance
    def notes(self) -> list[str]:
        """What stands above the numbers where they are printed, a line each: what is partial, invalid, odd or kept."""
        grid = self._mark(summarise_run(self.result, self.profile))
        return [str(note) for note in grid.notes if isinstance(note, Alarm)]

    def _mark(self, grid: Grid) -> Grid:
        """Say above a table what is kept, below it which answers failed; and its notes in words of Python."""
        told = filter(None, (tell_answers(self.result), tell_verdicts([self.result], every=True)))
        kept = [Alarm(" ".join(f"{each}.".splitlines())) for each in told]
        return spell_notes(replace(grid, notes=[*kept, *grid.notes, *self._failed]))

    @property
    def _failed(self) -> list[str]:
        """Say how many answers failed, and why the first did; of invalid metrics that is told already."""
        failures = self.result.run.failures
        if not failures or self.invalid:
            return []
        place, why = next(iter(failures.items()))
        ways = 'show(unscored=True) shows them, retry="failed" asks those again'
        return [f"Answers that failed: {len(failures)} (the first, {place}: {why}); {ways}."]

    @property
    def _numbered(self) -> list[str]:
        """Say why the name has a number, where it has."""
        before = self.folder.with_name(self.folder.name.removesuffix(number_of(self.result)))
        told = f"Named {keep_name(self.name)}: {before} holds an earlier run; out= with fresh=True keeps one name."
        return [told] * (before != self.folder and (before / NAME).exists())

    @property
    def _grid(self) -> Grid:
        grid = headline_grid(self.result, self.profile)
        rows = pick_headlines(self.result.scores, self.profile)
        pooled = pool_lines(self.result, rows, self.profile)
        notes = [
            f"{name_units(rows)}.",
            *grid.notes,
            *note_not_run(self._rows),
            *note_judges([self.result], self.profile),
        ]
        notes += note_directions((row["metric"], row["key"]) for row in rows)
        notes += [*map(Alarm, note_sample([self.result])), *self._numbered]
        title = f"{grid.title}, {self.profile} profile"
        grid = self._mark(replace(grid, title=title, lines=[*pooled, *grid.lines], notes=notes))
        return replace(grid, notes=[*grid.notes, *[in_python(f"The page: {self._page}")] * self._page.exists()])

    @entrance
    def __repr__(self) -> str:
        """Show the headlines, a line each."""
        return clean("\n".join(write_plainly(self._grid)))

    @entrance
    def _repr_html_(self) -> str:
        """Show a notebook the headlines with a bar for each share that is measured."""
        return table_html(self._grid, str(self._page))


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
    ((_, found),) = read_runs([str(folder)], profile)
    if len(found) > 1:
        inside = [Path(one.folder).relative_to(folder).as_posix() for one in found if one.folder]
        raise QuadragError(f"{folder} holds {len(found)} runs; expected the folder of one: {shorten_list(inside)}")
    lay_beside(found)
    return Evaluation(found[0], found[0].folder or Path(folder), found[0].run.profile, labels_in_use())


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

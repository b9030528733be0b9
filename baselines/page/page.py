"""The page of one run, of several of one campaign, or of runs compared: its head, its tables, its answers."""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from quadrag.data.files import SAMPLE_SOURCE
from quadrag.hub.record import hub_record
from quadrag.records import write_text
from quadrag.run_record import read_run

from ..certify.beside import lay_beside
from ..certify.notes import note_judges, tabulate_judges
from ..charts.bar import draw_bars, find_ends, find_least
from ..charts.draw import can_draw, draw_grid
from ..core.result import PROFILES, Result, own_profile
from ..report.all import merge_all, tabulate_all
from ..report.compared.glance.leader import glance_several
from ..report.compared.glance.two import glance_pair
from ..report.compared.names import name_columns, name_fully, tell_apart
from ..report.facts import list_facts
from ..report.found import tabulate_found
from ..report.summary import headline_all
from ..runs.finished import read_result, run_folders
from ..runs.live import Live
from ..systems.extractive import EXTRACTIVE
from ..tables.grid import Alarm, Cell, Detail, Grid, Line, Verdict, align_cells
from ..tables.language import speak, speak_grid, speak_grids, speak_note, speak_title
from ..tables.names import name_model
from ..tables.run_notes import note_invalid, note_none_beside, note_partial
from .answers import collect_answers
from .changes import Changes, list_changes
from .code import mark_code
from .packed import Blocks, pack_answers

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
SCRIPTS = ("parts", "marks", "values", "search", "item", "viewer")  # one script, in this order
MOST = 4  # names of one kind in a title
LINES = 12  # of runs on the first screen
CARDS = 6  # numbers that stand large: of a comparison over five splits all of them together, and each
_COLON = re.compile(": |：")
_LOUD = re.compile("(?:^|: )(INVALID|NOT RELIABLE), ")  # of numbers that nobody may use as they are

Runs = Sequence[tuple[str, Sequence[Result]]]


def write_page(
    path: Path,
    runs: Runs,
    grids: Sequence[Grid],
    labels: str = "en",
    ledger: str | None = None,
    profile: str | None = None,
) -> None:
    """Write the page of runs to a file.

    Args:
        path: the file.
        runs: name of each, and what it came to: one result, or one a config. Several stand beside each other.
        grids: the tables.
        labels: the language, ``en`` or ``zh``.
        ledger: where the judge's words are kept; in the user's cache folder when None.
        profile: whose values single answers are shown with; the runs' own when None.
    """
    results = [result for _, parts in runs for result in parts]
    answers = collect_answers(runs, ledger, profile=profile, labels=labels)
    alone = len(runs) == 1
    headline, grids, lead = _lay_out(runs, grids, profile or own_profile(results) or PROFILES[0])
    lead = [*lead, *answers.told]
    lead.sort(key=lambda line: not _LOUD.search(line))
    ranked = headline is not None and headline.form == "runs"  # where an invalid run hides nothing of the others
    spared = ranked and not all(note_invalid([one]) for one in results)
    marks = [found[1] for line in lead if (found := _LOUD.search(line))]
    mark = "" if spared else min(marks, default="")  # INVALID before the other
    title = f"{mark}: " * bool(mark) + name_runs(runs)
    blocks = pack_answers(answers)
    columns = name_columns([name for name, _ in runs])
    own = []  # what the page alone has
    for column, (_, parts) in zip(columns, runs, strict=True):
        for grid in (grid for result in parts for grid in tabulate_found(result)):
            own.append(grid if alone else replace(grid, title=f"{column}: {grid.title}"))
    own += tabulate_judges(results)
    changes = list_changes(answers)
    facts = list_facts(results)
    page = render_page(
        title,
        facts,
        [*grids, *own],
        lead,
        blocks,
        labels,
        changes,
        headline=headline,
        called=columns,
        asked=_tell_asked(results),
        spared=spared,
    )
    write_text(path, page)


def _lay_out(runs: Runs, grids: Sequence[Grid], profile: str) -> tuple[Grid | None, list[Grid], list[str]]:
    """Return the headline, the tables less what is told above them, and the lines that stand above all."""
    results = [result for _, parts in runs for result in parts]
    alone = len(runs) == 1
    headline = _glance_folder(results, profile) if alone else _glance(runs, profile)
    judged = [one for one in note_judges(results, profile) if not isinstance(one, Alarm)] if len(results) == 1 else []
    if headline:  # who judged stands by the numbers
        headline = replace(headline, notes=[*headline.notes, *judged])
    warned = list(_warn(results, grids))
    said = tuple(note_none_beside(results)) if _are_samples(results) else ()  # which is said there
    above = [*judged, *(headline.notes if headline and not alone else [])]
    left = [
        replace(grid, notes=[note for note in grid.notes if note not in above and not note.startswith(said)])
        for grid in grids
    ]
    told = note_partial(results) if alone else [note for grid in left for note in grid.notes if isinstance(note, Alarm)]
    lead = dict.fromkeys(told)
    return headline, left, [*warned, *sorted(lead, key=lambda line: not isinstance(line, Alarm))]


def _glance_folder(results: Sequence[Result], profile: str) -> Grid:
    """Make the headline of one folder: of three or more runs of the same questions, which leads; else what each has."""
    asked = {(one.run.inputs.benchmark, one.run.inputs.config, tuple(one.run.inputs.splits)) for one in results}
    named = [(str(one.folder), one) for one in results if one.folder]
    several = glance_several(named, profile) if len(asked) == 1 and len(named) == len(results) > 2 else None
    return several or headline_all(results, profile)


def _glance(runs: Runs, profile: str) -> Grid | None:
    """Make the headline of two runs, which says whose values they are, or of more."""
    names = [name for name, _ in runs]
    if len(runs) != 2:
        several = glance_several(merge_all(runs), profile)
        if several:
            first = name_columns(names)[0]
            several.notes.append(
                f"This asks which run is best; the tables below, and a terminal, compare each with {first}."
            )
        return several
    grid = glance_pair(merge_all(runs), profile)
    if name_columns(names) != names:
        grid.notes.insert(0, f"Runs: {'; '.join(name_fully(names))}.")
    return grid


def write_live(path: Path, folder: Path, live: Live, labels: str = "en", ended: bool = False) -> None:
    """Write the page of a run at work, or of several: how far it is, what it cost so far, the tables of what is done.

    It asks the browser to read it again and again, unless what was at work has `ended` without being finished.
    """
    records = [(part, read_run(part)) for part in run_folders(folder)]
    done = [read_result(part, run) for part, run in records if run.state == "finished"]
    lay_beside(done)
    known = [Result(run, [], []) for _, run in records]
    grids = tabulate_all([(folder.name, done)], labels=labels) if done else []
    title = ("NOT FINISHED: " if ended else "RUNNING: ") + name_runs([(folder.name, known)])
    write_text(path, render_page(title, list_facts(known), grids, labels=labels, live=live, again=not ended))


def render_page(
    title: str,
    facts: Sequence[tuple[str, str]],
    grids: Sequence[Grid],
    lead: Sequence[str] = (),
    blocks: Blocks = (),
    labels: str = "en",
    changes: Changes | None = None,
    live: Live | None = None,
    again: bool = False,
    headline: Grid | None = None,
    called: Sequence[str] = (),
    asked: str = "",
    spared: bool = False,
) -> str:
    """Render a self-contained page: heading, what is to be said first, tables with charts, facts, answers.

    Its own script and style alone are run, by their sums; all else is text. Of a run at work it says how far it is,
    and asks to be read again. Runs that stand side by side are `called` so; `asked` says what is asked in them.
    Some are `spared` where others are invalid: what is said of these does not stand above all.
    """
    style = (HERE / "page.css").read_text(encoding="utf-8")
    script = "\n".join((HERE / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    given: dict[str, Any] = {
        "title": speak_title(title, labels),
        "facts": [(speak(name, labels), speak(value, labels)) for name, value in facts],
        "grids": speak_grids(grids, labels),
        "lead": [speak_note(line, labels, called) for line in lead],
        "loud": [speak_note(line, labels, called) for line in lead if _LOUD.search(line) and not spared],
        "blocks": blocks,
        "changes": changes
        and changes._replace(
            others=speak(changes.others, labels), spread=[speak(told, labels) for told in changes.spread]
        ),
        "asked": speak(asked, labels),
        "headline": headline and speak_grid(headline, labels),
    }
    heads = [speak(name, labels) for name in called]
    words = {name: _name_in(entry[labels], heads) for name, entry in _words().items()}
    given["charts"] = [draw_grid(grid, words) if can_draw() else None for grid in given["grids"]]
    return (
        make_environment()
        .get_template("page.html")
        .render(**given, words=words, language=labels, style=style, script=script, live=live, again=again)
    )


@cache
def make_environment() -> "Environment":
    """Make what reads a page's template, and keeps it as it is compiled."""
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    # Digit-wide blanks, which a page does not take away.
    environment.filters["aligned"] = lambda grid: zip(grid.lines, align_cells(grid, "\u2007"), strict=True)
    environment.filters["depth"] = lambda label: len(label) - len(label.lstrip(" "))
    environment.filters["sha256"] = lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    environment.filters["code"] = lambda note: Markup(mark_code(note))
    environment.filters["short"] = _shorten
    environment.filters["cards"] = _pick_cards
    environment.filters["least"] = find_least
    environment.filters["ends"] = lambda grid: ", ".join(f"±{most:g}" for most in find_ends(grid).values())
    environment.filters["rounded"] = lambda value: f"{value:.1f}".removesuffix(".0")
    environment.globals["few"] = CARDS
    environment.filters["grouped"] = _group_lines
    environment.tests["detail"] = lambda note: isinstance(note, Detail)
    environment.tests["alarm"] = lambda note: isinstance(note, Alarm)
    environment.tests["verdict"] = lambda note: isinstance(note, Verdict)
    return environment


@cache
def _words() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = yaml.safe_load((HERE / "words.yaml").read_text(encoding="utf-8"))
    return found


def _name_in(words: str, called: Sequence[str]) -> str:
    """Return words with what the first two of several runs are called in them."""
    for letter, name in zip("AB", called or "AB", strict=False):
        words = words.replace(f"{{{letter}}}", name)
    return words


def name_runs(runs: Runs) -> str:
    """Name benchmark, config, system and date of what ran; of many, how many there are.

    Of one system several times it says what tells the runs apart.
    """

    def few(what: str, values: Iterable[str]) -> str:
        found = list(dict.fromkeys(values))
        return ", ".join(found) if len(found) <= MOST else f"{len(found)} {what}"

    records = [result.run for _, results in runs for result in results]
    if (count := len({run.inputs.benchmark for run in records})) > 1 and all(
        run.source == SAMPLE_SOURCE for run in records
    ):
        return f"quadrag: Demo: {count} benchmarks on made-up samples"
    benchmarks = few("benchmarks", (run.inputs.benchmark for run in records))
    configs = few("configs", (run.inputs.config for run in records))
    what = f"{benchmarks}, {configs}" if "," in benchmarks else f"{benchmarks} {configs}"
    models = {name_model(run.inputs) for run in records}
    systems = few("systems", (name_model(run.inputs) for run in records))
    if len(runs) > len(models):
        named = tell_apart([name for name, _ in runs]) if len(models) == 1 else map(str, range(len(runs)))
        systems += f" ({few('runs', named)})"
    date = max(run.started or "" for run in records)[:10]
    return "quadrag: " + ", ".join(filter(None, (what, systems, date)))


def _tell_asked(results: Sequence[Result]) -> str:
    """Say what the questions of runs ask for, where all are of one config."""
    places = {(result.run.inputs.benchmark, result.run.inputs.config) for result in results}
    return " ".join(hub_record(benchmark).sentences.get(config, "") for benchmark, config in places if len(places) == 1)


def _shorten(titles: Sequence[str]) -> list[str]:
    """Return titles without the words that all of them begin with, and the others without those that the first has.

    One that is no more than these stays.
    """
    parts = [re.findall(r".+?(?:[,:] |[，：]|$)", f"{title}, ") for title in titles]
    while parts and all(parts) and len({words[0] for words in parts}) == 1:
        parts = [words[1:] for words in parts]
    for words in parts[1:]:
        while words and parts[0] and words[: len(parts[0])] == parts[0]:
            del words[: len(parts[0])]
    return ["".join(words).removesuffix(", ") or title for words, title in zip(parts, titles, strict=True)]


def _group_lines(grid: Grid) -> Grid:
    """Return a table whose lines stand under what several labels begin with, before a colon, where all have one."""
    groups: dict[str, list[Line]] = {}
    for line in grid.lines:
        head, *rest = _COLON.split(line.label, maxsplit=1)
        if not rest:
            return grid
        groups.setdefault(head, []).append(replace(line, label=f"  {rest[-1]}", rule=False))
    if len(groups) == len(grid.lines):
        return grid
    heads = [Line(head, [Cell("")] * len(grid.columns), rule=at > 0) for at, head in enumerate(groups)]
    return replace(grid, lines=[one for head in heads for one in (head, *groups[head.label])])


def _pick_cards(headline: Grid) -> list[tuple[Line, str]]:
    """Return the lines that stand as cards, each with its bar.

    These are all where they are few, or those with which a rule begins another group, or else the first ones.
    """
    every = list(zip(headline.lines, draw_bars(headline), strict=True))
    groups = [(line, bar) for line, bar in every if line.rule]
    few = (cards for cards in (every, groups) if 0 < len(cards) <= CARDS)
    return every[:LINES] if headline.form == "runs" else next(few, every[:LINES])


def _are_samples(results: Sequence[Result]) -> bool:
    return all(result.run.source == SAMPLE_SOURCE for result in results)


def _warn(results: Sequence[Result], grids: Sequence[Grid]) -> Iterator[str]:
    """Say what numbers are worth that a system did not earn: of bundled samples, of the baseline without a model."""
    extractive = all(result.run.inputs.llm == EXTRACTIVE for result in results)
    answers = "each answer is the sentence most like its question, found without a model"
    if _are_samples(results):
        printed = any(line.kind == "published" for grid in grids for line in grid.lines)
        beside = (
            "The papers' values are there for orientation."
            if printed
            else "No published value stands beside made-up data."
        )
        made = f"the questions are made-up samples{f', and {answers}' * extractive}"
        yield f"These numbers measure nothing: {made}. {beside}"
    elif extractive:
        yield Alarm(f"The extractive baseline answered: {answers}.")

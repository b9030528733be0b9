"""The page as text: a template filled with tables, charts, facts and answers."""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from ..charts.bar import draw_bars, find_ends, find_least
from ..charts.forms import draw_grid
from ..tables.chinese.signs import meet
from ..tables.draw import align_cells, join_counts
from ..tables.grid import Alarm, Cell, Detail, Grid, Line, Verdict, is_loud
from ..tables.language import ENGLISH, speak, speak_grid, speak_grids, speak_note, speak_title
from .changes import Changes
from .code import mark_code
from .packed import Blocks

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
SCRIPTS = ("parts", "marks", "values", "search", "item", "address", "viewer")  # one script, in this order
LINES = 12  # of runs on the first screen
CARDS = 6  # numbers that stand large: of a comparison over five splits all of them together, and each
_MOST = 300  # characters of a fact that stand without a click
_BEGINNING, _END = 180, 90  # of a longer one
_COLON = re.compile(": |：")


def render_page(
    title: str,
    facts: Sequence[tuple[str, str]],
    grids: Sequence[Grid],
    lead: Sequence[str] = (),
    blocks: Blocks = (),
    labels: str = "en",
    changes: Changes | None = None,
    headline: Grid | None = None,
    called: Sequence[str] = (),
    asked: str = "",
    spared: bool = False,
    made_up: bool = False,
) -> str:
    """Render a self-contained page: heading, what is to be said first, tables with charts, facts, answers.

    Its own script and style alone are run, by their sums; all else is text. Runs that stand side by side are
    `called` so; `asked` says what is asked in them. Some are `spared` where others are invalid: what is said of these
    does not stand above all. Of data that are `made_up` no chart has published values beside ours.
    """
    style = (HERE / "page.css").read_text(encoding="utf-8")
    script = "\n".join((HERE / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    given: dict[str, Any] = {
        "title": speak_title(title, labels),
        "facts": [(speak(name, labels), _speak_fact(name, value, labels)) for name, value in facts],
        "grids": speak_grids(grids, labels),
        "lead": [speak_note(line, labels, called) for line in lead],
        "loud": [speak_note(line, labels, called) for line in lead if is_loud(line) and not spared],
        "long": [speak(name, labels) for name in ("command", "folder")],
        "blocks": blocks,
        "changes": changes and changes._replace(spread=[speak(told, labels) for told in changes.spread]),
        "asked": speak(asked, labels),
        "headline": headline and speak_grid(headline, labels),
    }
    heads = [speak(name, labels) for name in called]
    words = {name: _name_in(entry[labels], heads) for name, entry in _words().items()}
    drawn = [_drop_published(grid) for grid in given["grids"]] if made_up else given["grids"]
    given["charts"] = [draw_grid(grid, words) for grid in drawn]
    return (
        make_environment()
        .get_template("page.html")
        .render(**given, words=words, language=labels, style=style, script=script)
    )


def _drop_published(grid: Grid) -> Grid:
    return replace(grid, lines=[line for line in grid.lines if line.kind != "published"])


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
    environment.filters["ends"] = lambda grid, between: between.join(f"±{most:g}" for most in find_ends(grid).values())
    environment.filters["rounded"] = lambda value: f"{value:.1f}".removesuffix(".0")
    environment.globals["few"] = CARDS
    environment.filters["grouped"] = lambda grid: _group_lines(join_counts(grid))
    environment.filters["middle"] = _cut_middle
    environment.tests["detail"] = lambda note: isinstance(note, Detail)
    environment.tests["alarm"] = lambda note: isinstance(note, Alarm)
    environment.tests["verdict"] = lambda note: isinstance(note, Verdict)
    return environment


@cache
def _words() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = yaml.safe_load((HERE / "words.yaml").read_text(encoding="utf-8"))
    return found


def _speak_fact(name: str, value: str, labels: str) -> str:
    """Return a fact in a language; names, which stay as they are, have its sign between them, commands their own."""
    spoken = speak(value, labels)
    return value.replace("; ", "；") if spoken == value and labels != ENGLISH and name != "command" else spoken


def _name_in(words: str, called: Sequence[str]) -> str:
    """Return words with what the first two of several runs are called in them."""
    for letter, name in zip("AB", called or "AB", strict=False):
        before, *rest = words.split(f"{{{letter}}}")
        for after in rest:
            before = meet(meet(before, name), after)
        words = before
    return words


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


def _cut_middle(text: str) -> str:
    """Return a long text without its middle; "" where it is short."""
    begin, end = text[:_BEGINNING].rpartition(" ")[0], text[-_END:].partition(" ")[2]
    return f"{begin} … {end}" if len(text) > _MOST else ""


def _pick_cards(headline: Grid) -> list[tuple[Line, str]]:
    """Return the lines that stand as cards, each with its bar.

    These are all where they are few, or those with which a rule begins another group, or else the first ones.
    """
    every = list(zip(headline.lines, draw_bars(headline), strict=True))
    groups = [(line, bar) for line, bar in every if line.rule]
    few = (cards for cards in (every, groups) if 0 < len(cards) <= CARDS)
    return every[:LINES] if headline.form == "runs" else next(few, every[:LINES])

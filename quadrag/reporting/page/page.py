"""The page of one run, of several of one campaign, or of runs compared: tables, charts, facts and answers in one file.

Its own script and style alone are run, by their sums; texts of data and models only ever become text.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from quadrag.records import write_text
from quadrag.results.note import Level, Note
from quadrag.results.run import PROFILES, Run, own_profile

from ..charts import draw_table
from ..facts import list_facts
from ..messages import Sentence, translate, translate_table, write_note
from ..table import Table, name_model, name_runs
from ..tables import summary
from .answers import collect_answers

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
SCRIPTS = ("parts.js", "viewer.js")  # one script, in this order
_MOST = 4  # names of one kind in a title

Runs = Sequence[tuple[str, Sequence[Run]]]


def write_page(
    path: Path,
    runs: Runs,
    tables: Sequence[Table],
    labels: str = "en",
    profile: str | None = None,
) -> None:
    """Write the page of runs to a file.

    Args:
        path: the file.
        runs: name of each, and what it came to: one result, or one a config. Several stand beside each other.
        tables: the tables.
        labels: the language, ``en`` or ``zh``.
        profile: whose values single answers are shown with; the runs' own when None.
    """
    results = [result for _, parts in runs for result in parts]
    shown = profile or own_profile(results) or PROFILES[0]
    columns = name_runs([name for name, _ in runs])
    words = read_words(labels, columns)
    answers = collect_answers(runs, words, shown, labels)
    head = [replace(summary(results[0], shown), title=words["headline"])] if len(results) == 1 else []
    page = render_page(
        name_page(runs, words),
        [*head, *tables],
        facts=list_facts(results),
        lead=answers.notes,
        blocks=answers.pack(),
        labels=labels,
        names=columns,
    )
    write_text(path, page)


def render_page(
    title: str,
    tables: Sequence[Table],
    *,
    facts: Sequence[tuple[str, str]] = (),
    lead: Sequence[Note | str] = (),
    blocks: Sequence[tuple[str, str]] = (),
    labels: str = "en",
    names: Sequence[str] = (),
) -> str:
    """Render a self-contained page: alarms first, then tables with charts, facts, answers.

    Runs that stand side by side have these `names`.
    """
    spoken = [translate_table(table, labels) for table in tables]
    alarms = dict.fromkeys(note for table in spoken for note in table.notes if note.level is Level.WARNING)
    shown = [replace(table, notes=[note for note in table.notes if note not in alarms]) for table in spoken]
    words = read_words(labels, names)
    style = (HERE / "page.css").read_text(encoding="utf-8")
    script = "\n".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return (
        make_environment()
        .get_template("page.html")
        .render(
            title=title,
            lead=sorted([*alarms, *(write_note(note, labels) for note in lead)], key=_rank_alarm),
            tables=[(table, draw_table(table)) for table in shown],
            facts=[(translate(name, labels), translate(value, labels)) for name, value in facts],
            blocks=blocks,
            words=words,
            language={"zh": "zh-CN"}.get(labels, labels),
            style=style,
            script=script,
        )
    )


def _rank_alarm(note: Sentence) -> int:
    return 0 if note.loud else 1 if note.level is Level.WARNING else 2


@cache
def make_environment() -> "Environment":
    """Make what reads a page's template, and keeps it as it is compiled."""
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["depth"] = lambda label: len(label) - len(label.lstrip(" "))
    environment.filters["sha256"] = lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return environment


def read_words(labels: str, names: Sequence[str] = ()) -> Mapping[str, str]:
    """Return what a page says beside its tables, in a language; the first two runs have these names."""
    first, second = (*names, "A", "B")[:2] if len(names) > 1 else "AB"
    return {name: entry[labels].replace("{A}", first).replace("{B}", second) for name, entry in _read_entries().items()}


@cache
def _read_entries() -> dict[str, dict[str, str]]:
    entries: dict[str, dict[str, str]] = yaml.safe_load((HERE / "words.yaml").read_text(encoding="utf-8"))
    return entries


def name_page(runs: Runs, words: Mapping[str, str]) -> str:
    """Name benchmark, config, system and date of what ran; of many, how many there are."""

    def few(what: str, values: Iterable[str]) -> str:
        names = list(dict.fromkeys(values))
        return words["comma"].join(names) if len(names) <= _MOST else words[what].replace("{0}", str(len(names)))

    records = [result.record for _, results in runs for result in results]
    benchmarks = few("benchmarks", (run.benchmark for run in records))
    configs = few("configs", (run.config for run in records))
    systems = few("systems", map(name_model, records))
    if len(runs) > 1:
        systems = few("runs", name_runs([name for name, _ in runs]))
    date = max(run.started or "" for run in records)[:10]
    return words["comma"].join(filter(None, (benchmarks, configs, systems, date)))

"""Open the page of a run, or of several beside each other, in the browser.

It needs no server: the page is a file, whose name is printed: RUN/report.html,
of several runs compare.html.

Examples:
    quadrag view runs/a
    quadrag view runs/a runs/b --no-browser
"""

import argparse
import webbrowser
from pathlib import Path

from quadrag.labels import LANGUAGES
from quadrag.printing import write

from .shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of finished runs")
    options.add(parser, "no-browser labels", no_browser="print the page's name alone")


def run(arguments: argparse.Namespace) -> None:
    from quadrag.reporting import comparison, tables
    from quadrag.reporting.page.page import write_page
    from quadrag.run.folder import read_runs

    alone = len(arguments.runs) == 1
    page = Path(arguments.runs[0], "report.html") if alone else Path("compare.html")
    comparison.refuse_same(arguments.runs)
    runs = read_runs(arguments.runs)
    # Else the run itself wrote it, maybe with data that are gone.
    if not alone or arguments.labels != LANGUAGES[0] or not page.exists():
        write_page(page, runs, tables.tabulate(runs, labels=arguments.labels, page=True), arguments.labels)
    write(page)
    if not arguments.no_browser:
        webbrowser.open(page.resolve().as_uri())

"""Open the page of a run, or of several beside each other, in the browser.

It needs no server: the page is a file, whose name is printed.
"""

import argparse
import webbrowser
from pathlib import Path

from quadrag.labels import LANGUAGES
from quadrag.printing import write

from .shared import options

EXAMPLES = ("quadrag view runs/a", "quadrag view runs/a runs/b --no-browser")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of finished runs")
    parser.add_argument("--html", metavar="FILE", help="the page (default: RUN/report.html; of several compare.html)")
    options.add(parser, "no-browser labels certificate", no_browser="print the page's name alone")


def run(arguments: argparse.Namespace) -> None:
    from quadrag.reporting.comparison import refuse_same
    from quadrag.reporting.page.page import write_page
    from quadrag.reporting.tables import tabulate
    from quadrag.results.certificates import read_certificates
    from quadrag.run.folder import read_runs

    alone = len(arguments.runs) == 1
    page = Path(arguments.html or (Path(arguments.runs[0]) / "report.html" if alone else "compare.html"))
    refuse_same(arguments.runs)
    runs = read_runs(arguments.runs, certificates=read_certificates(arguments.certificate))
    asked = arguments.certificate or arguments.html or arguments.labels != LANGUAGES[0]
    if asked or not alone or not page.exists():  # else the run itself wrote it, maybe with data that are gone
        write_page(page, runs, tabulate(runs, labels=arguments.labels, page=True), arguments.labels)
    write(page)
    if not arguments.no_browser:
        webbrowser.open(page.resolve().as_uri())

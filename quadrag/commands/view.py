"""Open the page of a run, or of several beside each other, in the browser.

It needs no server: the page is a file, whose name is printed.
"""

import argparse
import webbrowser
from pathlib import Path

from quadrag.commands.shared import options
from quadrag.printing import write

EXAMPLES = (
    "quadrag view runs/a",
    "quadrag view runs/a runs/b",
    "quadrag view runs/a --no-browser",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of finished runs")
    parser.add_argument("--html", metavar="FILE", help="the page (default: RUN/report.html; of several compare.html)")
    parser.add_argument("--no-browser", action="store_true", help="print the page's name alone")
    options.labels(parser)
    options.certificates(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    folders = [Path(name) for name in arguments.runs]
    page = Path(arguments.html or (folders[0] / "report.html" if len(folders) == 1 else "compare.html"))
    if not (len(folders) == 1 and _is_up_to_date(arguments, page, folders[0])):
        _write(arguments, page)
    write(page)
    if not arguments.no_browser:
        webbrowser.open(page.resolve().as_uri())


def _is_up_to_date(arguments: argparse.Namespace, page: Path, folder: Path) -> bool:
    """Whether the run's own command wrote the page, after its scores, as it is asked for here."""
    from quadrag.baselines.runs.finished import run_folders

    if arguments.labels != "en" or arguments.certificate or arguments.html or not page.exists():
        return False
    written = page.stat().st_mtime
    scores = [part / "scores.json" for part in run_folders(folder)]
    return all(one.exists() and one.stat().st_mtime <= written for one in scores)


def _write(arguments: argparse.Namespace, page: Path) -> None:
    from quadrag.baselines.judges.certificate import lay_beside, read_certificates
    from quadrag.baselines.page.page import write_page
    from quadrag.baselines.report.all import tabulate_all
    from quadrag.baselines.report.compared.comparison import refuse_same
    from quadrag.baselines.runs.finished import read_runs

    refuse_same(arguments.runs)
    runs = read_runs(arguments.runs)
    ran = (result for _, results in runs for result in results)
    lay_beside(ran, read_certificates(arguments.certificate))
    write_page(page, runs, tabulate_all(runs, labels=arguments.labels), arguments.labels)

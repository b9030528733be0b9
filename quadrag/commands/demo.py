"""Run the bundled samples of all benchmarks, with no network and no model.

Answers are the sentences most like the questions, so the numbers measure
nothing: they show that all works, and what a result looks like. It takes half a
minute, and ends with a page on which all tables stand.
"""

import argparse
from pathlib import Path
from typing import Any

from quadrag.printing import write

from .shared import options
from .shared.session import print_tables

EXAMPLES = ("quadrag demo",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "out labels", out="for run folders and report.html (default: runs/demo)")


def run(arguments: argparse.Namespace) -> None:
    # Before what takes seconds to load.
    write("Made-up samples, answered without a model: the numbers measure nothing.")
    from quadrag.benchmark import known
    from quadrag.reporting.all import tabulate_all
    from quadrag.reporting.page.page import write_page
    from quadrag.run.sweep import run_demo

    out = Path(arguments.out or "runs/demo")
    results: list[Any] = []
    for name in known():
        runs = run_demo(name, out)
        print_tables(arguments, [_list_headlines(name, runs)])
        results[:0] = [result for _, result in runs]  # the page begins with what a terminal ends with
    demo = [("demo", results)]
    write_page(out / "report.html", demo, tabulate_all(demo, labels=arguments.labels), arguments.labels)
    write("", f"All tables, beside the papers' numbers: {out / 'report.html'}")
    write(f"next: quadrag run rgb noise_robustness_{arguments.labels} --llm http://HOST:PORT/v1")


def _list_headlines(name: str, runs: list[tuple[Path, Any]]) -> Any:
    """Make a table of the first headline of each run."""
    from quadrag.benchmark import load
    from quadrag.reporting.summary import headline_cells
    from quadrag.reporting.table import Row, Table
    from quadrag.results.selection import pick_headlines

    lines = []
    for folder, result in runs:
        score = pick_headlines(result.scores, "official")[0]
        lines.append(Row(f"{folder.name} {score.label}", headline_cells(score)))
    return Table(load(name).sample, "task and metric", ["value", "95% interval", "n"], lines)

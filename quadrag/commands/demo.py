"""Run the bundled samples of all benchmarks, with no network and no model.

Answers are the sentences most like the questions, so the numbers measure
nothing: they show that all works, and what a result looks like. It takes half a
minute, and ends with a page on which all tables stand.

Examples:
    quadrag demo
"""

import argparse
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.printing import write

from .shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "out labels", out="for run folders and report.html (default: runs/demo)")


def run(arguments: argparse.Namespace) -> None:
    # Before what takes seconds to load.
    write("Made-up samples, answered without a model: the numbers measure nothing.")
    from quadrag.benchmark import load
    from quadrag.reporting import table, tables, text
    from quadrag.reporting.page.page import write_page
    from quadrag.results.items import pick_headlines
    from quadrag.run.sweep import run_demo

    out = Path(arguments.out or "runs/demo")
    results: list[Any] = []
    for name in catalogue.benchmarks():
        runs = run_demo(name, out)
        heads = [(result.folder.name, pick_headlines(result.scores, "official")[0]) for result in runs if result.folder]
        lines = [table.Row(f"{folder} {score.label}", tables.headline_cells(score)) for folder, score in heads]
        columns = ["value", "95% interval", "n"]
        shown = table.Table(load(name).sample, "task and metric", columns, lines)
        text.print_tables([shown], language=arguments.labels)
        results[:0] = runs  # the page begins with what a terminal ends with
    page, systems = out / "report.html", [("demo", results)]
    write_page(page, systems, tables.tabulate(systems, labels=arguments.labels, page=True), arguments.labels)
    write("", f"All tables, beside the papers' numbers: {page}")
    run = results[0].record
    write(f"next: quadrag run {run.benchmark} {run.config} --llm http://HOST:PORT/v1")

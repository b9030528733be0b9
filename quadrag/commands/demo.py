"""Run the bundled samples of all benchmarks, with no network and no model.

Answers are the sentences most like the questions, so the numbers measure
nothing: they show that all works, and what a result looks like. It takes half a
minute, and ends with a page on which all tables stand.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag.commands.shared import options
from quadrag.commands.shared.session import print_tables
from quadrag.printing import write

EXAMPLES = (
    "quadrag demo",
    "quadrag demo --out demo",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--out", metavar="DIR", default="runs/demo", help="for the run folders and report.html (default: runs/demo)"
    )
    options.labels(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    # Before what takes seconds to load.
    write(
        "Four benchmarks on small made-up samples, without a model or a network. Each\n"
        "answer is the sentence most like its question, so the numbers measure nothing:\n"
        "they show that all works, and what a result looks like.",
    )
    from quadrag.baselines.core.benchmark import known
    from quadrag.baselines.page.page import write_page
    from quadrag.baselines.report.paper import tabulate_paper
    from quadrag.baselines.report.run import tabulate_matrices
    from quadrag.baselines.runs.campaign import run_demo
    from quadrag.hub.card import read_card

    out = Path(arguments.out)
    results: list[Any] = []
    tables: list[Any] = []
    for name in known():
        runs = run_demo(name, out)
        ours = [result for _, result in runs]
        print_tables(arguments, [_first_headlines(name, runs)])
        results[:0] = ours  # the page begins with what a terminal ends with
        matrices = tabulate_matrices(ours[0], labels=arguments.labels) if len(ours) == 1 else []
        made = [*tabulate_paper(name, ours), *matrices]
        known_as = read_card(name)[0]["pretty_name"]
        titles = [grid.title.removeprefix(f"{name},").lstrip() for grid in made]
        tables[:0] = [
            grid if title.startswith(f"{name} ") else replace(grid, title=f"{known_as}: {title}")
            for grid, title in zip(made, titles, strict=True)
        ]
    write_page(out / "report.html", [("demo", results)], tables, arguments.labels)
    write(
        "\nOne metric a task, in percent, of its first set of questions; n: how many were\n"
        "scored. All tables, beside the papers' numbers:",
        f"  open {out / 'report.html'}",
        "Next, your own model, a function in Python, or a file of answers:",
        f"  quadrag run rgb noise_robustness_{arguments.labels} --llm http://HOST:PORT/v1",
        f'  quadrag.evaluate("rgb", "noise_robustness_{arguments.labels}", my_rag)',
        "  quadrag score FILE",
    )


def _first_headlines(name: str, runs: list[tuple[Path, Any]]) -> Any:
    from quadrag.baselines.core.benchmark import load
    from quadrag.baselines.report.summary import headline_cells
    from quadrag.baselines.results.selection import pick_headlines
    from quadrag.baselines.tables.cells import FEW
    from quadrag.baselines.tables.grid import Cell, Grid, Line
    from quadrag.baselines.tables.names import keep_name

    rows = [pick_headlines(result.scores, "official")[0] for _, result in runs]
    keys = [row.label for row in rows]
    width = max(map(len, keys))
    lines = [
        Line(keep_name(folder.name), [Cell(f"{key:<{width}}"), *headline_cells(row)])
        for (folder, _), key, row in zip(runs, keys, rows, strict=True)
    ]
    columns = [f"{'metric':<{width}}", "value", "95% interval", "n"]
    few = [f"No interval for fewer than {FEW} questions."] * any((row.n or 0) < FEW for row in rows)
    return Grid(load(name).sample, "task", columns, lines, [*few])

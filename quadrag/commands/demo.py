"""Run the bundled samples of all benchmarks, with no network and no model.

Answers are the sentences most like the questions, so the numbers measure
nothing: they show that all works, and what a table looks like. It takes some
ten seconds.
"""

import argparse
import contextlib
import time
from pathlib import Path

EXAMPLES = (
    "quadrag demo",
    "quadrag demo --out runs/demo",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--out", metavar="DIR", help="keep the run folders and report.html here")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    import tempfile

    from quadrag.baselines.core.benchmark import known, load
    from quadrag.baselines.report.page import write_page
    from quadrag.baselines.report.paper import tabulate_paper
    from quadrag.baselines.report.run import tabulate_matrices
    from quadrag.baselines.runs.campaign import run_demo
    from quadrag.baselines.tables.grid import print_grids

    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        out = Path(arguments.out or stack.enter_context(tempfile.TemporaryDirectory(prefix="quadrag-")))
        results = []
        for name in known():
            runs = run_demo(name, out)
            results += runs
            grids = tabulate_paper(name, [result for _, result in runs])
            if len(runs) == 1:
                grids += tabulate_matrices(runs[0][1])
            print(f"{load(name).sample}, answered by the most similar sentence.")
            print_grids(grids)
            print()
            if arguments.out:
                page = out / name / "report.html"
                write_page(page, f"quadrag demo: {name} on the bundled sample", [r for _, r in runs], grids)
                print(f"{page}\n")
    print(f"{len(results)} runs in {time.monotonic() - started:.1f} s, without a model or a network. The sample shows")
    print("that all works; it measures nothing. Next: quadrag run rgb noise_robustness_en --llm http://HOST:PORT/v1")

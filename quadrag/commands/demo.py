"""Run the bundled samples of all benchmarks, with no network and no model.

Answers are the sentences most like the questions, so the numbers measure
nothing: they show that all works, and what a table looks like. It takes some
ten seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from pathlib import Path

EXAMPLES = (
    "quadrag demo",
    "quadrag demo --out runs/demo",
)
_DEMO = {
    "omnieval": "OmniEval on the bundled sample: 208 made-up questions in 80 cells over 144 passages, found by BM25",
    "rgb": "RGB on the bundled sample: 12 made-up questions a file",
    "crag": "CRAG on the bundled sample: made-up questions with pages, and a small knowledge graph",
    "crud_rag": "CRUD-RAG on the bundled sample: 8 made-up questions a task over some 130 articles, found by BM25",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--out", metavar="DIR", help="keep the run folders and report.html here")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    import tempfile

    from quadrag.baselines import campaign, report
    from quadrag.baselines.benchmark import known
    from quadrag.baselines.grid import print_grids

    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        out = Path(arguments.out or stack.enter_context(tempfile.TemporaryDirectory(prefix="quadrag-")))
        results = []
        for name in known():
            runs = campaign.demo(name, out)
            results += runs
            grids = report.paper_grids(name, [result for _, result in runs])
            if len(runs) == 1:
                grids += report.matrices(runs[0][1])
            print(f"{_DEMO[name]}, answered by the most similar sentence.")
            print_grids(grids)
            print()
            if arguments.out:
                page = out / name / "report.html"
                report.write_page(page, f"quadrag demo: {name} on the bundled sample", [r for _, r in runs], grids)
                print(f"{page}\n")
    print(f"{len(results)} runs in {time.monotonic() - started:.1f} s, without a model or a network. The sample shows")
    print("that all works; it measures nothing. Next: quadrag run rgb noise_robustness_en --llm http://HOST:PORT/v1")

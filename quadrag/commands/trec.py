"""Write what a run retrieved as TREC run and qrels files.

They are read by trec_eval, ir_measures, ranx and the like, and what these
measure is what the run measured: in RUN/trec for every split CONFIG-SPLIT.run,
and CONFIG-SPLIT.qrels where the benchmark knows what is relevant.

Examples:
    quadrag trec runs/a
    quadrag trec runs/all runs/b
"""

import argparse
from pathlib import Path

from quadrag.errors import QuadragError
from quadrag.printing import write

from .shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders; one of --all holds several runs")
    options.add(parser, "data-dir")


def run(arguments: argparse.Namespace) -> None:
    from quadrag.reporting import trec
    from quadrag.run.folder import run_folders

    folders = [part for name in arguments.runs for part in run_folders(Path(name)) or [Path(name)]]
    written = [trec.write(folder, folder / "trec", arguments.data_dir) for folder in folders]
    if not any(written):
        raise QuadragError(f"no passages stand in {', '.join(arguments.runs)}: nothing was retrieved")
    write(*(f"{path}: {lines:,} lines" for files in written for path, lines in files.items()))

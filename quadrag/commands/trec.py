"""Write what a run retrieved as TREC run and qrels files.

They are read by trec_eval, ir_measures, ranx and the like: for every split of
the run CONFIG-SPLIT.run, and CONFIG-SPLIT.qrels where the benchmark knows what
is relevant (omnieval, and crud_rag with --option gold=...). The first passage
of a document stands for it, further ones keep their ranks under their own ids,
and ties are broken as the run broke them: what is measured on these files is
what the run measured.
"""

import argparse
from pathlib import Path

from quadrag.commands.shared import options
from quadrag.errors import QuadragError
from quadrag.printing import write

EXAMPLES = ("quadrag trec runs/a", "quadrag trec runs/a runs/b --out trec")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders; one of --all holds several runs")
    options.add(parser, "data-dir out", out="a folder for each run here (default: trec in the run's)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.baselines.report import trec
    from quadrag.baselines.runs.finished import run_folders

    places: dict[Path, Path] = {}
    for named in map(Path, arguments.runs):
        parts = run_folders(named)
        if not parts:
            raise QuadragError(f"{named} holds no run.json; expected the folder of a run")
        for part in parts:
            inside = Path(named.resolve().name) / part.relative_to(named)
            places[part] = Path(arguments.out) / inside if arguments.out else part / "trec"
    if len(set(places.values())) < len(places):
        raise QuadragError("two runs have folders of one name; leave out --out, or write them one by one")
    written = {folder: trec.write(folder, out, arguments.data_dir) for folder, out in places.items()}
    if not any(written.values()):
        raise QuadragError(f"no passages stand in {', '.join(arguments.runs)}: nothing was retrieved")
    for folder, files in written.items():
        write(*[f"{path}: {lines:,} lines" for path, lines in files.items()] or [f"{folder}: no passages"])

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
    options.data(parser)
    parser.add_argument("--out", metavar="DIR", help="write a folder for each run here (default: trec in the run's)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.baselines.report import trec
    from quadrag.baselines.runs.finished import run_folders

    inside = {name: run_folders(Path(name)) for name in arguments.runs}
    for name, parts in inside.items():
        if not parts:
            raise QuadragError(f"{name} holds no run.json; expected the folder of a run")
    found = [(Path(name), part) for name in arguments.runs for part in inside[name]]
    places = [Path(arguments.out) / _within(*each) if arguments.out else each[1] / "trec" for each in found]
    if twice := next((place for place in places if places.count(place) > 1), None):
        raise QuadragError(f"two runs would be written to {twice}; leave out --out, or name the runs one by one")
    written = {
        folder: trec.write(folder, out, arguments.data_dir) for (_, folder), out in zip(found, places, strict=True)
    }
    if not any(written.values()):
        raise QuadragError(f"no passages stand in {', '.join(arguments.runs)}: nothing was retrieved")
    for folder, files in written.items():
        write(*[f"{path}: {lines:,} lines" for path, lines in files.items()] or [f"{folder}: no passages"])


def _within(named: Path, part: Path) -> Path:
    """Return where below --out a run's files go: below the name of the folder that was named, be it ``.`` or ``..``."""
    name = named.name if named.name not in ("", "..") else named.resolve().name
    return Path(name) / part.relative_to(named)

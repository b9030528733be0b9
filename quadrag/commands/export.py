"""Write each benchmark as a Hub dataset repository: Parquet and a card.

Every version of datasets from 3.6 on loads it. Nothing is sent anywhere. A
folder that an export wrote before is written anew. Of a benchmark whose data
are not hosted again the card with the way to the data is written.

Examples:
    quadrag export hub --benchmark BENCHMARK --data-dir DIR --accept-licence
    quadrag export hub --data-dir sample
"""

import argparse
from pathlib import Path

from quadrag.printing import write

from .shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a folder NAME for each benchmark is written here")
    parser.add_argument("--benchmark", metavar="B", action="append", default=[], help="this one; may be repeated")
    options.add(parser, "data-dir accept-licence")


def run(arguments: argparse.Namespace) -> None:
    from quadrag.hub.export import export

    folder = Path(arguments.folder)
    for repository in export(folder, arguments.benchmark, arguments.data_dir, arguments.accept_licence):
        rows = sum(count for splits in repository.rows.values() for count in splits.values())
        what = "a card with the way to the data" if repository.kind == "recipe" else f"{rows:,} rows"
        write(f"{folder / repository.name}: {what}")
        for config, files in repository.lacking.items():
            write(f"  {config}: without {', '.join(files)}")

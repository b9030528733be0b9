"""Fill the Hugging Face caches, so that the bare names load.

Afterwards `load_dataset("BENCHMARK", "CONFIG")` and `evaluate.load("METRIC")`
work from any folder and with every version of datasets. Upstream's files are
downloaded and verified, or read from --data-dir, of which what can be built is
built and what is lacking is named.

Examples:
    quadrag prepare BENCHMARK
    quadrag prepare BENCHMARK --data-dir sample
    quadrag prepare BENCHMARK --config CONFIG --data-dir DIR
"""

import argparse

from quadrag import catalogue
from quadrag.printing import write

from .shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK")
    parser.add_argument("--config", metavar="C", help="this config alone")
    options.add(parser, "data-dir", data_dir="the authors' files, or `sample` (default: downloaded)")


def run(arguments: argparse.Namespace) -> None:
    from quadrag.data.builders import find_source, prepare
    from quadrag.provenance import shorten

    benchmark = catalogue.benchmark_name(arguments.benchmark)
    done = prepare(benchmark, arguments.config, arguments.data_dir, lambda name: write(f"building {name}"))
    for name, rows in done.built.items():
        write(f"{name}: {', '.join(f'{split} {count}' for split, count in rows.items())}")
    for name, files in done.lacking.items():
        write(f"{name}: {'built without' if name in done.built else 'not built, it lacks'} {shorten(files)}")
        if name not in done.built and (before := find_source(benchmark, name)):
            write(f"  its bare name still loads what was prepared before, from: {before.text}")
    write("metrics: " + ", ".join(done.metrics))
    name, rows = next(iter(done.built.items()))
    write(f'now: load_dataset("{benchmark}", "{name}", split="{next(iter(rows))}")')

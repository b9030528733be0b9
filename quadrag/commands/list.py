"""List benchmarks, configs, splits, metrics, recipes and judges.

A recipe is a row of a published table, for `quadrag run --recipe`; a judge a
preset that asks as a paper did, for `--judge NAME=http://HOST/v1`.
"""

from __future__ import annotations

import argparse

EXAMPLES = ("quadrag list",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add none: the command takes no arguments."""


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag import catalogue

    for benchmark in catalogue.benchmarks():
        print(f"{benchmark}: configs and splits")
        for name, config in catalogue.configs(benchmark).items():
            print(f"  {name:30} {', '.join(config.splits)}")
    print("\nmetrics: " + ", ".join(catalogue.metrics()))
    print("recipes:", *catalogue.recipes(), sep="\n  ")
    from quadrag.baselines.models import JUDGES

    print("judges, as --judge NAME=http://HOST/v1:")
    for name, preset in JUDGES.items():
        print(f"  {name:30} {preset.source}")

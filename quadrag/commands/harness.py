"""Write quadrag's tasks for lm-eval, or list those of Inspect.

Questions, messages and rule metrics are those of `quadrag run`. lm-eval and
Inspect come with the extra `harness`.

Examples:
    lm_eval --include_path $(quadrag harness lm-eval) --tasks quadrag_BENCHMARK ...
    inspect eval quadrag/BENCHMARK_CONFIG --model ...
"""

import argparse
from pathlib import Path

from quadrag.printing import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", choices=("lm-eval", "inspect"), help="lm-eval or inspect")
    parser.add_argument(
        "dir",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=Path("quadrag_tasks"),
        help="the folder that is written for lm-eval, and printed (default: quadrag_tasks)",
    )


def run(arguments: argparse.Namespace) -> None:
    if arguments.name == "inspect":
        from quadrag import catalogue
        from quadrag.harnesses.examination import list_configs

        names = catalogue.benchmarks()
        write(*(f"quadrag/{name}_{config}" for name in names for config in list_configs(name)))
        return
    from quadrag.harnesses.examination import write_tasks

    arguments.dir.mkdir(parents=True, exist_ok=True)
    for name, text in write_tasks():
        (arguments.dir / name).write_text(text, encoding="utf-8")
    write(arguments.dir)

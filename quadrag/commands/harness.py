"""Print the folder of quadrag's tasks for a harness.

Questions, messages and rule metrics are those of `quadrag run`. lm-eval and
Inspect come with the extra `harness`.
"""

import argparse

from quadrag.printing import write

EXAMPLES = (
    "lm_eval --include_path $(quadrag harness lm-eval) --tasks quadrag_rgb ...",
    "inspect eval quadrag/rgb_noise_robustness_en -T noise=0.4 --model ...",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("name", metavar="NAME", help="lm-eval or inspect")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag import harnesses

    write(harnesses.path(arguments.name))

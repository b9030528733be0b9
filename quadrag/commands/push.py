"""Push benchmarks, metrics or results to the Hub.

Benchmarks become dataset repositories, metrics Spaces, and the results of runs
a pull request on a model's repository. Without --yes nothing is asked or sent:
what would go there is listed. A push that stops is finished by the same
command. Files that others put into a repository are kept, but where one of
quadrag's own is to stand. The token is HF_TOKEN, or that of `hf auth login`.

Examples:
    quadrag push ORG --data-dir sample
    quadrag push ORG --benchmark BENCHMARK --accept-licence --yes
    quadrag push ORG --metric METRIC --yes
    quadrag push ORG --results OWNER/MODEL --run runs/a
"""

import argparse
from typing import Any

from quadrag.errors import QuadragError
from quadrag.printing import write

from .shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    several: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("org", metavar="ORG", help="an organisation on the Hub, or your own name there")
    parser.add_argument("--yes", action="store_true", help="do it; without, only say what would change")
    what = parser.add_argument_group("benchmarks and metrics (default: all)")
    what.add_argument("--benchmark", metavar="B", help="this one; may be repeated", **several)
    what.add_argument("--metric", metavar="M", help="this one; may be repeated", **several)
    options.add(what, "data-dir accept-licence")
    what.add_argument("--private", action="store_true", help="new repositories are private")
    results = parser.add_argument_group("results")
    results.add_argument("--results", metavar="MODEL", help="open a pull request on this model's repository")
    results.add_argument("--run", metavar="DIR", help="a run, or a folder of them; may be repeated", **several)
    results.add_argument("--accept-data", action="store_true", help="runs on a part of the questions, or other files")
    results.add_argument("--source", metavar="URL", help="where more about them is, as the runs themselves")


def run(arguments: argparse.Namespace) -> None:
    from quadrag.hub.push import describe, plan_push, plan_results, push, push_results

    results = arguments.results is not None  # given, even where it came out empty
    if results != bool(arguments.run) or (results and (arguments.benchmark or arguments.metric)):
        raise QuadragError("--results MODEL and --run DIR go together, and without --benchmark and --metric")
    if results:
        model, how = arguments.results, (arguments.accept_data, arguments.source)
        files = plan_results(arguments.org, model, arguments.run, *how)
        if arguments.yes:
            write(push_results(model, files) or "the results stand there already; nothing to do")
            return
        for path, text in files.items():
            write(path, text)
    else:
        org, named = arguments.org, (arguments.benchmark, arguments.metric, arguments.data_dir)
        repositories = plan_push(org, *named, arguments.accept_licence)
        if arguments.yes:
            for address in push(org, repositories, arguments.private):
                write(address)
            return
        for repository in repositories:
            lines = describe(repository)
            write(f"{repository.repo_type} {org}/{repository.name}", *(f"  {line}" for line in lines))
    write("nothing was sent; the same command with --yes does it")

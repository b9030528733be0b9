"""Score answers that any other system made.

FILE is JSON Lines with `id` and `answer` (null for a call that failed), as
`quadrag questions` asks for them, maybe with `passages`, which are measured
too; or what RGB's or CRUD-RAG's own code wrote; or a log of a harness that ran
quadrag's tasks, or a folder of its logs. A part of the questions is scored as a
part, and said to be one. Options that the answers were made with are to be
given again, but of a log, which says them.

Several files are compared with the first, as `quadrag report` does. Logs of one
model on several tasks stand below each other.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.commands.shared import options
from quadrag.commands.shared.answered import own_profile, plan_all
from quadrag.commands.shared.closing import print_next, report_failures
from quadrag.commands.shared.session import call_policy, print_calls, print_results, results_alone, tell_bad
from quadrag.errors import QuadragError
from quadrag.printing import write

EXAMPLES = (
    "quadrag score mine.jsonl --benchmark rgb --config noise_robustness_zh",
    "quadrag score mine.jsonl --benchmark crag --config qa --judge http://HOST/v1",
    "quadrag score answers/*.jsonl --data-dir RGB --out runs",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("answers", nargs="+", metavar="FILE", help="JSON Lines; `answer` null is a failed call")
    parser.add_argument("--benchmark", metavar="B", help="where the lines do not say it, as those of another system")
    parser.add_argument("--config", metavar="C", help="likewise")
    parser.add_argument("--split", metavar="S", help="the split answered, where the lines do not say it")
    options.data(parser)
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="may be repeated; those of `quadrag run` that questions or scores depend on",
    )
    parser.add_argument(
        "--ratings",
        metavar="SHEET",
        help="crag: CSV or JSON Lines of id and rating, which people gave the answers in place of a judge: perfect, "
        "acceptable, missing, incorrect",
    )
    parser.add_argument("--retriever", metavar="R", help="none: the answers were made without documents")
    parser.add_argument("--prompts", metavar="FILE", help="crag: the judge is told what stands under `judge` there")
    options.calls(parser)
    options.estimate(parser)
    options.output(
        parser,
        "write answers, items, scores, run.json and report.html here; of several files each has a folder in it, named "
        "as the file",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from quadrag.baselines.report.comparison import refuse_same
    from quadrag.baselines.runs.files.score import sift_logs

    refuse_same(arguments.answers)
    files, broken = sift_logs(_list_files(arguments))
    code = _estimate(arguments, files) if arguments.estimate else _score(arguments, files)
    for line in broken:
        tell_bad(f"left out, {line}")
    return 2 if broken else code


def _score(arguments: argparse.Namespace, files: Sequence[Path]) -> int:
    """Score files, and print and write what they came to."""
    from quadrag.baselines.judges.certificate import lay_beside
    from quadrag.baselines.page.page import write_page
    from quadrag.baselines.report.all import gather_systems, head_benchmark, tabulate_all
    from quadrag.baselines.report.comparison import tabulate_comparison
    from quadrag.baselines.report.merged import merge_runs
    from quadrag.baselines.report.summary import show_runs
    from quadrag.baselines.runs.files.score import name_files

    profiles, out = options.profiles(arguments, own_profile(files)), Path(arguments.out) if arguments.out else None
    with results_alone(arguments.json) as stdout:
        scored = _score_files(arguments, files, out, profiles[0])
        results = [result for _, result in scored]
        lay_beside(results)
        grids, pages = [], []
        named = [*zip(name_files([file for file, _ in scored]), results, strict=True)]
        benchmarks = dict.fromkeys(result.run.benchmark for result in results)
        for benchmark in benchmarks:
            parts = [(name, part) for name, part in named if part.run.benchmark == benchmark]
            systems = gather_systems(parts)
            if len(systems) > 1:
                merged = [(name, merge_runs(results)) for name, results in systems]
                shown, page = ([tabulate_comparison(merged, profiles[0], every)] for every in (arguments.verbose, True))
            else:
                shown = show_runs([result for _, result in parts], profiles, arguments.labels, arguments.verbose)
                page = tabulate_all(systems, profiles, arguments.labels)
            if out:
                pages.append(out / (f"report_{benchmark}.html" if len(benchmarks) > 1 else "report.html"))
                write_page(pages[-1], systems, page, arguments.labels)
            if len(benchmarks) > 1:
                shown[0].notes.insert(0, head_benchmark(benchmark))
            grids += shown
        print_results(arguments, stdout, out, results, grids)
        print_calls(arguments, results)
        if out:
            write("", *pages)
            print_next(out, results)
        elif not arguments.json:
            write("Nothing was saved: --out DIR keeps it for `quadrag show`")
        return report_failures(arguments, results)


def _list_files(arguments: argparse.Namespace) -> list[Path]:
    """List the files that are named: of a folder the logs in it, those of the benchmark and config that are named.

    Raises:
        QuadragError: a folder holds none, or ratings are given of several files.
    """
    from quadrag.baselines.runs.files.answers import read_head
    from quadrag.baselines.runs.files.logs import list_logs
    from quadrag.catalogue import benchmark_name

    named = {"config": arguments.config} if arguments.config else {}
    named |= {"benchmark": benchmark_name(arguments.benchmark)} if arguments.benchmark else {}

    def fits(log: Path) -> bool:
        try:
            return bool(named.items() <= read_head(log).items())
        except QuadragError:  # what is wrong with it is told where it is read whole
            return True

    files: list[Path] = []
    for path in map(Path, arguments.answers):
        if not path.exists():
            raise QuadragError(f"{path} is not there; expected a file of answers, or a folder of logs")
        found = [*filter(fits, list_logs(path))] if path.is_dir() else [path]
        if not found:
            raise QuadragError(
                f"{path} holds no log of {' '.join([*named.values()][::-1])}; leave the name out to score all"
            )
        files += found
    if arguments.ratings and len(files) > 1:
        raise QuadragError("--ratings are of the answers of one file; score each by itself, then compare them")
    return [*dict.fromkeys(files)]


def _estimate(arguments: argparse.Namespace, files: Sequence[Path]) -> int:
    from quadrag.commands.shared.estimating import print_estimate, start_estimate

    estimate = start_estimate(arguments)
    with results_alone(arguments.json) as stdout:
        _score_files(arguments, files, None, estimate=estimate)
        print_estimate(arguments, estimate, stdout)
    return 0


def _score_files(
    arguments: argparse.Namespace,
    files: Sequence[Path],
    out: Path | None,
    profile: str | None = None,
    estimate: Any = None,
) -> list[tuple[Path, Any]]:
    """Score files one after the other; once a judge is dead none is asked, nor of a task that has no use for it."""
    from dataclasses import replace

    from quadrag.baselines.core.benchmark import load
    from quadrag.baselines.runs.files.score import AnswersFile, name_files, refuse_full
    from quadrag.baselines.runs.models import open_models
    from quadrag.baselines.runs.run import run
    from quadrag.baselines.scoring.judging import list_metrics

    # All that can be wrong before a ledger or a server is touched, so that a mistyped name costs nothing.
    specs = plan_all(arguments, files)
    policy, scored, dead = call_policy(arguments, estimate), [], None
    policy = replace(policy, profile=profile or policy.profile)
    asks = [any(use.judged for use in list_metrics([(load(spec.benchmark), spec)])) for spec in specs]
    if any(asks):  # else the run refuses a judge
        specs = [spec if asked else spec.changed(judges=()) for spec, asked in zip(specs, asks, strict=True)]
    inside = name_files(files) if len(files) > 1 else [Path()]
    folders = [out / place if out else None for place in inside]
    for file, spec, folder in zip(files, specs, folders, strict=True):
        if folder:
            refuse_full(folder, spec, file)
    for file, spec, folder in zip(files, specs, folders, strict=True):
        with open_models(spec, policy) as models:
            models.dead_judge = dead
            result = run(spec, policy, replace(models, system=AnswersFile(file, spec)), folder)
        scored.append((file, result))
        dead = result.stopped if result.run.dead_judge else dead
    return scored

"""Score answers that any other system made.

FILE is JSON Lines with `id` and `answer` (null for a call that failed), as
`quadrag questions` asks for them, maybe with `passages`, which are measured
too; or what RGB's or CRUD-RAG's own code wrote; or a log of a harness that ran
quadrag's tasks. A part of the questions is scored as a part, and said to be
one. Options that the answers were made with are to be given again.

Several files are compared with the first, as `quadrag report` does.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.commands.shared import options
from quadrag.commands.shared.session import (
    call_request,
    print_calls,
    print_next,
    print_next_of_two,
    print_results,
    report_failures,
    results_alone,
    run_request,
    tell,
)
from quadrag.errors import QuadragError

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
    from quadrag.baselines.certify.beside import lay_beside
    from quadrag.baselines.certify.certificate import read_certificates
    from quadrag.baselines.page.page import write_page
    from quadrag.baselines.report.compared.names import lift_place
    from quadrag.baselines.report.compared.several import refuse_same, tabulate_several
    from quadrag.baselines.report.facts import tell_verdicts
    from quadrag.baselines.report.run import tabulate_run
    from quadrag.baselines.report.summary import show_run

    refuse_same(arguments.answers)
    if arguments.estimate:
        return _estimate(arguments)
    profiles, out = options.profiles(arguments), Path(arguments.out) if arguments.out else None
    certificates = read_certificates(arguments.certificate)
    with results_alone(arguments.format) as stdout:
        scored = _score_files(arguments, [Path(name) for name in arguments.answers], out)
        results = [result for _, result in scored]
        lay_beside(results, certificates)
        if len(scored) > 1:
            named = [(str(file), result) for file, result in scored]
            grids, page = (tabulate_several(named, profiles[0], every) for every in (arguments.verbose, True))
            grids = [*map(lift_place, grids)]
        else:
            grids = show_run(results[0], profiles, arguments.labels, arguments.verbose)
            page = tabulate_run(results[0], profiles, arguments.labels, every=True)
        if out:
            runs = [(str(file), [result]) for file, result in scored]
            write_page(out / "report.html", runs, page, arguments.labels, arguments.ledger)
        if kept := tell_verdicts(results):
            tell(arguments, *f"{kept}.".splitlines())
        print_results(arguments, stdout, out, results, grids)
        print_calls(arguments, results)
        if not out and arguments.format == "table":
            tell(arguments, "Nothing was saved: --out DIR keeps it for `quadrag show`")
        if out:
            print(f"\n{out / 'report.html'}")
            if len(results) == 1:
                print_next(arguments, out, results)
            else:
                print_next_of_two(arguments, results, profiles[0])
        return report_failures(arguments, scored, grids)


def _estimate(arguments: argparse.Namespace) -> int:
    """Say what the judges will be asked."""
    from quadrag.commands.shared.estimating import print_estimate, start_estimate

    estimate = start_estimate(arguments)
    with results_alone(arguments.format) as stdout:
        _score_files(arguments, [Path(name) for name in arguments.answers], None, estimate)
        print_estimate(arguments, estimate, stdout)
    return 0


def _score_files(
    arguments: argparse.Namespace, files: Sequence[Path], out: Path | None, estimate: Any = None
) -> list[tuple[Path, Any]]:
    """Score files one after the other, until a budget is reached."""
    from quadrag.baselines.runs.request import make_task
    from quadrag.baselines.runs.score_file import name_folders, refuse_full, score_file
    from quadrag.baselines.runs.session import open_budget, open_session

    folders: Sequence[Path | None] = name_folders(files, out) if out else [None] * len(files)
    requests = [_request(arguments, file) for file in files]
    # All that can be wrong before a ledger or a server is touched, so that a mistyped name costs nothing.
    if len(names := {make_task(request).benchmark for request in requests}) > 1:
        raise QuadragError(f"the files answer {' and '.join(sorted(names))}; score each benchmark's by themselves")
    calls, scored = call_request(arguments, estimate), []
    for named in filter(None, folders):
        refuse_full(named, calls.command)
    budget = open_budget(calls)
    for file, request, folder in zip(files, requests, folders, strict=True):
        with open_session(request, calls, budget) as session:
            scored.append((file, score_file(session, request, file, folder)))
        if scored[-1][1].stopped:
            break
    return scored


def _request(arguments: argparse.Namespace, file: Path) -> Any:
    """Make the request of a file: its lines name the benchmark and the config where the user does not."""
    from quadrag.baselines.runs.answers import read_place

    given = {name: value for name in ("benchmark", "config") if (value := getattr(arguments, name))}
    named = {**read_place(file), **given}
    if lacking := [f"--{name}" for name in ("benchmark", "config") if name not in named]:
        raise QuadragError(f"{file} does not say what it answers; name it with {' and '.join(lacking)}")
    if arguments.ratings:
        if len(arguments.answers) > 1:
            raise QuadragError("--ratings are of the answers of one file; score each by itself, then compare them")
        named["option"] = [*arguments.option, f"ratings={arguments.ratings}"]
    return run_request(argparse.Namespace(**{**vars(arguments), **named}))

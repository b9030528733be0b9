"""Score answers that any other system made.

FILE is JSON Lines with `id` and `answer` (null for a call that failed), as
`quadrag questions` asks for them, maybe with `passages`, which are measured
too; or what the authors' own code wrote; or a log of a harness that ran
quadrag's tasks, or a folder of its logs. A part of the questions is scored as a
part. Options that the answers were made with are to be given again, but of a
log, which says them. Several files are compared with the first.

Examples:
    quadrag score mine.jsonl --benchmark BENCHMARK --config CONFIG
    quadrag score mine.jsonl --benchmark BENCHMARK --config CONFIG --judge http://HOST/v1
    quadrag score answers/*.jsonl --data-dir DIR --out runs
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.printing import say

from .shared import options, session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("answers", nargs="+", metavar="FILE", help="JSON Lines; `answer` null is a failed call")
    parser.add_argument("--benchmark", metavar="B", help="where the lines do not say it, as those of another system")
    parser.add_argument("--config", metavar="C", help="likewise")
    taken = f"split data-dir option retriever prompts spec {options.SHOWING} out estimate"
    options.add(
        parser,
        taken,
        split="where the lines do not say it",
        retriever="none: the answers were made without documents",
        prompts="what stands under `judge` there is told to the judge",
        out="for items, scores and page; of several files each has a folder",
    )
    options.add(parser.add_argument_group("calls to models"), f"bertscore {options.JUDGING}")


def run(arguments: argparse.Namespace) -> int:
    from quadrag.reporting import comparison, tables
    from quadrag.run import answers

    comparison.refuse_same(arguments.answers)
    files, broken = answers.sift_logs([*map(Path, arguments.answers)], arguments.benchmark, arguments.config)
    if len(files) > 1 and "ratings" in dict(arguments.option):
        raise QuadragError("ratings are of the answers of one file; score each by itself, then compare them")
    logged = {origin.settings.get("profile") if (origin := answers.find_origin(file)) else None for file in files}
    profiles = options.profiles(arguments, logged.pop() if len(logged) == 1 else None)
    out = Path(arguments.out) if arguments.out else None
    code = 0
    with session.results_alone(arguments.json) as stdout:
        policy = replace(session.call_policy(arguments), profile=profiles[0])
        results = _score_files(arguments, files, None if policy.estimate else out, policy)
        if policy.estimate:
            session.print_estimate(arguments, policy, stdout)
        else:
            systems = tables.gather_systems([*zip(answers.name_files(files), results, strict=True)])
            page = out and out / "report.html"
            session.show_results(arguments, stdout, tables.group_systems(systems), profiles, out, page)
            code = session.close(arguments, results, page)
    for line in broken:
        say(f"left out, {line}")
    return 2 if broken else code


def _score_files(arguments: argparse.Namespace, files: Sequence[Path], out: Path | None, policy: Any) -> list[Any]:
    """Score files one after the other; once a judge is dead none is asked, nor of a task that has no use for it."""
    from quadrag.benchmark import load
    from quadrag.run import models
    from quadrag.run.answers import AnswersFile, name_files, refuse_full
    from quadrag.run.run import run
    from quadrag.scoring.judging import list_judged

    # All that can be wrong before a ledger or a server is touched, so that a mistyped name costs nothing.
    specs = [_plan(arguments, file) for file in files]
    asks = [bool(list_judged([(load(spec.benchmark), spec)])) for spec in specs]
    if any(asks):  # else the run refuses a judge
        specs = [spec if asked else spec.changed(judges=()) for spec, asked in zip(specs, asks, strict=True)]
    folders = [out and out / name for name in name_files(files)] if len(files) > 1 else [out]
    for file, spec, folder in zip(files, specs, folders, strict=True):
        if folder:
            refuse_full(folder, spec, file)
    results, dead = [], None
    for file, spec, folder in zip(files, specs, folders, strict=True):
        with models.open_models(spec, policy) as opened:
            opened.dead_judge = dead
            results.append(run(spec, policy, replace(opened, system=AnswersFile(file, spec)), folder))
        record = results[-1].record
        dead = record.stopped["params"] if record.dead_judge and record.stopped else dead
    return results


def _plan(arguments: argparse.Namespace, file: Path) -> Any:
    """Make the spec of a file: the user's word goes before its own; a log says its retriever, options and data."""
    from quadrag.benchmark import load
    from quadrag.catalogue import benchmark_name
    from quadrag.run.answers import find_origin, read_head
    from quadrag.run.plan import plan_run
    from quadrag.spec import NONE, UNKNOWN

    said, head = session.partial_spec(arguments), read_head(file)
    partial = {**head, **said}
    if lacking := [f"--{name}" for name in ("benchmark", "config") if name not in partial]:
        raise QuadragError(f"{file} does not say what it answers; name it with {' and '.join(lacking)}")
    record = load(benchmark_name(partial["benchmark"]))
    log = {**head.get("options", {}), "retriever": head.get("retriever")}
    given, retriever = said.get("options", {}), said.get("retriever")
    for name, value in {**given, "retriever": retriever}.items():
        if None not in (value, log.get(name)) and log[name] != value:
            raise QuadragError(f"{file} was made with {name}={log[name]}, not {value}; leave it out")
    partial["options"] = {**given, **head.get("options", {})}
    if origin := find_origin(file):
        partial.setdefault("data_dir", origin.settings.get("data_dir"))
    # Of a retriever that searches, a log does not say the settings.
    retriever = retriever or (log["retriever"] if log["retriever"] in (NONE, record.default_context) else None)
    partial.pop("retriever", None)
    if retriever or record.corpus or record.options:
        # Where the file does not say how its passages were found, it was least of all by this benchmark's default.
        partial["retriever"] = retriever or UNKNOWN
    return plan_run(session.add_judges(arguments, partial, record.name))

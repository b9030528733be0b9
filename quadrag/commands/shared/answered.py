"""What the files of `quadrag score` answer, as specs: the user's word goes before that of a file."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.commands.shared.session import add_judges, partial_spec, read_options
from quadrag.errors import QuadragError


def plan_all(arguments: argparse.Namespace, files: Sequence[Path]) -> list[Any]:
    """Make the specs of files, which may answer several benchmarks.

    Raises:
        QuadragError: a file cannot be scored, or an option that is of one benchmark is given for several.
    """
    from quadrag.baselines.runs.files.answers import read_head

    heads = [_read_place(arguments, file, read_head(file)) for file in files]
    benchmarks = sorted({head["benchmark"] for head in heads})
    given = [f"--{name}" for name in ("option", "split", "prompts") if getattr(arguments, name)]
    if len(benchmarks) > 1 and given:
        raise QuadragError(
            f"the files answer {' and '.join(benchmarks)}, and {given[0]} is of one of them; name it with --benchmark"
        )
    return [_plan(arguments, file, head) for file, head in zip(files, heads, strict=True)]


def _read_place(arguments: argparse.Namespace, file: Path, head: dict[str, Any]) -> dict[str, Any]:
    """Return what the head of a file says, with benchmark and config as the user names them."""
    from quadrag.catalogue import benchmark_name

    head |= {name: value for name in ("benchmark", "config") if (value := getattr(arguments, name))}
    if lacking := [f"--{name}" for name in ("benchmark", "config") if name not in head]:
        raise QuadragError(f"{file} does not say what it answers; name it with {' and '.join(lacking)}")
    return {**head, "benchmark": benchmark_name(head["benchmark"])}


def _plan(arguments: argparse.Namespace, file: Path, head: dict[str, Any]) -> Any:
    """Make the spec of a file; a log says its retriever, its options and its data."""
    from quadrag.baselines.core.benchmark import load
    from quadrag.baselines.core.spec import NONE, UNKNOWN
    from quadrag.baselines.runs.files.logs import find_maker
    from quadrag.baselines.runs.plan import plan_run

    partial = partial_spec(argparse.Namespace(**{**vars(arguments), **head, "option": [], "retriever": None}))
    options, logged = read_options(arguments.option), head.get("options", {})
    log = {**logged, "retriever": head.get("retriever")}
    for name, value in {**options, "retriever": arguments.retriever}.items():
        if None not in (value, log.get(name)) and log[name] != value:
            raise QuadragError(f"{file} was made with {name}={log[name]}, not {value}; leave it out")
    ratings = {"ratings": arguments.ratings} if arguments.ratings else {}
    partial["options"] = {**options, **logged, **ratings}
    if arguments.data_dir is None and (maker := find_maker(file)):
        partial["data_dir"] = maker.settings.get("data_dir")
    record = load(head["benchmark"])
    # Of a retriever that searches, a log does not say the settings.
    retriever = arguments.retriever or (log["retriever"] if log["retriever"] in (NONE, record.supplied) else None)
    if retriever or record.corpus or record.options:
        # Where the file does not say how its passages were found, it was least of all by this benchmark's default.
        partial["retriever"] = retriever or UNKNOWN
    return plan_run(add_judges(arguments, partial, head["benchmark"]))


def own_profile(files: Sequence[Path]) -> str | None:
    """Return the profile that all files are logs of tasks under; None where they are not of one."""
    from quadrag.baselines.runs.files.logs import find_maker

    makers = map(find_maker, files)
    found = {maker.settings.get("profile") if maker else None for maker in makers}
    return found.pop() if len(found) == 1 else None

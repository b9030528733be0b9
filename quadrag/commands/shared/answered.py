"""What the files of `quadrag score` answer, as specs: the user's word goes before that of a file."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.commands.shared.session import add_judges, partial_spec
from quadrag.errors import QuadragError


def plan_all(arguments: argparse.Namespace, files: Sequence[Path]) -> list[Any]:
    """Make the specs of files, which may answer several benchmarks.

    Raises:
        QuadragError: a file cannot be scored, or an option that is of one benchmark is given for several.
    """
    places = [_place(arguments, file) for file in files]
    benchmarks = sorted({benchmark for benchmark, _ in places})
    given = [f"--{name}" for name in ("option", "split", "prompts") if getattr(arguments, name)]
    if len(benchmarks) > 1 and given:
        raise QuadragError(
            f"the files answer {' and '.join(benchmarks)}, and {given[0]} is of one of them; name it with --benchmark"
        )
    own = [len(benchmarks) == 1 or _has_data(arguments.data_dir, *place) for place in places]
    # Data of none of them are refused as those of any file.
    own = own if any(own) else [True] * len(own)
    return [_plan(arguments, file, *place, has) for file, place, has in zip(files, places, own, strict=True)]


def _place(arguments: argparse.Namespace, file: Path) -> tuple[str, str]:
    """Return benchmark and config that a file answers, as it says where the user does not."""
    from quadrag.baselines.runs.files.answers import read_place
    from quadrag.catalogue import benchmark_name

    given = {name: value for name in ("benchmark", "config") if (value := getattr(arguments, name))}
    named = {**read_place(file), **given}
    if lacking := [f"--{name}" for name in ("benchmark", "config") if name not in named]:
        raise QuadragError(f"{file} does not say what it answers; name it with {' and '.join(lacking)}")
    return benchmark_name(named["benchmark"]), named["config"]


def _has_data(data_dir: str | None, benchmark: str, config: str) -> bool:
    from quadrag.data.files import SAMPLE, find_files

    return data_dir == SAMPLE or (data_dir is not None and not find_files(benchmark, config, data_dir)[1])


def _plan(arguments: argparse.Namespace, file: Path, benchmark: str, config: str, own: bool) -> Any:
    """Make the spec of a file, on the data that the user names, where they are its own, or else a log."""
    from quadrag.baselines.core.benchmark import load
    from quadrag.baselines.core.spec import UNKNOWN
    from quadrag.baselines.runs.plan import plan_run

    named: dict[str, Any] = {"benchmark": benchmark, "config": config, **_read_log(arguments, file, benchmark)}
    if arguments.data_dir is None or not own:
        named["data_dir"] = _find_data(file, benchmark, config)
    if arguments.ratings:
        named["option"] = [*named["option"], f"ratings={arguments.ratings}"]
    both = argparse.Namespace(**{**vars(arguments), **named})
    partial = add_judges(both, partial_spec(both), benchmark)
    record = load(benchmark)
    if "retriever" not in partial and (record.corpus or record.options):
        # The file does not say how its passages were found: least of all by this benchmark's default.
        partial["retriever"] = UNKNOWN
    return plan_run(partial)


def _read_log(arguments: argparse.Namespace, file: Path, benchmark: str) -> dict[str, Any]:
    """Return options and retriever as the user names them, and what is not named as a log says it.

    A retriever that was searched with is left out: the log does not say its settings.
    """
    from quadrag.baselines.core.benchmark import load
    from quadrag.baselines.core.spec import NONE
    from quadrag.baselines.runs.files.answers import read_conditions
    from quadrag.records import dumps

    retriever, logged = read_conditions(file) or (None, {})
    given = {pair.partition("=")[0] for pair in arguments.option}
    named = [*arguments.option, *(f"{name}={dumps(value)}" for name, value in logged.items() if name not in given)]
    plain = (NONE, load(benchmark).supplied)
    return {"option": named, "retriever": arguments.retriever or (retriever if retriever in plain else None)}


def own_profile(files: Sequence[Path]) -> str | None:
    """Return the profile that all files are logs of tasks under; None where they are not of one."""
    from quadrag.baselines.runs.files.logs import find_maker

    makers = map(find_maker, files)
    found = {(maker.settings or {}).get("profile") if maker else None for maker in makers}
    return found.pop() if len(found) == 1 else None


def _find_data(file: Path, benchmark: str, config: str) -> str | None:
    """Return the data that a log says it was made on; None where these are the authors', and of any other file.

    Raises:
        QuadragError: they are not there, or the log does not say them and the authors' would have to be fetched.
    """
    from quadrag.baselines.runs.files.logs import find_maker
    from quadrag.data.files import SAMPLE
    from quadrag.data.prepare import find_prepared

    if (maker := find_maker(file)) is None:
        return None
    data: str | None = maker.data_dir
    if data and data != SAMPLE and not Path(data).expanduser().is_dir():
        raise QuadragError(f"{file} was made on the data in {data}, which is no folder here; give --data-dir")
    if maker.settings is None and not find_prepared(benchmark, config):
        raise QuadragError(
            f"{file} does not say on which data it was made, as results_{maker.time}.json beside a log of lm-eval does;"
            f" name them with --data-dir, or get the authors' with `quadrag prepare {benchmark}`"
        )
    return data

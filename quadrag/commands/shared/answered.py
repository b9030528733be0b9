"""What the files of `quadrag score` answer, as requests: the user's word goes before that of a file."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.commands.shared.session import run_request
from quadrag.errors import QuadragError


def request_all(arguments: argparse.Namespace, files: Sequence[Path]) -> list[Any]:
    """Make the requests of files, which may answer several benchmarks.

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
    there = [len(benchmarks) == 1 or _has_data(arguments.data_dir, *place) for place in places]
    # Data of none of them are refused as those of any file.
    own = not any(there)
    return [
        _request(arguments, file, *place, own or has) for file, place, has in zip(files, places, there, strict=True)
    ]


def _place(arguments: argparse.Namespace, file: Path) -> tuple[str, str]:
    """Return benchmark and config that a file answers, as it says where the user does not.

    Raises:
        QuadragError: neither says them.
    """
    from quadrag.baselines.runs.files.answers import read_place
    from quadrag.catalogue import benchmark_name

    given = {name: value for name in ("benchmark", "config") if (value := getattr(arguments, name))}
    named = {**read_place(file), **given}
    if lacking := [f"--{name}" for name in ("benchmark", "config") if name not in named]:
        raise QuadragError(f"{file} does not say what it answers; name it with {' and '.join(lacking)}")
    return benchmark_name(named["benchmark"]), named["config"]


def _has_data(data_dir: str | None, benchmark: str, config: str) -> bool:
    """Whether a folder has the files of a benchmark."""
    from quadrag.data.files import SAMPLE, find_files

    return data_dir == SAMPLE or (data_dir is not None and not find_files(benchmark, config, data_dir)[1])


def _request(arguments: argparse.Namespace, file: Path, benchmark: str, config: str, own: bool) -> Any:
    """Make the request of a file, on the data that the user names, where they are its own, or else a log.

    Raises:
        QuadragError: a log's data are not there.
    """
    named: dict[str, Any] = {"benchmark": benchmark, "config": config}
    if arguments.data_dir is None or not own:
        named["data_dir"] = _find_data(file, benchmark, config)
    named |= _read_log(arguments, file, benchmark)
    if arguments.ratings:
        named["option"] = [*named["option"], f"ratings={arguments.ratings}"]
    return run_request(argparse.Namespace(**{**vars(arguments), **named}))


def _read_log(arguments: argparse.Namespace, file: Path, benchmark: str) -> dict[str, Any]:
    """Return options and retriever as the user names them, and what is not named as a log says it.

    A retriever that was searched with is left out: the log does not say its settings.
    """
    from quadrag.baselines.core.benchmark import load
    from quadrag.baselines.core.settings import NONE
    from quadrag.baselines.runs.files.answers import read_conditions
    from quadrag.records import dumps

    retriever, logged = read_conditions(file) or (None, {})
    given = {pair.partition("=")[0] for pair in arguments.option}
    named = [*arguments.option, *(f"{name}={dumps(value)}" for name, value in logged.items() if name not in given)]
    plain = (NONE, load(benchmark).supplied)
    return {"option": named, "retriever": arguments.retriever or (retriever if retriever in plain else None)}


def own_profile(files: Sequence[Path]) -> str | None:
    """Return the profile that all files are logs of tasks under; None where they are not of one."""
    found = _find_profiles(files)
    return next(iter(found)) if len(found) == 1 else None


def tell_profiles(arguments: argparse.Namespace, files: Sequence[Path]) -> list[str]:
    """Say that files are logs of tasks under several profiles, and which one is shown, where the user names none."""
    from quadrag.baselines.core.result import PROFILES

    found = _find_profiles(files)
    if len({name or PROFILES[0] for name in found}) < 2 or arguments.profile != "both":
        return []
    told = "; ".join(f"{', '.join(dict.fromkeys(of))} by {name or PROFILES[0]}" for name, of in found.items())
    return [f"Logs of several profiles are shown by {PROFILES[0]}, --profile chooses: {told}"]


def _find_profiles(files: Sequence[Path]) -> dict[str | None, list[str]]:
    """Return models, or files that are no logs, by the profile of their tasks; None is of none, or of one not known."""
    from quadrag.baselines.runs.files.logs import find_maker

    found: dict[str | None, list[str]] = {}
    for file in files:
        maker = find_maker(file)
        profile = (maker.settings or {}).get("profile") if maker else None
        found.setdefault(profile, []).append(maker.model if maker else str(file))
    return found


def _find_data(file: Path, benchmark: str, config: str) -> str | None:
    """Return the data that a log says it was made on; None where these are the authors', and of any other file.

    Raises:
        QuadragError: they are not there, or the log does not say them and the authors' would have to be fetched.
    """
    from quadrag.baselines.runs.files.logs import find_maker, name_task
    from quadrag.data.files import SAMPLE
    from quadrag.data.prepare import find_prepared

    if (maker := find_maker(file)) is None:
        return None
    data: str | None = maker.data_dir
    if data and data != SAMPLE and not Path(data).expanduser().is_dir():
        raise QuadragError(f"{file} was made on the data in {data}, which is no folder here; give --data-dir")
    if maker.settings is None and not find_prepared(benchmark, config):
        prepare = f"get the authors' with `quadrag prepare {benchmark}`"
        if name_task(file) and file.suffix == ".jsonl":
            raise QuadragError(
                f"{file}: results_{maker.time}.json, which says the data and the model, is not beside it; put it "
                f"there, name the data with --data-dir (sample: the bundled ones), or {prepare}"
            )
        raise QuadragError(f"{file} does not say on which data it was made; name them with --data-dir, or {prepare}")
    return data

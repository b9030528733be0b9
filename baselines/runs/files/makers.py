"""Which logs of harnesses lie in a folder, what made each of them, and on which data.

What stands in a log is read by `logs.py`.
"""

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.run_files import sha256

from .logs import TASKS, open_inspect_log, read_inspect_log, reader_of, tell_summary

# A log of one of our tasks by lm-eval: the task, when it was made, and what the name of a copy has more.
_NAMES = "samples_*.jsonl"  # of its logs, whatever their tasks
_LOG = re.compile(r"samples_(quadrag_.+)_(\d{4}-\d\d-\d\dT[\d:.+-]+)[^_]*\.jsonl")


class Maker(NamedTuple):
    """What made a log.

    Attributes:
        model: as the harness names it.
        time: all logs of one run of lm-eval share it.
        settings: what the task was given, as ``data_dir``; None where that is not known.
        asked: how many questions the harness says it asked; None where it does not.
        graded: whether a grader of Inspect's was asked, whose verdicts are not read.
    """

    model: str
    time: str
    settings: Mapping[str, Any] | None = None
    asked: int | None = None
    graded: bool = False

    @property
    def data_dir(self) -> str | None:
        """The data that the log was made on, as they were named; None where that was not done, or is not known."""
        return (self.settings or {}).get("data_dir")

    def tell_data(self) -> str:
        """Say what to give as ``--data-dir``."""
        if self.settings is None:
            return "its data_dir as --data-dir"
        return f"--data-dir {shlex.quote(self.data_dir)}" if self.data_dir else "no --data-dir"


def list_logs(folder: Path) -> list[Path]:
    """Return the logs that lie in a folder, or below it.

    Raises:
        QuadragError: there are none.
    """
    if found := find_logs(folder):
        return found
    raise _without_logs(folder)


def find_logs(folder: Path) -> list[Path]:
    """Return the logs that lie in a folder, or below it; [] where there are none."""
    return sorted(filter(is_log, folder.rglob("*")))


def find_foreign(folder: Path) -> list[Path]:
    """Return the logs in a folder, or below it, that are called as those of other tasks than quadrag's."""
    return sorted(path for path in folder.rglob(_NAMES) if not is_log(path))


def is_log(path: Path) -> bool:
    """Whether a file is called as a log of one of our tasks may be; Inspect's names do not say the task."""
    return bool(_LOG.fullmatch(path.name)) or path.suffix == ".eval"


def _without_logs(folder: Path) -> QuadragError:
    """Say of a folder without a log that may be scored what there is in it."""
    for path in find_foreign(folder):
        return QuadragError(f"{folder} holds logs, as {path.name}, but of no quadrag tasks; {TASKS}")
    for path in sorted(folder.rglob("results_*.json")):
        if told := tell_summary(parse_json(path.read_bytes(), path)):
            return QuadragError(f"{path} is {told}")
    return QuadragError(
        f"{folder} is a folder without a harness's log of a quadrag task (samples_quadrag_*.jsonl, *.eval); "
        "expected one, or a file of answers"
    )


def drop_copies(files: Iterable[Path]) -> tuple[list[Path], list[str]]:
    """Leave out each log that is the same as an earlier one: models that reply alike have not done so at one time.

    Returns:
        The other files, and a line on those left out and one on other files that are the same.
    """
    found: dict[str, Path] = {}
    kept: list[Path] = []
    copies: list[tuple[Path, Path]] = []
    alike: list[tuple[Path, Path]] = []
    for path in files:
        first = found.setdefault(sha256(path), path) if path.is_file() else path
        made, before = (None, None) if first is path else (find_maker(path), find_maker(first))
        if made and before and made.time == before.time:
            copies.append((path, first))
            continue
        kept.append(path)
        if first is not path:
            alike.append((path, first))
    lines = [
        *_tell_pairs(copies, "{} is a copy of {} and left out"),
        *_tell_pairs(alike, "{} is the same as {}, a copy or answers all alike"),
    ]
    return kept, lines


def _tell_pairs(pairs: Sequence[tuple[Path, Path]], line: str) -> list[str]:
    if not pairs:
        return []
    place = Path(os.path.commonpath([path.absolute().parent for pair in pairs for path in pair]))
    told = line.format(*(one.absolute().relative_to(place) for one in pairs[0]))
    return [f"{told} (and {len(pairs) - 1} more)" if len(pairs) > 1 else told]


def find_maker(path: Path) -> Maker | None:
    """Return what made a log, as the harness names it; None of any other file.

    lm-eval says the model in the results beside the samples; where these are gone, it is what the folder is called.
    """
    if reader_of(path) is read_inspect_log:
        made = open_inspect_log(path, header_only=True).eval
        return Maker(made.model, made.created, made.task_args, graded="grader" in (made.model_roles or {}))
    match = _LOG.fullmatch(path.name)
    if match is None:
        return None
    folders = path.absolute().parts[:-1]
    results = path.with_name(f"results_{match[2]}.json")
    said = parse_json(results.read_bytes(), results) if results.is_file() else None
    if not isinstance(said, dict):
        return Maker(folders[-1], match[2])
    settings = (said.get("configs") or {}).get(match[1], {}).get("metadata")
    asked = (said.get("n-samples") or {}).get(match[1], {}).get("effective")
    given = said.get("config") or {}
    kind = given.get("model") if not given.get("model_args") else None  # else lm-eval makes up a name each time
    return Maker(kind or said.get("model_name") or folders[-1], match[2], settings, asked)


def name_task(path: Path) -> str | None:
    """Return the task that a log of lm-eval is of, as ``rgb_noise_robustness_en``; None of other files."""
    match = _LOG.fullmatch(path.name)
    return match[1].removeprefix("quadrag_") if match else None


def name_time(path: Path) -> str:
    """Return the time of day of such a log as a part of a file's name, ``11-58-24``."""
    match = _LOG.fullmatch(path.name)
    return match[2][11:19].replace(":", "-") if match else ""

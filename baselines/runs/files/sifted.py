"""Which of several logs can be scored: one that is cut, or of another task, does not keep the others from it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from quadrag.errors import QuadragError

from .lines import lines
from .logs import ForeignLog
from .makers import find_maker, is_log


class Sifted(NamedTuple):
    """Files, parted.

    Attributes:
        files: those that can be scored, as far as that is known before it is done.
        foreign: logs of other tasks than quadrag's.
        broken: of each log that cannot be read whole, why.
    """

    files: list[Path]
    foreign: list[Path]
    broken: list[str]


def sift_logs(files: Sequence[Path]) -> Sifted:
    """Read logs, and part them; files that are no logs are not read.

    Raises:
        QuadragError: none can be scored; it says why the first cannot.
    """
    refused: dict[Path, QuadragError] = {}
    for path in filter(is_log, files):
        try:
            _check_whole(path)
        except QuadragError as error:
            refused[path] = error
    if refused and len(refused) == len(files):
        raise refused[files[0]]
    foreign = [path for path, error in refused.items() if isinstance(error, ForeignLog)]
    broken = [str(error) for path, error in refused.items() if path not in foreign]
    return Sifted([path for path in files if path not in refused], foreign, broken)


def _check_whole(path: Path) -> None:
    """Read a log to its end.

    Raises:
        ForeignLog: it is of another task than quadrag's.
        QuadragError: a line cannot be read, or there are fewer than its harness says.
    """
    answered = len({(row.get("split"), row.get("id")) for _, row in lines(path)})
    maker = find_maker(path)
    if maker and maker.asked and answered < maker.asked:
        raise QuadragError(
            f"{path} is cut: it has {answered} of the {maker.asked} lines that results_{maker.time}.json tells of; "
            f"copy it again, or score a copy of another name as a part, with {maker.tell_data()}"
        )

"""The ledgers of workers who share a run's calls: a folder beside the run's own ledger, which goes when it has ended.

What a killed run left of them, the next one that opens its ledger adopts.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from secrets import token_hex

from filelock import Timeout

from quadrag.errors import QuadragError
from quadrag.scratch import hold

_PARTS = ".parts"


@contextmanager
def parts_folder(path: Path | None) -> Iterator[Path | None]:
    """Yield a folder for the ledgers of the workers; at the end it goes.

    Its lock tells it from those of killed runs.

    Args:
        path: the run's ledger; None where it keeps none, which the workers do not either then.
    """
    if path is None:
        yield None
        return
    folder = path.with_name(f"{path.name}.{token_hex(4)}{_PARTS}")
    with hold(folder.with_suffix(".lock")):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def adopt(path: Path, take: Callable[[Path], None]) -> None:
    """Hand over the ledgers that the workers of killed runs left, and remove them.

    Args:
        path: the ledger beside which they lie.
        take: takes the replies of one of them; where it fails, that one is damaged as a whole and has none to give.
    """
    for folder in path.parent.glob(f"{escape(path.name)}.*{_PARTS}"):
        with suppress(Timeout), hold(folder.with_suffix(".lock"), patient=False):
            for left in sorted(folder.glob("*.sqlite")):
                with suppress(QuadragError):
                    take(left)
            shutil.rmtree(folder, ignore_errors=True)

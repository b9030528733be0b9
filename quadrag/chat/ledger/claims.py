"""Calls that several runs on one ledger have in common are made once: the others wait for the reply.

A run claims in the ledger the calls that it is about to make, and releases them when they are done. Its claims count as
long as a lock file beside the ledger is held, which goes with the process, so that a killed run blocks nobody. Nobody
waits while it holds claims, so no two wait for each other.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from quadrag.chat.ledger.file import Value
from quadrag.chat.ledger.shelf import Shelf
from quadrag.errors import QuadragError
from quadrag.progress import remark
from quadrag.scratch import hold, is_held

_LOOK = 0.2  # seconds between two looks for the replies of another run
_WORTH_A_WORD = 2.0  # seconds of waiting
_PATIENCE = 600.0  # seconds without a new reply of another run, after which its calls are made here too


@contextmanager
def claim(shelf: Shelf, keys: Collection[bytes], patient: bool = True) -> Iterator[set[bytes]]:
    """Claim calls while the block runs.

    Args:
        shelf: where their replies are kept.
        keys: of the calls.
        patient: whether those that another run has claimed are left to it.

    Yields:
        The keys of the calls to make.

    Raises:
        QuadragError: the ledger cannot be written.
    """
    owner = f"{os.getpid()}-{token_hex(4)}"
    with hold(_lock(shelf, owner)):
        mine = shelf.claim(owner, keys, lambda other: is_held(_lock(shelf, other)))
        try:
            yield mine if patient else set(keys)
        finally:
            # What cannot be released counts for nothing once the lock is gone.
            with suppress(QuadragError):
                shelf.release(owner)


def make_once(
    shelf: Shelf,
    keys: Iterable[bytes],
    make: Callable[[set[bytes]], None],
    take: Callable[[Mapping[bytes, Value]], None],
) -> None:
    """Make calls that no other run on the ledger has in flight, and wait for the replies of those that one has.

    Args:
        shelf: where replies are kept.
        keys: of the calls.
        make: makes calls, whose replies are in the ledger then, or failed.
        take: is given the replies that came from elsewhere.

    Raises:
        QuadragError: as `make` does, or the ledger cannot be used.
    """
    left, since, told = set(keys), time.monotonic(), False
    while True:
        with claim(shelf, left, patient=time.monotonic() - since < _PATIENCE) as mine:
            # Another run may have had its replies since the ledger was looked at.
            known = shelf.get_many(mine)
            take(known)
            if asked := mine - known.keys():
                make(asked)
        left -= mine
        if not left:
            return
        if asked:
            since = time.monotonic()
        time.sleep(_LOOK)
        if found := shelf.get_many(left):
            take(found)
            left -= found.keys()
            since = time.monotonic()
        elif not told and time.monotonic() - since > _WORTH_A_WORD:
            remark(
                f"waiting for {len(left)} replies that another run on the ledger {shelf.path} has in flight; a run "
                "with another --ledger waits for none"
            )
            told = True


def _lock(shelf: Shelf, owner: str) -> Path:
    return shelf.path.with_name(f".{shelf.path.name}.{owner}.lock")

"""The replies of one service in a ledger: which of those that are kept count, and where new ones go.

A service is where a model answers: its base URLs as given, sorted, or the name that the user gives it. One model's name
at two services is two models as far as anybody knows, so neither gets the other's replies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from quadrag.chat.ledger import Ledger
from quadrag.chat.ledger.file import Value


@dataclass(slots=True)
class Reuse:
    """Which kept replies the models of a session take.

    Attributes:
        retry: kinds of replies, of `reply.RETRIED`, that are asked for again where they were made before `began`.
        since: Unix time; older ones count for nothing.
        began: Unix time of the command's beginning.
    """

    retry: frozenset[str] = frozenset()
    since: float = 0.0
    began: float = field(default_factory=time.time)

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Take no reply from before the session while the block runs."""
        since, self.since = self.since, self.began
        try:
            yield
        finally:
            self.since = since


class Shelf:
    """One service's replies; what `Ledger` says of errors holds here too."""

    def __init__(
        self,
        ledger: Ledger,
        service: str,
        reuse: Reuse | None = None,
        kind_of: Callable[[Value], str | None] | None = None,
    ) -> None:
        """Name the service."""
        self.ledger = ledger
        self.service = service
        self.taken: dict[bytes, float | None] = {}  # keys of the replies that were taken, and their Unix times
        self._reuse = reuse or Reuse()
        self._kind_of = kind_of
        self._renewed: set[bytes] = set()  # found, and to be replaced

    @property
    def path(self) -> Path:
        """The ledger's file."""
        return self.ledger.path

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, Value]:
        """Look calls up among the service's own replies."""
        found = self.ledger.get_many(keys, self.service)
        if self._reuse.since or self._reuse.retry:
            old = {key for key, value in found.items() if not self._takes(value)}
            self._renewed |= old
            found = {key: value for key, value in found.items() if key not in old}
            for key in old:
                self.taken.pop(key, None)
        self.taken.update((key, value.get("created")) for key, value in found.items())
        return found

    @property
    def oldest(self) -> float | None:
        """Unix time of the oldest reply that was taken."""
        return min((created for created in self.taken.values() if created is not None), default=None)

    def find_earlier(self) -> set[bytes]:
        """Return the keys of the taken replies that are from before the command."""
        return {key for key, created in self.taken.items() if (created or 0.0) < self._reuse.began}

    def _takes(self, value: Value) -> bool:
        """Whether a reply counts."""
        created = value.get("created", 0.0)
        if created >= self._reuse.began:
            return True
        kinds = self._reuse.retry
        return created >= self._reuse.since and not (kinds and self._kind_of and self._kind_of(value) in kinds)

    def put_many(self, rows: Iterable[tuple[bytes, Value]], model: str | None = None) -> dict[bytes, Value]:
        """Store replies; one that was asked for again takes the old one's place."""
        given = list(rows)
        renewed = {key for key, _ in given} & self._renewed
        stored = self.ledger.put_many(given, model, self.service, renewed)
        self._renewed -= renewed
        return stored

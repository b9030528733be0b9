"""What every chat model does, wherever it runs: kept replies are looked up, the others asked for, in their order."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from quadrag.errors import QuadragError

from .ledger import Ledger, call_keys
from .prices import BudgetReached
from .reply import Failure, Outcome, Reply, Row, as_verdict, read_row

Messages = Sequence[Mapping[str, Any]]
Calls = Mapping[bytes, tuple[Messages, int]]  # by their keys, each with the number of its sample


class Completer(ABC):
    """A chat model as a plain function from chats to replies, a judge and a generator.

    Attributes:
        parameters: what it is asked with, as keys in the ledger have it.
        spent: running totals of calls, tokens and cost.
        service: what the ledger calls the server that is asked; None on this machine.
        on_progress: called now and then with the number of distinct calls done and of all in the batch.
    """

    service: str | None = None
    on_progress: Callable[[int, int], None] | None = None

    def __init__(
        self,
        model: str | None,
        ledger: Ledger | None,
        replay: bool,
        parameters: Mapping[str, Any],
        known_as: str | None = None,
    ) -> None:
        """Take the model's name, None where it is to be found, what it is asked with, and what the ledger calls it."""
        self._model, self.ledger, self._replay, self._known_as = model, ledger, replay, known_as
        self.parameters = {name: value for name, value in parameters.items() if value is not None}
        self.spent: dict[str, Any] = {}
        self._earlier: dict[bytes, float] = {}  # of kept replies from before the command their Unix time
        self._turn = threading.Lock()

    @property
    def model(self) -> str:
        """The name as requested, which stands in signatures."""
        return self._model or ""

    @property
    def known_as(self) -> str:
        """The name in the ledger."""
        return self._known_as or self.model

    def compose(self, messages: Messages) -> Messages:
        """Return a call's messages as they are sent, and as they stand in its key."""
        return messages

    def look_up(
        self, batch: Sequence[Messages], samples: Sequence[int] | None = None
    ) -> tuple[list[Messages], list[bytes], dict[bytes, Row]]:
        """Return chats as they are sent, the keys of their calls, and what the ledger has of these."""
        chats = [self.compose(messages) for messages in batch]
        keys = call_keys(self.known_as, chats, self.parameters, samples, self.service or "")
        return chats, keys, {} if self.ledger is None else self.ledger.get_many(keys)

    def complete(self, batch: Sequence[Messages], *, samples: Sequence[int] | None = None) -> list[Reply | Failure]:
        """Ask for a batch of replies, and return as many replies or failures in order.

        Args:
            batch: lists of chat messages, each ``{"role": ..., "content": ...}``.
            samples: as many numbers; equal messages with different ones are different calls. All 0 when None.

        Raises:
            QuadragError: the model is dead or cannot be asked, a replay finds no reply at all, or the ledger is
                damaged.
            BudgetReached: the budget does not allow the next call; its ``results`` hold what there is.
        """
        if not batch:
            return []
        samples = [0] * len(batch) if samples is None else samples
        with self._turn:
            chats, keys, kept = self.look_up(batch, samples)
            every = dict(zip(keys, zip(chats, samples, strict=True), strict=True))
            missing = {key: call for key, call in every.items() if key not in kept}
            self._count_kept(kept, missing)
            outcomes: dict[bytes, Outcome] = {**kept}
            why, stop = "the ledger has no reply to replay", None
            if missing and not self._replay:
                try:
                    self._ask(every, outcomes)
                except BudgetReached as reached:
                    stop, why = reached, str(reached)
            elif missing and not kept:
                place = f" at {self.service}" if self.service else ""
                lacking = f"the {len(missing)} replies of {self.known_as!r}{place}"
                raise QuadragError(f"the ledger lacks {lacking}; run without replay, or with the name that the run had")
            undone = Failure("api_error", f"not asked: {why}", asked=False)
            results = [read_row(outcomes.get(key, undone)) for key in keys]
            if stop is not None:
                raise BudgetReached(stop.params, results) from None
            return results

    def __call__(self, batch: Sequence[Messages]) -> list[str | Failure]:
        """Ask for a batch of texts, as a judge: a `Failure` where there is none or where it was cut by length."""
        try:
            return [as_verdict(result) for result in self.complete(batch)]
        except BudgetReached as stop:
            stop.results = [as_verdict(result) for result in stop.results]
            raise

    def _count_kept(self, kept: Mapping[bytes, Row], missing: Mapping[bytes, Any]) -> None:
        """Count the replies from before the command; what is asked for after all is none."""
        for key in missing:
            self._earlier.pop(key, None)
        for key, row in kept.items():
            if self.ledger is not None and (made := row.get("created", 0.0)) < self.ledger.began:
                self._earlier[key] = made
            if "refused" in row:
                self.spent["refused"].update(row["refused"])
        self.spent |= {"cached": len(self._earlier), "oldest": min(self._earlier.values(), default=None)}

    @abstractmethod
    def _ask(self, calls: Calls, outcomes: dict[bytes, Outcome]) -> None:
        """Make those of the calls of a batch that have no outcome, and enter what each comes to."""

    def close(self) -> None:  # noqa: B027
        """Let connections or weights go; a later call opens them again. The ledger stays open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

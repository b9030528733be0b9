"""A batch of chats on its way: which calls it comes to, which replies are kept, which calls are to be made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quadrag.chat.ledger import HERE, Shelf, call_key, canonical
from quadrag.chat.reply import Outcome
from quadrag.errors import QuadragError


@dataclass(slots=True)
class Job:
    """One call to make: its ledger key, messages, sample number and size in bytes of JSON."""

    key: bytes
    messages: list[dict[str, Any]]
    sample: int
    size: int


class Batch:
    """Chats, and what is known of each by the keys of their calls; equal chats are one call.

    `stored` are the keys whose reply was kept, `missing` the first place of each call that is to be made.
    """

    def __init__(
        self,
        model: str,
        chats: Sequence[list[dict[str, Any]]],
        parameters: Mapping[str, Any],
        numbers: Sequence[int],
        shelf: Shelf | None,
        service: str = HERE,
    ) -> None:
        """Look every call up; for the arguments see `ChatClient.complete` and `call_key`."""
        self._chats, self._numbers = chats, numbers
        asked = zip(chats, numbers, strict=True)
        try:
            self.keys = [call_key(model, chat, parameters, number, service) for chat, number in asked]
        except (TypeError, ValueError) as error:
            raise QuadragError(f"the chat messages are no JSON: {error}") from None
        self.times = Counter(self.keys)
        self.outcomes: dict[bytes, Outcome] = {}
        if shelf is not None:
            self.outcomes.update(shelf.get_many(self.times))
        self.stored = set(self.outcomes)
        self.missing: dict[bytes, int] = {}
        for place, key in enumerate(self.keys):
            if key not in self.stored:
                self.missing.setdefault(key, place)

    def jobs(self, sized: bool) -> Iterator[Job]:
        """Yield the calls to make; `sized` where a budget asks for their sizes."""
        for key, place in self.missing.items():
            chat = self._chats[place]
            yield Job(key, chat, self._numbers[place], len(canonical(chat)) if sized else 0)

    def count(self, keys: Collection[bytes]) -> int:
        """Return how many chats some calls are."""
        return sum(self.times[key] for key in keys)

"""What calls would take: a chat model that is asked nothing, and notes what it would be asked.

A kept reply is taken as ever; in place of any other stands a text of the length that is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from quadrag.chat.http import Transport
from quadrag.chat.ledger import HERE, Batch, Shelf
from quadrag.chat.prices import Rate
from quadrag.chat.reply import Failure, Reply, as_verdict

Messages = list[dict[str, str]]
Count = Callable[[str], int]

# OpenAI's form of a chat: two marks and a role before each message, a line break; a role and marks before the reply.
_BY_MESSAGE, _BY_CALL = 4, 3


@dataclass(slots=True)
class Stage:
    """What one model is asked for, at which prices, and the tokens of the calls that are to be made."""

    name: str
    model: str
    rate: Rate | None = None
    calls: int = 0  # to be made
    kept: int = 0  # those whose reply the ledger holds
    prompt_tokens: int = 0
    reply_tokens: int = 0  # that replies are expected to have
    most_tokens: int | None = 0  # the most that they can have; None where nothing bounds them
    keys: set[bytes] = field(default_factory=set, repr=False)

    def cost(self, reply_tokens: int | None) -> Decimal | None:
        """Return the price with so many tokens of replies; None where either is not known."""
        if self.rate is None or reply_tokens is None:
            return None
        return self.rate.cost(self.prompt_tokens, reply_tokens)


class Estimate:
    """What a command would ask, in stages, and how tokens were counted."""

    def __init__(self, find_count: Callable[[str], tuple[Count, str]]) -> None:
        """Take what returns, of a model's name, the function that counts its tokens, and in words how it does."""
        self._find_count = find_count
        self._counts: dict[str, Count] = {}
        self.how: dict[str, str] = {}
        self.notes: list[str] = []  # what else the numbers rest on
        self._stages: dict[tuple[str, str], Stage] = {}

    @property
    def stages(self) -> list[Stage]:
        """Those in which anything is asked, in their order."""
        return list(self._stages.values())

    def stage(self, name: str, model: str, rate: Rate | None) -> Stage:
        """Return the stage of this name and model."""
        return self._stages.setdefault((name, model), Stage(name, model, rate))

    def count(self, model: str, text: str) -> int:
        """Return how many tokens a text has for a model."""
        if model not in self._counts:
            self._counts[model], self.how[model] = self._find_count(model)
        return self._counts[model](text)


class Estimator:
    """A chat model that is asked nothing, in the place of a `ChatClient` or of a model loaded here; see the module."""

    def __init__(
        self,
        estimate: Estimate,
        model: str,
        parameters: Mapping[str, Any],
        shelf: Shelf | None,
        *,
        service: str | None = None,
        rate: Rate | None = None,
        transport: Transport | None = None,
        known_as: str | None = None,
    ) -> None:
        """Describe the model."""
        self.estimate, self.model, self.parameters, self.service = estimate, model, dict(parameters), service
        self.spent: dict[str, Any] = {}
        self.on_progress: Callable[[int, int], None] | None = None
        # What it is expected to say: of each chat the stage, and the text.
        self.expect: Callable[[Sequence[Messages]], Iterable[tuple[str, str]]] = lambda batch: [("", "")] * len(batch)
        self._shelf, self._rate, self._known_as = shelf, rate, known_as or model
        self._transport = transport or Transport()

    def complete(self, batch: Sequence[Messages], *, samples: Sequence[int] | None = None) -> list[Reply | Failure]:
        """Note the calls; return kept replies, and in place of others what is expected; see `ChatClient.complete`."""
        chats = [self._transport.compose(messages) for messages in batch]
        numbers = [0] * len(chats) if samples is None else samples
        calls = Batch(self._known_as, chats, self.parameters, numbers, self._shelf, self.service or HERE)
        longest = self.parameters.get("max_tokens", self.parameters.get("max_completion_tokens"))
        replies: list[Reply | Failure] = []
        for key, chat, (name, text) in zip(calls.keys, chats, self.expect(batch), strict=True):
            stage, kept = self.estimate.stage(name, self.model, self._rate), key in calls.stored
            stored = self._transport.read_outcome(calls.outcomes[key], True, None) if kept else None
            replies.append(stored or Reply(text, "stop", None, None, False, 0.0, None))
            if key in stage.keys:
                continue
            stage.keys.add(key)
            stage.kept += kept
            if not kept:
                length = self.estimate.count(self.model, text)
                stage.calls += 1
                stage.prompt_tokens += self._size(chat)
                stage.reply_tokens += length if longest is None else min(length, longest)
                stage.most_tokens = (
                    None if longest is None or stage.most_tokens is None else stage.most_tokens + longest
                )
        return replies

    def __call__(self, batch: Sequence[Messages]) -> list[str | Failure]:
        """Answer as a judge does."""
        return [as_verdict(reply) for reply in self.complete(batch)]

    def close(self) -> None:
        """Nothing is open."""

    def _size(self, chat: Sequence[Mapping[str, Any]]) -> int:
        tokens = sum(self.estimate.count(self.model, str(message["content"])) for message in chat)
        if chat and chat[0].get("role") == "prompt":  # of a model without a chat interface: the text as it is sent
            return tokens
        return tokens + _BY_MESSAGE * len(chat) + _BY_CALL

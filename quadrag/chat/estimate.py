"""What calls would take: a chat model that is asked nothing, and notes what it would be asked.

A kept reply is taken as ever; in place of any other stands a text of the length that is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from quadrag.chat.http import Transport
from quadrag.chat.ledger import HERE, Batch, Shelf
from quadrag.chat.prices import Rate
from quadrag.chat.reply import Failure, Reply, as_verdict

Messages = list[dict[str, str]]
Count = Callable[[str], int]

# OpenAI's form of a chat: two marks and a role before each message, a line break; a role and marks before the reply.
_BY_MESSAGE, _BY_CALL = 4, 3


class Size(NamedTuple):
    """The tokens of a call, those that its reply is expected to have, and the most, None where nothing bounds them."""

    prompt: int
    reply: int
    most: int | None


@dataclass(slots=True)
class Stage:
    """What one model is asked for, at which prices: its calls by key, None for one whose reply is kept."""

    name: str
    model: str
    rate: Rate | None = None
    calls: dict[bytes, Size | None] = field(default_factory=dict)

    @property
    def sizes(self) -> list[Size]:
        """Those of the calls that are to be made."""
        return [size for size in self.calls.values() if size is not None]

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all calls that are to be made."""
        return sum(size.prompt for size in self.sizes)

    @property
    def reply_tokens(self) -> int:
        """Tokens that their replies are expected to have."""
        return sum(size.reply for size in self.sizes)

    @property
    def most_tokens(self) -> int | None:
        """The most tokens that they can have; None where nothing bounds them."""
        known = [size.most for size in self.sizes if size.most is not None]
        return sum(known) if len(known) == len(self.sizes) else None

    def cost(self, reply_tokens: int | None) -> Decimal | None:
        """Return the price with so many tokens of replies; None where either is not known."""
        known = self.rate is not None and reply_tokens is not None
        return self.rate.cost(self.prompt_tokens, reply_tokens) if known else None  # type: ignore[union-attr,arg-type]


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
        self._shelf, self.rate, self._known_as = shelf, rate, known_as or model
        self._transport = transport or Transport()

    def complete(self, batch: Sequence[Messages], *, samples: Sequence[int] | None = None) -> list[Reply | Failure]:
        """Note the calls; return kept replies, and in place of others what is expected; see `ChatClient.complete`."""
        chats = [self._transport.compose(messages) for messages in batch]
        numbers = [0] * len(chats) if samples is None else samples
        found = Batch(self._known_as, chats, self.parameters, numbers, self._shelf, self.service or HERE)
        longest = self.parameters.get("max_tokens", self.parameters.get("max_completion_tokens"))
        replies: list[Reply | Failure] = []
        for key, chat, (name, text) in zip(found.keys, chats, self.expect(batch), strict=True):
            stage = self.estimate.stage(name, self.model, self.rate)
            if key in found.stored:
                stage.calls.setdefault(key, None)
                replies.append(self._transport.read_outcome(found.outcomes[key], True, None))
                continue
            if stage.calls.get(key) is None:
                reply = self.estimate.count(self.model, text)
                stage.calls[key] = Size(self._size(chat), reply if longest is None else min(reply, longest), longest)
            replies.append(Reply(text, "stop", None, None, False, 0.0, None))
        return replies

    def __call__(self, batch: Sequence[Messages]) -> list[str | Failure]:
        """Answer as a judge does."""
        return [as_verdict(reply) for reply in self.complete(batch)]

    def close(self) -> None:
        """Nothing is open."""

    def _size(self, chat: Sequence[Mapping[str, Any]]) -> int:
        texts = [self.estimate.count(self.model, str(message["content"])) for message in chat]
        if chat and chat[0].get("role") == "prompt":  # of a model without a chat interface: the text as it is sent
            return sum(texts)
        return sum(texts) + _BY_MESSAGE * len(texts) + _BY_CALL

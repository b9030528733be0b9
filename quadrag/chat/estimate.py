"""What calls would take: a chat model that is asked nothing, and notes what it would be asked.

A kept reply is taken as ever; in place of any other stands a text of the length that is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from .prices import Rate, longest_reply
from .reply import Failure, Reply, as_verdict, read_row

Messages = Sequence[Mapping[str, Any]]
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
        self.find_count = find_count
        self.how: dict[str, str] = {}
        self.notes: list[str] = []  # what else the numbers rest on
        self.stages: list[Stage] = []  # those in which anything is asked


@dataclass
class StandIn:
    """In place of a `ChatClient`, or of a model loaded here, which is `asked` for what it has kept alone."""

    estimate: Estimate
    asked: Any
    stage: str
    expect: Callable[[Sequence[Messages]], Sequence[str]]  # what it is expected to say to chats
    rate: Rate | None = None
    on_progress: Callable[[int, int], None] | None = None
    spent: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model, self.parameters = self.asked.model, self.asked.parameters
        self.service = getattr(self.asked, "service", None)
        self._count, self.estimate.how[self.model] = self.estimate.find_count(self.model)

    def complete(self, batch: Sequence[Messages], *, samples: Sequence[int] | None = None) -> list[Reply | Failure]:
        """Note the calls; return kept replies, and in place of others what is expected; see `ChatClient.complete`."""
        chats, keys, kept = self.asked.look_up(batch, samples)
        stage = next((s for s in self.estimate.stages if (s.name, s.model) == (self.stage, self.model)), None)
        if stage is None:
            self.estimate.stages.append(stage := Stage(self.stage, self.model, self.rate))
        replies: list[Reply | Failure] = []
        most = longest_reply(self.parameters)
        for key, chat, text in zip(keys, chats, self.expect(batch), strict=True):
            replies.append(read_row(kept[key]) if key in kept else Reply(text, "stop", None, None, 0.0))
            if key in stage.keys:
                continue
            stage.keys.add(key)
            stage.kept += key in kept
            if key not in kept:
                length = self._count(text)
                stage.calls += 1
                stage.prompt_tokens += self._size(chat)
                stage.reply_tokens += length if most is None else min(length, most)
                stage.most_tokens = None if most is None or stage.most_tokens is None else stage.most_tokens + most
        return replies

    def __call__(self, batch: Sequence[Messages]) -> list[str | Failure]:
        """Answer as a judge does."""
        return [as_verdict(reply) for reply in self.complete(batch)]

    def close(self) -> None:
        """Nothing is open."""

    def _size(self, chat: Messages) -> int:
        tokens = sum(self._count(str(message["content"])) for message in chat)
        if chat[0]["role"] == "prompt":  # of a model without a chat interface: the text as it is sent
            return tokens
        return tokens + _BY_MESSAGE * len(chat) + _BY_CALL

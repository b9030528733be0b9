"""What calls would take: a chat model that is asked nothing, and notes what it would be asked.

A kept reply is taken as ever; in place of any other stands a text of the length that is expected. Tokens are reckoned
by a rule, whatever the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from .client import Completer
from .policy import Rate, longest_reply
from .reply import Calls, Messages, Outcome, Reply, refuse_cut
from .tokens import reckon, reckon_chat


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
        if self.rate is None or reply_tokens is None:
            return None
        return self.rate.cost(self.prompt_tokens, reply_tokens)


@dataclass(slots=True)
class Estimate:
    notes: list[str] = field(default_factory=list)  # what else the numbers rest on
    stages: list[Stage] = field(default_factory=list)  # those in which anything is asked


class StandIn(Completer):
    """In place of a chat model, which is `asked` for what it has kept alone."""

    def __init__(
        self,
        estimate: Estimate,
        asked: Completer,
        stage: str,
        expect: Callable[[Sequence[Messages]], Sequence[str]],
        rate: Rate | None = None,
    ) -> None:
        super().__init__(asked.model, asked.ledger, True, asked.parameters)
        self.estimate, self.asked, self.stage, self.expect, self.rate = estimate, asked, stage, expect, rate
        self.service = asked.service

    def complete(self, batch: Sequence[Messages], *, samples: Sequence[int] | None = None) -> list[Outcome]:
        keys, calls, kept = self.asked.look_up(batch, samples)
        stage = next((s for s in self.estimate.stages if (s.name, s.model) == (self.stage, self.model)), None)
        if stage is None:
            self.estimate.stages.append(stage := Stage(self.stage, self.model, self.rate))
        replies: list[Outcome] = []
        most = longest_reply(self.parameters)
        for key, text in zip(keys, self.expect(batch), strict=True):
            replies.append(refuse_cut(kept.get(key, Reply(text, "stop"))))
            if key in stage.keys:
                continue
            stage.keys.add(key)
            stage.kept += key in kept
            if key not in kept:
                length = reckon(text)
                stage.calls += 1
                stage.prompt_tokens += reckon_chat(calls[key][0])
                stage.reply_tokens += length if most is None else min(length, most)
                stage.most_tokens = None if most is None or stage.most_tokens is None else stage.most_tokens + most
        return replies

    def _ask(self, calls: Calls, outcomes: dict[bytes, Outcome]) -> None:
        raise TypeError("a stand-in asks nothing")

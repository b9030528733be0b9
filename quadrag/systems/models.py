"""From a spec to what answers or judges: an endpoint, weights loaded here, a challenge's model file."""

from collections.abc import Mapping
from typing import Any

from quadrag.chat.client import ChatClient
from quadrag.chat.completer import Completer
from quadrag.chat.estimate import StandIn
from quadrag.chat.policy import CallPolicy
from quadrag.chat.prices import BudgetReached
from quadrag.errors import QuadragError
from quadrag.spec import CHALLENGE

from .estimated import ANSWERS, ENTITIES, JUDGE, expect_answers, expect_entities, expect_verdicts
from .local import BATCH_SIZE, LocalModel
from .system import Assignment, Generated, OnProgress, Passages, Questions, System, collect

_LOCAL = "local:"


class ChatModel(System):
    """A chat model as what answers, which may also be asked about a question before it is answered."""

    def __init__(self, asked: Completer) -> None:
        """Take an open client or model."""
        self.asked = self.completer = asked
        self.parameters, self.spent = dict(asked.parameters), asked.spent
        self.service = asked.service

    @property
    def name(self) -> str:
        """The name as requested, for which its server may be asked."""
        return str(self.asked.model)

    def close(self) -> None:
        """Close what is asked."""
        self.asked.close()

    def answer(
        self, work: Assignment, questions: Questions, passages: Passages, on_progress: OnProgress = None
    ) -> Generated:
        """Ask each question `samples` times; see `System.answer`."""
        asked, samples = self.asked, work.task.samples
        if isinstance(asked, StandIn):
            expected = expect_answers(questions, samples)
            asked = StandIn(asked.estimate, asked.asked, ANSWERS, lambda batch: expected, asked.rate)
        asked.on_progress = on_progress
        retriever, messages = work.task.retriever or "", work.benchmark.messages
        jobs = [(question, sample) for question in questions for sample in range(samples)]
        batch = [messages(question, passages[question.key], work.prompts, retriever) for question, _ in jobs]
        try:
            return collect(jobs, asked.complete(batch, samples=[sample for _, sample in jobs]))
        except BudgetReached as stop:
            stop.results = [collect(jobs, stop.results)]
            raise


def open_completer(
    spec: str,
    policy: CallPolicy,
    parameters: Mapping[str, Any],
    *,
    name: str | None = None,
    template: str | None = None,
    batch_size: int | None = None,
    judges: bool = False,
) -> Completer:
    """Return the chat model that a spec names: ``http(s)://host:port/v1#model``, ``provider:MODEL`` or ``local:MODEL``.

    `parameters` are temperature, top_p, max_tokens, seed, top_k, repetition_penalty and stop; `name` is what the ledger
    calls a model behind a server; `template` is of one that is asked for completions, `batch_size` the most chats at
    once of one that is loaded here; `judges` tells whether it judges.
    """
    asked: ChatClient | LocalModel
    if spec.startswith(_LOCAL):
        ledger = None if policy.ledger is None else policy.open_ledger()
        asked = LocalModel(
            spec.removeprefix(_LOCAL),
            ledger=ledger,
            replay=policy.replay,
            parameters=parameters,
            trust=policy.trust,
            batch_size=batch_size or BATCH_SIZE,
        )
    else:
        from .completions import CompletionsTransport

        transport = CompletionsTransport(template) if template else None
        sent = {**parameters, **(transport.parameters if transport else {})}
        asked = ChatClient(spec, policy, name=name, parameters=sent, transport=transport)
    if policy.estimate is None:
        return asked
    stage, expect = (JUDGE, expect_verdicts) if judges else (ENTITIES, expect_entities)
    rate = asked.rate(asked.model) if isinstance(asked, ChatClient) else None
    return StandIn(policy.estimate, asked, stage, expect, rate)


def open_system(spec: str, policy: CallPolicy, parameters: Mapping[str, Any], **more: Any) -> System:
    """Return what answers, by its spec: ``challenge:FILE.py#Class``, or a chat model's, as of `open_completer`."""
    if spec.startswith(CHALLENGE):
        from .challenge import Challenge

        if policy.estimate is not None:
            raise QuadragError("what a challenge: model asks is not known before; --estimate is of chat models")
        return Challenge(spec.removeprefix(CHALLENGE))
    return ChatModel(open_completer(spec, policy, parameters, **more))

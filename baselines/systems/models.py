"""From a spec to what answers or judges: an endpoint, weights loaded here, a challenge's model file, an embedding."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quadrag.chat.client import ChatClient
from quadrag.chat.estimate import StandIn
from quadrag.chat.policy import CallPolicy
from quadrag.chat.prices import BudgetReached
from quadrag.errors import QuadragError
from quadrag.trust import Trust

from ..core.spec import CHALLENGE
from .estimated import ANSWERS, ENTITIES, JUDGE, expect_answers, expect_entities, expect_verdicts
from .local import BATCH_SIZE, LocalModel
from .system import AskedSystem, Assignment, Completer, Generated, Passages, Questions, System, Tell, collect

_LOCAL = "local:"


class ChatModel(AskedSystem):
    """A chat model as what answers, which may also be asked about a question before it is answered."""

    def __init__(self, completer: Completer) -> None:
        """Take an open client or model."""
        super().__init__(completer)
        self.completer = completer

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Ask each question `samples` times; see `System.answer`."""
        asked, samples = self.asked, work.task.samples
        if isinstance(asked, StandIn):
            expected = expect_answers(questions, samples)
            asked = replace(asked, stage=ANSWERS, expect=lambda batch: expected)
        asked.on_progress = tell
        retriever, messages = work.task.retriever or "", work.benchmark.messages
        jobs = [(question, sample) for question in questions for sample in range(samples)]
        batch = [messages(question, passages[question.key], work.prompts, retriever) for question, _ in jobs]
        try:
            return collect(jobs, asked.complete(batch, samples=[sample for _, sample in jobs]))
        except BudgetReached as stop:
            stop.results = [collect(jobs, stop.results)]
            raise


class Embedding:
    """A sentence-transformers model as a metric takes it: n texts to an n x d array; loaded at the first call."""

    def __init__(self, name: str, trust: Trust) -> None:
        """Name the model, which may run code of its own where that is trusted; `model` enters the signature."""
        from ..retrieval.encoder import Encoder

        self.model = name
        self._encoder = Encoder(name, trust=trust)
        self._encoder.check()

    def describe(self) -> dict[str, Any]:
        """Return what decides the vectors, the weights by their content or commit."""
        return self._encoder.describe()

    def __call__(self, texts: list[str]) -> Any:
        """Return a row for each text."""
        return self._encoder.documents(texts)


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
    """Return the chat model that a spec names.

    Args:
        spec: ``http(s)://host:port/v1#model``, ``provider:MODEL`` or ``local:MODEL``.
        policy: how it is called.
        parameters: temperature, top_p, max_tokens, seed, top_k, repetition_penalty and stop.
        name: what the ledger calls a model behind a server.
        template: of a model without a chat interface, which is asked for completions; see `CompletionsTransport`.
        batch_size: the most chats at once of a model that is loaded here.
        judges: whether it judges.
    """
    asked: ChatClient | LocalModel
    if spec.startswith(_LOCAL):
        asked = LocalModel(
            spec.removeprefix(_LOCAL),
            ledger=None if policy.ledger is None else policy.open_ledger(),
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
        if asked.spec.url and not policy.replay:
            asked.check_served()
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

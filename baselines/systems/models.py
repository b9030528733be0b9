"""From a spec to what answers or judges: an endpoint, weights loaded here, a challenge's model file."""

from collections.abc import Mapping
from typing import Any

from quadrag.chat.calling import Calling
from quadrag.chat.http import Transport
from quadrag.chat.ledger import Shelf
from quadrag.chat.prices import BudgetReached
from quadrag.errors import QuadragError

from ..core.spec import CHALLENGE
from .estimated import estimate_model, expect_answers
from .local import BATCH_SIZE, LocalModel
from .system import Assignment, Completer, Generated, Passages, Questions, System, Tell, collect

_LOCAL = "local:"


class ChatModel(System):
    """A chat model as what answers, which may also be asked about a question before it is answered."""

    def __init__(self, asked: Any) -> None:
        """Take an open client or model."""
        self.asked = self.completer = asked
        self.parameters, self.spent = dict(asked.parameters), asked.spent
        self.service = getattr(asked, "service", None)

    @property
    def name(self) -> str:
        """The name as requested, for which its server may be asked."""
        return str(self.asked.model)

    def close(self) -> None:
        """Close what is asked."""
        self.asked.close()

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Ask each question `samples` times; see `System.answer`."""
        self.asked.on_progress = tell
        retriever, messages = work.task.retriever or "", work.benchmark.messages
        jobs = [(question, sample) for question in questions for sample in range(work.task.samples)]
        batch = [messages(question, passages[question.key], work.prompts, retriever) for question, _ in jobs]
        try:
            return collect(jobs, self.asked.complete(batch, samples=[sample for _, sample in jobs]))
        except BudgetReached as stop:
            stop.results = [collect(jobs, stop.results)]
            raise


class EstimatedModel(ChatModel):
    """A chat model that is asked nothing: it is expected to say as much as is right."""

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Note each question's calls; see `System.answer`."""
        before, answers = self.asked.expect, expect_answers(questions, work.task.samples)
        self.asked.expect = lambda batch: answers
        try:
            return super().answer(work, questions, passages, tell)
        finally:
            self.asked.expect = before


def open_completer(
    spec: str,
    calling: Calling,
    parameters: Mapping[str, Any],
    template: str | None = None,
    batch_size: int | None = None,
) -> Completer:
    """Return the chat model that a spec names: ``http(s)://host:port/v1#model``, ``provider:MODEL`` or ``local:MODEL``.

    `parameters` are temperature, top_p, max_tokens, seed, top_k, repetition_penalty and stop; `template` is of a model
    that is asked for completions, `batch_size` the most chats at once of one that is loaded here.
    """
    transport: Transport | None = None
    if spec.startswith(_LOCAL):
        model: Any = LocalModel(
            spec.removeprefix(_LOCAL),
            ledger=None if calling.ledger is None else Shelf(calling.ledger, calling.reuse),
            replay=calling.replay,
            parameters=parameters,
            trust=calling.trust,
            batch_size=batch_size or BATCH_SIZE,
        )
    else:
        from quadrag.chat.client import ChatClient

        if template:
            from .completions import CompletionsTransport

            transport = CompletionsTransport(template)
            parameters = {**parameters, **transport.parameters}
        model = ChatClient(spec, calling, parameters=parameters, transport=transport)
        if model.spec.url and not calling.replay:
            model.check_served()
    return model if calling.estimate is None else estimate_model(calling, model.model, model, transport)


def open_system(
    spec: str,
    calling: Calling,
    parameters: Mapping[str, Any],
    template: str | None = None,
    batch_size: int | None = None,
) -> System:
    """Return what answers, by its spec: ``challenge:FILE.py#Class``, or a chat model's, as of `open_completer`."""
    if spec.startswith(CHALLENGE):
        from .challenge import Challenge

        if calling.estimate is not None:
            raise QuadragError("what a challenge: model asks is not known before; --estimate is of chat models")
        return Challenge(spec.removeprefix(CHALLENGE))
    system = ChatModel if calling.estimate is None else EstimatedModel
    return system(open_completer(spec, calling, parameters, template, batch_size))

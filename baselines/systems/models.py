"""From a spec to what answers or judges: the extractive baseline, an endpoint, weights loaded here, an embedding."""

from collections.abc import Mapping
from typing import Any

from quadrag.chat.calling import Calling
from quadrag.chat.ledger import Shelf
from quadrag.chat.prices import BudgetReached
from quadrag.errors import QuadragError
from quadrag.trust import Trust

from ..core.spec import CHALLENGE, EXTRACTIVE
from .estimated import estimate_model, expect_answers
from .extractive import Extractive
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


class Embedding:
    """A sentence-transformers model as a metric takes it: texts to vectors; weights are loaded at the first call."""

    def __init__(self, name: str, trust: Trust) -> None:
        """Name the model, which may run code of its own where that is trusted; `model` enters the signature."""
        from ..retrieval.encoder import Encoder

        self.model = name
        self._encoder = Encoder(name, trust=trust)
        self._encoder.check()
        self._last: tuple[list[str], Any] = ([], None)

    def describe(self) -> dict[str, Any]:
        """Return what decides the vectors, the weights by their content or commit."""
        return self._encoder.describe()

    def __call__(self, texts: list[str]) -> Any:
        """Return an n x d array for n texts; both profiles of a metric ask for the same ones, one after the other."""
        if self._last[1] is None or self._last[0] != texts:
            self._last = (list(texts), self._encoder.documents(texts))
        return self._last[1]


def open_completer(
    spec: str,
    calling: Calling,
    parameters: Mapping[str, Any],
    template: str | None = None,
    batch_size: int | None = None,
) -> Completer:
    """Return the chat model that a spec names.

    Args:
        spec: ``http(s)://host:port/v1#model``, ``provider:MODEL`` or ``local:MODEL``.
        calling: how it is called.
        parameters: temperature, top_p, max_tokens, seed, top_k, repetition_penalty and stop.
        template: of a model without a chat interface, which is asked for completions; see `CompletionsTransport`.
        batch_size: the most chats at once of a model that is loaded here.
    """
    if spec.startswith(_LOCAL):
        _refuse_budget("local", calling)
        model = LocalModel(
            spec.removeprefix(_LOCAL),
            ledger=None if calling.ledger is None else Shelf(calling.ledger, calling.reuse),
            replay=calling.replay,
            parameters=parameters,
            trust=calling.trust,
            batch_size=batch_size or BATCH_SIZE,
        )
        return model if calling.estimate is None else estimate_model(calling, model.model, model)
    from quadrag.chat.client import ChatClient

    from .completions import CompletionsTransport

    transport = CompletionsTransport(template) if template else None
    sent = {**parameters, **(transport.parameters if transport else {})}
    client = ChatClient(spec, calling, parameters=sent, transport=transport)
    if client.spec.url and not calling.replay:
        client.check_served()
    return client if calling.estimate is None else estimate_model(calling, client.model, client, transport)


def open_system(
    spec: str,
    calling: Calling,
    parameters: Mapping[str, Any],
    time_limit: float | None = None,
    template: str | None = None,
    batch_size: int | None = None,
) -> System:
    """Return what answers, by its spec: ``extractive``, ``challenge:FILE.py#Class``, or a chat model's.

    `time_limit` is how many seconds a challenge: model may take for a query of a batch; the others are as of
    `open_completer`.
    """
    if spec == EXTRACTIVE:
        return Extractive()
    if spec.startswith(CHALLENGE):
        from .challenge import Challenge

        _refuse_budget("challenge", calling)
        if calling.estimate is not None:
            raise QuadragError("what a challenge: model asks is not known before; --estimate is of chat models")
        return Challenge(spec.removeprefix(CHALLENGE), time_limit)
    system = ChatModel if calling.estimate is None else EstimatedModel
    return system(open_completer(spec, calling, parameters, template, batch_size))


def _refuse_budget(kind: str, calling: Calling) -> None:
    if calling.budget is not None:
        raise QuadragError(f"--budget bounds calls that are paid for; a {kind}: model has none")

"""A service as what answers: a function that posts. Each question is sent to it, its answer read as a function's is.

Two contracts. ``http://HOST:PORT/PATH`` is sent, by POST, a JSON object ``{"id", "question", "benchmark", "config",
"split", "language"}``, with ``history`` (``[{"question", "answer"}, ...]``) in conversations and ``query_time`` where
the benchmark has one, and replies ``{"answer": "...", "passages": [...]}``; see `quadrag.passages`.
``http://HOST:PORT/v1``, an address that ends in ``/chat/completions``, or any with ``#MODEL``, is a chat completion.
Replies are kept whole in the ledger, by the service's address and name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from quadrag.benchmark import Benchmark
from quadrag.chat.client import ChatClient
from quadrag.chat.faults import Fault
from quadrag.chat.http import Server, Transport
from quadrag.chat.keys import KEY_VARIABLES
from quadrag.chat.policy import CallPolicy
from quadrag.chat.reply import Failure, Outcome, Reply, Row, read_completion, read_row
from quadrag.chat.spec import page_url, parse_spec, shown_url, without_user
from quadrag.errors import QuadragError, one_line
from quadrag.passages import name_keys, read_passages
from quadrag.prompts import chat_messages
from quadrag.reading import Unreadable, name_kind, parse_json
from quadrag.records import Passage
from quadrag.spec import RunSpec

from .models import ChatModel
from .own import OpenQuestion, Served, pose, read_result, take_served
from .system import Assignment, Generated, Passages, Questions, Tell, collect

_UNREADABLE = "the reply cannot be read"  # how the detail of such a failure begins
# Where services put the passages of a chat completion, the first that has any: Azure OpenAI, Perplexity (addresses
# alone), LangChain, OpenAI's web search and OpenRouter.
_CITED = (
    *(("message", "context", "citations"), ("search_results",), ("citations",), ("source_documents",), ("sources",)),
    ("message", "annotations"),
)


class RagService(ChatModel):
    """A service; calls are made, kept and counted as those of a `ChatClient`."""

    finds_passages = True

    def __init__(self, spec: str, policy: CallPolicy | None = None, *, name: str | None = None, **options: Any) -> None:
        """Describe the service by its address; without ``#MODEL`` one of OpenAI's form is asked for its only model.

        `name` is what `run.json` and the ledger call it, else the model, else the address; `options` are fields of
        `policy` that are to be other.
        """
        policy = replace(policy or CallPolicy(), **options)
        if policy.budget is not None:
            raise QuadragError("--budget bounds calls whose cost is known before; a RAG service's is not, leave it out")
        parsed, address = parse_spec(spec), spec.partition("#")[0].strip()
        if parsed.url is None:
            raise QuadragError(f"--rag {spec!r} is no address; expected http://HOST:PORT/PATH, or one of OpenAI's form")
        chat = parsed.model or urlsplit(address).path.rstrip("/").endswith(("/v1", "/chat/completions"))
        self.contract, self.model = "openai" if chat else "json", parsed.model
        if chat and not self.model:
            with ChatClient(address, policy) as client:
                self.model = client.model.removeprefix("rag:")  # as a replay's ledger has it
        label = one_line(name or "") or self.model or shown_url(address).partition("://")[2]
        client = ChatClient(
            f"{address}#rag:{label}",
            replace(policy, prices=None),
            parameters={"contract": self.contract},
            transport=RagTransport(self.contract, page_url(address, "chat/completions") if chat else address),
        )
        super().__init__(client)

    def take(self, benchmark: Benchmark, task: RunSpec) -> Assignment:
        """Refuse what a service decides itself; see `System.take`."""
        return take_served(benchmark, task)

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Ask the service; its passages are none where it gave none or failed; see `System.answer`."""
        self.asked.on_progress = tell
        replies = self.ask([pose(work, question) for question in questions])
        return collect([(question, 0) for question in questions], replies)

    def ask(self, questions: Sequence[OpenQuestion]) -> list[Reply | Failure]:
        """Ask questions; a reply that is not of its form is ``unparsable``, is not kept and may be asked for again."""
        replies: list[Reply | Failure] = self.asked.complete([[self._body(question)] for question in questions])
        return replies

    def _body(self, question: OpenQuestion) -> dict[str, Any]:
        if self.contract == "openai":
            timed = f"{question.query}\n\nQuery Time: {question.query_time}" if question.query_time else question.query
            return {"model": self.model, "messages": chat_messages(question.history, timed)}
        body: dict[str, Any] = {"id": question.id, "question": question.query}
        body |= {name: getattr(question, name) for name in ("benchmark", "config", "split", "language")}
        turns = [{"question": asked, "answer": answered} for asked, answered in question.history]
        more = {"history": turns, "query_time": question.query_time}
        return {**body, **{name: value for name, value in more.items() if value}}


class RagTransport(Transport):
    """Calls of a service by one contract; a call's one message is the body of its request."""

    timeout = 300.0  # a service searches, ranks and writes
    unsent = ("contract",)
    stalls = 1  # its time is long, and who hangs on a question once mostly does so again
    remedy = (
        'expected {"answer": "...", "passages": [...]} of --rag http://HOST:PORT/PATH, a chat completion of --rag '
        "http://HOST:PORT/v1#MODEL; see docs/own-system.md"
    )

    def __init__(self, contract: str, address: str = "") -> None:
        """Take the contract, ``json`` or ``openai``, and where requests go."""
        self.contract, self.address = contract, without_user(address)
        if contract == "json":  # a token for the Hub or a model's provider is none of this service's business
            self.key_variables = KEY_VARIABLES[:1]

    async def attempt(
        self, server: Server, messages: Sequence[Mapping[str, Any]], model: str, body: dict[str, Any]
    ) -> Row:
        """Make one attempt; the ledger's row is that of a chat completion, and the whole ``reply``."""
        content = await server.send(self.address, {**messages[0], **body})
        try:
            reply = parse_json(content, f"{server.shown}: the reply")
        except QuadragError as error:
            # With a status: it has answered, and neither to start it nor another address is the remedy.
            raise Fault(server.keys.line(error), status=200, billed=True) from None
        if said := isinstance(reply, Mapping) and reply.get("error"):
            said = said.get("message", said) if isinstance(said, Mapping) else said
            raise Fault(server.keys.line(f"{server.shown}: the reply is an error: {said}"), billed=True)
        try:
            read = self.read(reply)
            row = {name: getattr(read, name) for name in ("text", "reasoning", "finish_reason", "usage")}
            return {**row, "reply": reply}
        except Unreadable as error:
            # Another attempt would bring the same.
            detail = server.keys.line(f"{_UNREADABLE} ({server.shown}): {error}")
            raise Fault(detail, status=200, retry=False, billed=True) from None

    def read(self, reply: Any) -> Served:
        """Read a reply; raises Unreadable, or NoText."""
        if not isinstance(reply, Mapping):
            raise Unreadable(f"it is {name_kind(reply)}; expected an object")
        if self.contract == "json":
            return read_result(reply)
        try:
            if not reply.get("choices"):
                raise ValueError(f"no choices, but the keys {name_keys(reply) or 'none'}")
            row = read_completion(reply)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise Unreadable(f"it is not a chat completion ({error})") from None
        passages = _find_cited({**reply, "message": reply["choices"][0]["message"]})
        return Served(**row, latency=0.0, passages=passages)

    def read_outcome(self, outcome: Outcome) -> Reply | Failure:
        """Return a `Served`, or why there is none; see `Transport.read_outcome`."""
        if isinstance(outcome, str):
            return Failure("unparsable" if outcome.startswith(_UNREADABLE) else "api_error", outcome)
        cut = read_row(outcome)
        return cut if isinstance(cut, Failure) else replace(self.read(outcome["reply"]), latency=outcome["latency"])


def _find_cited(reply: Mapping[str, Any]) -> tuple[Passage, ...]:
    """Find the passages of a chat completion; what cannot be read is something else."""
    for place in _CITED:
        rows: Any = reply
        for name in place:
            rows = rows.get(name) if isinstance(rows, Mapping) else None
        if isinstance(rows, list) and rows:
            texts = ("text", "id")  # of a text that stands for a passage, an address is its id
            rows = [{texts[row.startswith("http")]: row} if isinstance(row, str) else row for row in rows]
            with suppress(Unreadable):
                return read_passages(rows)
    return ()

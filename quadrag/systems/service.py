"""A service as what answers: a function that posts. Each question is sent to it, its answer read as a function's is.

Two contracts. ``http://HOST:PORT/PATH`` is sent, by POST, a JSON object ``{"id", "question", "benchmark", "config",
"split", "language"}``, with ``history`` (``[{"question", "answer"}, ...]``) in conversations and ``query_time`` where
the benchmark has one, and replies ``{"answer": "...", "passages": [...]}``; see `quadrag.passages`.
``http://HOST:PORT/v1``, an address that ends in ``/chat/completions``, or any with ``#MODEL``, is a chat completion.
Answers and passages are kept in the ledger, by the service's address and name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from quadrag.benchmark import Benchmark
from quadrag.chat.client import ChatClient
from quadrag.chat.http import Server, Transport
from quadrag.chat.keys import KEY_VARIABLES, name_served, page_url, parse_spec, shown_url, without_user
from quadrag.chat.policy import CallPolicy
from quadrag.chat.reply import Outcome, Reply, read_completion
from quadrag.errors import QuadragError, Unreadable, name_kind, one_line
from quadrag.passages import PLACES, find_passages
from quadrag.prompts import chat_messages
from quadrag.spec import RunSpec

from .models import ChatModel
from .own import OpenQuestion, pose, read_result, take_served
from .system import Assignment, Generated, OnProgress, Passages, Questions, collect


class RagService(ChatModel):
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
        self.model = parsed.model
        self.chat = bool(self.model) or urlsplit(address).path.rstrip("/").endswith(("/v1", "/chat/completions"))
        if self.chat and not self.model:
            with ChatClient(address, policy) as client:
                self.model = client.served.removeprefix("rag:")  # as a replay's ledger has it
        label = one_line(name or "") or name_served(self.model or "") or shown_url(address).partition("://")[2]
        client = ChatClient(
            f"{address}#rag:{label}",
            replace(policy, prices=None),
            parameters={"contract": "openai" if self.chat else "json"},
            transport=RagTransport(page_url(address, "chat/completions") if self.chat else address, self.chat),
        )
        super().__init__(client)

    def take(self, benchmark: Benchmark, task: RunSpec) -> Assignment:
        return take_served(benchmark, task)

    def answer(
        self, work: Assignment, questions: Questions, passages: Passages, on_progress: OnProgress = None
    ) -> Generated:
        self.asked.on_progress = on_progress
        replies = self.ask([pose(work, question) for question in questions])
        return collect([(question, 0) for question in questions], replies)

    def ask(self, questions: Sequence[OpenQuestion]) -> list[Outcome]:
        """Ask questions; a reply that is not of its form is ``unparsable``, is not kept and may be asked for again."""
        return self.asked.complete([[self._body(question)] for question in questions])

    def _body(self, question: OpenQuestion) -> dict[str, Any]:
        if self.chat:
            timed = f"{question.query}\n\nQuery Time: {question.query_time}" if question.query_time else question.query
            return {"model": self.model, "messages": chat_messages(question.history, timed)}
        body: dict[str, Any] = {"id": question.id, "question": question.query}
        body |= {name: getattr(question, name) for name in ("benchmark", "config", "split", "language")}
        turns = [{"question": asked, "answer": answered} for asked, answered in question.history]
        more = {"history": turns, "query_time": question.query_time}
        return {**body, **{name: value for name, value in more.items() if value}}


class RagTransport(Transport):
    """Calls of a service by one contract; a call's one message is the body of its request."""

    lists = False
    unsent = ("contract",)
    hangs = True  # who hangs on a question once mostly does so again
    remedy = (
        'expected {"answer": "...", "passages": [...]} of --rag http://HOST:PORT/PATH, a chat completion of --rag '
        "http://HOST:PORT/v1#MODEL; see docs/own-system.md"
    )

    def __init__(self, address: str, chat: bool) -> None:
        self.address, self.chat = without_user(address), chat
        if not chat:
            self.form = "an answer"
            self.key_variables = KEY_VARIABLES[:1]  # a token for the Hub is none of this service's business

    async def attempt(
        self, server: Server, messages: Sequence[Mapping[str, Any]], model: str, body: dict[str, Any]
    ) -> Reply:
        return self.read(json.loads(await server.send(self.address, {**messages[0], **body})))

    def read(self, output: Any) -> Reply:
        """Read an output; a ValueError where it is an error, Unreadable or NoText where it is not of its form."""
        if not isinstance(output, Mapping):
            raise Unreadable(f"it is {name_kind(output)}; expected an object")
        if error := output.get("error"):
            raise ValueError(error.get("message", error) if isinstance(error, Mapping) else error)
        if not self.chat:
            return read_result(output)
        reply, message = read_completion(output), output["choices"][0]["message"]
        inner = message.get("context")  # of Azure OpenAI
        parts = {**output, **message, **(inner if isinstance(inner, Mapping) else {})}
        return replace(reply, passages=find_passages(parts) or find_passages(_name_texts(parts)))


def _name_texts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Make passages of the texts in lists of them; of a text that stands for a passage, an address is its id."""
    lists = {name: parts[name] for name in PLACES[1:] if isinstance(parts.get(name), list)}
    named = ("text", "id")
    return {
        name: [{named[row.startswith("http")]: row} if isinstance(row, str) else row for row in rows]
        for name, rows in lists.items()
    }

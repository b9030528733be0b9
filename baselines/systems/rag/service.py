"""A RAG service of the user's own: it is asked each question, and gives an answer with the passages it found.

Two contracts. ``http://HOST:PORT/PATH`` is sent, by POST, a JSON object ``{"id", "question", "benchmark", "config",
"split", "language"}``, with ``history`` (``[{"question", "answer"}, ...]``, the turns before it as the benchmark shows
them) in conversations and ``query_time`` where the benchmark has one, and replies ``{"answer": "...", "passages":
[{"id", "text", "title", "score"}, ...]}``; of a passage each part may be lacking. ``http://HOST:PORT/v1``, an address
that ends in ``/chat/completions``, or any with ``#MODEL``, is a chat completion; where its passages are read
from says `reply.py`. Neither is sent an accepted answer to the question, or a document of the benchmark.

A service is known in the ledger by address and name, in `run.json` by its name alone: the one given, else the model's,
else the address. What a question's text is, bare or with the protocol's fixed strings, stands in ``rag.yaml`` of a
benchmark's room.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urlsplit

from quadrag.chat.calling import Calling
from quadrag.chat.client import ChatClient
from quadrag.chat.reply import Failure, Reply
from quadrag.chat.spec import Spec, page_url, parse_spec, shown_url, without_user
from quadrag.errors import QuadragError, one_line
from quadrag.metrics._shared.slots import fill
from quadrag.reading import parse_json
from quadrag.records import Question, dumps

from ...core.prompts import Prompts, chat_messages
from .transport import OTHER_FORM, RagTransport

_FORMS = "expected http://HOST:PORT/PATH, or http://HOST:PORT/v1#MODEL for a service of OpenAI's form"
_SENT = ("id", "question", "benchmark", "config", "split", "language", "history", "query_time")
_CHAT = ("messages", "model", "stream", "n")


def asked_text(question: Question, words: Prompts, how: str) -> str:
    """Return the text of a question as a service is sent it."""
    names = (question.config, question.language, "default")
    template = next(words[name] for name in names if name in words)[how]
    slots = {"query": question.query, **question.slots}
    text: str = fill(template, slots)
    return text


def shown_turns(question: Question) -> Sequence[tuple[str, str | None]]:
    """Return the turns before a question; none of a conversation that is one text, which has them in it."""
    return question.history if question.slots.get("question") == question.slots.get("asked") else ()


class RagService(ChatClient):
    """A RAG service; see the module. Calls are made, kept and counted as those of `ChatClient`."""

    def __init__(
        self,
        spec: str,
        calling: Calling | None = None,
        *,
        name: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        body: str | Path | None = None,
        **options: Any,
    ) -> None:
        """Describe the client; nothing is opened before the first call.

        Args:
            spec: where the service is.
            calling: how it is called, without a budget, to which nothing could hold a service.
            name: what `run.json` and the ledger call the service, whatever its address.
            parameters: temperature, top_p, max_tokens and seed, of a chat completion alone; None is not sent.
            body: a file of JSON with further fields of every request.
            options: fields of `Calling`, where they are to be other than in `calling`.
        """
        calling = replace(calling or Calling(), prices=None, **options)
        if calling.budget is not None:
            raise QuadragError(
                "--budget bounds calls whose cost is known before; what a RAG service spends is not, leave it out"
            )
        if not spec.lower().startswith(("http://", "https://")):
            raise QuadragError(f"--rag {shown_url(spec)!r} is no address; {_FORMS}")
        parsed = parse_spec(spec)
        address = spec.partition("#")[0].strip()
        end = urlsplit(address).path.rstrip("/")
        chat = parsed.model is not None or end.endswith(("/v1", "/chat/completions"))
        self.contract = "openai" if chat else "json"
        given = {key: value for key, value in (parameters or {}).items() if value is not None}
        if given and not chat:
            raise QuadragError(f"a service of the JSON contract is sent no {', '.join(given)}; leave that out")
        self._extra = _read_body(body, (*_CHAT, *given) if chat else _SENT) if body else {}
        digest = {"body": hashlib.sha256(dumps(self._extra).encode()).hexdigest()[:16]} if self._extra else {}
        super().__init__(
            spec,
            calling,
            parameters={"contract": self.contract, **given, **digest},
            transport=RagTransport(self.contract),
        )
        self._name = one_line(name or "")
        self._shown = shown_url(address).partition("://")[2]
        posted = page_url(address, "chat/completions") if chat else address
        self.spec = Spec(posted, parsed.model)
        # The query stays: it may say which service it is.
        place = calling.alias.service or urldefrag(without_user(posted)).url
        self._place = hashlib.sha256(place.encode()).hexdigest()

    @property
    def model(self) -> str:
        """The service's name, as `run.json`, tables and the ledger have it."""
        return f"rag:{self._name or self._served_model() or self._shown}"

    def ask(self, questions: Sequence[Question], words: Prompts, how: str) -> list[Reply | Failure]:
        """Ask questions.

        Returns:
            n replies in order, each a `Served`, or failures: ``unparsable`` where a reply was not of its form, which
            is not kept and may be asked for again, ``truncated``, or ``api_error``.
        """
        bodies = [self._body(question, asked_text(question, words, how)) for question in questions]
        return self.complete([[body, {"service": self._place}] for body in bodies])

    def _served_model(self) -> str | None:
        """Return the model to name in a chat completion; None in the other contract."""
        if self.contract == "json":
            return None
        if self._model is None and self.calling.replay:
            raise QuadragError(f"a replay cannot ask {self._shown} for its model; append #MODEL to --rag")
        try:
            return self.find_model()
        except QuadragError as error:
            raise QuadragError(f"{error}; {OTHER_FORM[self.contract]}") from None

    def _body(self, question: Question, text: str) -> dict[str, Any]:
        turns = shown_turns(question)
        time = question.slots.get("query_time")
        if self.contract == "openai":
            last = f"{text}\n\nQuery Time: {time}" if time else text
            return {"model": self._served_model(), "messages": chat_messages(turns, last), **self._extra}
        history = [{"question": asked, "answer": answered} for asked, answered in turns]
        names = ("benchmark", "config", "split", "language")
        body = {"id": question.id, "question": text, **{name: getattr(question, name) for name in names}}
        more = {"history": history, "query_time": time}
        return {**body, **{name: value for name, value in more.items() if value}, **self._extra}


def _read_body(path: str | Path, own: Sequence[str]) -> dict[str, Any]:
    """Read further fields of every request."""
    try:
        found = parse_json(Path(path).expanduser().read_bytes(), path, "a JSON object")
        dumps(found)  # neither NaN nor half a surrogate can be sent
    except (OSError, ValueError) as error:
        raise QuadragError(f"cannot read fields of the request from {path} ({error}); expected a JSON object") from None
    if not isinstance(found, dict):
        raise QuadragError(f"{path} holds no JSON object; expected further fields of the request, by name")
    for name in own:
        if name in found:
            raise QuadragError(f"{path} has the field {name!r}, which quadrag itself sends; leave it out")
    return found

"""A RAG service of the user's own: it is asked each question, and gives an answer with the passages it found.

Two contracts. ``http://HOST:PORT/PATH`` is sent, by POST, a JSON object ``{"id", "question", "benchmark", "config",
"split", "language"}``, with ``history`` (``[{"question", "answer"}, ...]``, the turns before it as the benchmark shows
them) in conversations and ``query_time`` where the benchmark has one, and replies ``{"answer": "...", "passages":
[{"id", "text", "title", "score"}, ...]}``; of a passage each part may be lacking. ``http://HOST:PORT/v1``, an address
that ends in ``/chat/completions``, or any with ``#MODEL``, is a chat completion; where its passages are read from says
`rag_reply.py`. Neither is sent an accepted answer to the question, or a document of the benchmark.

A service is known in the ledger by address and name, in `run.json` by its name alone: the one given, else the model's,
else the address. What a question's text is, bare or with the protocol's fixed strings, says ``prompts/rag.yaml``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit, urlunsplit

from quadrag.chat import ChatClient
from quadrag.errors import QuadragError
from quadrag.ledger import Ledger
from quadrag.records import Question, dumps
from quadrag.reply import Failure, Reply
from quadrag.spec import KEY_VARIABLES, Keys, Spec, find_keys, parse_spec, shown_url

from .rag_reply import UNREADABLE, NoAnswer, Served, Unreadable, read_reply

if TYPE_CHECKING:
    from quadrag.dispatch import Outcome
    from quadrag.engine import Engine

TIMEOUT = 300.0  # seconds: a service searches, ranks and writes
_FORMS = "expected http://HOST:PORT/PATH, or http://HOST:PORT/v1#MODEL for a service of OpenAI's form"
_SENT = ("id", "question", "benchmark", "config", "split", "language", "history", "query_time")
_CHAT = ("messages", "model", "stream", "n")
_SLOT = re.compile(r"\{(\w+)\}")
Wording = Mapping[str, Mapping[str, str]]


def wording() -> Wording:
    """Read what services are asked: by benchmark, and config or language, a ``bare`` and a ``protocol`` text."""
    import yaml

    text = Path(__file__).with_name("prompts").joinpath("rag.yaml").read_text(encoding="utf-8")
    return cast(Wording, yaml.safe_load(text))


def asked_text(question: Question, words: Wording, how: str) -> str:
    """Return the text of a question as a service is sent it.

    Args:
        question: any benchmark's.
        words: as `wording` reads them.
        how: ``bare`` or ``protocol``.
    """
    names = [f"{question.benchmark}_{part}" for part in (question.config, question.language)]
    template = next(words[name] for name in (*names, question.benchmark) if name in words)[how]
    slots = {"query": question.query, **question.slots}
    # Not str.format, and in one pass: texts may hold braces.
    return _SLOT.sub(lambda slot: slots.get(slot[1], slot[0]), template)


class RagService(ChatClient):
    """A RAG service; see the module. Calls are made, kept and counted as those of `ChatClient`."""

    def __init__(
        self,
        spec: str,
        *,
        ledger: Ledger | None,
        concurrency: int = 16,
        timeout: float = TIMEOUT,
        retries: int = 5,
        replay: bool = False,
        name: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        body: str | Path | None = None,
    ) -> None:
        """Describe the client; nothing is opened before the first call.

        Args:
            spec: where the service is; several addresses, comma-separated, are one service.
            ledger: where replies are kept and looked up.
            concurrency: calls in flight at once.
            timeout: seconds one attempt may take.
            retries: new attempts after one that failed in a way that may pass.
            replay: answer from the ledger alone, with no network.
            name: what `run.json` and the ledger call the service, whatever its address.
            parameters: temperature, top_p, max_tokens and seed, of a chat completion alone; None is not sent.
            body: a file of JSON with further fields of every request.

        Raises:
            QuadragError: an argument cannot be used.
        """
        if not spec.lower().startswith(("http://", "https://")):
            raise QuadragError(f"--rag {shown_url(spec)!r} is no address; {_FORMS}")
        parsed = parse_spec(spec)
        addresses = [url.strip() for url in spec.partition("#")[0].split(",") if url.strip()]
        ends = [urlsplit(url).path.rstrip("/") for url in addresses]
        chat = parsed.model is not None or any(end.endswith(("/v1", "/chat/completions")) for end in ends)
        self.contract = "openai" if chat else "json"
        given = {key: value for key, value in (parameters or {}).items() if value is not None}
        if given and not chat:
            raise QuadragError(f"a service of the JSON contract is sent no {', '.join(given)}; leave that out")
        self._extra = _read_body(body, (*_CHAT, *given) if chat else _SENT) if body else {}
        digest = {"body": hashlib.sha256(dumps(self._extra).encode()).hexdigest()[:16]} if self._extra else {}
        super().__init__(
            spec,
            ledger=ledger,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
            replay=replay,
            parameters={"contract": self.contract, **given, **digest},
        )
        self._sent = given
        self._name = " ".join((name or "").split())
        self._shown = ", ".join(shown_url(url).partition("://")[2] for url in addresses)
        self.spec = Spec(tuple(map(_chat_url, addresses)) if chat else tuple(addresses), parsed.model)
        places = sorted(urlunsplit(_bare(url)) for url in self.spec.urls)
        self._place = hashlib.sha256(" ".join(places).encode()).hexdigest()

    @property
    def model(self) -> str:
        """The service's name, as `run.json`, tables and the ledger have it.

        Raises:
            QuadragError: its model is not named, and there is not exactly one to take.
        """
        return f"rag:{self._name or self._served_model() or self._shown}"

    def ask(self, questions: Sequence[Question], words: Wording, how: str) -> list[Reply | Failure]:
        """Ask questions.

        Args:
            questions: n of them.
            words: as `wording` reads them.
            how: ``bare`` or ``protocol``.

        Returns:
            n replies in order, each a `Served`, or failures: ``unparsable`` where a reply was not of its form, which
            is not kept and may be asked for again, ``truncated``, or ``api_error``.

        Raises:
            QuadragError: the service is dead or refuses the client, or a replay finds no reply at all.
        """
        bodies = [self._body(question, asked_text(question, words, how)) for question in questions]
        return self.complete([[body, {"service": self._place}] for body in bodies])

    def _served_model(self) -> str | None:
        """Return the model to name in a chat completion; None in the other contract."""
        if self.contract == "json":
            return None
        if self._model is None and self.replay:
            raise QuadragError(f"a replay cannot ask {self._shown} for its model; append #MODEL to --rag")
        return ChatClient.model.fget(self)  # type: ignore[attr-defined,no-any-return]  # the property of the class above

    def _body(self, question: Question, text: str) -> dict[str, Any]:
        # A conversation that is one text already has its turns in it.
        turns = question.history if question.slots.get("question") == question.slots.get("asked") else ()
        time = question.slots.get("query_time")
        if self.contract == "openai":
            said = f"{text}\n\nQuery Time: {time}" if time else text
            return {"model": self._served_model(), "messages": _chat(turns, said), **self._sent, **self._extra}
        history = [{"question": asked, "answer": answered} for asked, answered in turns]
        return {
            "id": question.id,
            "question": text,
            "benchmark": question.benchmark,
            "config": question.config,
            "split": question.split,
            "language": question.language,
            **({"history": history} if history else {}),
            **({"query_time": time} if time else {}),
            **self._extra,
        }

    def _result(self, outcome: Outcome, cached: bool) -> Reply | Failure:
        if isinstance(outcome, str):
            return Failure("unparsable" if outcome.startswith(UNREADABLE) else "api_error", outcome)
        try:
            read = read_reply(self.contract, outcome["reply"])
        except (Unreadable, NoAnswer) as error:  # kept by a version that read it otherwise
            return Failure("unparsable", f"{UNREADABLE}: {error}")
        if read["finish_reason"] == "length" and not read["text"]:
            return Failure("truncated", "the reply was cut before the answer began; raise max_tokens")
        return Served(**read, cached=cached, latency=outcome["latency"], cost=None)

    def _open(self) -> Engine:
        if self._engine is None:
            from .rag_wire import RagEngine

            keys = find_keys(self.spec)
            if self.contract == "json" and keys.variable != KEY_VARIABLES[0]:
                # A token for the Hub or a model's provider is none of this service's business.
                keys = Keys(None, None, keys.secrets)
            self._engine = RagEngine(self.spec, keys, self.timeout, self.contract)
        return self._engine


def open_rag(
    spec: str,
    *,
    ledger: Ledger,
    concurrency: int = 16,
    replay: bool = False,
    name: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    body: str | Path | None = None,
    timeout: float = TIMEOUT,
    budget: Any = None,
) -> RagService:
    """Return the service that ``--rag`` names; see `RagService`.

    Raises:
        QuadragError: an argument cannot be used, or there is a budget, which nothing could hold a service to.
    """
    if budget is not None:
        raise QuadragError(
            "--budget bounds calls whose cost is known before; what a RAG service spends is not, leave it out"
        )
    return RagService(
        spec,
        ledger=ledger,
        concurrency=concurrency,
        replay=replay,
        name=name,
        parameters=parameters,
        body=body,
        timeout=timeout,
    )


def _chat(history: Sequence[tuple[str, str | None]], last: str) -> list[dict[str, str]]:
    """Return turns as chat messages; a turn without an answer stands in one message with the next."""
    found: list[dict[str, str]] = []
    pending = ""
    for asked, answered in history:
        pending += asked
        if answered is None:
            pending += "\n"
            continue
        found += [{"role": "user", "content": pending}, {"role": "assistant", "content": answered}]
        pending = ""
    return [*found, {"role": "user", "content": pending + last}]


def _chat_url(base: str) -> str:
    """Complete a base URL to that of chat completions, as the inference client does."""
    parts = urlsplit(base)
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path += "/chat/completions" if path.endswith("/v1") else "/v1/chat/completions"
    return urlunsplit(parts._replace(path=path, fragment=""))


def _bare(url: str) -> Any:
    """Return the parts of a URL without user name and password; the query may say which service it is."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")


def _read_body(path: str | Path, own: Sequence[str]) -> dict[str, Any]:
    """Read further fields of every request.

    Raises:
        QuadragError: the file cannot be read, is no JSON object, or has a field that is the client's own.
    """
    try:
        found = json.loads(Path(path).expanduser().read_text(encoding="utf-8-sig"))
        dumps(found)  # neither NaN nor half a surrogate can be sent
    except (OSError, ValueError) as error:
        raise QuadragError(f"cannot read fields of the request from {path} ({error}); expected a JSON object") from None
    if not isinstance(found, dict):
        raise QuadragError(f"{path} holds no JSON object; expected further fields of the request, by name")
    for name in own:
        if name in found:
            raise QuadragError(f"{path} has the field {name!r}, which quadrag itself sends; leave it out")
    return found

"""Any OpenAI-compatible server as a custom model of lighteval 0.13.0, asked as `quadrag run` asks it.

`lighteval custom http://HOST:PORT/v1#MODEL model.py ...` loads this file by its path. Replies come through
`quadrag.chat.client`, so they are kept in the ledger, and a second run asks for none again. A call that fails leaves
its document without a text: it is unscored, and the run goes on. It answers quadrag's tasks alone, and computes no
likelihoods.
"""

import logging
from collections.abc import Sequence
from typing import Any, NoReturn

from lighteval.models.abstract_model import LightevalModel  # type: ignore[import-not-found]
from lighteval.models.model_output import ModelResponse  # type: ignore[import-not-found]

from quadrag.chat.calling import Alias
from quadrag.chat.client import ChatClient, Failure, Ledger, Reply
from quadrag.errors import QuadragError
from quadrag.harnesses.examination import one_line
from quadrag.harnesses.lighteval.settings import settings
from quadrag.progress import Progress

_REQUEST = ("temperature", "top_p", "max_tokens", "seed")
_logger = logging.getLogger(__name__)


class _NoCache:
    """In place of lighteval's cache of replies, which lies in the user's home: the ledger keeps them."""

    def _init_registry(self, registry: Any) -> None:
        """Take the tasks, which nothing here depends on."""


class ChatModel(LightevalModel):  # type: ignore[misc]  # so it is Any
    """A chat server. Each benchmark is asked at its own temperature, where none is set."""

    _cache = _NoCache()
    tokenizer = None  # the server has it
    add_special_tokens = False
    max_length = 2**31 - 1  # no limit is known; the server refuses what is too long

    def __init__(self, config: Any) -> None:
        """Open the ledger and ask the server for its model's name, where the spec names none.

        Args:
            config: lighteval's; its `model_name` is the spec. Results stand under the model's own name.
        """
        with one_line():
            self._calls = settings().calls
            self._spec: str = config.model_name
            self._ledger = Ledger(self._calls.get("ledger"))
            with self._client(None) as client:
                name = client.model
        self.config = config.model_copy(update={"model_name": name})

    def greedy_until(self, docs: Sequence[Any]) -> list[Any]:
        """Ask for a reply to every document; the order is kept."""
        found: dict[int, Reply | Failure] = {}
        with one_line(), Progress("asking", len(docs)) as progress:
            temperatures = [_temperature(doc) for doc in docs]
            for temperature in dict.fromkeys(temperatures):
                places = [place for place, asked in enumerate(temperatures) if asked == temperature]
                before = len(found)
                with self._client(temperature) as client:
                    client.on_progress = lambda done, _, before=before: progress.update(before + done)
                    batch = [[dict(message) for message in docs[place].specific["messages"]] for place in places]
                    found.update(zip(places, client.complete(batch), strict=True))
        failed = [reply for reply in found.values() if isinstance(reply, Failure)]
        if failed:
            _logger.warning("%d of %d calls failed and are unscored: %s", len(failed), len(docs), failed[0].detail)
        return [_response(doc, found[place]) for place, doc in enumerate(docs)]

    def cleanup(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    def loglikelihood(self, docs: Sequence[Any]) -> NoReturn:
        """Refuse: chat servers give no likelihoods of given texts."""
        with one_line():
            raise QuadragError("a chat server gives no likelihoods; ask this model for tasks that generate")
        raise AssertionError("not reached")

    loglikelihood_rolling = loglikelihood

    def _client(self, temperature: float | None) -> ChatClient:
        asked = {"temperature": temperature, **self._calls}
        return ChatClient(
            self._spec,
            ledger=self._ledger,
            parameters={name: asked.get(name) for name in _REQUEST},
            **{name: asked[name] for name in ("concurrency", "timeout") if name in asked},
            alias=Alias(asked.get("service")),
        )


def _temperature(doc: Any) -> float:
    """Return the temperature that a document's benchmark asks at.

    Raises:
        QuadragError: the document is not of one of our tasks.
    """
    if not isinstance(doc.specific, dict) or "messages" not in doc.specific:
        raise QuadragError(f"{doc.task_name} is no task of quadrag, whose chats alone this model sends")
    return float(doc.specific["temperature"])


def _response(doc: Any, reply: Reply | Failure) -> Any:
    if isinstance(reply, Failure):
        doc.specific["state"] = reply.reason
        return ModelResponse(text=[])
    doc.specific["state"] = "ok"
    return ModelResponse(text=[reply.text], reasonings=[reply.reasoning])

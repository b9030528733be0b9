"""From a spec to the model: the extractive baseline, a chat endpoint, weights loaded here, a sentence embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quadrag.errors import QuadragError
from quadrag.ledger import Ledger
from quadrag.prices import Budget, Prices

from .generate import Completer

EXTRACTIVE = "extractive"


def open_model(
    spec: str,
    *,
    ledger: Ledger,
    parameters: Mapping[str, Any],
    concurrency: int = 16,
    prices: Prices | None = None,
    budget: Budget | None = None,
    replay: bool = False,
) -> Completer | None:
    """Return the model that a spec names; None for ``extractive``, which is none.

    Args:
        spec: ``extractive``, ``http(s)://host:port/v1#model``, ``provider:MODEL`` or ``local:MODEL``.
        ledger: where replies are kept.
        parameters: temperature, top_p, max_tokens and seed.
        concurrency: calls in flight at once.
        prices: what tokens cost.
        budget: hard limit, shared by all models of a session.
        replay: answer from the ledger alone.

    Raises:
        QuadragError: the spec or a setting cannot be used.
    """
    if spec == EXTRACTIVE:
        return None
    if spec.startswith("local:"):
        if budget is not None:
            raise QuadragError("--budget bounds calls that are paid for; a local: model has none")
        from .local import LocalModel

        return LocalModel(spec.removeprefix("local:"), ledger=ledger, replay=replay, parameters=parameters)
    from quadrag.chat import ChatClient

    return ChatClient(
        spec,
        ledger=ledger,
        concurrency=concurrency,
        prices=prices,
        budget=budget,
        replay=replay,
        parameters=parameters,
    )


class Embedding:
    """A sentence-transformers model as a metric takes it: texts to vectors; weights are loaded at the first call."""

    def __init__(self, name: str) -> None:
        """Name the model; `model` enters the signature.

        Raises:
            QuadragError: no model can have that name, the extra is not installed, or the weights cannot be had.
        """
        from .encoder import Encoder

        self.model = name
        self._encoder = Encoder(name)
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

"""From a spec to what answers or judges: the extractive baseline, an endpoint, weights loaded here, an embedding."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from quadrag.chat.calling import Calling
from quadrag.chat.ledger import Shelf
from quadrag.errors import QuadragError, unknown_name
from quadrag.trust import Trust

from ..core.benchmark import JudgePreset, known, load
from .challenge import Challenge, ChallengeModel
from .chat_model import ChatModel
from .estimated import EstimatedModel, estimate_model
from .extractive import EXTRACTIVE, Extractive
from .local import BATCH_SIZE, LocalModel
from .system import Completer, System

_PRESET = re.compile(r"[\w.-]+")


def judge_presets() -> dict[str, JudgePreset]:
    """Return the judges of all papers, by name."""
    return {name: preset for benchmark in known() for name, preset in load(benchmark).judges.items()}


def check_roles(named: Sequence[str]) -> None:
    """Refuse judges that share out the metrics and do not stand at their own places."""
    for place, text in enumerate(named):
        preset = judge_presets().get(text.partition("=")[0])
        if preset is not None and preset.role not in (None, place):
            name = text.partition("=")[0]
            where = "second, after the judge of the other metrics" if preset.role else "first"
            raise QuadragError(f"--judge {name} is asked about its own metrics alone; name it {where}")


def judge_spec(text: str) -> tuple[str, dict[str, Any]]:
    """Read what ``--judge`` names: a spec, or a preset with where it is served, as ``llama-3-70b-instruct=http://...``.

    Returns:
        The spec with the model's name, and parameters of the preset, of which ``local:`` takes none.
    """
    name, mark, place = text.partition("=")
    if not mark or not _PRESET.fullmatch(name):
        return text, {}
    presets = judge_presets()
    if name not in presets:
        raise QuadragError(f"{unknown_name('judge preset', name, presets)}; a model of your own: URL#{name}")
    preset = presets[name]
    if place.startswith("http"):
        if "#" in place:
            raise QuadragError(f"--judge {name}=... names a model beside the preset's {preset.model}; leave out #...")
        return f"{place}#{preset.model}", dict(preset.parameters)
    return place, {} if place.startswith("local:") else dict(preset.parameters)


def open_completer(
    spec: str,
    calling: Calling,
    parameters: Mapping[str, Any],
    template: str | None = None,
    batch_size: int = BATCH_SIZE,
) -> Completer:
    """Return the chat model that a spec names.

    Args:
        spec: ``http(s)://host:port/v1#model``, ``provider:MODEL`` or ``local:MODEL``.
        calling: how it is called.
        parameters: temperature, top_p, max_tokens, seed, top_k, repetition_penalty and stop.
        template: of a model without a chat interface, which is asked for completions; see `load_template`.
        batch_size: the most chats at once of a model that is loaded here.
    """
    if spec.startswith("local:"):
        _refuse_budget("local", calling)
        name = spec.removeprefix("local:")
        kept = _kept_here(calling)
        model = LocalModel(
            name,
            ledger=kept,
            replay=calling.replay,
            parameters=parameters,
            trust=calling.trust,
            batch_size=batch_size,
        )
        return model if calling.estimate is None else estimate_model(calling, name, model)
    from quadrag.chat.client import ChatClient

    transport = _completions(template) if template else None
    sent = {**parameters, **(transport.parameters if transport else {})}
    client = ChatClient(spec, calling, parameters=sent, transport=transport)
    if client.spec.url and not calling.replay:
        client.check_served()
    if calling.estimate is not None:
        return estimate_model(calling, client.model, client, transport)
    return client


def _completions(template: str) -> Any:
    from .completions.template import load_template
    from .completions.transport import CompletionsTransport

    loaded = load_template(template)
    return CompletionsTransport(loaded.render, loaded.digest)


def takes_sampling(spec: str | None) -> bool:
    """Whether what a spec names is told how to sample, as chat models are; None is the extractive baseline."""
    return spec is not None and spec != EXTRACTIVE and not spec.startswith("challenge:")


def open_system(
    spec: str,
    calling: Calling,
    parameters: Mapping[str, Any],
    time_limit: float | None = None,
    template: str | None = None,
) -> System:
    """Return what answers, by its spec: ``extractive``, ``challenge:FILE.py#Class``, or a chat model's.

    Args:
        spec: as above.
        calling: how it is called.
        parameters: of a chat model.
        time_limit: seconds that a challenge: model may take for a query of a batch.
        template: of a chat model without a chat interface.
    """
    if spec == EXTRACTIVE:
        return Extractive()
    if spec.startswith("challenge:"):
        _refuse_budget("challenge", calling)
        if calling.estimate is not None:
            raise QuadragError("what a challenge: model asks is not known before; --estimate is of chat models")
        file = spec.removeprefix("challenge:")
        return Challenge(ChallengeModel(file, ledger=_kept_here(calling), replay=calling.replay, time_limit=time_limit))
    system = ChatModel if calling.estimate is None else EstimatedModel
    return system(open_completer(spec, calling, parameters, template))


def _kept_here(calling: Calling) -> Shelf | None:
    """Return the replies of what is no service: it runs here."""
    return None if calling.ledger is None else Shelf(calling.ledger, calling.reuse)


def _refuse_budget(kind: str, calling: Calling) -> None:
    if calling.budget is not None:
        raise QuadragError(f"--budget bounds calls that are paid for; a {kind}: model has none")


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

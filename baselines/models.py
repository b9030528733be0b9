"""From a spec to the model: the extractive baseline, a chat endpoint, weights loaded here, a sentence embedding."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quadrag.errors import QuadragError, unknown_name
from quadrag.ledger import Ledger
from quadrag.prices import Budget, Prices

from .challenge import ChallengeModel
from .generate import Completer

EXTRACTIVE = "extractive"


class JudgePreset(NamedTuple):
    """A judge of a paper: the model's name as servers call it, and how it is asked."""

    model: str
    parameters: Mapping[str, Any]
    source: str
    role: int | None = None  # the only place at which it may be named


_PRESET = re.compile(r"[\w.-]+")
_JSON = {"response_format": {"type": "json_object"}}
JUDGES = {
    "gpt-3.5-turbo-0125": JudgePreset("gpt-3.5-turbo-0125", _JSON, "CRAG, section 5.1"),
    "llama-3-70b-instruct": JudgePreset("meta-llama/Meta-Llama-3-70B-Instruct", _JSON, "CRAG, section 5.1"),
    # LoRA adapters of Qwen2.5-7B-Instruct: vllm serve Qwen/Qwen2.5-7B-Instruct --enable-lora --lora-modules
    # RUC-NLPIR/OmniEval-ModelEvaluator=RUC-NLPIR/OmniEval-ModelEvaluator (and the other likewise).
    "omnieval-evaluator": JudgePreset(
        "RUC-NLPIR/OmniEval-ModelEvaluator", {"seed": 0}, "OmniEval, all metrics but hallucination; a LoRA", 0
    ),
    "omnieval-hallucination": JudgePreset(
        "RUC-NLPIR/OmniEval-HallucinationEvaluator",
        {"seed": 0},
        "OmniEval, hallucination: the second --judge; a LoRA",
        1,
    ),
}


def check_roles(named: Sequence[str]) -> None:
    """See to it that judges which share out the metrics stand at their own places.

    Raises:
        QuadragError: one does not.
    """
    for place, text in enumerate(named):
        preset = JUDGES.get(text.partition("=")[0])
        if preset is not None and preset.role not in (None, place):
            name = text.partition("=")[0]
            where = "second, after the judge of the other metrics" if preset.role else "first"
            raise QuadragError(f"--judge {name} is asked about its own metrics alone; name it {where}")


def judge_spec(text: str) -> tuple[str, dict[str, Any]]:
    """Read what ``--judge`` names: a spec, or a preset with where it is served, as ``llama-3-70b-instruct=http://...``.

    Returns:
        The spec with the model's name, and parameters of the preset, of which ``local:`` takes none.

    Raises:
        QuadragError: no such preset, or a model is named beside it.
    """
    name, mark, place = text.partition("=")
    if not mark or not _PRESET.fullmatch(name):
        return text, {}
    if name not in JUDGES:
        raise unknown_name("judge preset", name, JUDGES)
    preset = JUDGES[name]
    if place.startswith("http"):
        if "#" in place:
            raise QuadragError(f"--judge {text} names a model beside the preset's {preset.model}; leave out #...")
        return f"{place}#{preset.model}", dict(preset.parameters)
    return place, {} if place.startswith("local:") else dict(preset.parameters)


def open_model(
    spec: str,
    *,
    ledger: Ledger,
    parameters: Mapping[str, Any],
    concurrency: int = 16,
    prices: Prices | None = None,
    budget: Budget | None = None,
    replay: bool = False,
    time_limit: float | None = None,
) -> Completer | ChallengeModel | None:
    """Return the model that a spec names; None for ``extractive``, which is none.

    Args:
        spec: ``extractive``, ``http(s)://host:port/v1#model``, ``provider:MODEL``, ``local:MODEL`` or
            ``challenge:FILE.py#Class``.
        ledger: where replies are kept.
        parameters: temperature, top_p, max_tokens and seed.
        concurrency: calls in flight at once.
        prices: what tokens cost.
        budget: hard limit, shared by all models of a session.
        replay: answer from the ledger alone.
        time_limit: seconds that a challenge: model may take for a query of a batch.

    Raises:
        QuadragError: the spec or a setting cannot be used.
    """
    if spec == EXTRACTIVE:
        return None
    kind = spec.partition(":")[0]
    if kind in ("local", "challenge") and budget is not None:
        raise QuadragError(f"--budget bounds calls that are paid for; a {kind}: model has none")
    if kind == "challenge":
        return ChallengeModel(spec.removeprefix("challenge:"), ledger=ledger, replay=replay, time_limit=time_limit)
    if kind == "local":
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

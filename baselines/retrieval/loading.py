"""Loading a pretrained model, when it is first asked for."""

import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from quadrag import parallel
from quadrag.errors import QuadragError
from quadrag.printing import is_terminal
from quadrag.trust import Pins, Trust

from .weights import Preset, locate, no_loader, one_line


class LazyModel(parallel.Travels):
    """A model of sentence-transformers, loaded when it is first asked for and kept until it is closed.

    `kind` is what it is to the user, `loader` the class that loads it, `expected` what the class wants.
    """

    kind: ClassVar[str]
    loader: ClassVar[str]
    expected: ClassVar[str]

    def __init__(
        self, name: str, presets: Mapping[str, Preset], device: str | None, trust: Trust | None, **options: Any
    ) -> None:
        """Name the model; `options` are the loader's own.

        Raises:
            QuadragError: no model can have that name.
        """
        self.name = name
        self.weights = locate(self.kind, name, presets, trust or Trust())
        self._device, self._options = device, options
        self._model: Any = None

    def check(self) -> None:
        """Find out, without loading it, whether the model can be loaded; see `Weights.check`."""
        self.weights.check()

    def close(self) -> None:
        """Let the model go."""
        self._model = None

    def _adjust(self, model: Any) -> None:
        """Look at a model that was just loaded, and set what the loader takes no option for."""

    def _loaded(self) -> Any:
        if self._model is None:
            try:
                import sentence_transformers
            except ImportError as error:
                raise no_loader(self.kind, self.name, error) from None
            self.weights.check_code()
            _quiet_loading()
            place, revision = self.weights.place, self.weights.revision
            own, how = _code_options(self.weights.pins)
            options = {
                "device": _pick_device(self._device),
                "model_kwargs": {"dtype": "float32", **own},
                **self._options,
            }
            options |= {"config_kwargs": own, "processor_kwargs": own, **how}
            try:
                model = getattr(sentence_transformers, self.loader)(place, revision=revision, **options)
            except Exception as error:  # whatever a foreign file makes the loaders raise
                raise QuadragError(
                    f"cannot load {self.kind} {place} ({one_line(error)}); expected {self.expected}"
                ) from error
            self._adjust(model)
            self._model = model.eval()
        return self._model


def _code_options(pins: Pins | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the loaders of a model's parts are told of its code, and what the loader of all is told."""
    if pins is None:
        return {}, {}
    return {} if pins.code_revision is None else {"code_revision": pins.code_revision}, {"trust_remote_code": True}


def _quiet_loading() -> None:
    """Keep the bars that transformers draws while it loads out of logs."""
    from transformers.utils import logging

    if not is_terminal(sys.stderr):
        logging.disable_progress_bar()


def _pick_device(device: str | None) -> str:
    """Return the device named, else ``cuda`` where there is one, else ``cpu``."""
    import torch

    return device or ("cuda" if torch.cuda.is_available() else "cpu")

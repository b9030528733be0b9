"""Where the weights of a pretrained encoder or cross-encoder lie, what tells them from others, and how they are loaded.

A name is a preset's, a folder's or ``ORG/NAME`` on the Hub, there with ``@REVISION`` where one is wanted. A preset
whose weights an installed package brings along is taken from that package, without the Hub.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from quadrag.errors import NotReady, QuadragError, tell_extra, unknown_name
from quadrag.printing import is_terminal
from quadrag.trust import Pins, Trust, refuse_code

# Beside the weights in many repositories, and without a say in what the model computes.
_IDLE = {".md", ".onnx", ".h5", ".msgpack", ".ot", ".png", ".jpg"}


@dataclass(frozen=True)
class Preset:
    """A model by a short name.

    `instruction` stands before queries as the paper ran the model, `card_instruction` as its model card asks for.
    `as_run` is what OmniEval's code puts before a query and before a passage. `max_length` is in tokens, None for the
    model's own. `package` bundles the weights in its folder ``model``. `code` says that the weights need Python code
    that comes with them.
    """

    model: str
    instruction: str = ""
    card_instruction: str = ""
    as_run: tuple[str, str] | None = None
    max_length: int | None = None
    package: str | None = None
    code: bool = False


@dataclass(frozen=True)
class Weights:
    """A model's place: `folder`, or where that is None `model` on the Hub at the commit that `wanted` stands for.

    `name` is what the user calls it, `code` whether it is known to need code of its own, `pins` what the user allowed.
    """

    kind: str
    model: str
    folder: Path | None = None
    wanted: str | None = None
    name: str = ""
    code: bool = False
    pins: Pins | None = None

    def check(self) -> None:
        """Find out, without loading anything, whether the model can be loaded: before long work that leads up to it."""
        if self.code and self.pins is None:
            self.check_code()
        if find_spec("sentence_transformers") is None:
            raise no_loader(self.kind, self.model, ImportError("not installed"))
        self.identity()
        self.check_code()

    def check_code(self) -> None:
        """Find out whether the model may be loaded with the code that it needs."""
        if self.pins is None and (self.code or "AutoModel" in self._own_code()):
            raise refuse_code(self.kind, self.name, self.folder is not None)

    def _own_code(self) -> Mapping[str, Any]:
        """Return which classes of transformers the model has code of its own for, as its configuration says."""
        path = None if self.folder is None else self.folder / "config.json"
        try:
            if path is None:
                from huggingface_hub import hf_hub_download

                path = Path(hf_hub_download(self.model, "config.json", revision=self.revision))
            found = json.loads(path.read_bytes())
        except (OSError, ValueError):  # what cannot be read is told where the model is loaded
            return {}
        own = found.get("auto_map") if isinstance(found, dict) else None
        return own if isinstance(own, dict) else {}

    @property
    def place(self) -> str:
        """What a loader takes: a folder, or a name on the Hub."""
        return self.model if self.folder is None else str(self.folder)

    @cached_property
    def revision(self) -> str | None:
        """The commit on the Hub, or without a connection the one in its own cache; None for a folder."""
        if self.folder is not None:
            return None
        from huggingface_hub import errors, resolve_revision

        try:
            return resolve_revision(self.model, revision=self.wanted).resolved
        except errors.RevisionNotFoundError:
            why = f"it has no revision {self.wanted} there"
        except errors.RepositoryNotFoundError:
            why = "there is none of that name, or not for this user"
        except errors.RevisionResolutionError:
            why = "which cannot be reached, and nothing of it is in the Hub's cache here"
        except (OSError, ValueError) as error:
            why = one_line(error)
        raise QuadragError(
            f"{self.kind} {self.model} is no folder here and not to be had from the Hub ({why}); name a folder that "
            "holds its files, or download it where the Hub can be reached"
        )

    def identity(self) -> dict[str, str]:
        """Return what two runs must agree on to have used the same weights: a commit, or the sha256 of a folder.

        All files of a folder count, by their bytes and relative paths, but for hidden ones, documents and the formats
        of other frameworks.
        """
        place = {"weights": self._digest} if self.folder is not None else {"revision": str(self.revision)}
        code = {"code": self.pins.code_revision or "as in the folder"} if self.pins is not None else {}
        return {"model": self.model, **place, **code}

    @cached_property
    def _digest(self) -> str:
        assert self.folder is not None
        folder, digest = self.folder, hashlib.sha256()
        try:
            for path in sorted(folder.rglob("*")):
                parts = path.relative_to(folder).parts
                if path.is_file() and path.suffix not in _IDLE and not any(part.startswith(".") for part in parts):
                    with path.open("rb") as file:
                        digest.update("/".join(parts).encode() + b"\0" + _sha256(file) + b"\0")
        except OSError as error:
            raise QuadragError(
                f"cannot read {self.kind} {folder} ({one_line(error)}); expected a model's files"
            ) from error
        return digest.hexdigest()


def locate(kind: str, name: str, presets: Mapping[str, Preset], trust: Trust) -> Weights:
    """Return the place of a model's weights; the Hub is not asked yet. `kind` is the noun for it: ``"embedding"``."""
    if preset := presets.get(name):
        spec = find_spec(preset.package) if preset.package else None
        if spec is not None and spec.origin is not None:
            return Weights(kind, preset.model, Path(spec.origin).parent / "model")
        pins = trust.find(name, folder=False)
        return Weights(kind, preset.model, None, pins and pins.revision, name, preset.code, pins)
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return Weights(kind, folder.resolve().name, folder, None, name, False, trust.find(name, folder=True))
    model, _, wanted = name.partition("@")
    if model.count("/") != 1 or model.startswith((".", "~", "/")):
        raise QuadragError(
            f"{unknown_name(kind, name, presets)}; or name a folder that is there, or ORG/NAME on the Hub"
        )
    pins = trust.find(name, folder=False)
    return Weights(kind, model, None, pins.revision if pins else wanted or None, name, False, pins)


def no_loader(kind: str, name: str, error: ImportError) -> QuadragError:
    """Return the error of a model without the package that loads it."""
    return NotReady(f"{kind} {name} needs sentence-transformers ({one_line(error)}); {tell_extra('dense')}")


def one_line(error: BaseException) -> str:
    """Return an error's message on one line, cut at 300 characters, or its type where it has none."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def _sha256(file: Any) -> bytes:
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.digest()


class LazyModel:
    """A model of sentence-transformers, loaded when it is first asked for and kept until it is closed.

    `kind` is what it is to the user, `loader` the class that loads it, `expected` what the class wants.
    """

    kind: ClassVar[str]
    loader: ClassVar[str]
    expected: ClassVar[str]

    def __init__(
        self, name: str, presets: Mapping[str, Preset], device: str | None, trust: Trust | None, **options: Any
    ) -> None:
        self.name = name
        self.weights = locate(self.kind, name, presets, trust or Trust())
        self._device, self._options = device, options
        self._model: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the weights behind: a worker of `quadrag.parallel` loads its own."""
        return {**vars(self), "_model": None}

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
    from transformers.utils import logging

    if not is_terminal(sys.stderr):
        logging.disable_progress_bar()


def _pick_device(device: str | None) -> str:
    import torch

    return device or ("cuda" if torch.cuda.is_available() else "cpu")

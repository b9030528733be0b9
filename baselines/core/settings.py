"""Settings of a search, what a retriever uses of them, and the conditions under which answers are scored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from quadrag.trust import Trust

WHOLE = 1_000_000  # characters of a chunk that is a whole passage, since none is longer
FILES = "files"  # as a source of chunks
NONE = "none"  # the retriever of a model that is shown nothing
UNKNOWN = "unknown"  # the retriever behind a file of answers that does not say it


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How passages are found in a corpus. Only what a retriever uses enters `run.json`.

    Attributes:
        tokenizer: terms of BM25: ``unigram``, ``jieba`` or ``rjieba``.
        chunk_size: characters, or tokens of `chunk_tokenizer`, from 1.
        chunk_overlap: percent of the chunk, from 0 to 90.
        chunk_tokenizer: a tokenizer's file, folder or name, or ``cl100k_base``; None counts characters.
        chunk_source: what is cut: ``documents``, or whole ``files``, as CRUD-RAG's authors have it.
        embedding: preset, name or folder of a sentence-transformers model.
        instruction: where the embedding's instruction stands: before ``queries``, or before passages too (``both``).
        reranker: the same of a cross-encoder.
        index: None for exact search, or another of `retrieval.vectors`: ``faiss``, ``milvus:URI``.
        top_k: passages shown, from 1.
        where: ``FIELD=VALUE`` of the documents that are searched, as `Corpus.choose` reads it; None searches all.
        trust: the models whose own code may run. No setting: the user alone says it, of this run.
    """

    tokenizer: str = "unigram"
    chunk_size: int = 128
    chunk_overlap: int = 0
    chunk_tokenizer: str | None = None
    chunk_source: str = "documents"
    embedding: str = "bge-base"
    instruction: str = "queries"
    reranker: str = "bge-rank"
    index: str | None = None
    top_k: int = 8
    where: str | None = None
    trust: Trust = field(default_factory=Trust)


SETTINGS = tuple(one.name for one in fields(Retrieval) if one.name != "trust")  # what files and recipes may say


@dataclass(frozen=True, slots=True)
class RetrieverSpec:
    """What a benchmark says of one of its retrievers.

    Attributes:
        settings: the fields of `Retrieval` that it uses.
        searches: whether it searches the benchmark's corpus.
        help: a word on it for the command line; "" where the name says enough.
    """

    settings: tuple[str, ...] = ()
    searches: bool = False
    help: str = ""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which conditions answers were made and are scored, as far as the metrics depend on them.

    `data_dir` is where the task's files are, for metrics that read some themselves; `prompts` a file of the user's own.
    """

    retriever: str
    options: Mapping[str, Any] = field(default_factory=dict)
    top_k: int = 0
    data_dir: str | None = None
    prompts: str | None = None

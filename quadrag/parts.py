"""What a benchmark's record and a spec both speak of: retrieval, conditions of scoring, and how a part is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from quadrag.errors import QuadragError, unknown_name
from quadrag.trust import Trust

KINDS = ("llm", "rag", "function", "answers")  # of systems, by the key that each has
Text = Annotated[str, Field(min_length=1)]
Number = Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True)]
Count = Annotated[int, Field(strict=True, gt=0)]  # in no quotes, and neither true nor false


class Part(BaseModel):
    """A part of a spec: it cannot be changed, and holds no key that is not its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


_Part = TypeVar("_Part", bound=Part)


class Retrieval(Part):
    """How passages are found in a corpus; a run's spec has those settings that its retriever uses."""

    tokenizer: Text = "unigram"  # terms of BM25: ``unigram``, ``jieba`` or ``rjieba``
    chunk_size: Count = 128  # characters, or tokens of `chunk_tokenizer`
    chunk_overlap: Annotated[int, Field(strict=True, ge=0, le=90)] = 0  # percent of the chunk
    # a tokenizer's file, folder or name, or ``cl100k_base``; None counts characters.
    chunk_tokenizer: Text | None = None
    # what is cut: ``documents``, or whole ``files``, as CRUD-RAG's authors have it.
    chunk_source: Literal["documents", "files"] = "documents"
    embedding: Text = "bge-base"  # preset, name or folder of a sentence-transformers model
    # where the embedding's instruction stands: before ``queries``, or before passages too (``both``).
    instruction: Literal["queries", "both"] = "queries"
    reranker: Text = "bge-rank"  # the same of a cross-encoder
    index: Text | None = None  # None for exact search, or ``faiss``, ``milvus:URI``
    top_k: Count = 8  # passages shown
    # the models whose own code may run. No setting: the user alone says it, of this run.
    trust: Annotated[Trust, Field(exclude=True)] = Trust()

    def changed(self, **settings: Any) -> Retrieval:
        """Return the same with other settings."""
        return validate(Retrieval, {**dict(self), **settings}, "retrieval")


SETTINGS = tuple(name for name in Retrieval.model_fields if name != "trust")


@dataclass(frozen=True, slots=True)
class RetrieverSpec:
    """What a benchmark says of one of its retrievers."""

    settings: tuple[str, ...] = ()  # the fields of `Retrieval` that it uses
    # where its `Retriever` is, ``MODULE:CLASS``, which searches the benchmark's corpus; "" where it has none.
    place: str = ""
    help: str = ""  # a word on it for the command line; "" where the name says enough

    @property
    def searches(self) -> bool:
        """Whether it searches the benchmark's corpus."""
        return bool(self.place)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which conditions answers were made and are scored, as far as the metrics depend on them."""

    retriever: str
    options: Mapping[str, Any] = field(default_factory=dict)
    top_k: int = 0
    data_dir: str | None = None
    prompts: str | None = None


def validate(kind: type[_Part], values: Mapping[str, Any], what: str) -> _Part:
    """Make a part of a spec, or say in one line what is wrong first and what was expected."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        *above, last = [str(name) for name in fault["loc"] if name not in ("int", "float")] or [""]  # kinds of a number
        if fault["type"] == "extra_forbidden":
            kinds: list[type[Part]] = [kind, *Part.__subclasses__()]
            known = dict.fromkeys(name for part in kinds for name in part.model_fields)
            raise unknown_name(f"key of {what}", last, known) from None
        place = ".".join([*(name for name in above if name not in KINDS), last])
        if fault["type"] == "missing":
            raise QuadragError(f"{what} has no {place}; expected it") from None
        reason = fault["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
        shown = (
            f"{place} is {fault['input']!r:.80}; " if fault["type"] != "value_error" else ""
        )  # which names the place
        raise QuadragError(f"{what}: {shown}{reason}") from None

"""What a benchmark's record and a spec both speak of: retrieval, and how a part is checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from quadrag.errors import NotReady, QuadragError, unknown_name

_PINNED = re.compile("(.+)=([0-9a-f]{40}),([0-9a-f]{40})", re.DOTALL)
_FLAG = "--trust-remote-code"
_COMMITS = "=REVISION,CODE_REVISION"


class Pins(NamedTuple):
    """The commits of a model's weights and of its code; None for what lies in a folder here."""

    revision: str | None = None
    code_revision: str | None = None


@dataclass(frozen=True, slots=True)
class Trust:
    """The models whose code may run, by what the user calls them; none by default."""

    pins: Mapping[str, Pins] = field(default_factory=dict)

    @classmethod
    def read(cls, named: Sequence[str]) -> Trust:
        """Read what ``--trust-remote-code`` names: ``MODEL=REVISION,CODE_REVISION``, or the folder of a model."""
        pins = {}
        for text in named:
            match = _PINNED.fullmatch(text)
            if match is None and "=" in text:
                raise QuadragError(
                    f"{_FLAG} {text!r} names no commits; expected MODEL{_COMMITS}, each 40 hexadecimal digits, or the "
                    "folder of a model that holds its code"
                )
            pins[match[1] if match else text] = Pins(match[2], match[3]) if match else Pins()
        return cls(pins)

    def find(self, name: str, folder: bool) -> Pins | None:
        """Return what the user named for a model; QuadragError for one on the Hub without commits, a folder with."""
        pins = self.pins.get(name)
        if pins is not None and folder == bool(pins.revision):
            raise refuse_code("model", name, folder)
        return pins


def refuse_code(kind: str, name: str, folder: bool) -> QuadragError:
    return NotReady(
        f"{kind} {name} needs code of its own, which would run with your rights; without it the model is another one. "
        f"Read the code, then give {_FLAG} {name}{'' if folder else _COMMITS}, or name another model"
    )


KINDS = ("llm", "rag", "function")  # of systems, by the key that each has
Text = Annotated[str, Field(min_length=1)]
Number = Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True)]
Count = Annotated[int, Field(strict=True, gt=0)]  # in no quotes, and neither true nor false


class Record(BaseModel):
    """What cannot be changed, and holds no key that is not its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(Record):
    """A part of a spec."""


_Record = TypeVar("_Record", bound=BaseModel)


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
        return validate(Retrieval, {**dict(self), **settings}, "retrieval")


SETTINGS = tuple(name for name in Retrieval.model_fields if name != "trust")


@dataclass(frozen=True, slots=True)
class RetrieverSpec:
    settings: tuple[str, ...] = ()  # the fields of `Retrieval` that it uses
    # where its `Retriever` is, ``MODULE:CLASS``, which searches the benchmark's corpus; "" where it has none.
    place: str = ""
    help: str = ""  # a word on it for the command line; "" where the name says enough

    @property
    def searches(self) -> bool:
        return bool(self.place)


def validate(kind: type[_Record], values: Mapping[str, Any], what: str) -> _Record:
    """Make a record, or say in one line what is wrong first and what was expected."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        *above, last = [str(name) for name in fault["loc"] if name not in ("int", "float")] or [""]  # kinds of a number
        place = ".".join([*(name for name in above if name not in KINDS), last])
        if fault["type"] == "extra_forbidden":
            kinds: list[type[BaseModel]] = [kind, *(Part.__subclasses__() if issubclass(kind, Part) else ())]
            known = dict.fromkeys(name for part in kinds for name in part.model_fields)
            if last in known:
                raise QuadragError(f"{what} takes no {place}; leave it out") from None
            raise unknown_name(f"key of {what}", last, known) from None
        if fault["type"] == "missing":
            raise QuadragError(f"{what} has no {place}; expected it") from None
        reason = fault["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
        # A value error names the place.
        shown = f"{place} is {fault['input']!r:.80}; ".lstrip() if fault["type"] != "value_error" else ""
        raise QuadragError(f"{what}: {shown}{reason}") from None

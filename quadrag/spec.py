"""What is measured, with what (`RunSpec`); how models are called meanwhile is `quadrag.chat.policy`.

The command line, `quadrag.evaluate`, a recipe and a file each write a spec. What it says, with digests of what it names
(questions, prompts, corpus, weights), is a run's identity; an address is part of it only where no name is given, a
secret and a policy never are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from quadrag.benchmark import load
from quadrag.chat.keys import hide_user, shown_url
from quadrag.chat.policy import MOST_FAILED as MOST_FAILED
from quadrag.chat.policy import CallPolicy as CallPolicy
from quadrag.errors import QuadragError, read_yaml
from quadrag.metrics._shared.slots import PLAIN
from quadrag.parts import KINDS, SETTINGS, Count, Number, Part, Retrieval, RetrieverSpec, Text

EXTRACTIVE = "extractive"
CHALLENGE = "challenge:"
RAG = "rag"  # the retriever of what finds its own passages
WHOLE = 1_000_000  # characters of a chunk that is a whole passage, since none is longer
FILES = "files"  # as a source of chunks
NONE = "none"  # the retriever of a model that is shown nothing
UNKNOWN = "unknown"  # the retriever behind a file of answers that does not say it


class Sampling(Part):
    """How a chat model draws its answer, by the names of a request's fields; what is None is not sent."""

    temperature: Annotated[Number, Field(ge=0, le=100)] | None = None
    top_p: Annotated[Number, Field(ge=0, le=1)] | None = None
    top_k: Count | None = None
    repetition_penalty: Annotated[Number, Field(ge=0.01, le=10)] | None = None
    max_tokens: Count | None = None
    stop: Annotated[list[Text], Field(min_length=1)] | None = None
    seed: Annotated[int, Field(strict=True, ge=0)] | None = None

    def sent(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


class Chat(Part):
    """A chat model, or the extractive baseline, or a model file of the CRAG challenge."""

    # ``http(s)://HOST:PORT/v1``, ``provider:MODEL``, ``local:MODEL``, ``extractive`` or ``challenge:FILE.py#Class``.
    llm: Text = EXTRACTIVE
    # the one to ask of a server, also typed behind its address, ``http://HOST:PORT/v1#MODEL``; its only one when None.
    model: Text | None = None
    # what it is called in tables, in the ledger and in the run's identity, wherever it is served and whatever its
    # server calls it; by its model and address when None.
    name: Text | None = None
    sampling: Sampling = Sampling()  # how it draws
    api: Literal["chat", "completions"] = "chat"  # how a server is asked
    template: Text | None = None  # what makes a prompt of a chat for completions: ``plain``, ``vicuna`` and the like
    batch_size: Count | None = None  # of `local:`, how many chats are answered at once

    @model_validator(mode="before")
    @classmethod
    def _part_model(cls, values: Any) -> Any:
        llm = values.get("llm") if isinstance(values, Mapping) else None
        if isinstance(llm, str) and is_address(llm) and "#" in llm:
            address, _, model = llm.partition("#")
            return {**values, "llm": address.strip(), "model": model.strip() or None}
        return values

    @model_validator(mode="after")
    def _check(self) -> Chat:
        if not self.is_chat:
            asked = {"model": self.model, "name": self.name, "template": self.template, **self.sampling.sent()}
            if given := [name for name, value in asked.items() if value is not None]:
                raise ValueError(
                    f"{self.llm!r} is no chat model, which the {given[0]} is for; expected http://HOST:PORT/v1#MODEL"
                )
        if (self.api == "completions") != (self.template is not None):
            raise ValueError("api completions and a template go together; give both, or neither")
        return self

    @property
    def is_chat(self) -> bool:
        return names_chat(self.llm)

    @property
    def address(self) -> str:
        return f"{self.llm}#{self.model}" if self.model else self.llm


class Judge(Chat):
    """A chat model that judges, by the metric's `prompt` of that name.

    `response_format` is the request's field that holds it to a form of its verdicts.
    """

    prompt: Literal["official", "plain"] = "official"
    response_format: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _check_form(self) -> Judge:
        if self.prompt == PLAIN and self.response_format:
            raise ValueError("a plain prompt asks for a line of text; leave out the response_format, or --judge-format")
        return self


class Service(Part):
    """A RAG service of the user's own, which finds passages and answers."""

    rag: Text  # ``http://HOST:PORT/PATH`` of the JSON form, ``http://HOST:PORT/v1#MODEL`` of OpenAI's
    name: Text | None = None  # what it is called, wherever it is served


class Function(Part):
    function: Text


def names_chat(llm: Any) -> bool:
    """Whether what a spec names as ``llm`` is a chat model, which is told how to sample."""
    return isinstance(llm, str) and llm not in ("", EXTRACTIVE) and not llm.startswith(CHALLENGE)


def is_address(text: Any) -> bool:
    return isinstance(text, str) and text.lower().startswith(("http://", "https://"))


def _kind(value: Any) -> str:
    for kind in KINDS[1:]:
        if kind in value if isinstance(value, Mapping) else hasattr(value, kind):
            return kind
    return "llm"


System = Annotated[
    Annotated[Chat, Tag("llm")] | Annotated[Service, Tag("rag")] | Annotated[Function, Tag("function")],
    Discriminator(_kind),
]


class Replica(Part):
    """The printed row that a run is to replicate, and what it does otherwise."""

    recipe: str  # its name
    row: str = ""  # what the table names the row by
    model: str | None = None  # that the row is by
    entity_model: str | None = None  # that found the entities of its questions
    sent: tuple[str, ...] = ()  # the fields of a request that the recipe says
    runs: int = 1  # how many the recipe has
    # settings that the user gave otherwise than the recipe, each with the user's value and the recipe's.
    changed: dict[str, tuple[Any, Any]] = Field(default={})
    # those for which others may stand in, as an embedding, with the recipe's value.
    replaced: dict[str, str] = Field(default={})


class RunSpec(Part):
    """What is measured, with what."""

    benchmark: Text  # its name
    config: Text  # its config
    split: Text | None = None  # one split; those that the paper scores when None
    # folder of the authors' files, or ``sample``; what was prepared or can be fetched when None.
    data_dir: Text | None = None
    limit: Count | None = None  # the first questions of every split alone
    samples: Count = 1  # answers a question
    options: dict[str, Any] = Field(default={})  # of the benchmark and of its dataset script, by name
    prompts: Text | None = None  # a file of the user's own
    # tokens that a chat model's prompt and longest reply may have together, as they are reckoned: of a longer prompt
    # the last passages are left out.
    context: Count | None = None
    retriever: str = ""  # what finds passages; the benchmark's first when empty
    retrieval: Retrieval = Retrieval()  # how
    system: System = Chat()  # what answers
    # what names the entities of questions, where a retriever asks for them; `system` when None.
    entity_model: Chat | None = None
    judges: tuple[Judge, ...] = ()  # what judges, in their order
    embed: Text | None = None  # the sentence embedding of a metric
    replica: Replica | None = None  # the printed row that it is to replicate

    def changed(self, **values: Any) -> RunSpec:
        """Return the same with other values, which are checked by whoever made them."""
        return self.model_copy(update=values)

    @property
    def retrieves(self) -> RetrieverSpec:
        """What its benchmark says of its retriever; of one that is none of the benchmark's, nothing."""
        return load(self.benchmark).retrievers.get(self.retriever, RetrieverSpec())

    @property
    def searches(self) -> bool:
        return self.retrieves.searches

    @property
    def top_k(self) -> int:
        """How many passages a search shows; 0 where nothing is searched."""
        return self.retrieval.top_k if self.searches else 0

    def showing(self, top_k: int) -> RunSpec:
        """Return the same with another number of passages shown, maybe none."""
        return self.changed(retrieval=self.retrieval.model_copy(update={"top_k": top_k}))

    def settings(self) -> dict[str, Any]:
        """Return those settings of the retrieval that its retriever uses, an address without user and password."""
        used = {name: getattr(self.retrieval, name) for name in SETTINGS if name in self.retrieves.settings}
        defaults = {name: getattr(Retrieval(), name) for name in ("instruction", "chunk_source")}
        found = {name: value for name, value in used.items() if value is not None and value != defaults.get(name)}
        return found | ({"index": hide_user(found["index"])} if "index" in found else {})

    def dump(self) -> dict[str, Any]:
        """Return it as JSON, with what was said alone, less what is secret in addresses."""
        spec: dict[str, Any] = self.model_dump(mode="json", exclude_defaults=True, exclude={"retrieval"})
        settings = self.settings()
        shown: dict[str, Any] = _hide_secrets({**spec, **({"retrieval": settings} if settings else {})})
        return shown


def _hide_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _hide_secrets(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_hide_secrets(part) for part in value]
    return shown_url(value) if is_address(value) else value


def read_spec(path: str | Path) -> dict[str, Any]:
    spec = read_yaml(path, "a spec, as a mapping with benchmark and config")
    if not isinstance(spec, dict):
        raise QuadragError(f"{path} is no spec; expected a mapping with benchmark and config")
    return spec


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return a partial spec over another: mappings are merged, all else of `above` stands in place of what is below."""
    merged = dict(below)
    for name, value in above.items():
        under = merged.get(name)
        merged[name] = merge(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return merged

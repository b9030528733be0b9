"""A document of a corpus before it is cut into passages, and how a benchmark declares the corpus that it searches."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Document(NamedTuple):
    """A text to be searched. `id` is unique in its corpus and holds no ``#``."""

    id: str
    title: str
    text: str


class CorpusSpec(NamedTuple):
    """A corpus: its config, the options that are its own, and how a row of it becomes a document."""

    config: str
    options: tuple[str, ...]
    document: Callable[[Mapping[str, Any]], Document]

"""A document or file of a corpus before it is cut into passages, and how a benchmark declares what it searches."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Document(NamedTuple):
    """A text to be searched. `id` is unique in its corpus and holds no ``#``."""

    id: str
    title: str
    text: str


class SourceFile(NamedTuple):
    """A file of a corpus as it stands, with many documents in it.

    `id` is its path, unique in its corpus and without ``#``; `title` is what an encoder reads before each of its
    chunks; `articles` has for every line of `text` the id of the document that the line is of, "" for none.
    """

    id: str
    title: str
    text: str
    articles: Sequence[str]


class CorpusSpec(NamedTuple):
    """A corpus: its config, the options that are its own, and how a row of it becomes a document.

    `file` is how a row becomes a file where the script has the option ``whole`` and is given it; None where it has not.
    """

    config: str
    options: tuple[str, ...]
    document: Callable[[Mapping[str, Any]], Document]
    file: Callable[[Mapping[str, Any]], SourceFile] | None = None

"""The corpus searched while a dataset is made: its chunks, ranked by BM25 over single characters and words."""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from quadrag.benchmark import Document
from quadrag.records import Passage
from quadrag.retrieval.bm25 import Bm25Index
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore

from .steps import Row


class Corpus:
    """Documents that can be searched; what is written for it lies in a folder that goes with it."""

    def __init__(self, documents: Iterable[Row], size: int | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="quadrag-construct-")
        folder = Path(self._folder.name)
        # An id with a # could not be told from that of a chunk: documents go by their places.
        self._documents = list(documents)
        numbered = (Document(str(at), row["title"], row["text"]) for at, row in enumerate(self._documents))
        longest = max((len(row["text"]) for row in self._documents), default=1)
        chunking = Chunking(size=size or longest + 1, overlap=0)
        self._store = PassageStore.build(numbered, folder, chunking)
        self._index = Bm25Index.build(self._store, folder, "unigram")

    def find(self, query: str, k: int) -> list[tuple[Row, Passage]]:
        """Return the best chunks for a query, each with its document, best first."""
        (hits,) = self._index.search([query], k)
        found = [self._store[row]._replace(score=score) for row, score in hits]
        return [(self._documents[int(one.id.partition("#")[0])], one) for one in found]


def without_repeats(
    rows: Sequence[Row], question_of: Callable[[Row], str], why: str = "question asked before"
) -> tuple[list[Row], list[tuple[Row, str]]]:
    """Part rows into those whose questions are new and those that an earlier one asks nearly alike."""
    differs = unlike([question_of(row) for row in rows])
    kept = [row for row, new in zip(rows, differs, strict=True) if new]
    return kept, [(row, why) for row, new in zip(rows, differs, strict=True) if not new]


def unlike(questions: Sequence[str], most: float = 0.7) -> list[bool]:
    """Tell of each question whether it differs from all before it: by Jaccard's likeness of character 3-grams."""
    kept: list[set[str]] = []
    owners: dict[str, list[int]] = {}
    found = []
    for question in questions:
        plain = "".join(question.lower().split())
        own = {plain[at : at + 3] for at in range(max(1, len(plain) - 2))}
        shared: dict[int, int] = {}
        for gram in own:
            for other in owners.get(gram, ()):
                shared[other] = shared.get(other, 0) + 1
        alike = any(n / (len(own) + len(kept[other]) - n) >= most for other, n in shared.items())
        found.append(not alike)
        if not alike:
            for gram in own:
                owners.setdefault(gram, []).append(len(kept))
            kept.append(own)
    return found

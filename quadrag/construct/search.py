"""The corpus searched while a dataset is made, its chunks ranked by BM25 over single characters and words; repeats."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from quadrag.benchmark import Document
from quadrag.records import Passage
from quadrag.retrieval.bm25 import build_index, open_index
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore

from .steps import Row, Step, reject

_ALIKE = 0.7  # Jaccard's likeness of two questions' character 3-grams from which they ask the same


class Corpus:
    """Documents that can be searched; what is written for it lies in a folder that goes with it."""

    def __init__(self, documents: Iterable[Row], size: int | None = None) -> None:
        """Take the documents, and the size of a chunk in characters; each document is a chunk when None."""
        self._folder = tempfile.TemporaryDirectory(prefix="quadrag-construct-")
        folder = Path(self._folder.name)
        # An id with a # could not be told from that of a chunk: documents go by their places.
        self._documents = list(documents)
        numbered = (Document(str(at), row["title"], row["text"]) for at, row in enumerate(self._documents))
        longest = max((len(row["text"]) for row in self._documents), default=1)
        chunking = Chunking(size=size or longest + 1, overlap=0)
        self._store = PassageStore.build(numbered, folder, chunking)
        build_index(self._store, folder, "unigram")
        self._rank = open_index(folder, "unigram")

    def find(self, query: str, k: int) -> list[tuple[Row, Passage]]:
        """Return the best chunks for a query, each with its document, best first."""
        (hits,) = self._rank([query], k)
        passages = [self._store[row]._replace(score=score) for row, score in hits]
        return [(self._documents[int(passage.id.partition("#")[0])], passage) for passage in passages]


def reject_repeats(question_of: Callable[[Row], str], why: str = "question asked before") -> Step:
    """Return the step that lets each row go whose question an earlier one asks nearly alike."""
    return Step("duplicates", lambda rows: _reject_repeats(rows, question_of, why), together=True)


def _reject_repeats(rows: Sequence[Row], question_of: Callable[[Row], str], why: str) -> list[Row]:
    kept: list[set[str]] = []
    holders: dict[str, list[int]] = {}  # of each 3-gram the places in `kept`
    made = []
    for row in rows:
        plain = "".join(question_of(row).lower().split())
        grams = {plain[at : at + 3] for at in range(max(1, len(plain) - 2))}
        shared = Counter(place for gram in grams for place in holders.get(gram, ()))
        if any(n / (len(grams) + len(kept[place]) - n) >= _ALIKE for place, n in shared.items()):
            made.append(reject(row, why))
            continue
        made.append(row)
        for gram in grams:
            holders.setdefault(gram, []).append(len(kept))
        kept.append(grams)
    return made

"""Search: from a corpus and settings to passages, by a retriever whose indexes are built once and kept.

A retriever of ours is a file with a `Retriever`, and a line in `RETRIEVERS`, which every benchmark with a corpus takes.
One of another package is a line of the same form in the `retrievers` of a benchmark's record.
"""

from __future__ import annotations

import hashlib
import json
import pkgutil
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from quadrag.errors import QuadragError, one_line
from quadrag.parts import Retrieval, RetrieverSpec
from quadrag.paths import cache_dir
from quadrag.records import Passage, write_text
from quadrag.spec import FILES, NONE

if TYPE_CHECKING:
    from quadrag.loading import Corpus

    from .chunk import Chunking, FileChunking
    from .passages import Hits, PassageStore

_Index = TypeVar("_Index")
Ranker = Callable[[Sequence[str], int], "list[Hits]"]  # the hits of each query, at most k

KEY_FILE = "key.json"
LARGE = 1_000_000  # characters of a corpus from which it is not indexed for an estimate
STAND_IN = "By rule: pieces from the beginning of the corpus stand for its passages; it is not indexed for an estimate."
_PIECES = 2_000
_PIECES_OF = 100_000  # characters of a document, or of a file of many

_CHUNKS = ("chunk_size", "chunk_overlap", "chunk_tokenizer", "chunk_source", "top_k")
_VECTORS = ("embedding", "instruction", "index")


def searcher(place: str, *settings: str) -> RetrieverSpec:
    """Return what a benchmark's record says of a retriever that searches its corpus.

    `place` is where its `Retriever` is, ``MODULE:CLASS``; `settings` are the fields of `Retrieval` that it uses besides
    those of chunks and top_k.
    """
    return RetrieverSpec((*_CHUNKS, *settings), place)


RETRIEVERS = {
    "bm25": searcher(f"{__package__}.bm25:Bm25", "tokenizer"),
    "dense": searcher(f"{__package__}.vectors.dense:Dense", *_VECTORS),
    "hybrid": searcher(f"{__package__}.hybrid:Hybrid", "tokenizer", *_VECTORS),
    "hybrid-rerank": searcher(f"{__package__}.hybrid:HybridRerank", "tokenizer", *_VECTORS, "reranker"),
}
CORPUS_RETRIEVERS = {**RETRIEVERS, NONE: RetrieverSpec()}  # of a benchmark with a corpus


class Retriever(ABC):
    """One way to find passages, under some settings; nothing is loaded or built when it is made."""

    def __init__(self, settings: Retrieval) -> None:
        self.settings = settings

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what decides the hits beside corpus and settings: versions, and weights by content or commit.

        Asked before long work: a model or a package that is not there raises QuadragError.
        """

    @abstractmethod
    def open(self, indexes: Indexes) -> Ranker:
        """Open the indexes, which are built where they are lacking."""


def make_retriever(retriever: RetrieverSpec, settings: Retrieval) -> Retriever:
    return cast("Retriever", pkgutil.resolve_name(retriever.place)(settings))


def describe_search(retriever: RetrieverSpec, settings: Retrieval) -> dict[str, Any]:
    return {"chunks": make_chunking(settings).describe(), **make_retriever(retriever, settings).describe()}


class Search:
    """A corpus that can be searched under one set of settings; `found` is what a run's record has of its indexes."""

    def __init__(
        self, corpus: Corpus, retriever: RetrieverSpec, settings: Retrieval, store: IndexStore | None = None
    ) -> None:
        from .passages import VERSION, PassageStore

        chunking, store = make_chunking(settings), store or IndexStore()
        key = {"kind": "passages", "version": VERSION, "corpus": corpus.fingerprint, "chunks": chunking.describe()}

        def build(folder: Path) -> None:
            PassageStore.build(corpus.documents(), folder, chunking)

        self.passages = store.open(key, build, PassageStore)
        indexes = Indexes(self.passages, key, store)
        self._top_k = settings.top_k
        self._rank = make_retriever(retriever, settings).open(indexes)
        self.found = indexes.found

    def find(self, queries: Sequence[str]) -> list[list[Passage]]:
        """Return the passages of each query, best first, at most `top_k`; none where nothing fits."""
        rankings = self._rank(queries, self._top_k)
        return [[self.passages[row]._replace(score=round(score, 6)) for row, score in hits] for hits in rankings]


def make_chunking(settings: Retrieval) -> Chunking | FileChunking:
    from .chunk import Chunking, FileChunking

    kind = FileChunking if settings.chunk_source == FILES else Chunking
    return kind(settings.chunk_size, settings.chunk_overlap, settings.chunk_tokenizer)


def find_or_stand_in(
    corpus: Corpus, retriever: RetrieverSpec, settings: Retrieval, queries: Sequence[str], notes: list[str]
) -> list[list[Passage]]:
    """Return passages for an estimate: of a small corpus, or of an index that stands, as for a run.

    Else pieces of the corpus stand for them, of which `notes` gets a line: to cut and index a large one takes a minute,
    and what a prompt costs depends on the size of passages alone.
    """
    sizes = accumulate(len(document.text) for document in corpus.documents())
    store = IndexStore(builds=all(size < LARGE for size in sizes))
    try:
        return Search(corpus, retriever, settings, store).find(queries)
    except _NotBuiltError:
        notes += [STAND_IN] * (STAND_IN not in notes)
        chunking = make_chunking(settings)
        parts = (document._replace(text=document.text[:_PIECES_OF]) for document in corpus.documents())
        pieces = (Passage(owner, part.title, text) for part in parts for owner, text in chunking.cut(part))
        again = cycle(list(islice(pieces, min(_PIECES, settings.top_k * len(queries)))))
        return [list(islice(again, settings.top_k)) for _ in queries]


class _NotBuiltError(Exception):
    """An index does not stand yet, and is not to be built."""


class IndexStore:
    """Folders of indexes under one root, named by what built them, made once and found again.

    A folder is built beside its place and then moved there, so it is whole or not there; a lock keeps two processes
    from building it twice. Nothing is ever removed because it is old. Without `builds` only what stands is found.
    """

    def __init__(self, root: Path | None = None, *, builds: bool = True) -> None:
        self.root = cache_dir() / "indexes" if root is None else Path(root)
        self._builds = builds

    def path(self, key: Mapping[str, Any]) -> Path:
        """Return where the folder of a key lies, built or not: ``ROOT/KIND-HASH``, 16 hex digits of its sha256."""
        text = json.dumps(key, ensure_ascii=False, sort_keys=True, allow_nan=False, separators=(",", ":"))
        return self.root / f"{key['kind']}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def get(self, key: Mapping[str, Any], build: Callable[[Path], None], *, resumes: bool = False) -> Path:
        """Return the folder that `build` made for a key, now or earlier.

        `key`: everything that decides what the folder holds, as JSON; ``kind`` opens the folder's name.
        `build`: fills the empty folder it is given. What it raises passes through, and nothing of the folder stays.
        `resumes`: what `build` left stays when it fails or is killed; it knows by itself what of that is whole.
        """
        from filelock import FileLock

        place = self.path(key)
        if (place / KEY_FILE).is_file():
            return place
        if not self._builds:
            raise _NotBuiltError
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with FileLock(self.root / f".{place.name}.lock"):
                # Another process may have built it while this one waited.
                if not (place / KEY_FILE).is_file():
                    self._build(place, key, build, resumes)
        except OSError as error:
            raise QuadragError(
                f"cannot build the index {place} ({error}); expected a folder that can be written, "
                "name another with QUADRAG_CACHE"
            ) from error
        return place

    def open(
        self,
        key: Mapping[str, Any],
        build: Callable[[Path], None],
        read: Callable[[Path], _Index],
        *,
        resumes: bool = False,
    ) -> _Index:
        """Return what `read` makes of the folder that `get` returns; a damaged one raises QuadragError."""
        folder = self.get(key, build, resumes=resumes)
        try:
            return read(folder)
        except (OSError, EOFError, ValueError, TypeError, RuntimeError) as error:
            raise QuadragError(
                f"{folder} is no index that can be read ({one_line(error)}); remove it, and it is built again"
            ) from error

    def _build(self, place: Path, key: Mapping[str, Any], build: Callable[[Path], None], resumes: bool) -> None:
        aside = self.root / f".{place.name}.part"
        # Under the lock nobody else is at it: what a killed build left is litter.
        for stray in [place] if resumes else [place, aside]:
            shutil.rmtree(stray, ignore_errors=True)
        aside.mkdir(exist_ok=True)
        try:
            build(aside)
            write_text(aside / KEY_FILE, json.dumps(key, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
            aside.rename(place)
        finally:
            if not resumes:
                shutil.rmtree(aside, ignore_errors=True)


@dataclass(slots=True)
class Indexes:
    """The passages that are searched and their key, and where indexes over them are kept.

    `found` is what the record of a run has of the indexes.
    """

    passages: PassageStore
    key: Mapping[str, Any]
    store: IndexStore
    found: dict[str, Any] = field(default_factory=dict)

"""BM25 over a passage store, by bm25s: Lucene's variant, every score computed when the index is built.

The score of passage d for query q is the sum over q's terms t, each as often as it stands there, of
``idf(t) * tf / (tf + k1 * (1 - b + b * |d| / avgdl))`` with ``idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))``: Robertson
and Zaragoza, "The Probabilistic Relevance Framework", as Kamphuis et al. (ECIR 2020) write Lucene's form exactly.

An index is one or more shards, runs of passages that are searched apart: terms are counted shard by shard, scores are
then computed from the df, N and mean length of all, and the best of every shard are merged. Rows and scores are those
of one shard. Memory is bounded by the shard, but for the words of the vocabulary.

bm25s holds, saves and maps the scores. Its loops over passages, its sums and its choice of the best stand aside: the
matrix is laid out from counts, whole arrays at a time; not every score is added (`maxscore.py`); and equal scores go to
the lower row, where bm25s leaves them to chance. Sums are taken in one order, in 32 bits, compiled or not: results do
not depend on what is installed.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from quadrag.errors import QuadragError

from .maxscore import GROUP, Entries, Floats, Ints, Kernel, add, add_compiled, find, look_up, look_up_compiled
from .passages import Hits, PassageStore, Rows
from .terms import Counts, analyser, count
from .terms import describe as describe_terms

K1, B, METHOD = 1.2, 0.75, "lucene"
VERSION = 2  # of what stands in the folder, for the key of an index
_TERMS_FILE = "terms.json"
_VOCABULARY_FILE = "vocabulary.json"
_SHARD = 1 << 25  # a shard is full with so many scores: building holds 10 bytes for each, a search maps 8
_AT_ONCE = 1 << 20  # scores computed in one go

# numpy takes about 1 ns a score more than compiled code, which takes a second to be compiled: worth it from about this
# many scores of the queries' terms, those that need not be added included.
_WORTH_COMPILING = 800_000_000


class Bm25Index:
    """An index in a folder, its arrays memory-mapped; rows are those of the store it was built from."""

    def __init__(self, folder: Path) -> None:
        """Open the index in a folder.

        Raises:
            QuadragError: the folder holds none that can be read, or the package of its terms cannot be used.
        """
        import bm25s

        try:
            described = json.loads((folder / _TERMS_FILE).read_text(encoding="utf-8"))
            self.terms: str = described["name"]
            vocabulary = json.loads((folder / _VOCABULARY_FILE).read_text(encoding="utf-8"))
            self._numbers = {term: number for number, term in enumerate(vocabulary)}
            self._shards = [
                bm25s.BM25.load(folder / str(n), mmap=True, load_vocab=False, backend="numpy")
                for n in range(described["shards"])
            ]
        except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise QuadragError(
                f"{folder} holds no BM25 index that can be read ({error}); remove the folder to build it again"
            ) from error
        self.folder = folder
        self._highest = [np.zeros(len(self._numbers), np.float32) for _ in self._shards]
        self._analyse = analyser(self.terms)

    @classmethod
    def open(cls, folder: Path) -> Bm25Index:
        """Open the index in a folder; the same as the constructor."""
        return cls(folder)

    @staticmethod
    def describe(terms: str) -> dict[str, Any]:
        """Return what decides an index beside the passages, for its key.

        Raises:
            QuadragError: there are no such terms, or their package cannot be used.
        """
        settings = {"method": METHOD, "k1": K1, "b": B, "bm25s": version("bm25s"), "format": VERSION}
        return {"terms": describe_terms(terms), **settings}

    @classmethod
    def build(cls, store: PassageStore, folder: Path, terms: str = "unigram", workers: int | None = None) -> Bm25Index:
        """Index a store's passages.

        Args:
            store: the passages; row r of the index is its row r.
            folder: where the files go; it is there.
            terms: ``unigram``, ``jieba`` or ``rjieba``.
            workers: processes that count terms; None decides by the store's size.

        Returns:
            The index, open.

        Raises:
            QuadragError: there are no such terms, or their package cannot be used.
        """
        _save(count(store, terms, workers), folder, terms)
        return cls(folder)

    def __len__(self) -> int:
        return sum(int(shard.scores["num_docs"]) for shard in self._shards)

    def search(self, queries: Sequence[str], k: int, within: Rows | None = None) -> list[Hits]:
        """Find the best passages for each query.

        Args:
            queries: any texts; terms that no passage holds add nothing.
            k: passages a query at most; there are fewer where fewer hold one of its terms.
            within: the rows that may be found, ascending; None is all. Scores are those of the whole index.

        Returns:
            Per query, row and score (above 0), best first, equal scores by row.
        """
        found = [self._known(query) for query in queries]
        spans = [shard.scores["indptr"] for shard in self._shards]
        additions = sum(int(((its[ids + 1] - its[ids]) * times).sum()) for its in spans for ids, times in found)
        adding, looking = (
            _compiled() if additions >= _WORTH_COMPILING or _compiled.cache_info().currsize else None
        ) or (
            add,
            look_up,
        )
        best: list[Hits] = [[] for _ in found]
        wanted = None if within is None else np.bincount(within, minlength=len(self)) > 0
        first = 0
        for shard, highest in zip(self._shards, self._highest, strict=True):
            sums = np.empty(-(-shard.scores["num_docs"] // GROUP) * GROUP, np.float32)
            these = None if wanted is None else wanted[first : first + shard.scores["num_docs"]]
            for hits, (ids, times) in zip(best, found, strict=True):
                if len(ids) and k > 0:
                    entries = _entries(shard.scores, highest, ids, times)
                    hits += [(first + row, score) for row, score in find(entries, k, sums, adding, looking, these)]
            first += shard.scores["num_docs"]
        # Sorting leaves equal scores as they are: by row.
        return [sorted(hits, key=lambda hit: -hit[1])[: max(k, 0)] for hits in best]

    def _known(self, query: str) -> tuple[Ints, Ints]:
        """Return the numbers of a query's known terms, in order of appearance, and how often each stands there."""
        numbers = self._numbers
        times = Counter(numbers[term] for term in self._analyse(query) if term in numbers)
        return np.fromiter(times.keys(), np.int64, len(times)), np.fromiter(times.values(), np.int64, len(times))


def _entries(scores: dict[str, Any], highest: Floats, ids: Ints, times: Ints) -> Entries:
    """Return the entries of terms in a shard; `highest` takes the highest score of each when it is first wanted."""
    # Rows without a sign: no check for indexes from the end, which saves compiled code a third of the time.
    data, rows = scores["data"].view(np.ndarray), scores["indices"].view(np.ndarray).view(np.uint32)
    starts, stops = scores["indptr"][ids], scores["indptr"][ids + 1]
    for term, start, stop in zip(ids.tolist(), starts.tolist(), stops.tolist(), strict=True):
        if not highest[term] and start < stop:
            highest[term] = data[start:stop].max()
    return Entries(data, rows, starts, stops, times, highest[ids].astype(float) * times)


def _save(blocks: Iterable[Counts], folder: Path, terms: str) -> None:
    """Write an index: the counts of each shard, put aside; then, from what all of them hold, each shard's scores."""
    import bm25s

    numbers: dict[str, int] = {}
    passages, rows, length, shards = np.zeros(0, np.int64), 0, 0, 0
    with TemporaryDirectory(dir=folder) as aside:
        for shard in _shards(blocks, numbers):
            np.savez(Path(aside, f"{shards}.npz"), **shard._asdict())
            passages = shard.passages + np.pad(passages, (0, len(numbers) - len(passages)))
            rows, length, shards = rows + len(shard.lengths), length + int(shard.lengths.sum()), shards + 1
        idf = _idf(passages, rows)
        for n in range(shards):
            with np.load(Path(aside, f"{n}.npz")) as kept:
                shard = Counts(**kept)
            index = bm25s.BM25(k1=K1, b=B, method=METHOD, backend="numpy")
            index.scores, index.vocab_dict = _matrix(shard, idf, length / rows or 1), {}
            index.nonoccurrence_array = None
            index.save(folder / str(n), show_progress=False)
    described = {**describe_terms(terms), "shards": shards}
    (folder / _TERMS_FILE).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    (folder / _VOCABULARY_FILE).write_text(json.dumps(list(numbers), ensure_ascii=False), encoding="utf-8")


def _shards(found: Iterable[Counts], numbers: dict[str, int]) -> Iterator[Counts]:
    """Join blocks into shards; `numbers` takes the terms as they appear, and a shard's `passages` go by them."""
    ids: list[Ints] = []
    blocks: list[Counts] = []
    for block in found:
        ids.append(np.array([numbers.setdefault(t, len(numbers)) for t in block.terms], dtype=np.int64))
        blocks.append(block._replace(terms=[]))  # for memory's sake: each block's words are strings of its own
        if sum(len(each.rows) for each in blocks) >= _SHARD:
            yield _join(ids, blocks, len(numbers))
            ids, blocks = [], []
    if blocks:
        yield _join(ids, blocks, len(numbers))


def _join(ids: list[Ints], blocks: list[Counts], terms: int) -> Counts:
    """Lay out the counts of blocks, which are let go one by one, as those of one block."""
    passages = np.zeros(terms, np.int64)
    for its, block in zip(ids, blocks, strict=True):
        passages[its] += block.passages
    lengths = np.concatenate([block.lengths for block in blocks])
    rows = np.empty(passages.sum(), np.int32)
    frequencies = np.empty(len(rows), np.result_type(*(block.frequencies for block in blocks)))
    heads, start = np.cumsum(passages) - passages, 0
    for its in ids:
        block = blocks.pop(0)
        # Each term's entries go where those of the blocks before ended.
        before = np.cumsum(block.passages) - block.passages
        places = np.repeat(heads[its] - before, block.passages) + np.arange(len(block.rows))
        heads[its] += block.passages
        rows[places] = block.rows + start
        frequencies[places] = block.frequencies
        start += len(block.lengths)
    return Counts([], passages, rows, frequencies, lengths)


def _matrix(shard: Counts, idf: Floats, mean: float) -> dict[str, Any]:
    """Lay out a shard's scores as bm25s keeps them: by term, then by row; `mean` is the length of a passage."""
    passages = np.pad(shard.passages, (0, len(idf) - len(shard.passages)))
    norms = K1 * ((1 - B) + B * shard.lengths / mean)
    data = np.repeat(idf, passages)
    for start in range(0, len(data), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        frequencies = shard.frequencies[here]
        data[here] *= frequencies / (norms[shard.rows[here]] + frequencies)
    spans = np.concatenate([[0], np.cumsum(passages)])
    return {"data": data, "indices": shard.rows, "indptr": spans, "num_docs": len(shard.lengths)}


def _idf(passages: Ints, total: int) -> Floats:
    # Each count once, by math.log as bm25s does: numpy's may differ in the last bit.
    counts, which = np.unique(passages, return_inverse=True)
    values = [math.log(1 + (total - df + 0.5) / (df + 0.5)) for df in counts.tolist()]
    return np.array(values, dtype=np.float32)[which]


@lru_cache
def _compiled() -> tuple[Kernel, Kernel] | None:
    """Return `add` and `look_up`, compiled at their first call; None where numba is lacking, or told not to compile."""
    try:
        import numba
    except ImportError:
        return None
    # Not kept on disk: it compiles in less time than the search of a few hundred events takes without it.
    if numba.config.DISABLE_JIT:
        return None
    return numba.njit(nogil=True)(add_compiled), numba.njit(nogil=True)(look_up_compiled)

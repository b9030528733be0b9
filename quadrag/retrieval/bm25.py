"""BM25 over a passage store, by bm25s: Lucene's variant, every score computed when the index is built.

The score of passage d for query q is the sum over q's terms t, each as often as it stands there, of
``idf(t) * tf / (tf + k1 * (1 - b + b * |d| / avgdl))`` with ``idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))``: Robertson
and Zaragoza, "The Probabilistic Relevance Framework", as Kamphuis et al. (ECIR 2020) write Lucene's form exactly.

bm25s holds, saves and maps the scores. They are laid out here from counts, whole arrays at a time, and added in the
order of the query's terms, in 32 bits, compiled or not; equal sums go to the lower row, where bm25s leaves them to
chance. So results do not depend on what is installed.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quadrag.errors import QuadragError

from .passages import Hits, PassageStore
from .terms import Counts, analyser, count
from .terms import describe as describe_terms

K1, B, METHOD = 1.2, 0.75, "lucene"
VERSION = 3  # of what stands in the folder, for the key of an index
_TERMS_FILE = "terms.json"
_VOCABULARY_FILE = "vocabulary.json"
_AT_ONCE = 1 << 20  # scores computed in one go
# numpy takes 1 to 3 ns a score more than compiled code, which takes a second to be compiled.
_WORTH_COMPILING = 800_000_000  # scores to add

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Adding = Callable[..., None]


class Bm25Index:
    """An index in a folder, its arrays memory-mapped; rows are those of the store it was built from."""

    def __init__(self, folder: Path) -> None:
        import bm25s

        try:
            self.terms: str = json.loads((folder / _TERMS_FILE).read_text(encoding="utf-8"))["name"]
            vocabulary = json.loads((folder / _VOCABULARY_FILE).read_text(encoding="utf-8"))
            self._numbers = {term: number for number, term in enumerate(vocabulary)}
            scores = bm25s.BM25.load(folder, mmap=True, load_vocab=False, backend="numpy").scores
        except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise QuadragError(
                f"{folder} holds no BM25 index that can be read ({error}); remove the folder to build it again"
            ) from error
        self.folder = folder
        self._length = int(scores["num_docs"])
        # Rows without a sign: no check for indexes from the end, which saves compiled code a third of the time.
        self._data, self._rows = scores["data"].view(np.ndarray), scores["indices"].view(np.ndarray).view(np.uint32)
        self._spans = np.asarray(scores["indptr"])
        self._analyse = analyser(self.terms)

    @staticmethod
    def describe(terms: str) -> dict[str, Any]:
        """Return what decides an index beside the passages, for its key."""
        settings = {"method": METHOD, "k1": K1, "b": B, "bm25s": version("bm25s"), "format": VERSION}
        return {"terms": describe_terms(terms), **settings}

    @classmethod
    def build(cls, store: PassageStore, folder: Path, terms: str = "unigram") -> Bm25Index:
        """Index a store's passages, row for row, in a folder that is there."""
        import bm25s

        numbers: dict[str, int] = {}
        index = bm25s.BM25(k1=K1, b=B, method=METHOD, backend="numpy")
        index.scores, index.vocab_dict = _scores(_join(count(store, terms), numbers)), {}
        index.nonoccurrence_array = None
        index.save(folder, show_progress=False)
        (folder / _TERMS_FILE).write_text(json.dumps(describe_terms(terms), indent=1) + "\n", encoding="utf-8")
        (folder / _VOCABULARY_FILE).write_text(json.dumps(list(numbers), ensure_ascii=False), encoding="utf-8")
        return cls(folder)

    def __len__(self) -> int:
        return self._length

    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """Return row and score (above 0) of at most k passages a query, best first, equal scores by row.

        Terms that no passage holds add nothing.
        """
        found = [self._known(query) for query in queries]
        additions = sum(int(((self._spans[ids + 1] - self._spans[ids]) * times).sum()) for ids, times in found)
        add = (_compiled() if additions >= _WORTH_COMPILING else None) or _add
        best: list[Hits] = []
        for ids, times in found:
            sums = np.zeros(len(self), np.float32)
            add(sums, self._data, self._rows, self._spans[ids], self._spans[ids + 1], times)
            best.append(_top(sums, k) if k > 0 else [])
        return best

    def _known(self, query: str) -> tuple[Ints, Ints]:
        """Return the numbers of a query's known terms, in order of appearance, and how often each stands there."""
        numbers = self._numbers
        times = Counter(numbers[term] for term in self._analyse(query) if term in numbers)
        return np.fromiter(times.keys(), np.int64, len(times)), np.fromiter(times.values(), np.int64, len(times))


def _add(sums: Floats, data: Floats, rows: Any, starts: Ints, stops: Ints, times: Ints) -> None:
    """Add the entries of each term, which lie from `starts` to `stops`, to `sums`, `times` times."""
    for start, stop, often in zip(starts.tolist(), stops.tolist(), times.tolist(), strict=True):
        for _ in range(often):
            np.add.at(sums, rows[start:stop], data[start:stop])


def _add_by_loops(sums: Floats, data: Floats, rows: Any, starts: Ints, stops: Ints, times: Ints) -> None:
    for term in range(len(starts)):
        places, values = rows[starts[term] : stops[term]], data[starts[term] : stops[term]]
        for entry in range(len(places)):
            for _ in range(times[term]):
                sums[places[entry]] += values[entry]


@lru_cache
def _compiled() -> Adding | None:
    """Return what adds, compiled at its first call; None where numba is lacking, or told not to compile."""
    try:
        import numba
    except ImportError:
        return None
    if numba.config.DISABLE_JIT:
        return None
    compiled: Adding = numba.njit(nogil=True)(_add_by_loops)
    return compiled


def _top(scores: Floats, k: int) -> Hits:
    """Return row and score of the `k` highest scores above 0, best first, equal scores by row."""
    # The k-th best of the maxima of groups is at most the k-th best score: few rows are left to sort. Eight groups for
    # each score wanted, since a group gives one maximum however many of the best it holds.
    groups = min(8 * k, len(scores))
    floor = np.float32(0)
    if groups >= k:
        maxima = scores[: len(scores) // groups * groups].reshape(-1, groups).max(axis=0)
        floor = np.partition(maxima, -k)[-k]
    rows = np.flatnonzero(scores >= floor if floor > 0 else scores > 0)
    best = rows[np.argsort(-scores[rows], kind="stable")[:k]]
    return list(zip(best.tolist(), scores[best].tolist(), strict=True))


def _join(found: Iterable[Counts], numbers: dict[str, int]) -> Counts:
    """Lay out the counts of blocks, which are let go one by one, as those of one; `numbers` takes the terms."""
    ids: list[Ints] = []
    blocks: list[Counts] = []
    for block in found:
        ids.append(np.array([numbers.setdefault(term, len(numbers)) for term in block.terms], dtype=np.int64))
        blocks.append(block._replace(terms=[]))  # for memory's sake: each block's words are strings of its own
    passages = np.zeros(len(numbers), np.int64)
    for its, block in zip(ids, blocks, strict=True):
        passages[its] += block.passages
    lengths = np.concatenate([np.zeros(0, np.int64), *(block.lengths for block in blocks)])
    rows = np.empty(passages.sum(), np.int32)
    frequencies = np.empty(len(rows), np.result_type(np.uint8, *(block.frequencies for block in blocks)))
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


def _scores(counts: Counts) -> dict[str, Any]:
    total = len(counts.lengths)
    norms = K1 * ((1 - B) + B * counts.lengths / (int(counts.lengths.sum()) / (total or 1) or 1))
    data = np.repeat(_idf(counts.passages, total), counts.passages)
    for start in range(0, len(data), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        frequencies = counts.frequencies[here]
        data[here] *= frequencies / (norms[counts.rows[here]] + frequencies)
    spans = np.concatenate([[0], np.cumsum(counts.passages)])
    return {"data": data, "indices": counts.rows, "indptr": spans, "num_docs": total}


def _idf(passages: Ints, total: int) -> Floats:
    # Each count once, by math.log as bm25s does: numpy's may differ in the last bit.
    counts, which = np.unique(passages, return_inverse=True)
    values = [math.log(1 + (total - df + 0.5) / (df + 0.5)) for df in counts.tolist()]
    return np.array(values, dtype=np.float32)[which]

"""BM25 over a passage store, by bm25s: Lucene's variant, every score computed when the index is built.

The score of passage d for query q is the sum over q's terms t, each as often as it stands there, of
``idf(t) * tf / (tf + k1 * (1 - b + b * |d| / avgdl))`` with ``idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))``: Robertson
and Zaragoza, "The Probabilistic Relevance Framework", as Kamphuis et al. (ECIR 2020) write Lucene's form exactly.

bm25s holds, saves, maps and adds the scores, in the order of the query's terms, in 32 bits. They are laid out here from
counts, whole arrays at a time, and equal sums go to the lower row, where bm25s leaves them to chance.

A text becomes terms by name:

* ``unigram``: Lucene's standard analyser, which the authors' search server runs, told as one pattern. Each ideograph is
  a term; other letters and digits make words, which a full stop, a comma and the like join where the Unicode rules for
  words (UAX #29, WB6-7 and WB11-12) do: ``56.3``, ``1,000``, ``gov.cn``. It parts from Lucene in Korean and katakana,
  which are one character a term here and words there, and in emoji, which are no terms here.
* ``jieba``: words of jieba 0.42.1, precise mode, with its own dictionary whatever the process adds to the global one,
  cut as the overlap metrics cut them: in a quarter of jieba's time.
* ``rjieba``: the same by the Rust port alone, twice as fast, with other words in one chunk of 128 characters of twenty.

Terms are lower-cased, and hold a letter or a digit: blanks and punctuation are none. No stop words, no stemming.
"""

import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from quadrag import parallel
from quadrag.errors import unknown_name
from quadrag.printing import Progress

from .passages import Hits, PassageStore
from .search import Indexes, Ranker, Retriever

K1, B, METHOD = 1.2, 0.75, "lucene"
VERSION = 4  # of what stands in the folder, for the key of an index
_AT_ONCE = 1 << 20  # scores computed in one go
TERMS_VERSION = 1  # goes up when the terms of a text change, so that indexes are built again

# Radicals and ideographs, their numerals and repetition marks, kana, Hangul.
_CJK = (
    "\u1100-\u11ff\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_LETTER = rf"[^\W\d_{_CJK}]"
_UNIGRAM = re.compile(
    rf"[{_CJK}]|[^\W{_CJK}](?:[^\W{_CJK}]|(?<={_LETTER})[.:'’‘·．＇：](?={_LETTER})|(?<=\d)[.,;'’‘．＇，；](?=\d))*"
)

_NAMES = ("unigram", "jieba", "rjieba")


def analyser(name: str) -> Callable[[str], list[str]]:
    """Return the function from a text to its terms, in order and with repetitions."""
    cut = _cutter(name)
    return lambda text: list(filter(None, map(_term, cut(text))))


def describe_terms(name: str) -> dict[str, Any]:
    _cutter(name)
    return {"name": name, "package": None if name == "unigram" else version(name), "version": TERMS_VERSION}


def count(store: PassageStore, name: str) -> tuple[dict[str, int], Any]:
    """Return the numbers of all terms, and how often each stands in each passage, as a matrix by columns."""
    numbers: dict[str, int] = {}
    blocks = []
    for terms, block in parallel.each(partial(_count, name), store.blocks()):
        columns = np.array([numbers.setdefault(term, len(numbers)) for term in terms], np.int32)
        blocks.append((block.data, columns[block.indices], block.indptr))
    shapes = [(len(starts) - 1, len(numbers)) for *_, starts in blocks]
    parts = [scipy.sparse.csr_array(block, shape) for block, shape in zip(blocks, shapes, strict=True)]
    return numbers, scipy.sparse.vstack(parts, format="csr").tocsc()


def _count(name: str, texts: Iterable[str]) -> tuple[list[str], Any]:
    cut = _cutter(name)
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # a term that is new gets the next number
    terms, ends = array("i"), [0]
    for text in texts:
        terms.extend(map(numbers.__getitem__, filter(None, map(_term, cut(text)))))
        ends.append(len(terms))
    ones = np.ones(len(terms), np.int32)
    matrix = scipy.sparse.csr_array((ones, np.array(terms, np.int32), ends), (len(ends) - 1, len(numbers)))
    matrix.sum_duplicates()
    return list(numbers), matrix


@lru_cache(maxsize=1 << 17)
def _term(word: str) -> str:
    return word.lower() if any(map(str.isalnum, word)) else ""


@lru_cache
def _cutter(name: str) -> Callable[[str], Iterable[str]]:
    if name not in _NAMES:
        raise unknown_name("terms", name, _NAMES)
    if name == "unigram":
        return _UNIGRAM.findall
    if name == "rjieba":
        import rjieba

        rust: Callable[[str], Iterable[str]] = rjieba.cut
        return rust
    from quadrag.metrics._shared.words import cut

    return cut


class Bm25(Retriever):
    def describe(self) -> dict[str, Any]:
        own = {"method": METHOD, "k1": K1, "b": B, "bm25s": version("bm25s"), "format": VERSION}
        return {"bm25": {"terms": describe_terms(self.settings.tokenizer), **own}}

    def open(self, indexes: Indexes) -> Ranker:
        terms = self.settings.tokenizer

        def build(folder: Path) -> None:
            with Progress(f"indexing for BM25 over {terms} terms", len(indexes.passages)):
                build_index(indexes.passages, folder, terms)

        key = {"kind": "bm25", "passages": indexes.key, **self.describe()["bm25"]}
        return indexes.store.open(key, build, partial(open_index, terms=terms))


def build_index(store: PassageStore, folder: Path, terms: str) -> None:
    import bm25s

    index = bm25s.BM25(k1=K1, b=B, method=METHOD, backend="numpy")
    index.vocab_dict, counts = count(store, terms)
    index.scores, index.nonoccurrence_array = _scores(counts), None
    index.save(folder, show_progress=False)


def open_index(folder: Path, terms: str) -> Ranker:
    """Return what ranks passages by an index whose arrays stay on disk.

    It returns row and score (above 0) of at most k passages a query, best first, equal scores by row.
    """
    import bm25s

    index = bm25s.BM25.load(folder, mmap=True, backend="numpy")
    for name in ("data", "indices", "indptr"):
        index.scores[name] = index.scores[name].view(np.ndarray)  # slices of a memmap take a fifth of a search's time
    analyse, numbers = analyser(terms), index.vocab_dict

    def rank(queries: Sequence[str], k: int) -> list[Hits]:
        # Each term as often as it stands in the query, at its first place.
        known = ([numbers[term] for term in Counter(analyse(query)).elements() if term in numbers] for query in queries)
        return [_top(index.get_scores_from_ids(ids), k) if ids else [] for ids in known]

    return rank


def _top(scores: npt.NDArray[np.float32], k: int) -> Hits:
    """Return row and score of the `k` highest scores above 0, best first, equal scores by row."""
    # The k-th best of the maxima of groups is at most the k-th best score: few rows are left to sort. Eight groups for
    # each score wanted, since a group gives one maximum however many of the best it holds.
    groups, lowest = 8 * k, 0
    if groups <= len(scores):
        maxima = scores[: len(scores) // groups * groups].reshape(-1, groups).max(axis=0)
        lowest = np.partition(maxima, -k)[-k]
    rows = np.flatnonzero(scores >= lowest if lowest > 0 else scores > 0)
    best = rows[np.argsort(-scores[rows], kind="stable")[:k]]
    return list(zip(best.tolist(), scores[best].tolist(), strict=True))


def _scores(counts: Any) -> dict[str, Any]:
    total, _ = counts.shape
    lengths = counts.sum(axis=1)
    norms = K1 * ((1 - B) + B * lengths / (lengths.mean() or 1 if total else 1))
    holding = np.diff(counts.indptr)
    # Each number once, by math.log as bm25s does: numpy's may differ in the last bit.
    numbers, which = np.unique(holding, return_inverse=True)
    idf = [math.log(1 + (total - df + 0.5) / (df + 0.5)) for df in numbers.tolist()]
    data = np.repeat(np.array(idf, np.float32)[which], holding)
    for start in range(0, len(data), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        data[here] *= counts.data[here] / (norms[counts.indices[here]] + counts.data[here])
    return {"data": data, "indices": counts.indices, "indptr": counts.indptr, "num_docs": total}

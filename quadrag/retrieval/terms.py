"""Terms: what BM25 counts. A text becomes terms by name, a passage store counts.

* ``unigram``: Lucene's standard analyser, which the authors' search server runs, told as one pattern. Each ideograph is
  a term; other letters and digits make words, which a full stop, a comma and the like join where the Unicode rules for
  words (UAX #29, WB6-7 and WB11-12) do: ``56.3``, ``1,000``, ``gov.cn``. It parts from Lucene in Korean and katakana,
  which are one character a term here and words there, and in emoji, which are no terms here.
* ``jieba``: words of jieba 0.42.1, precise mode, with its own dictionary whatever the process adds to the global one,
  cut as the overlap metrics cut them: in a quarter of jieba's time.
* ``rjieba``: the same by the Rust port alone, twice as fast, with other words in one chunk of 128 characters of twenty.

Terms are lower-cased, and hold a letter or a digit: blanks and punctuation are none. No stop words, no stemming.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse

from quadrag import parallel
from quadrag.errors import unknown_name

from .passages import PassageStore

VERSION = 1  # goes up when the terms of a text change, so that indexes are built again

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
    """Return what decides the terms, for the key of an index."""
    _cutter(name)
    return {"name": name, "package": None if name == "unigram" else version(name), "version": VERSION}


def count(store: PassageStore, name: str) -> Iterator[tuple[list[str], Any]]:
    """Count the terms of all passages, block by block in their order, where the command has work done.

    Of each block come its terms, in order of appearance, and a sparse matrix of int32 [passages, terms], by rows.
    """
    return parallel.each(partial(_count, name), store.blocks())


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

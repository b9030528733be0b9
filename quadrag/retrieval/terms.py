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
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quadrag import parallel
from quadrag.errors import QuadragError, unknown_name

from .passages import PassageStore

VERSION = 1  # goes up when the terms of a text change, so that indexes are built again

Cut = Callable[[str], Iterable[str]]

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
_BLOCK = 8192  # passages counted at once: a few megabytes


class Counts(NamedTuple):
    """How often each term stands in each passage of a block.

    `terms` are the block's, in order of appearance; the next two arrays go by term, then by row: term `t` has
    ``passages[t]`` entries, the rows of the passages that hold it (from 0 in the block) and how often each does.
    `lengths` are the passages' numbers of terms.
    """

    terms: list[str]
    passages: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    frequencies: npt.NDArray[np.unsignedinteger[Any]]
    lengths: npt.NDArray[np.int64]


def analyser(name: str) -> Callable[[str], list[str]]:
    """Return the function from a text to its terms, in order and with repetitions."""
    cut, known = _cutter(name), _Terms()
    return lambda text: [term for word in cut(text) if (term := known[word])]


def describe(name: str) -> dict[str, Any]:
    """Return what decides the terms, for the key of an index."""
    _cutter(name)
    package = None if name == "unigram" else version(name)
    return {"name": name, "package": package, "version": VERSION}


def count(store: PassageStore, name: str) -> Iterator[Counts]:
    """Count the terms of all passages, block by block in their order, where the command has work done."""
    _cutter(name)
    starts = range(0, len(store), _BLOCK)
    return parallel.each(partial(_count, name), (list(store.texts(start, start + _BLOCK)) for start in starts))


def _count(name: str, texts: Iterable[str]) -> Counts:
    cut, numbers = _cutter(name), _Numbers()
    number = numbers.__getitem__
    found = array("i")
    words = []
    for text in texts:
        before = len(found)
        found.extend(map(number, cut(text)))
        words.append(len(found) - before)
    # What is done with is let go: a block of long passages has 14 million terms.
    terms = np.array(found, dtype=np.int32)
    del found
    rows = np.repeat(np.arange(len(words), dtype=np.int32), words)
    held = terms >= 0
    terms, rows = terms[held], rows[held]
    lengths = np.bincount(rows, minlength=len(words))
    # Sorted as one number, so that equal pairs of term and row lie side by side.
    pairs = terms.astype(np.int64)
    pairs <<= 32
    pairs |= rows
    del terms, rows, held
    pairs.sort()
    fresh = np.ones(len(pairs), bool)
    np.not_equal(pairs[1:], pairs[:-1], out=fresh[1:])
    first = np.flatnonzero(fresh)
    frequencies = np.diff(first, append=len(pairs))
    pairs = pairs[first]
    return Counts(
        list(numbers.terms),
        np.bincount(pairs >> 32, minlength=len(numbers.terms)),
        (pairs & 0xFFFFFFFF).astype(np.int32),
        frequencies.astype(np.min_scalar_type(frequencies.max(initial=0))),
        lengths,
    )


def _term(word: str) -> str:
    return word.lower() if any(map(str.isalnum, word)) else ""


class _Terms(dict[str, str]):
    """The term of each word seen: a word is looked at once."""

    def __missing__(self, word: str) -> str:
        term = self[word] = _term(word)
        return term


class _Numbers(dict[str, int]):
    """The number of each word's term, -1 for a word that is none; `terms` are numbered as they appear."""

    def __init__(self) -> None:
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        term = _term(word)
        number = self[word] = self.terms.setdefault(term, len(self.terms)) if term else -1
        return number


@lru_cache
def _cutter(name: str) -> Cut:
    if name not in _NAMES:
        raise unknown_name("terms", name, _NAMES)
    if name == "unigram":
        return _UNIGRAM.findall
    cut: Cut
    try:
        if name == "rjieba":
            import rjieba

            cut = rjieba.cut
        else:
            from quadrag.metrics._shared.words import cut as cut_words

            cut = cut_words
    except ImportError as error:
        raise QuadragError(
            f"terms {name!r} need the package {error.name}; install it with: pip install {error.name}"
        ) from None
    return cut

"""Fuzzy search over names: the scores of rank_bm25's `BM25Okapi` to the bit, from an inverted index in SQLite.

Robertson & Sparck Jones' idf, floored as rank_bm25 0.2.2 does (a negative one becomes `EPSILON` times the mean), and
Okapi's term weight with k1 1.5 and b 0.75. The sums run in the order of the query's terms, in float64, so that no bit
differs. The variant `music` is that of upstream's music domain: terms with an idf of 4 or less are deleted.
"""

import math
import sqlite3
import string
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

K1 = 1.5
B = 0.75
EPSILON = 0.25
MUSIC_LEAST_IDF = 4.0  # a term must be above it
_ABOVE_ZERO = math.ulp(0.0)
_FEW = 16  # lists this many times shorter than the names are merged; others are added up in an array over all names

Variant = Literal["okapi", "music"]
Ties = Literal["last", "first", "reached"]


_DELETED = str.maketrans("_", " ", string.punctuation.replace("_", ""))


def normalise(text: str) -> str:
    return " ".join(terms(text))


def terms(text: str) -> list[str]:
    """Cut a name into the terms that are compared and counted; accents and width stay."""
    return text.lower().translate(_DELETED).split()


class _Term(NamedTuple):
    idf: float
    ids: NDArray[np.int32]
    codes: NDArray[np.unsignedinteger[Any]]


def write(
    connection: sqlite3.Connection,
    name: str,
    names: Iterable[str],
    variant: Variant = "okapi",
    ties: Ties = "last",
) -> None:
    """Write the index of names into the tables `name`_terms and `name`_index; the caller commits.

    `ties`: order of equal scores: ``last`` index first, ``first`` index first, or as ``reached`` by going through the
    names of the query's first term, then the second's, which is music's.
    """
    numbers: dict[str, int] = {}  # in the order of first occurrence, which is that of rank_bm25's sum
    pairs: dict[tuple[int, int], int] = {}  # (occurrences in a name, length of the name) to a code
    of_term, of_name, of_pair = array("i"), array("i"), array("i")
    size = total = 0
    for index, text in enumerate(names):
        words = terms(text)
        size, total = index + 1, total + len(words)
        for word, count in Counter(words).items():
            of_term.append(numbers.setdefault(word, len(numbers)))
            of_name.append(index)
            of_pair.append(pairs.setdefault((count, len(words)), len(pairs)))
    weights = _weights(pairs, total / size) if pairs else np.zeros(0)
    codes = np.asarray(of_pair).astype(np.min_scalar_type(max(len(pairs) - 1, 0)).newbyteorder("<"))
    owner = np.asarray(of_term)
    frequencies = np.bincount(owner, minlength=len(numbers))
    idfs = _idfs(frequencies.tolist(), size, variant)
    order = np.argsort(owner, kind="stable")
    ends = np.cumsum(frequencies)
    ids, codes = np.asarray(of_name)[order].astype("<i4"), codes[order]

    def lines() -> Iterable[tuple[bytes, float, bytes, bytes]]:
        for word in sorted(numbers):
            number = numbers[word]
            if idfs[number]:
                part = slice(ends[number] - frequencies[number], ends[number])
                # Bytes: a name may hold half a surrogate pair, which SQLite's text cannot.
                key = word.encode("utf-8", "surrogatepass")
                yield key, idfs[number], ids[part].tobytes(), codes[part].tobytes()

    connection.execute(
        f"CREATE TABLE {name}_terms (term BLOB PRIMARY KEY, idf REAL, ids BLOB, codes BLOB) WITHOUT ROWID"
    )
    connection.executemany(f"INSERT INTO {name}_terms VALUES (?, ?, ?, ?)", lines())
    connection.execute(f"CREATE TABLE {name}_index (size INTEGER, ties TEXT, width INTEGER, weights BLOB)")
    row = (size, "reached" if variant == "music" else ties, codes.itemsize, weights.astype("<f8").tobytes())
    connection.execute(f"INSERT INTO {name}_index VALUES (?, ?, ?, ?)", row)


def _weights(pairs: Iterable[tuple[int, int]], mean_length: float) -> NDArray[np.float64]:
    count, length = np.array(list(pairs), dtype=np.int64).T
    return np.asarray(count * (K1 + 1) / (count + K1 * (1 - B + B * length / mean_length)))


def _idfs(frequencies: list[int], size: int, variant: Variant) -> list[float]:
    """One idf per term from the number of names that hold it; 0 for a term that finds nothing."""
    known = {count: math.log(size - count + 0.5) - math.log(count + 0.5) for count in set(frequencies)}
    if variant == "music":
        return [idf if (idf := known[frequency]) > MUSIC_LEAST_IDF else 0.0 for frequency in frequencies]
    total = 0.0
    for frequency in frequencies:  # not sum(), which is compensated from Python 3.12 on
        total += known[frequency]
    floor = EPSILON * (total / len(frequencies)) if frequencies else 0.0
    return [floor if (idf := known[frequency]) < 0 else idf for frequency in frequencies]


class Search:
    """Searches the index that `write` put under a name, for one thread at a time.

    Opening reads a few hundred bytes, a search the terms of its query.
    """

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        row = connection.execute(f"SELECT size, ties, width, weights FROM {name}_index").fetchone()
        self._connection = connection
        self._statement = f"SELECT idf, ids, codes FROM {name}_terms WHERE term = ?"
        self._size, self._ties = int(row[0]), str(row[1])
        self._code = np.dtype(f"<u{row[2]}")
        self._weights: NDArray[np.float64] = np.frombuffer(row[3], dtype="<f8")

    def find(self, query: str, limit: int = 10) -> list[tuple[int, float]]:
        """Return the indices and scores of the at most `limit` best names, best first, but for scores of 0.

        A repeated term counts as often as it stands there; a score is negative only where most names share most of
        their terms.
        """
        words = terms(query)
        terms_of = {word: term for word in dict.fromkeys(words) if (term := self._term(word))}
        query_terms = [terms_of[word] for word in words if word in terms_of]
        if not query_terms or limit < 1:
            return []
        ids, scores = self._scores(query_terms)
        zeros = 0
        if any(term.idf < 0 for term in query_terms):
            candidates = np.flatnonzero(scores)
            zeros = self._size - len(candidates)  # they take places before what is below them, but are not shown
        else:
            candidates = np.flatnonzero(scores >= self._least(list(terms_of.values()), ids, scores, limit))
        scores, ids = scores[candidates], candidates if ids is None else ids[candidates]
        order = np.lexsort((*self._order(ids, query_terms), -scores))
        above, below = order[scores[order] > 0][:limit], order[scores[order] < 0]
        best = np.concatenate([above, below[: max(limit - len(above) - zeros, 0)]])
        return list(zip(ids[best].tolist(), scores[best].tolist(), strict=True))

    def _term(self, word: str) -> _Term | None:
        row = self._connection.execute(self._statement, (word.encode("utf-8", "surrogatepass"),)).fetchone()
        return _Term(row[0], np.frombuffer(row[1], "<i4"), np.frombuffer(row[2], self._code)) if row else None

    def _scores(self, query_terms: list[_Term]) -> tuple[NDArray[Any] | None, NDArray[np.float64]]:
        if sum(len(term.ids) for term in query_terms) * _FEW < self._size:
            ids = np.unique(np.concatenate([term.ids for term in query_terms]))
            scores = np.zeros(len(ids))
        else:
            ids, scores = None, np.zeros(self._size)
        for term in query_terms:
            at = term.ids if ids is None else np.searchsorted(ids, term.ids)
            scores[at] += (term.idf * self._weights)[term.codes]
        return ids, scores

    def _least(self, terms: list[_Term], ids: NDArray[Any] | None, scores: NDArray[np.float64], limit: int) -> float:
        """A score above 0 that the best `limit` names reach; near the last of theirs, so that few others reach it."""
        enough = [term.ids for term in terms if len(term.ids) >= limit]
        if not enough:
            return _ABOVE_ZERO
        rarest = min(enough, key=len)
        rarest_scores = scores[rarest if ids is None else np.searchsorted(ids, rarest)]
        return float(np.partition(rarest_scores, -limit)[-limit])

    def _order(self, ids: NDArray[Any], query_terms: list[_Term]) -> tuple[NDArray[Any], ...]:
        """Keys that put names of equal score in order, the last key first."""
        if self._ties != "reached":
            return (ids if self._ties == "first" else -ids,)
        reached = np.full(len(ids), len(query_terms))
        for number, term in reversed(list(enumerate(query_terms))):
            reached[np.isin(ids, term.ids, assume_unique=True)] = number
        return ids, reached

"""The best passages for a query without adding every score of its terms: same rows, same scores to the last bit.

Terms that promise most for the entries to go through are added first. The passages that lead then are looked up in the
terms that are left, which tells how high the k-th best comes at least. Once what is left cannot lift most passages so
high, only those that it can lift are looked up: MaxScore of Turtle and Flood ("Query evaluation: strategies and
optimizations", 1995), term by term. The last few are summed anew in the query's order, and bounds leave room for
rounding: nothing depends on the way. Where too many are left in the end, everything is added in the query's order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .passages import Hits

GROUP = 256  # passages of which one maximum is taken; a buffer of sums is filled up to a multiple of it
_FIRST = 0.2  # the first bound is taken where so much is left of all,
_THEN = 0.4  # the next where so much of the k-th best
_PART = 4  # terms that are looked up at once
_LOOKUP = 100  # looking one score up takes as long as adding so many

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]
Kernel = Callable[..., None]


class Entries(NamedTuple):
    """The entries of a query's terms: those of term t lie from `starts[t]` to `stops[t]`, by row.

    The term stands `times[t]` times in the query; `bounds[t]` is the highest score that it gives, times included.
    """

    data: Floats
    rows: npt.NDArray[Any]
    starts: Ints
    stops: Ints
    times: Ints
    bounds: npt.NDArray[np.float64]

    def of(self, terms: Ints) -> tuple[Any, ...]:
        """Return what a kernel wants of these terms, in this order."""
        return self.data, self.rows, self.starts[terms], self.stops[terms], self.times[terms]


def find(entries: Entries, k: int, sums: Floats, add: Kernel, look_up: Kernel, wanted: Marks | None = None) -> Hits:
    """Return row and score of the `k` best passages, those above 0 alone, best first, equal scores by row.

    Args:
        entries: of one term or more, in the query's order.
        k: 1 or more.
        sums: one for each passage and more up to a multiple of `GROUP`; what stands in it is written over.
        add: one of the functions below.
        look_up: the other one.
        wanted: which passages may be found; None is all. With it every score is added.
    """
    lengths = entries.stops - entries.starts
    order = np.argsort(lengths / np.maximum(entries.bounds, 1e-30), kind="stable")
    # How many entries are left at each place of `order`, and what they give at most.
    left = np.append(lengths[order][::-1].cumsum()[::-1], 0)
    rest = np.append(entries.bounds[order][::-1].cumsum()[::-1], 0)
    slack = rest[0] * entries.times.sum() * 2.0**-22  # two sums of two passages each are off by 2**-24 an addition
    sums[:] = 0
    grouped = sums.reshape(GROUP, -1)
    done = len(order) if grouped.shape[1] < 2 * k or left[0] < len(sums) else int((rest > _FIRST * rest[0]).sum())
    done = done if wanted is None else len(order)
    start = 0
    while start < done < len(order):
        add(sums, *entries.of(order[start:done]))
        after = order[done:]
        # The best of each of the groups that hold the best: no need to have all the best.
        groups = np.argpartition(grouped.max(axis=0), -2 * k)[-2 * k :]
        leaders = grouped[:, groups].argmax(axis=0) * grouped.shape[1] + groups
        highest = sums[leaders]
        look_up(highest, leaders, *entries.of(after))
        floor = np.partition(highest, -k)[-k]
        least = np.float32(floor - rest[done] - slack)
        if least > 0:
            marks = sums >= least
            if np.count_nonzero(marks) * len(after) * _LOOKUP < left[done]:
                few = _rows(marks)
                highest = sums[few]
                for place in range(done, len(order), _PART):
                    look_up(highest, few, *entries.of(order[place : place + _PART]))
                    stay = highest >= floor - rest[min(place + _PART, len(order))] - slack
                    few, highest = few[stay], highest[stay]
                exact = np.zeros_like(few, np.float32)
                look_up(exact, few, *entries.of(np.arange(len(order))))
                return [(int(few[n]), score) for n, score in top(exact, k)]
        start, done = done, max(done + 1, int((rest > min(_THEN * floor, 0.6 * rest[done])).sum()))
    sums[:] = 0
    add(sums, *entries.of(np.arange(len(order))))
    if wanted is not None:
        sums[: len(wanted)] *= wanted
    return top(sums, k)


def top(scores: Floats, k: int) -> Hits:
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


def _rows(marks: Marks) -> Ints:
    """Return the rows that are marked, ascending; few are."""
    # Eight marks are one number to look at, and nearly all of these are 0.
    eights = np.flatnonzero(marks.view(np.uint64) != 0)
    rows: Ints = (eights[:, None] * 8 + np.arange(8))[marks.reshape(-1, 8)[eights]]
    return rows


# What adds entries, and what looks them up, for numpy and to be compiled: the same 32-bit additions in the same order.


def add(sums: Floats, data: Floats, rows: Any, starts: Ints, stops: Ints, times: Ints) -> None:
    """Add the entries of each term to `sums`, `times` times."""
    for start, stop, often in zip(starts.tolist(), stops.tolist(), times.tolist(), strict=True):
        for _ in range(often):
            np.add.at(sums, rows[start:stop], data[start:stop])


def look_up(sums: Floats, few: Ints, data: Floats, rows: Any, starts: Ints, stops: Ints, times: Ints) -> None:
    """Add the same to the sums of a few rows, which are ascending."""
    wanted = few.astype(rows.dtype)
    for start, stop, often in zip(starts.tolist(), stops.tolist(), times.tolist(), strict=True):
        found = start + np.searchsorted(rows[start:stop], wanted)
        there = np.flatnonzero(rows[np.minimum(found, stop - 1)] == wanted)
        for _ in range(often):
            sums[there] += data[found[there]]


def add_compiled(sums: Floats, data: Floats, rows: Any, starts: Ints, stops: Ints, times: Ints) -> None:
    """Do what `add` does, once compiled."""
    # A slice counts from 0, and most terms stand once in a query: either told apart saves the compiled loop a third.
    for term in range(len(starts)):
        places, values = rows[starts[term] : stops[term]], data[starts[term] : stops[term]]
        if times[term] == 1:
            for entry in range(len(places)):
                sums[places[entry]] += values[entry]
        else:
            for entry in range(len(places)):
                score = sums[places[entry]]
                for _ in range(times[term]):
                    score += values[entry]
                sums[places[entry]] = score


def look_up_compiled(sums: Floats, few: Ints, data: Floats, rows: Any, starts: Ints, stops: Ints, times: Ints) -> None:
    """Do what `look_up` does, once compiled."""
    places = np.empty(len(few), np.int64)
    for term in range(len(starts)):
        # By halves, all rows at each step: what one waits for from memory does not keep the next.
        places[:] = starts[term]
        size = stops[term] - starts[term]
        while size > 1:
            half = size // 2
            for n in range(len(few)):
                places[n] += half if rows[places[n] + half] <= few[n] else 0
            size -= half
        for n in range(len(few)):
            if size and rows[places[n]] == few[n]:
                for _ in range(times[term]):
                    sums[n] += data[places[n]]

"""The best passages without every addition: the same to the bit as all of them, and fewer additions."""

from __future__ import annotations

import numpy as np
import pytest

from quadrag.baselines.retrieval import maxscore
from quadrag.baselines.retrieval.maxscore import Entries, find, top

PASSAGES = 20_000


@pytest.fixture(scope="module")
def entries():
    """Thirty terms, rare ones that say much and frequent ones that say little; some scores are often the same."""
    draw = np.random.default_rng(5)
    sizes = np.geomspace(40, 15_000, 30).astype(int)
    draw.shuffle(sizes)
    rows = [np.sort(draw.choice(PASSAGES, size, replace=False)).astype(np.uint32) for size in sizes]
    data = [
        (np.log(1 + PASSAGES / size) * draw.choice([0.4, 0.45, 0.5, 0.8], size)).astype(np.float32) for size in sizes
    ]
    stops = np.cumsum(sizes)
    times = np.where(np.arange(30) % 7 == 3, 3, 1)
    bounds = np.array([of.max() for of in data], float) * times
    return Entries(np.concatenate(data), np.concatenate(rows), stops - sizes, stops, times, bounds)


@pytest.fixture(params=["numpy", "numba"])
def kernels(request):
    if request.param == "numpy":
        return maxscore.add, maxscore.look_up
    numba = pytest.importorskip("numba", reason="numba is not installed (extra: fast)")
    return numba.njit(maxscore.add_compiled), numba.njit(maxscore.look_up_compiled)


def buffer():
    return np.full(-(-PASSAGES // maxscore.GROUP) * maxscore.GROUP, 7, np.float32)


def everything(entries, k):
    sums = np.zeros(PASSAGES, np.float32)
    maxscore.add(sums, *entries.of(np.arange(len(entries.starts))))
    return top(sums, k)


@pytest.mark.parametrize("k", [1, 8, 30])
def test_the_same_with_fewer_additions(entries, k, kernels):
    added = 0

    def add(sums, *of):
        nonlocal added
        added += (of[3] - of[2]).sum()
        kernels[0](sums, *of)

    hits = find(entries, k, buffer(), add, kernels[1])
    assert hits == everything(entries, k) and len(hits) == k
    assert added < 0.7 * (entries.stops - entries.starts).sum()


@pytest.mark.parametrize("k", [1, 8, 200, 30_000])
def test_the_same_for_any_terms(entries, k, kernels):
    draw = np.random.default_rng(k)
    for number in (1, 2, 3, 5, 15, 30):
        some = draw.permutation(30)[:number]
        query = entries._replace(**{name: getattr(entries, name)[some] for name in entries._fields[2:]})
        assert find(query, k, buffer(), *kernels) == everything(query, k)


def test_many_equal_scores(entries, kernels):
    # Of what thousands share, the lowest rows come first, whatever way is taken.
    same = entries._replace(data=np.ones_like(entries.data), bounds=entries.times.astype(float))
    assert find(same, 8, buffer(), *kernels) == everything(same, 8)
    one = same._replace(**{name: getattr(same, name)[-1:] for name in same._fields[2:]})
    assert find(one, 8, buffer(), *kernels) == everything(one, 8)


def test_the_order_of_additions_is_the_querys(entries, kernels):
    # In 32 bits (1 + 2**-24) + 2**-24 is 1, and 1 + (2**-24 + 2**-24) is not.
    tiny = np.float32(2**-24)
    values = np.concatenate([np.full(size, tiny) for size in (entries.stops - entries.starts)])
    values[entries.starts[0] : entries.stops[0]] = 1
    highest = np.where(np.arange(30) == 0, 1.0, tiny) * entries.times
    query = entries._replace(data=values.astype(np.float32), bounds=highest)
    assert find(query, 8, buffer(), *kernels) == everything(query, 8)
    turned = query._replace(**{name: getattr(query, name)[::-1] for name in query._fields[2:]})
    assert find(turned, 8, buffer(), *kernels) == everything(turned, 8) != everything(query, 8)

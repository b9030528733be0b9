"""BM25: scores by hand, by the formula and by bm25s' own index; order by an oracle that sorts everything."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.benchmark import Document
from quadrag.retrieval.bm25 import analyser, build_index, open_index
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore

# Few characters and short passages: many equal scores.
PASSAGES = st.lists(st.text(st.sampled_from("天地人a 。"), min_size=1, max_size=8), min_size=1, max_size=30)
QUERIES = st.lists(st.text(st.sampled_from("天地人a水 。"), max_size=8), min_size=1, max_size=4)


def index_of(texts, folder, name="unigram"):
    documents = [Document(str(n), "", text) for n, text in enumerate(texts)]
    (folder / "index").mkdir()
    build_index(PassageStore.build(documents, folder, Chunking(10**6)), folder / "index", name)
    return open_index(folder / "index", name)


def oracle(texts, query, analyse):
    """Score every passage by the formula: in 64 bits, and in 32 bits term by term."""
    passages = [Counter(analyse(text)) for text in texts]
    mean = sum(passage.total() for passage in passages) / len(passages) or 1
    exact, rounded = np.zeros(len(texts)), np.zeros(len(texts), np.float32)
    for term, times in Counter(analyse(query)).items():
        df = sum(term in passage for passage in passages)
        idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        for row, passage in enumerate(passages):
            if term in passage:
                tf, length = passage[term], passage.total()
                weight = tf / (1.2 * (1 - 0.75 + 0.75 * length / mean) + tf)
                exact[row] += times * idf * weight
                for _ in range(times):
                    rounded[row] += np.float32(float(np.float32(idf)) * weight)
    return exact, rounded


def best(scores, k):
    expected = sorted((-score, row) for row, score in enumerate(scores.tolist()) if score > 0)[:k]
    return [(row, -score) for score, row in expected]


def test_by_hand(tmp_path):
    # Lengths 2, 3, 1, mean 2. 天 is in two of three: idf ln(1 + 1.5/2.5) = 0.470004. 雨 is in one: ln(1 + 2.5/1.5) =
    # 0.980829.
    rank = index_of(["天地", "天天雨", "人"], tmp_path)
    hits, twice, *nothing = rank(["天雨，水", "人人", "", " ，。", "水"], 8)
    assert [row for row, _ in hits] == [1, 0]
    # tf/(tf + norm): norm 1.65 for three terms, 1.2 for two.
    assert hits[0][1] == pytest.approx(0.470004 * 2 / 3.65 + 0.980829 / 2.65, rel=1e-5)
    assert hits[1][1] == pytest.approx(0.470004 / 2.2, rel=1e-5)
    assert twice == [(2, pytest.approx(2 * 0.980829 / 1.75, rel=1e-5))]
    assert nothing == [[], [], []] and rank([], 8) == []


@given(texts=PASSAGES, queries=QUERIES, k=st.integers(1, 35))
def test_results_are_the_oracles(tmp_path_factory, texts, queries, k):
    rank = index_of(texts, tmp_path_factory.mktemp("index"))
    analyse = analyser("unigram")
    for query, hits in zip(queries, rank(queries, k), strict=True):
        exact, rounded = oracle(texts, query, analyse)
        assert hits == best(rounded, k)
        assert [score for _, score in hits] == pytest.approx([exact[row] for row, _ in hits], rel=1e-4)


@pytest.fixture(scope="module")
def corpus():
    """A few thousand passages of drawn characters, frequent and rare, with repetitions, and queries of the same."""
    draw = np.random.default_rng(3)
    characters = np.array([chr(0x4E00 + n) for n in range(3000)])
    weights = 1 / np.arange(1, 3001)

    def texts(number, longest):
        return [
            "".join(draw.choice(characters, draw.integers(1, longest), p=weights / weights.sum()))
            for _ in range(number)
        ]

    passages = texts(9000, 60)  # more than are counted at once
    return passages + passages[:500], texts(5, 60)


@pytest.fixture(scope="module")
def rank(corpus, tmp_path_factory):
    return index_of(corpus[0], tmp_path_factory.mktemp("index"))


@pytest.fixture(scope="module")
def peer(corpus):
    """bm25s' own index, and the scores of all passages for each query, added in the query's order in 32 bits."""
    import bm25s

    own = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    own.index([analyser("unigram")(text) for text in corpus[0]], show_progress=False, create_empty_token=False)

    def scores(query):
        sums = np.zeros(len(corpus[0]), np.float32)
        for term, times in Counter(analyser("unigram")(query)).items():
            here = slice(*own.scores["indptr"][own.vocab_dict[term] :][:2]) if term in own.vocab_dict else slice(0)
            for _ in range(times):
                sums[own.scores["indices"][here]] += own.scores["data"][here]
        return sums

    return scores


@pytest.mark.parametrize("k", [1, 8, 400, 9500, 19_999])
def test_a_larger_corpus_against_bm25s(corpus, rank, peer, k):
    # Every passage of the first 500 is there twice: the cut falls between equal scores.
    queries = [*corpus[1], corpus[1][0] * 3]
    for query, hits in zip(queries, rank(queries, k), strict=True):
        expected = best(peer(query), k)
        assert [row for row, _ in hits] == [row for row, _ in expected]
        np.testing.assert_allclose([score for _, score in hits], [score for _, score in expected], rtol=1e-6)


@pytest.mark.parametrize("texts", [[], [""], ["。", " "]])
def test_a_corpus_without_terms(tmp_path, texts):
    assert index_of(texts, tmp_path)(["天", ""], 8) == [[], []]

"""BM25: scores by hand, by the formula and by bm25s' own index; order by an oracle that sorts everything."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.baselines.core.document import Document
from quadrag.baselines.retrieval import bm25, terms
from quadrag.baselines.retrieval.bm25 import Bm25Index
from quadrag.baselines.retrieval.chunk import Chunking
from quadrag.baselines.retrieval.maxscore import top
from quadrag.baselines.retrieval.passages import PassageStore
from quadrag.baselines.retrieval.terms import analyser
from quadrag.errors import QuadragError

# Few characters and short passages: many equal scores.
PASSAGES = st.lists(st.text(st.sampled_from("天地人a 。"), min_size=1, max_size=8), min_size=1, max_size=30)
QUERIES = st.lists(st.text(st.sampled_from("天地人a水 。"), max_size=8), min_size=1, max_size=4)


@pytest.fixture(params=["numpy", "numba"])
def compiled(request, monkeypatch):
    """Search without and with compiled code, whatever it would be worth."""
    if request.param == "numba":
        pytest.importorskip("numba", reason="numba is not installed (extra: fast)")
    bm25._compiled.cache_clear()
    monkeypatch.setattr(bm25, "_WORTH_COMPILING", 0 if request.param == "numba" else 10**18)
    yield request.param
    assert bm25._compiled.cache_info().currsize == (request.param == "numba")
    bm25._compiled.cache_clear()


def store_of(texts, folder):
    return PassageStore.build([Document(str(n), "", text) for n, text in enumerate(texts)], folder, Chunking(10**6))


def index_of(texts, folder, name="unigram"):
    place = folder / "index"
    place.mkdir()
    return Bm25Index.build(store_of(texts, folder), place, name)


def entry(idf, tf, length, mean):
    return np.float32(float(np.float32(idf)) * (tf / (1.2 * (1 - 0.75 + 0.75 * length / mean) + tf)))


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
                exact[row] += times * idf * tf / (tf + 1.2 * (0.25 + 0.75 * length / mean))
                for _ in range(times):
                    rounded[row] += entry(idf, tf, length, mean)
    return exact, rounded


def test_by_hand(tmp_path):
    # Lengths 2, 3, 1, mean 2. 天 is in two of three: idf ln(1 + 1.5/2.5) = 0.470004. 雨 is in one: ln(1 + 2.5/1.5) =
    # 0.980829.
    index = index_of(["天地", "天天雨", "人"], tmp_path)
    (hits,) = index.search(["天雨，水"], 8)
    assert [row for row, _ in hits] == [1, 0]
    # tf/(tf + norm): norm 1.65 for three terms, 1.2 for two.
    assert hits[0][1] == pytest.approx(0.470004 * 2 / 3.65 + 0.980829 / 2.65, rel=1e-5)
    assert hits[1][1] == pytest.approx(0.470004 / 2.2, rel=1e-5)


@given(texts=PASSAGES, queries=QUERIES, k=st.integers(1, 35))
def test_results_are_the_oracles(tmp_path_factory, texts, queries, k):
    index = index_of(texts, tmp_path_factory.mktemp("index"))
    analyse = analyser("unigram")
    for query, hits in zip(queries, index.search(queries, k), strict=True):
        exact, rounded = oracle(texts, query, analyse)
        expected = sorted(((-score, row) for row, score in enumerate(rounded.tolist()) if score > 0))[:k]
        assert hits == [(row, -score) for score, row in expected]
        assert [score for _, score in hits] == pytest.approx([exact[row] for row, _ in hits], rel=1e-4)


@pytest.mark.parametrize("name", ["jieba", "rjieba"])
def test_words(tmp_path, name, compiled):
    texts = ["国家统计局发布GDP数据", "杭州亚运会开幕", "北京今天下雨，杭州不下雨", "GDP同比增长5.5%"] * 3
    index = index_of(texts, tmp_path, name)
    for query in ("杭州下雨了吗", "gdp增长5.5", "GDP gdp 开幕"):
        (hits,) = index.search([query], 20)
        exact, rounded = oracle(texts, query, analyser(name))
        assert hits
        assert hits == sorted(
            ((row, s) for row, s in enumerate(rounded.tolist()) if s > 0), key=lambda h: (-h[1], h[0])
        )
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

    passages = texts(3000, 100)
    return passages + passages[:500], texts(50, 60)


@pytest.fixture(scope="module")
def index(corpus, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms, "_BLOCK", 1000)
        return index_of(corpus[0], tmp_path_factory.mktemp("index"))


def test_the_matrix_is_bm25s_own(corpus, index):
    import bm25s

    peer = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    peer.index([analyser("unigram")(text) for text in corpus[0]], show_progress=False, create_empty_token=False)
    (shard,) = index._shards
    mine, its = shard.scores, peer.scores
    assert mine["num_docs"] == its["num_docs"] == len(index) == 3500
    assert set(index._numbers) == set(peer.vocab_dict)
    assert mine["indptr"][-1] == its["indptr"][-1] == len(mine["data"]) == len(mine["indices"])
    for name in ("data", "indices"):
        assert mine[name].dtype == its[name].dtype
    for term, number in index._numbers.items():
        here = slice(*mine["indptr"][number : number + 2])
        there = slice(*its["indptr"][peer.vocab_dict[term] :][:2])
        assert np.array_equal(mine["indices"][here], its["indices"][there])
        # numpy 1 takes bm25s' own figures in 32 bits all the way.
        np.testing.assert_allclose(mine["data"][here], its["data"][there], rtol=1e-6)


def test_scores_are_bm25s_own(corpus, index):
    queries = [[index._numbers[term] for term in analyser("unigram")(query)] for query in corpus[1]]
    (shard,) = index._shards
    shard.unique_token_ids_set = set(index._numbers.values())
    _, scores = shard.retrieve(queries, k=8, show_progress=False)
    found = [[score for _, score in hits] for hits in index.search(corpus[1], 8)]
    np.testing.assert_allclose(found, scores, rtol=1e-5)


@pytest.mark.parametrize("k", [1, 8, 400, 3500, 9999])
def test_a_larger_corpus_against_the_oracle(corpus, index, k, compiled):
    # Every passage of the first 500 is there twice: the cut falls between equal scores.
    for query, hits in zip(corpus[1][:5], index.search(corpus[1][:5], k), strict=True):
        scores = index._shards[0].get_scores_from_ids(np.repeat(*index._known(query)))
        expected = sorted(((-score, row) for row, score in enumerate(scores.tolist()) if score > 0))[:k]
        assert hits == [(row, -score) for score, row in expected]


def test_compiled_or_not_is_the_same(corpus, index, monkeypatch):
    pytest.importorskip("numba", reason="numba is not installed (extra: fast)")
    bm25._compiled.cache_clear()
    queries = [*corpus[1], "", "一一一一丁丁", corpus[1][0] * 3]
    plain = index.search(queries, 100)
    assert bm25._compiled.cache_info().currsize == 0
    monkeypatch.setattr(bm25, "_WORTH_COMPILING", 0)
    assert index.search(queries, 100) == plain
    assert bm25._compiled.cache_info().currsize == 1
    bm25._compiled.cache_clear()


@given(texts=PASSAGES, queries=QUERIES, k=st.integers(1, 35))
def test_shards_of_a_few_passages_find_what_one_does(tmp_path_factory, texts, queries, k):
    whole = index_of(texts, tmp_path_factory.mktemp("index"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms, "_BLOCK", 2)
        patch.setattr(bm25, "_SHARD", 6)
        shards = index_of(texts, tmp_path_factory.mktemp("index"))
    assert shards.search(queries, k) == whole.search(queries, k)


def test_shards_of_many_passages_find_what_one_does(corpus, index, tmp_path, monkeypatch, compiled):
    monkeypatch.setattr(terms, "_BLOCK", 100)
    monkeypatch.setattr(bm25, "_SHARD", 20_000)
    monkeypatch.setattr(bm25, "_AT_ONCE", 999)
    shards = index_of(corpus[0], tmp_path)
    sizes = [shard.scores["num_docs"] for shard in shards._shards]
    assert len(sizes) > 4 and set(sizes[:-1]) <= {600, 700} and sum(sizes) == len(shards) == 3500
    assert sorted(path.name for path in shards.folder.iterdir()) == sorted(
        [*map(str, range(len(sizes))), "terms.json", "vocabulary.json"]
    )
    for k in (1, 8, 400, 9999):
        found = shards.search(corpus[1], k)
        assert found == index.search(corpus[1], k)
    # Every passage of the first 500 is there again in the last shard: equal scores of two shards go by row.
    assert any(score == other for (_, score), (_, other) in zip(found[0], found[0][1:], strict=False))
    assert np.array_equal(
        np.sort(np.concatenate([shard.scores["data"] for shard in shards._shards])),
        np.sort(index._shards[0].scores["data"]),
    )


def test_among_some_rows_it_finds_those_of_all_that_are_among_them(corpus, index, tmp_path, monkeypatch, compiled):
    texts, queries = corpus
    monkeypatch.setattr(terms, "_BLOCK", 1000)
    monkeypatch.setattr(bm25, "_SHARD", 30_000)
    shards = index_of(texts, tmp_path)
    assert len(shards._shards) > 2
    within = np.flatnonzero(np.arange(len(texts)) % 7 < 3)
    chosen = [[hit for hit in hits if hit[0] % 7 < 3] for hits in index.search(queries, len(texts))]
    for k in (1, 8, len(texts)):
        for one in (index, shards):
            assert one.search(queries, k, within) == [hits[:k] for hits in chosen]


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", ["import sys; sys.modules['numba'] = None", "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'"]
)
def test_without_numba(corpus, index, python, environment, setting):
    code = f"""
{setting}
import sys
from pathlib import Path
from quadrag.baselines.retrieval import bm25
bm25._WORTH_COMPILING = 0
index = bm25.Bm25Index.open(Path(sys.argv[1]))
print(index.search([sys.argv[2]], 8))
assert bm25._compiled() is None
"""
    ran = python(code, index.folder, corpus[1][0], env=environment())
    assert ran.stdout.strip() == str(index.search(corpus[1][:1], 8)), ran.stderr


@pytest.mark.parametrize("query", ["", " ，。", "水", "xyz"])
def test_a_query_without_a_known_term_finds_nothing(tmp_path, compiled, query):
    none, some = index_of(["天地", "人"], tmp_path).search([query, "人"], 8)
    assert none == []
    assert [row for row, _ in some] == [1]


def test_unknown_terms_add_nothing(tmp_path):
    index = index_of(["天地", "人"], tmp_path)
    assert index.search(["水火人木"], 8) == index.search(["人"], 8) != [[]]


@pytest.mark.parametrize("k", [0, -1])
def test_no_passages_wanted(tmp_path, k):
    assert index_of(["天"], tmp_path).search(["天"], k) == [[]]


def test_no_queries(tmp_path):
    assert index_of(["天"], tmp_path).search([], 8) == []


@pytest.mark.parametrize("texts", [[], [""], ["。", " "]])
def test_a_corpus_without_terms(tmp_path, texts, compiled):
    index = index_of(texts, tmp_path)
    assert len(index) == sum(map(bool, texts))
    assert index.search(["天", ""], 8) == [[], []]


SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0]) | st.floats(0, 4, width=32), max_size=200)


@given(scores=SCORES, k=st.integers(1, 210))
def test_the_best_of_any_scores(scores, k):
    expected = sorted(((-score, row) for row, score in enumerate(scores) if score > 0))[:k]
    assert top(np.array(scores, np.float32), k) == [(row, -score) for score, row in expected]


def test_equal_scores_everywhere():
    assert top(np.ones(100_000, np.float32), 3) == [(0, 1.0), (1, 1.0), (2, 1.0)]


def test_opened_again_and_mapped(corpus, index):
    again = Bm25Index.open(index.folder)
    for name in ("data", "indices", "indptr"):
        assert isinstance(again._shards[0].scores[name], np.memmap)
    assert again.terms == "unigram"
    assert again.search(corpus[1], 8) == index.search(corpus[1], 8)


@pytest.mark.parametrize("damage", ["gone", "cut", "params", "terms", "vocabulary", "shard"])
def test_a_damaged_folder_is_named(tmp_path, damage):
    index_of(["天地", "人"], tmp_path)
    folder = tmp_path / "index"
    if damage == "gone":
        (folder / "0" / "indices.csc.index.npy").unlink()
    elif damage == "cut":
        data = folder / "0" / "data.csc.index.npy"
        data.write_bytes(data.read_bytes()[:-4])
    elif damage == "params":
        (folder / "0" / "params.index.json").write_text("{")
    elif damage == "vocabulary":
        (folder / "vocabulary.json").write_text("[[]]")
    elif damage == "shard":
        (folder / "0").rename(folder / "1")
    else:
        (folder / "terms.json").write_text("[]")
    with pytest.raises(QuadragError, match=r"no BM25 index that can be read.*remove the folder"):
        Bm25Index.open(folder)


def test_the_key():
    keys = [Bm25Index.describe(name) for name in ("unigram", "jieba", "rjieba")]
    assert {key["terms"]["name"] for key in keys} == {"unigram", "jieba", "rjieba"}
    assert all((key["method"], key["k1"], key["b"]) == ("lucene", 1.2, 0.75) for key in keys)
    with pytest.raises(QuadragError, match="unknown terms"):
        Bm25Index.describe("bigram")

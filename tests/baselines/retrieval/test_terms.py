"""Terms: worked by hand, held against the libraries themselves, and counted alike with worker processes and without."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from multiprocessing import active_children

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.baselines.core.document import Document
from quadrag.baselines.retrieval import terms
from quadrag.baselines.retrieval.chunk import Chunking
from quadrag.baselines.retrieval.passages import PassageStore
from quadrag.baselines.retrieval.terms import analyser, count, describe
from quadrag.errors import QuadragError

NAMES = ("unigram", "jieba", "rjieba")
NEWS = "2023年7月28日，国家统计局发布GDP数据：同比增长5.5%。\n　记者 王小明 报道，“杭州亚运会”9月开幕。"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天下雨。", "今 天 下 雨"),
        ("我买了iPhone14，花5,999.00元", "我 买 了 iphone14 花 5,999.00 元"),
        ("增长56.3%。2023年8月", "增 长 56.3 2023 年 8 月"),
        # A comma joins digits, not a digit and a letter or a blank; a stop joins letters or digits, not both.
        ("3, 4,a x.y 3.x 8:30", "3 4 a x.y 3 x 8 30"),
        ("See gov.cn! Don't", "see gov.cn don't"),
        ("snake_case _ __", "snake_case"),
        # Full-width letters and digits are letters and digits; they stay full-width.
        ("ＡＢＣ１２", "ａｂｃ１２"),
        ("かなカナー한국々〇𠮷", "か な カ ナ ー 한 국 々 〇 𠮷"),
        ("Привет, Élan naïve", "привет élan naïve"),
        ("①②", "①②"),
        (" \t\n，。—…《》😀・", ""),
        ("", ""),
    ],
)
def test_unigrams(text, expected):
    assert analyser("unigram")(text) == expected.split()


@pytest.mark.parametrize("name", ["jieba", "rjieba"])
def test_words_are_the_librarys_lower_cased_without_blanks_and_punctuation(name):
    library = pytest.importorskip(name)
    words = list(library.cut(NEWS))
    assert {"，", "\n", "GDP"} <= set(words)
    expected = [word.lower() for word in words if any(character.isalnum() for character in word)]
    assert analyser(name)(NEWS) == expected
    assert {"国家统计局", "gdp"} <= set(analyser(name)(NEWS))


def test_the_users_dictionary_is_not_heeded_and_not_touched():
    import jieba

    jieba.setLogLevel(60)
    before = analyser("jieba")("石墨烯量子点很小")
    jieba.add_word("石墨烯量子点")
    try:
        assert jieba.lcut("石墨烯量子点很小")[0] == "石墨烯量子点"
        terms._cutter.cache_clear()
        assert analyser("jieba")("石墨烯量子点很小") == before
        assert jieba.dt.FREQ["石墨烯量子点"]
    finally:
        jieba.del_word("石墨烯量子点")
        jieba.finalseg.Force_Split_Words.discard("石墨烯量子点")


def test_jieba_says_nothing_and_leaves_nothing_in_the_shared_folder(tmp_path, environment, python):
    code = "from quadrag.baselines.retrieval.terms import analyser; print(analyser('jieba')('今天下雨'))"
    ran = python(code, env=environment(TMPDIR=str(tmp_path)))
    assert (ran.stdout.strip(), ran.stderr) == ("['今天', '下雨']", "")
    assert not list(tmp_path.glob("jieba*"))


def test_names_that_are_none():
    with pytest.raises(QuadragError, match=r"unknown terms 'jeiba'; nearest: jieba"):
        analyser("jeiba")
    with pytest.raises(QuadragError, match="unknown terms"):
        describe("bigram")


@pytest.mark.parametrize("name", ["jieba", "rjieba"])
def test_a_missing_package_is_named(name, monkeypatch):
    terms._cutter.cache_clear()
    monkeypatch.delitem(sys.modules, "quadrag.metrics._shared.words", raising=False)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(QuadragError, match=f"pip install {name}"):
        analyser(name)


def test_the_key_knows_the_packages():
    from importlib.metadata import version

    assert [describe(name)["package"] for name in NAMES] == [None, version("jieba"), version("rjieba")]
    assert len({str(describe(name)) for name in NAMES}) == 3


def store_of(texts, folder):
    return PassageStore.build([Document(str(n), "", text) for n, text in enumerate(texts)], folder, Chunking(10**6))


def unfolded(blocks):
    """Return the counter of terms of every passage, and its length, from counts."""
    counters, lengths = [], []
    for block in blocks:
        assert block.passages.sum() == len(block.rows) == len(block.frequencies)
        assert (block.passages > 0).all()
        start = len(counters)
        counters += [Counter() for _ in block.lengths]
        lengths += block.lengths.tolist()
        at = 0
        for term, passages in zip(block.terms, block.passages.tolist(), strict=True):
            rows = block.rows[at : at + passages].tolist()
            assert rows == sorted(set(rows))
            for row, frequency in zip(rows, block.frequencies[at : at + passages].tolist(), strict=True):
                counters[start + row][term] = frequency
            at += passages
    return counters, lengths


@pytest.mark.parametrize("name", NAMES)
@given(texts=st.lists(st.text(st.sampled_from("今天北京下雨 a1.,。X"), min_size=1, max_size=40), max_size=12))
def test_counts_are_those_of_a_counter(tmp_path_factory, name, texts):
    store = store_of(texts, tmp_path_factory.mktemp("store"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms, "_BLOCK", 5)
        counters, lengths = unfolded(count(store, name, workers=0))
    found = [analyser(name)(text) for text in texts]
    assert counters == [Counter(each) for each in found]
    assert lengths == [len(each) for each in found]


def test_a_term_that_is_there_very_often(tmp_path):
    store = store_of(["天" * 70000 + "地"], tmp_path)
    assert unfolded(count(store, "unigram")) == ([Counter({"天": 70000, "地": 1})], [70001])


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Five blocks of passages."""
    texts = [f"第{n}条新闻：{NEWS[n % 40 :]}" for n in range(4 * terms._BLOCK + 100)]
    return store_of(texts, tmp_path_factory.mktemp("long"))


def same(first, second):
    first, second = list(first), list(second)
    assert len(first) == len(second) == 5
    for one, other in zip(first, second, strict=True):
        assert one.terms == other.terms
        for mine, its in zip(one[1:], other[1:], strict=True):
            assert mine.dtype == its.dtype
            assert np.array_equal(mine, its)


@pytest.mark.slow
def test_workers_count_the_same(long):
    same(count(long, "unigram", workers=0), count(long, "unigram", workers=2))


def test_a_worker_that_is_killed_costs_time_alone(long):
    counting = count(long, "unigram", workers=2)
    first = next(counting)
    workers = active_children()
    assert len(workers) == 2
    for worker in workers:
        worker.kill()
    same(count(long, "unigram", workers=0), [first, *counting])


def test_workers_end_with_a_parent_that_is_killed(long, environment, tmp_path):
    code = """
import os, signal, sys
from pathlib import Path
from quadrag.baselines.retrieval.passages import PassageStore
from quadrag.baselines.retrieval.terms import count
counting = count(PassageStore.open(Path(sys.argv[1])), "unigram", workers=2)
next(counting)
os.kill(os.getpid(), signal.SIGKILL)
"""
    # A worker that stays holds the pipe open.
    ran = subprocess.run(
        [sys.executable, "-c", code, str(long.folder)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=60,
    )
    assert ran.returncode == -signal.SIGKILL


def test_a_counting_given_up_ends_its_workers(long):
    counting = count(long, "unigram", workers=2)
    next(counting)
    assert len(active_children()) == 2
    counting.close()
    assert active_children() == []


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["if __name__ == '__main__':", "if True:"])
def test_workers_under_a_script(long, tmp_path, environment, guard):
    """A script as pip makes them for console commands, and one that starts over when a worker imports it."""
    script = tmp_path / "script"
    script.write_text(f"""
import sys
from pathlib import Path
from quadrag.baselines.retrieval.passages import PassageStore
from quadrag.baselines.retrieval.terms import count
{guard}
    store = PassageStore.open(Path(sys.argv[1]))
    print(sum(int(counts.lengths.sum()) for counts in count(store, "unigram", workers=2)))
""")
    ran = subprocess.run(
        [sys.executable, str(script), str(long.folder)], env=environment(), capture_output=True, text=True, timeout=120
    )
    assert ran.stdout.split() == [str(sum(int(counts.lengths.sum()) for counts in count(long, "unigram", workers=0)))]
    assert ran.returncode == 0


def test_small_stores_start_no_workers(tmp_path):
    store = store_of([NEWS] * 3, tmp_path)
    assert [terms._workers(store.folder, name, 10) for name in NAMES] == [0, 0, 0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms, "_WORTH_WORKERS", dict.fromkeys(NAMES, 0))
        assert 1 <= terms._workers(store.folder, "jieba", 10) <= 4
        assert terms._workers(store.folder, "jieba", 1) == 1

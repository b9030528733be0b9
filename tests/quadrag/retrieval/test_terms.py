"""Terms: worked by hand, held against the libraries themselves, and counted as a Counter counts."""

from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quadrag.benchmark import Document
from quadrag.errors import QuadragError
from quadrag.retrieval.bm25 import analyser, count, describe_terms
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore

EXAMPLES = yaml.safe_load(Path(__file__).with_name("term_examples.yaml").read_text(encoding="utf-8"))
NAMES = ("unigram", "jieba", "rjieba")
NEWS = "2023年7月28日，国家统计局发布GDP数据：同比增长5.5%。\n　记者 王小明 报道，“杭州亚运会”9月开幕。"


@pytest.mark.parametrize(("text", "expected"), EXAMPLES)
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


def test_a_name_that_is_none_and_what_decides_the_terms():
    for ask in (analyser, describe_terms):
        with pytest.raises(QuadragError, match="'jeiba'"):
            ask("jeiba")
    assert [describe_terms(name)["package"] for name in NAMES] == [None, version("jieba"), version("rjieba")]
    assert len({str(describe_terms(name)) for name in NAMES}) == 3


@pytest.mark.parametrize("name", NAMES)
@given(
    texts=st.lists(st.text(st.sampled_from("今天北京下雨 a1.,。X"), min_size=1, max_size=40), max_size=12),
    often=st.sampled_from([1, 300, 70000]),
)
def test_counts_are_those_of_a_counter(tmp_path_factory, name, texts, often):
    texts = [*texts, "天" * often + "地"]
    documents = [Document(str(n), "", text) for n, text in enumerate(texts)]
    store = PassageStore.build(documents, tmp_path_factory.mktemp("store"), Chunking(10**6))
    numbers, matrix = count(store, name)
    rows = [Counter(dict(zip(numbers, row, strict=True))) for row in matrix.toarray().tolist()]
    assert [+row for row in rows] == [Counter(analyser(name)(text)) for text in texts]

"""Near duplicates are those that the definition says, whatever the texts repeat."""

from collections import namedtuple

from hypothesis import given
from hypothesis import strategies as st

from quadrag.audit.overlap import near_duplicates

News = namedtuple("News", "id text")
TEXTS = st.lists(st.text("ab \n\ufeff", max_size=30), max_size=6)


def shingles(text: str, size: int) -> set[str]:
    bare = "".join(text.split()).replace("\ufeff", "")
    return {bare[at : at + size] for at in range(len(bare) - size + 1)}


@given(TEXTS, TEXTS, st.integers(1, 4), st.sampled_from([0.3, 0.5, 1.0]))
def test_they_share_so_much_of_the_articles_shingles(
    articles: list[str], corpus: list[str], size: int, overlap: float
) -> None:
    check(articles, corpus, size, overlap)


def test_articles_of_one_form_are_told_apart() -> None:
    form = [f"{place}今日天气多云转晴，最高气温二十摄氏度，请市民注意防晒。" for place in "京沪津渝冀晋辽吉黑苏浙皖"]
    check(form, [*form, "".join(form), form[3][:20], "无关的一篇报道，与天气没有关系。"], 12, 0.3)


def check(articles: list[str], corpus: list[str], size: int, overlap: float) -> None:
    named = {str(at): text for at, text in enumerate(articles)}
    news = [News(at, text) for at, text in enumerate(corpus)]
    found = [
        (one.article, one.document.id, one.share, one.shared) for one in near_duplicates(named, news, size, overlap)
    ]
    expected = [
        (name, one.id, shared / len(own), shared)
        for one in news
        for name, text in named.items()
        if (own := shingles(text, size))
        and (shared := len(own & shingles(one.text, size)))
        and shared / len(own) >= overlap
    ]
    assert sorted(found) == sorted(expected)


def test_documents_of_several_batches_are_told_apart() -> None:
    news = [News(at, f"{at:05}") for at in range(2_000)]
    found = list(near_duplicates({"a": "01999", "b": "00500"}, news, 5))
    assert [(one.article, one.document.id) for one in found] == [("b", 500), ("a", 1999)]

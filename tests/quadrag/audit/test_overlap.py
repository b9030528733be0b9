"""Near duplicates are those that the definition says, whatever the texts repeat."""

from hypothesis import given
from hypothesis import strategies as st

from quadrag.baselines.crud_rag.audit import near_duplicates

TEXTS = st.lists(st.text("ab \n\ufeff", max_size=30), max_size=6)
# Articles of one form, of which all but a few characters are the same.
FORM = [f"{place}今日天气多云转晴，最高气温二十摄氏度，请市民注意防晒。" for place in "京沪津渝冀晋辽吉黑苏浙皖"]


def shingles(text: str, size: int) -> set[str]:
    bare = "".join(text.split()).replace("\ufeff", "")
    return {bare[at : at + size] for at in range(len(bare) - size + 1)}


@given(TEXTS, TEXTS, st.integers(1, 4), st.sampled_from([0.3, 0.5, 1.0]))
def test_they_share_so_much_of_the_articles_shingles(
    articles: list[str], corpus: list[str], size: int, overlap: float
) -> None:
    check(articles, corpus, size, overlap)


def test_articles_of_one_form_are_told_apart() -> None:
    check(FORM, [*FORM, "".join(FORM), FORM[3][:20], "无关的一篇报道，与天气没有关系。"], 12, 0.3)


def check(articles: list[str], corpus: list[str], size: int, overlap: float) -> None:
    named, news = ({str(at): text for at, text in enumerate(texts)} for texts in (articles, corpus))
    expected = [
        (name, document, len(own & shingles(body, size)) / len(own))
        for document, body in news.items()
        for name, text in named.items()
        if (own := shingles(text, size)) and len(own & shingles(body, size)) / len(own) >= overlap
    ]
    assert sorted(near_duplicates(named, news.items(), size, overlap)) == sorted(expected)

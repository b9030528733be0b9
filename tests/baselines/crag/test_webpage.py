"""Pages to text and sentences: what is visible stays, what is not goes, and nothing breaks it."""

import bz2
import json

import numpy as np
import pytest
from crag_runs import EXAMPLES
from hypothesis import given
from hypothesis import strategies as st

from quadrag.retrieval import webpage

PAGE = """<!doctype html><html><head><title>The  Bridge</title><style>p{color:red}</style>
<script>var hidden = "secret";</script></head><body><nav>Home</nav><!-- a remark -->
<p>It opened in <b>1932</b>.</p><table><tr><td>length</td><td>503&nbsp;m</td></tr></table>
<noscript>turn it on</noscript><template>later</template></body></html>"""


def test_what_is_visible_stays_and_what_is_not_goes():
    assert webpage.text(PAGE) == "The Bridge Home It opened in 1932 . length 503 m"


@pytest.mark.parametrize(("html", "text"), EXAMPLES["pages"])
def test_pieces_and_broken_pages(html, text):
    assert webpage.text(html) == text


def test_of_a_page_of_very_many_tags_nothing_is_lost_and_it_takes_no_long():
    words = [f"w{number}" for number in range(60_000)]
    page = "<title>T &amp; t</title>" + "".join(f"<div b='{word}'>{word}" for word in words) + "<script>no</script>"
    assert webpage.text(page).split() == ["T", "&", "t", *words]
    for shape in ("<script>", "<!--", "<", "<p a=", "<svg><b>", "</"):
        webpage.text(shape * 200_000)


@given(st.text())
def test_any_text_is_taken(html):
    webpage.text(html)


@given(st.text(alphabet="ab. \n", max_size=80), st.integers(1, 9))
def test_sentences_are_short_and_lose_no_word(page, longest):
    found = webpage.sentences(page, longest)
    assert all(0 < len(sentence) <= longest for sentence in found)
    assert "".join("".join(found).split()) == "".join(page.split())


def test_each_sentence_stands_once_where_it_stands_first():
    places = webpage.locate_sentences(["<p>One. Two.", None, "Two. <b>Three.</b>", ""])
    assert list(places.items()) == [("One.", (0, 0)), ("Two.", (0, 1)), ("Three.", (2, 1))]


class Letters:
    """An encoder of one dimension a letter: the real one is exercised in test_encoder.py."""

    def documents(self, texts):
        counts = np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)

    queries = documents


def test_the_likest_come_first_and_equal_ones_in_their_order():
    chosen = webpage.rank_sentences("a", ["b", "a", "ab", "a"], Letters())
    assert [place for place, _ in chosen] == [1, 3, 2, 0]
    assert chosen[0][1] == pytest.approx(1)
    assert [place for place, _ in webpage.rank_sentences("a", ["b", "a", "ab", "a"], Letters(), top=2)] == [1, 3]
    assert webpage.rank_sentences("a", [], Letters()) == []


@pytest.mark.slow
def test_no_gold_answer_that_the_slow_route_finds_is_lost_on_real_pages(real_data):
    bs4 = pytest.importorskip("bs4", reason="beautifulsoup4, the slow route, is not installed")
    pytest.importorskip("lxml", reason="lxml, its parser, is not installed")

    def squeezed(text):
        return "".join(text.lower().split())

    found = 0
    with bz2.open(real_data("CRAG") / "example_data" / "dev_data.jsonl.bz2", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            answer = squeezed(row["answer"])
            for page in row["search_results"]:
                slow = squeezed(bs4.BeautifulSoup(page["page_result"], "lxml").get_text(" "))
                if answer in slow:
                    found += 1
                    assert answer in squeezed(webpage.text(page["page_result"])), page["page_url"]
    assert found > 0

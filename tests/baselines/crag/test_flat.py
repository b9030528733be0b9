"""Pages made to take a parser long, or much memory: read in time linear in their size; others are parsed as ever."""

import bz2
import json
import time
from collections.abc import Callable

import pytest

from quadrag.baselines.crag import flat, webpage

ROUND = ["b", "i", "u", "s", "em", "tt", "big", "code", "small", "font", "strong", "strike"]
# Shapes of n tags: each takes the parser alone seconds to minutes, or gigabytes, at 80,000.
SHAPES: dict[str, Callable[[int], str]] = {
    "div": lambda n: "<div>" * n,
    "div in div, closed": lambda n: "<div>" * (n // 2) + "word" + "</div>" * (n // 2),
    "a word each": lambda n: "<div>x " * n,
    "table": lambda n: "<table><tr><td>" * (n // 3),
    "list": lambda n: "<ul><li>" * (n // 2),
    "terms": lambda n: "<DL><DT>" * (n // 2),
    "b": lambda n: "<b>" * n,
    "a": lambda n: "<a href=x><div>" * (n // 2),
    "misnested": lambda n: "<b><i><u><s>x</b>" * (n // 5),
    "closed by others": lambda n: "<div><table></div></table>" * (n // 4),
    "closed in a value": lambda n: '<div a="</div>">' * (n // 2),
    "closed in a remark": lambda n: "<div><!--</div>-->" * (n // 3),
    "end tags alone": lambda n: "<span>" * (n // 2) + "</p>" * (n // 2),
    "formatting": lambda n: "".join(f"<font size={i}><p>x" for i in range(n // 2)),
    "formatting, closed elsewhere": lambda n: "".join(f"<b c={i}><table></b>" for i in range(n // 3)),
    "formatting, few": lambda n: "".join(f"<{ROUND[i % 12]}\nc{i}>" for i in range(2000)) + "<p>x" * (n // 4),
    "attributes": lambda n: f"<p {' '.join(f'a{i}' for i in range(2 * n))}>x",
    "attributes with values": lambda n: "<p " + "".join(f"a{i}='>' b{i}=\">\" <c{i} " for i in range(n)) + ">x",
    "attributes without an end": lambda n: "<p " + "".join(f"a{i}=b " for i in range(2 * n)),
    "mirrored": lambda n: "<select><SelectedContent></selectedcontent>" + "<option selected>" * (n // 3),
    "unclosed value": lambda n: '<p a="' * n,
    "remarks": lambda n: "<!--" * n,
    "cdata": lambda n: "<svg>" + "<![CDATA[" * n,
    "scripts": lambda n: "<script>" * n,
    "raw": lambda n: "<title></textarea><xmp>" * (n // 3),
    "entities": lambda n: "&#1234;&notit;&" * n,
    "signs": lambda n: "< << <! <? </ <3" * n,
    "drawings": lambda n: "<svg>" * n + "<p>x",
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [30_000, 120_000])
def test_no_page_takes_long(shape: str, size: int) -> None:
    page = SHAPES[shape](size)
    start = time.process_time()
    webpage.text(page)
    taken = time.process_time() - start
    assert taken < 2 + 5 * len(page) / 1e6, f"{taken:.1f} s for {len(page):,} characters"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("<title>T &amp; t</title><p>one<p>two<b>three</b>", "T & t one two three"),
        ("a<!-- x --!>b<!-->c<!--->d<!x>e<?x>f</3>g</>h<3", "a b c d e f g h<3"),
        ("<p title='>' x=\">\" y=a'>b'c<p a==\">d<p =>e", "b'c d e"),
        ("<textarea>a<b></textarea><xmp>c&amp;</xmp>", "a<b> c&"),
        ("<script>if (a<b) '</p>'</SCRIPT x>a<style>b</style>", "a"),
        ("<svg/>a<svg><g>b</g></svg>c<svg>d<p>e", "a c e"),
        ("<noscript>a<p>b</noscript>c<object>d<object>e</object>f</object>g", "c g"),
        ("a<script>b", "a"),
        ("a<p b='c", "a"),
        ("a\0b \ud800", "ab ?"),
    ],
)
def test_a_page_is_read_without_a_parser(source: str, found: str) -> None:
    assert flat.text(source.encode("utf-8", "replace")) == found


def test_nothing_of_a_costly_page_is_cut() -> None:
    words = [f"w{number}" for number in range(60_000)]
    page = "<title>T</title>" + "".join(f"<div>{word}" for word in words) + "<script>no</script>"
    assert flat.is_costly(page.encode()) and webpage.text(page).split() == ["T", *words]


def test_ordinary_pages_are_parsed_and_read_alike_without(real_data: Callable[[str], object]) -> None:
    with bz2.open(f"{real_data('CRAG')}/example_data/dev_data.jsonl.bz2", "rt", encoding="utf-8") as lines:
        pages = [page["page_result"].encode() for line in lines for page in json.loads(line)["search_results"]]
    assert not any(map(flat.is_costly, pages))
    alike = sum(flat.text(page) == webpage.text(page.decode()) for page in pages)
    assert len(pages) >= 30 and alike >= 0.9 * len(pages)


def test_many_words_of_markup_are_no_costly_page() -> None:
    row = '<tr class="r"><td><a href="x">word</a> <b>5</b><br><img src=x></td><td class=\'n\'>&nbsp;</td></tr>\n'
    script = f"<script>var a = [{'1, ' * 20_000}]; if (a<b) {{}}</script>"
    data = f"<div data-x='{'{&quot;a&quot;: 1}' * 5000}'></div>"
    assert not flat.is_costly(f"<table>{row * 1200}</table>{script}{data}".encode())

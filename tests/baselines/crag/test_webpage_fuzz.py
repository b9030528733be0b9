"""Many malformed pages: none breaks the reading, what is visible stays, what is not stays out, nothing is invented.

A page is drawn as pieces, each of them broken in a way of its own, with words of which it is known whether they are
shown. What swallows the rest of a page (a script without an end) comes last, or nothing is claimed of what follows.
Half of the pages are then damaged anywhere; of those only what holds for every page is claimed.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable
from itertools import count

import pytest

from quadrag.baselines.crag import flat, webpage

_TAGS = (
    "p",
    "div",
    "span",
    "b",
    "i",
    "a",
    "li",
    "h1",
    "td",
    "section",
    "em",
    "nosuch",
    "p:x",
    "font",
    "form",
    "button",
)
# The text of a page may have signs of markup, and has them from these alone.
_SIGNS = ("a < b", "3 > 2", "<3", "&lt;p&gt;", "&lt", "a<", "1 <2> 3", "<>", "&#60;br&#62;", "<1>", "< p>", "->", "x>")
_ENTITIES = (
    *("&bogus;", "&", "&;", "&#;", "&#x;", "&#xD800;", "&#x110000;", "&#0;", "&#99999999999;", "&amp", "&notit;"),
    *("&nbsp;", "&#128;", "&CounterClockwiseContourIntegral;", "&copy", "&#x1F600;", "&shy;", "&AMP;"),
)
_HIDDEN_TAGS = ("script", "style", "template", "svg", "iframe", "object", "noframes", "noembed", "SCRIPT", "StYlE")
_NUMBER = re.compile("&#(?:x([0-9a-f]+)|([0-9]+))", re.IGNORECASE | re.ASCII)
_CONTROL = "\x00\x01\x0b\x0c\x1b\x1f\x7f\x85\xa0\u2028\ufeff\ufffe\U0010ffff\u202e"
_ODD = ("\ud800", "\udfff", "\ud83d", "caf\u00c3\u00a9", "\xff\xfe", "\u00e4\u00bd\u00a0", "\u4f60\u597d", "\U0001f600")


class Page:
    """A page in the making: its pieces, and which words it shows for certain, and which never."""

    def __init__(self, draw: random.Random, number: int) -> None:
        self.draw, self.pieces = draw, [""]
        self.shown: list[str] = []
        self.hidden: list[str] = []
        self.signs = False
        self._names = (f"{number}n{n}" for n in count())

    def word(self, kind: str) -> str:
        """A word that stands nowhere else, between blanks."""
        name = f"{kind}{next(self._names)}"
        getattr(self, kind).append(name)
        return f" {name} "

    def add(self, *pieces: str) -> None:
        self.pieces += pieces


def _plain(page: Page) -> None:
    page.add(page.word("shown"))


def _tags(page: Page) -> None:
    tag = page.draw.choice(_TAGS)
    attributes = page.draw.choice(["", " class=x", ' title="a > b"', " a='\"'", ' x="', " =", " /", " a=1 a=2", ' <"'])
    if attributes == ' x="':
        attributes += page.word("hidden") + '"'
    end = page.draw.choice([f"</{tag}>", "", f"</{tag} x=1>", "</nosuch>", f"</{tag}", "</>"])
    page.add(f"<{tag}{attributes}>", page.word("shown"), end + (">" if end == f"</{tag}" else ""))


def _misnested(page: Page) -> None:
    first, second = page.draw.choices(_TAGS, k=2)
    page.add(f"<{first}><{second}>", page.word("shown"), f"</{first}>", page.word("shown"), f"</{second}>")


def _table(page: Page) -> None:
    page.add("<table>" * page.draw.randint(1, 3))
    for _ in range(page.draw.randint(0, 3)):
        opening = page.draw.choice(["<tr><td>", "<td>", "<tr>", "", "<tbody>", "<caption>", "<th><table><td>", "</tr>"])
        page.add(opening, page.word("shown"))
    page.add(page.draw.choice(["</table>", "", "</td></tr>", "</tbody></table></table>"]))


def _comment(page: Page) -> None:
    opening, end = page.draw.choice(
        [("<!--", "-->"), ("<!-- -- ", "--!>"), ("<!", ">"), ("<?php ", "?>"), ("</ ", ">"), ("<![CDATA[", ">")]
    )
    page.add(opening, page.word("hidden"), end)


def _hidden(page: Page) -> None:
    tag = page.draw.choice(_HIDDEN_TAGS)
    attributes = page.draw.choice(["", " src=x", ' type="text/x"', " async defer"])
    page.add(f"<{tag}{attributes}>", page.word("hidden"))
    if tag in ("object", "template") and page.draw.random() < 0.5:
        page.add("<p>", page.word("hidden"), "<script>", page.word("hidden"), "</script></p>")
    page.add(f"</{tag}>")


def _entity(page: Page) -> None:
    page.add(" ", page.draw.choice(_ENTITIES), " ")


def _sign(page: Page) -> None:
    page.signs = True
    page.add(" ", page.draw.choice(_SIGNS), " ")


def _text(page: Page) -> None:
    page.add(" ", *page.draw.choices([*_CONTROL, *_ODD], k=page.draw.randint(1, 4)), " ")


def _huge(page: Page) -> None:
    page.add(f'<a href="{page.draw.choice("x<>&")}', page.word("hidden"), page.draw.choice("y'<") * 2000, '">')


def _deep(page: Page) -> None:
    tag = page.draw.choice(("div", "span", "table", "b", "svg", "object", "ul><li", "section"))
    times = page.draw.choice([30] * 120 + [3000])
    hidden = tag in ("svg", "object")
    page.add(f"<{tag}>" * times, page.word("hidden" if hidden else "shown"))
    page.add(f"</{tag.partition('>')[0]}>" * (times if hidden else page.draw.randint(0, times)))


def _form(page: Page) -> None:
    page.add(page.draw.choice(["<select><option>", "<fieldset><legend>", "<label>", "<details><summary>", "<ruby>"]))
    page.add(page.word("shown"), page.draw.choice(["</select>", "</fieldset>", "</details>", "</select></label>"]))


_PIECES: list[tuple[Callable[[Page], None], int]] = [
    (_plain, 3),
    (_tags, 5),
    (_misnested, 3),
    (_table, 2),
    (_comment, 2),
    (_hidden, 3),
    (_entity, 1),
    (_sign, 1),
    (_text, 2),
    (_huge, 1),
    (_deep, 1),
    (_form, 1),
]
_FUNCTIONS, _WEIGHTS = zip(*_PIECES, strict=True)
_HEADS = (
    "",
    "",
    "<!doctype html>",
    "<html>",
    "<HTML><BODY>",
    "<head></head>",
    "<body",
    "\ufeff",
    "</html>",
    "<!DOCTYPE",
)
_LAST = (
    "",
    "",
    "<",
    "</",
    "<p",
    '<a href="',
    "<a href='x",
    "<script>",
    "<style>",
    "<!--",
    "<title",
    "&",
    "&#",
    "&#x",
    "\0",
)


def malformed(draw: random.Random, number: int) -> Page:
    """A page whose certain words are shown or hidden whatever its faults are."""
    page = Page(draw, number)
    head = draw.choice(_HEADS)
    page.add(f"{head} x=1>" if head in ("<body", "<!DOCTYPE") else head)
    if draw.random() < 0.2:
        page.add("<head><title>", page.word("shown"), "</title><meta x=", page.word("hidden"), "></head>")
    for function in draw.choices(_FUNCTIONS, _WEIGHTS, k=draw.randint(0, 6)):
        function(page)
    last = draw.choice(_LAST)
    page.add(last)
    page.signs |= last in ("<", "</")  # at the end of a page these are text
    if last in ("<script>", "<style>", "<!--", "<a href='x", '<a href="'):
        page.add(page.word("hidden"))
    return page


def damaged(draw: random.Random, page: str) -> str:
    """Cut, doubled or mixed up in up to four places."""
    for _ in range(draw.randint(1, 4)):
        at, length = draw.randrange(len(page) + 1), draw.randint(0, 9)
        part = page[at : at + length]
        page = (
            page[:at]
            + draw.choice(["", part * 2, part[::-1], "<", ">", '"', "\0", "\ud801", "&", "</"])
            + page[at + length :]
        )
    return page[: draw.randrange(len(page) + 1)] if draw.random() < 0.2 else page


def check(found: object, source: str) -> str:
    """What holds for the text of any page."""
    assert isinstance(found, str)
    assert found == " ".join(found.split()), source
    found.encode("utf-8")
    # Nothing is invented: every character stands in the page, or is named there by an entity.
    if not set(found) <= (known := {*source, *" \ufffd?"}):
        numbers = (int(one[1], 16) if one[1] else int(one[2]) for one in _NUMBER.finditer(source))
        # A parser drops a NUL, which may stand within an entity.
        known |= {*html.unescape(source), *html.unescape(source.replace("\0", ""))}
        known |= {chr(number) for number in numbers if number < 0x110000}
        assert set(found) <= known, source
    return found


def flat_text(source: str) -> str:
    """As a page is read that would cost a parser too much."""
    return flat.text(source.encode("utf-8", "replace"))


@pytest.mark.slow(10_000, 30_000, 1_000_000)
@pytest.mark.parametrize("read", [webpage.text, flat_text])
def test_malformed_pages(read: Callable[[str], str], rounds: int) -> None:
    draw = random.Random(2333)
    counts = {"shown": 0, "hidden": 0, "empty": 0}
    for number in range(rounds):
        page = malformed(draw, number)
        source = "".join(page.pieces)
        if number % 2:
            source = damaged(draw, source)
        found = check(read(source), source)
        sentences = webpage.sentences(found)
        assert "".join("".join(sentences).split()) == "".join(found.split()), source
        if number % 2:
            continue
        words = set(found.split())
        assert not (lost := set(page.shown) - words), (lost, source)
        assert not (seen := words & set(page.hidden)), (seen, source)
        assert not any(name in found for name in page.hidden), source
        assert page.signs or not set("<>") & set(found), source
        counts["shown"] += len(page.shown)
        counts["hidden"] += len(page.hidden)
        counts["empty"] += not found
    assert counts["shown"] > rounds and counts["hidden"] > rounds / 2 and counts["empty"] < rounds / 10, counts


@pytest.mark.parametrize("tag", ["div", "table", "b", "svg", "object", "blockquote", "select", "template"])
def test_nesting_of_ten_thousand(tag: str) -> None:
    assert webpage.text(f"<p>before</p>{f'<{tag}>' * 10_000}").startswith("before")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("<title>T</title><svg><title>drawing</title></svg>x", "T x"),
        ("<svg><title>drawing</title></svg>x", "x"),
        ("<svg>a<svg>b</svg></svg><object>c<svg>d</svg><object>e</object></object>x", "x"),
        ("<body><noframes><b>raw</b></noframes><noembed><i>raw</i></noembed>x", "x"),
        ("<frameset><frame src=a><noframes><b>raw</b></noframes></frameset>", ""),
    ],
)
def test_what_a_browser_does_not_show(source: str, found: str) -> None:
    assert webpage.text(source) == found


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp1252", "shift_jis", "koi8-r"])
def test_bytes_read_in_the_wrong_encoding(encoding: str) -> None:
    page = "<html><body><p>na\u00efve caf\u00e9 \u2014 word</p></body></html>"
    wrong = page.encode(encoding, "xmlcharrefreplace").decode("latin-1")
    assert isinstance(check(webpage.text(wrong), wrong), str)
    right = page.encode("utf-8").decode("latin-1")
    assert webpage.text(right).endswith(" word")

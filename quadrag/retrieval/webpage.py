"""Web pages to text, and to the sentences that a question is answered from, as CRAG's own baseline has it.

A page's HTML becomes its visible text, the text sentences of at most 1,000 characters, each kept once; those most like
the question by the cosine of their embeddings stand first (Yang et al. 2024, the released RAG baseline). The HTML is
read by selectolax, which is more than twenty times as fast as BeautifulSoup over lxml on real pages (see
benchmarks/README.md). Of a page with so many tags that it could take minutes they are cut out. What a script would have
drawn is not there.
"""

import re
from collections.abc import Iterable, Sequence
from html import unescape
from typing import TYPE_CHECKING

import numpy as np

from quadrag.systems.extractive import sentences as split

if TYPE_CHECKING:
    from .encoder import Encoder

LONGEST = 1000  # characters of a sentence; what is longer is cut
TOP = 20  # sentences shown
_MANY = 40_000  # tags: no real page has so many
# What has no end takes the rest of the page.
_MARKUP = re.compile(
    r"<(script|style|template|svg)\b(?:.*?</\1\s*>|.*)|<!--(?:.*?-->|.*)|<[a-z/!?][^<>]*>?", re.I | re.S
)

# One selector for all: each costs a walk over the whole page. A body has no head in it.
_HIDDEN = ":is(script, style, noscript, template, svg, iframe, object, noframes, noembed)"


def text(html: str) -> str:
    """Return a page's visible text, its pieces joined by single blanks; "" for a page without any.

    Half of a surrogate pair is read as "?".
    """
    from selectolax.lexbor import LexborHTMLParser

    if not html or html.isspace():
        return ""
    if html.count("<") > _MANY:
        return " ".join(unescape(_MARKUP.sub(" ", html.encode("utf-8", "replace").decode())).split())
    tree = LexborHTMLParser(html.encode("utf-8", "replace"))
    # Looked for in the head alone: a drawing may have a title too.
    title = tree.head.css_first("title") if tree.head is not None else None
    heading = title.text(strip=True) if title is not None else ""
    body = tree.body or tree.root
    if body is None:
        return " ".join(heading.split())
    for hidden in body.css(_HIDDEN if tree.body is not None else f"{_HIDDEN}, head"):
        hidden.decompose()
    words = body.text(separator=" ", skip_empty=True)
    return " ".join(f"{heading} {words}".split())


def sentences(page: str, longest: int = LONGEST) -> list[str]:
    """Cut a text into sentences of at most `longest` characters, in order, blanks around them removed."""
    return [
        piece
        for sentence in split(page)
        for at in range(0, len(sentence), longest)
        if (piece := sentence[at : at + longest].strip())
    ]


def locate_sentences(pages: Iterable[str | None]) -> dict[str, tuple[int, int]]:
    """Return the sentences of pages' HTML, each once, with page and place at which it stands first, both from 0.

    Upstream's set has no order of its own; ours is the pages'.
    """
    places: dict[str, tuple[int, int]] = {}
    for page, html in enumerate(pages):
        for number, sentence in enumerate(sentences(text(html or ""))):
            places.setdefault(sentence, (page, number))
    return places


def rank_sentences(
    query: str, candidates: Sequence[str], encoder: "Encoder", top: int = TOP
) -> list[tuple[int, float]]:
    """Return place and cosine of the sentences most like a question, best first, equal ones in their order."""
    if not candidates:
        return []
    scores = encoder.documents(list(candidates)) @ encoder.queries([query])[0]
    return [(place, float(scores[place])) for place in np.argsort(-scores, kind="stable")[:top].tolist()]

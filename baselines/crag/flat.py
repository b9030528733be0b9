"""Pages that would cost a parser too much, read without one: in time linear in their size, and nothing of them is cut.

A parser looks through what is open at every tag, opens again what a page forgot to close, and compares an attribute
with those before it: a page of a megabyte can take it minutes and gigabytes. `is_costly` tells from counts which pages
could, such as none of our real ones. Of those the tags are taken out one by one, with what is not shown, and the text
stays in its order; what a browser would move elsewhere is not moved. Of real pages 29 of 30 have the same text so.
"""

import re
from html import unescape

import numpy as np
import numpy.typing as npt

# Beyond one of these a page is costly. What stays below takes a parser 1.5 s, or 5 s a megabyte, and under a gigabyte.
_TAGS = 40_000
_OPEN = 2_000  # elements that are open at once
_COPIES = 2_500_000  # of formatting elements: all with attributes times all tags, where none is closed; 325 bytes each
_ATTRIBUTES = 8_000  # of one tag
_SMALL, _FEW = 8_192, 3_150  # bytes of a page, and tags, that cannot come near

_PIECE = 1 << 16
_BLANKS = np.zeros(1 << 8, bool)
_BLANKS[list(b" \t\n\f\r/")] = True
_FORMATTING = b"b i s u tt em big code font small strong strike".split()
_LENGTHS = np.zeros(1 << 16, np.uint8)  # of a formatting element's name, by its first two bytes; 0 for all others
for _name in _FORMATTING:
    for _second in _name[1:2] or np.flatnonzero(_BLANKS):
        _LENGTHS[_name[0] << 8 | _second] = len(_name)
_CLOSED = np.ones(1 << 10, bool)  # by the same, five bits of each: whether pages close the element
for _name in b"br hr im in me li so wb ar ba co em pa tr td th tb op dt dd us ci re".split():
    _CLOSED[(_name[0] & 31) << 5 | _name[1] & 31] = False

_HIDDEN = frozenset(b"script style noscript template svg iframe object noframes noembed".split())
_RAW = frozenset(b"script style iframe noframes noembed xmp textarea title".split())  # no tags within
_ENDS_DRAWING = frozenset(b"p div span ul ol li table h1 h2 h3 h4 h5 h6 b i br body".split())
_TAG = re.compile(rb"<(?:(/?)([a-zA-Z][^ \t\n\f\r/>]*)|(!--)|[!?/])")
# Up to the end of a tag, an attribute at a time; a value without an end takes the rest of the page.
_ATTRIBUTE = re.compile(
    rb"[ \t\n\f\r/]*(>|=?[^ \t\n\f\r/>=]*(?:[ \t\n\f\r]*="
    rb"[ \t\n\f\r]*(?:\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^ \t\n\f\r>\"'][^ \t\n\f\r>]*)?)?)"
)
_REMARK_ENDS = re.compile(rb"--!?>")
_OPENS_VALUE = (b"=", b" ", b"\t", b"\n", b"\f", b"\r")  # what stands before a quotation mark


def is_costly(page: bytes) -> bool:
    """Whether a page, in UTF-8, could take a parser long or much memory."""
    if len(page) < _SMALL:
        return False
    data = np.frombuffer(page, np.uint8)
    # In pieces that stay in the processor's cache.
    many = sum(int(np.count_nonzero(data[at : at + _PIECE] == ord("<"))) for at in range(0, len(data), _PIECE))
    if many > _TAGS or _has_endless_tag(page):
        return True
    if many < _FEW:
        return False
    tags = np.flatnonzero(data[:-9] == ord("<"))
    closing = data[tags + 1] == ord("/")
    names = tags + 1 + closing
    first, second = data[names] | 32, data[names + 1]
    second = np.where(second >= ord("A"), second | 32, second)
    lengths = _LENGTHS[first.astype(np.uint16) << 8 | second]
    formatting = np.count_nonzero((lengths > 0) & ~closing & _BLANKS[data[names + lengths]])
    mirrors = (first == ord("s")) & (second == ord("e")) & (data[names + 6] | 32 == ord("e"))  # <selectedcontent>
    kinds = (first & 31).astype(np.uint16) << 5 | second & 31
    return bool(formatting * many > _COPIES or mirrors.any()) or _most_open(kinds, closing) > _OPEN


def _most_open(kinds: npt.NDArray[np.uint16], closing: npt.NDArray[np.bool_]) -> float:
    """How many elements of those that pages close are open, in the middle of a page or at its end."""
    most, opened = 0.0, np.zeros(1 << 10)
    middle = len(kinds) // 2
    for part in (slice(middle), slice(middle, None)):
        opened += np.bincount(kinds[part], np.where(closing[part], -1.0, 1.0), minlength=1 << 10)
        most = max(most, float(opened[_CLOSED & (opened > 0)].sum()))
    return most


def _has_endless_tag(page: bytes) -> bool:
    """Whether some tag may have attributes by the thousand; where a `>` ends one now and then, none has."""
    start, step = 0, 2 * _ATTRIBUTES  # bytes; a tag of twice as many is met
    while start < len(page):
        if _find_end(page, start, start + step) >= 0:
            start += step
            continue
        at, after = page.rfind(b">", 0, start) + 1, page.find(b">", start + step)
        start = after + 1 if after >= 0 else len(page)
        while (at := page.find(b"<", at, start)) >= 0:
            tag = _TAG.match(page, at)
            at, attributes = _pass_attributes(page, tag.end()) if tag and tag[2] else (at + 1, 0)
            if attributes > _ATTRIBUTES:
                return True
    return False


def _find_end(page: bytes, start: int, stop: int) -> int:
    """Find a `>` that is not within a quoted value; -1 for none."""
    at = page.find(b">", start, stop)
    while at >= 0:
        near = max(start, at - 256)
        quote = max(page.rfind(b'"', near, at), page.rfind(b"'", near, at))
        if quote < 0:
            quote = max(page.rfind(b'"', start, near), page.rfind(b"'", start, near))
        if quote < 0 or page[max(quote - 1, 0) : quote] not in _OPENS_VALUE:
            return at
        at = page.find(b">", at + 1, stop)
    return -1


def _pass_attributes(page: bytes, at: int) -> tuple[int, int]:
    """Return where the tag ends whose name has been read, and how many attributes it has."""
    attributes = 0
    while at < len(page) and (found := _ATTRIBUTE.match(page, at)):
        at = found.end()
        if found[1] == b">":
            break
        attributes += 1
    return at, attributes


def text(page: bytes) -> str:
    """Return the text of a page in UTF-8 as `webpage.text` does, but for pieces that a parser joins or moves."""
    heading: list[bytes] = []
    pieces: list[bytes] = []
    hidden, depth = b"", 0  # the element that hides what follows, and how many of its kind are open
    at = 0
    while tag := _TAG.search(page, at):
        if not hidden:
            pieces.append(page[at : tag.start()])
        name, closing = (tag[2] or b"").lower(), bool(tag[1])
        at = _pass_attributes(page, tag.end())[0] if name else _pass_remark(page, tag)
        if hidden:
            depth += (-1 if closing else 1) if name == hidden else 0
            if depth == 0 or (hidden == b"svg" and name in _ENDS_DRAWING):
                hidden = b""
        elif name in _RAW and not closing:
            end = re.compile(rb"</%b(?=[ \t\n\f\r/>])" % name, re.IGNORECASE).search(page, at)
            held = page[at : end.start() if end else len(page)]
            at += len(held)
            if name not in _HIDDEN:
                (pieces if heading or name != b"title" else heading).append(held)
        elif name in _HIDDEN and not closing and (name != b"svg" or page[at - 2 : at] != b"/>"):
            hidden, depth = name, 1
    if not hidden:
        pieces.append(page[at:])
    shown = (unescape(piece.decode("utf-8", "replace").replace("\0", "")) for piece in heading + pieces)
    return " ".join(" ".join(shown).split())


def _pass_remark(page: bytes, tag: re.Match[bytes]) -> int:
    """Return where a comment ends, or what else begins with `<!`, `<?` or `</` and is no tag."""
    end = _REMARK_ENDS.search(page, tag.start() + 2) if tag[3] else re.compile(b">").search(page, tag.end())
    return end.end() if end else len(page)

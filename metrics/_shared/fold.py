# SPDX-License-Identifier: Apache-2.0
"""A text as it is compared by words: what differs in writing alone, and a reader takes for the same, is the same.

One are composed and decomposed letters, forms of width, blanks and line breaks, hyphens and minus signs, apostrophes,
quotation marks, and numbers whose digits are grouped or not. What tells numbers apart stays, so this is not NFKC, which
makes 102 of 10² and 51/2 of 5½. Case stays, and so do traditional and simplified characters.
"""

import re
import unicodedata
from functools import lru_cache

_HARD = "\u00a0"  # stands for the blanks that no line breaks at, until digits are grouped
_LIKE = {
    _HARD: "\u00a0\u2007\u2009\u202f",
    " ": "\u115f\u1160\u2800\u3164",  # no white space to Unicode, but nothing to see either
    "-": "\u02d7\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63",
    "'": "`\u00b4\u02b9\u02bb\u02bc\u02bd\u2018\u2019\u201a\u201b\u2032\ua78c",
    '"': "\u201c\u201d\u201e\u201f\u2033",
    "/": "\u2044\u2215",
}
_PLAIN = {char: plain for plain, chars in _LIKE.items() for char in chars}
_GROUPED = re.compile(
    rf"(?<![0-9])(?<![0-9][.,])[1-9][0-9]{{0,2}}(?P<mark>[,'{_HARD}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
    r"(?!(?P=mark)?[0-9])"
)
# Han, kana and bopomofo, with their punctuation: a blank beside one of them separates nothing.
_CLOSE = "[\u2e80-\u312f\u3190-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_BLANKS = re.compile(f"(?<={_CLOSE}) +| +(?={_CLOSE})| +(?= )")


class _Alike(dict[int, str]):
    def __missing__(self, code: int) -> str:
        char = chr(code)
        form, _, narrow = unicodedata.decomposition(char).partition(" ")
        if form in ("<wide>", "<narrow>"):
            plain = self[int(narrow, 16)]
        elif char.isspace():
            plain = _PLAIN.get(char, " ")
        else:
            unseen = unicodedata.category(char) in ("Cc", "Cf") or 0xFE00 <= code <= 0xFE0F
            plain = "" if unseen else _PLAIN.get(char, char)
        self[code] = plain
        return plain


_ALIKE = _Alike()


@lru_cache(maxsize=1 << 12)
def fold(text: str) -> str:
    """Return a text as it is compared; "" where there is nothing to see in it."""
    plain = text if text.isascii() and text.isprintable() else unicodedata.normalize("NFC", text.translate(_ALIKE))
    plain = _GROUPED.sub(lambda number: number[0].replace(number["mark"], ""), plain.replace("`", "'"))
    return _BLANKS.sub("", plain.replace(_HARD, " ")).strip()

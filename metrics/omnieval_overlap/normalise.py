# SPDX-License-Identifier: Apache-2.0
"""A text as OmniEval compares it: lower case, without ASCII punctuation and English articles, blanks collapsed.

`normalise` is SQuAD's (Rajpurkar et al., 2016), which OmniEval's code has unchanged and which makes 32 of 3.2 and 5 of
-5%. `normalise_keeping_numbers` is ours: of a text as folded, and a number stays the number it was. Neither cuts a text
into words.
"""

import string

import regex  # not re: its \b is what the authors' code uses, and takes a letter with a combining accent for one word

from .fold import fold

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = regex.compile(r"\b(?:a|an|the)\b")
_ASCII = f"[{regex.escape(string.punctuation)}]"
_RUN = regex.compile(f"(?:{_ASCII}|[。、])+")
_OF_A_NUMBER = regex.compile(
    rf"(?<=\d){_ASCII}(?=\d)"  # 3.2, 2021-2022, 1/2, 12:30
    r"|(?<![a-z\d.])\.(?=\d)"  # .5, but not No.5
    r"|(?<![a-z])-(?=[$¥￥€£]?\.?\d)"  # -5, -$5, but not covid-19
    r"|(?<=\de)-(?=\d)"  # 1e-5
    r"|(?<=\d ?)%"
)


def _collapse(text: str) -> str:
    return " ".join(text.split())


def normalise(text: str) -> str:
    """Return the text as the authors' code compares it; it may be empty."""
    return _collapse(_ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)))


def _thin(text: str) -> str:
    """Delete the punctuation that is no part of a number."""
    kept = {match.start() for match in _OF_A_NUMBER.finditer(text)}

    def thin(run: regex.Match[str]) -> str:
        start, end = run.span()
        left = "".join(text[i] for i in range(start, end) if i in kept)
        # Two numbers with nothing left between them would be read as one.
        between = text[start - 1 : start].isdecimal() and text[end : end + 1].isdecimal()
        return left or (" " if between else "")

    return _RUN.sub(thin, text)


def normalise_keeping_numbers(text: str) -> str:
    """Return the folded text as `normalise` does, with the decimal points, signs and percent signs of its numbers.

    A step that would leave nothing is left out: "A" stays "a". Empty for a blank text alone.
    """
    text = fold(text).casefold()
    text = _collapse(_thin(text)) or text
    return _collapse(_ARTICLE.sub(" ", text)) or text

# SPDX-License-Identifier: Apache-2.0
"""The tokens that jieba's precise mode cuts a text into (0.42.1, MIT).

The way through the dictionary is left to rjieba, a port to Rust; what that finds no word for is cut by jieba's own
model. Each character of punctuation and whitespace is a token (a carriage return with its line feed together).
"""

import re
from functools import cache, lru_cache

import jieba
import rjieba
from jieba import finalseg

_HAN = jieba.re_han_default  # runs of Chinese characters, Latin letters, digits and +#&._%-, in one group
_OTHER = re.compile(r"\r\n|.", re.DOTALL)


@cache
def dictionary() -> rjieba.Jieba:
    """Read the dictionary (0.2 s, once, at the first use)."""
    return rjieba.Jieba()


@lru_cache(maxsize=1 << 16)
def unknown(run: str) -> tuple[str, ...]:
    """Cut a run of characters that the dictionary left single, by jieba's hidden Markov model."""
    if len(run) < 2 or dictionary().has_word(run):
        return tuple(run)
    return tuple(finalseg.cut(run))


def cut(text: str) -> list[str]:
    """Cut a text into tokens, which joined are the text; an empty one has none."""
    first, *parts = _HAN.split(text)
    tokens, others = _OTHER.findall(first), iter(parts[1::2])
    if not parts:
        return tokens
    known = dictionary()
    # Runs alone, in one call: of other characters rjieba joins some, and takes no half of a surrogate pair.
    loose = ""  # single characters since the last word
    for word in known.cut("".join(run + "\n" for run in parts[::2]), hmm=False):
        if word == "\n":
            tokens += unknown(loose)
            tokens += _OTHER.findall(next(others))
            loose = ""
        elif len(word) == 1 or (word.isascii() and not known.has_word(word)):  # rjieba joins Latin letters and digits
            loose += word
        else:
            if loose:
                tokens += unknown(loose)
                loose = ""
            tokens.append(word)
    return tokens

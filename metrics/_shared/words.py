# SPDX-License-Identifier: Apache-2.0
"""A text as numbers, one for each token that jieba's precise mode cuts it into.

The algorithm, the dictionary and the model for unknown words are jieba's (0.42.1, MIT). Two steps of it are written
again here, because the metric spends its time there: the words that begin at a character are weighed in the pass that
finds them, and the model is asked once for each run of characters. Tests hold the tokens against jieba's own.
Punctuation and whitespace are tokens: each character of them is one (a carriage return with its line feed together),
and each kind a different one. Nothing is written anywhere, and what a program has added to jieba's shared dictionary is
not used.
"""

import re
from functools import cache, lru_cache
from math import log

import jieba
from jieba import finalseg

_HAN = jieba.re_han_default  # runs of Chinese characters, Latin letters, digits and +#&._%-, in one group
_OTHER = re.compile(r"\r\n|.", re.DOTALL)


@cache
def dictionary() -> tuple[dict[str, int], float]:
    """Read jieba's dictionary (0.7 s, once, at the first use).

    jieba's own way of doing so is no faster, writes to stderr, and goes by a file in the folder of temporary files
    that another version of jieba may have left there.

    Returns:
        Each word's frequency, 0 for the mere beginning of a word, and the logarithm of their sum.
    """
    tokenizer = jieba.Tokenizer()
    with tokenizer.get_dict_file() as file:
        frequencies, total = tokenizer.gen_pfdict(file)
    return frequencies, log(total)


@lru_cache(maxsize=1 << 16)
def unknown(run: str) -> tuple[str, ...]:
    """Cut a run of characters that the dictionary left single, by jieba's hidden Markov model."""
    if len(run) == 1 or dictionary()[0].get(run):
        return tuple(run)
    return tuple(finalseg.cut(run))


def path(run: str) -> list[int]:
    """Return, for each of n characters, where the word ends that starts there on the most probable path from there.

    Sums are taken in jieba's order, and of two equal ones the longer word's wins, so that the path is jieba's.
    """
    frequencies, total = dictionary()
    find, n = frequencies.get, len(run)
    best, ends = [0.0] * (n + 1), [0] * n
    for start in range(n - 1, -1, -1):
        stop = end = start + 1
        weight = None
        frequency = find(run[start])
        while frequency is not None:  # None: not even the beginning of a word
            if frequency:
                here = log(frequency) - total + best[end]
                if weight is None or here >= weight:
                    weight, stop = here, end
            end += 1
            if end > n:
                break
            frequency = find(run[start:end])
        best[start] = best[stop] - total if weight is None else weight
        ends[start] = stop
    return ends


def cut(text: str) -> list[str]:
    """Cut a text into tokens, which joined are the text; an empty one has none."""
    tokens: list[str] = []
    for i, run in enumerate(_HAN.split(text)):
        if i % 2 == 0:
            tokens += _OTHER.findall(run)
            continue
        ends = path(run)
        start = single = 0  # where the word starts, and where the single characters before it do
        while start < len(run):
            stop = ends[start]
            if stop - start > 1:
                if single < start:
                    tokens += unknown(run[single:start])
                tokens.append(run[start:stop])
                single = stop
            start = stop
        if single < start:
            tokens += unknown(run[single:])
    return tokens


class Vocabulary:
    """Numbers for tokens, given in the order in which they are met; a text met again is not cut again."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._texts: dict[str, list[int]] = {}

    def __call__(self, text: str) -> list[int]:
        """Return one number per token; none for an empty text."""
        if text not in self._texts:
            numbers = self._numbers
            self._texts[text] = [numbers.setdefault(token, len(numbers)) for token in cut(text)]
        return self._texts[text]

# SPDX-License-Identifier: Apache-2.0
"""How far an answer and its accepted answers overlap, as OmniEval's code has it and as its paper says it.

`official` follows the released code (Wang et al., 2024), rouge-chinese 1.0.3 included, whose arithmetic is written
again here: it is not maintained, and slow. `corrected` is the exact match, the token F1 of SQuAD (Rajpurkar et al.,
2016) and Lin's (2004) ROUGE.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jieba
import regex  # not re: its \b is what the authors' code uses, and takes a letter with a combining accent for one word
from rapidfuzz.distance import LCSseq

from .scoring import NOT_APPLICABLE, Cells, Item, Scorer, fold, read_accepted
from .words import cut

KEYS = ("em", "f1", "rouge_1", "rouge_2", "rouge_l")
_tokens = lru_cache(maxsize=1 << 12)(cut)
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
_STOP = re.compile("([。！？?]) ")
_SIX_DOTS = re.compile("([.]{6})([^”’])")


def _collapse(text: str) -> str:
    return " ".join(text.split())


def normalise(text: str) -> str:
    """Return the text as the authors' code compares it, which is SQuAD's way: 3.2 becomes 32, and -5% becomes 5."""
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
    """Return the folded text as `normalise` does, but numbers with their decimal points, signs and percent signs.

    A step that would leave nothing is left out: "A" stays "a". Empty for a blank text alone.
    """
    text = fold(text).casefold()
    text = _collapse(_thin(text)) or text
    return _collapse(_ARTICLE.sub(" ", text)) or text


def official(answer: str, golds: Sequence[str]) -> dict[str, float]:
    """Compare as the authors' code does; every value is in [0, 1], and any text may be empty.

    The exact match is averaged over the accepted answers. All others are the best over them. F1 is over the characters
    of jieba's tokens joined by blanks, these blanks among them; ROUGE is of the text as it is.
    """
    plain, plain_golds = normalise(answer), [normalise(gold) for gold in golds]
    characters, words = Counter(" ".join(_tokens(plain))), rouge_words(_tokens(answer))
    values: dict[str, float] = {"em": sum(plain == gold for gold in plain_golds) / len(plain_golds)}
    values["f1"] = max(_character_f1(characters, Counter(" ".join(_tokens(gold)))) for gold in plain_golds)
    rouges = [_rouge_chinese(words, rouge_words(_tokens(gold))) for gold in golds]
    return values | {key: max(rouge[key] for rouge in rouges) for key in rouges[0]}


def _character_f1(answer: Counter[str], gold: Counter[str]) -> float:
    common = (answer & gold).total()
    if not common:
        return 0.0
    precision, recall = common / answer.total(), common / gold.total()
    return 2 * precision * recall / (precision + recall)


def rouge_words(tokens: Sequence[str]) -> list[str]:
    """Return what rouge-chinese counts, given tokens joined by blanks.

    Whitespace is no word, but a line of nothing else is one, an empty word; not so an entirely empty first line, and
    those at the end. Lines end at line feeds and behind 。！？? and six dots. A blank text has no words.
    """
    text = _SIX_DOTS.sub(r"\1\n\2", _STOP.sub("\\1\n ", " ".join(tokens)))
    return [word for line in text.rstrip().split("\n") if line for word in line.split() or [""]]


def _rouge_chinese(answer: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    """Return its F-measures: n-grams as sets, 0 where it raises an error because a text has no words."""
    values = {}
    for n in (1, 2):
        answer_grams, gold_grams = set(_grams(answer, n)), set(_grams(gold, n))
        values[f"rouge_{n}"] = _smoothed(len(answer_grams & gold_grams), len(answer_grams), len(gold_grams))
    return {**values, "rouge_l": _smoothed(_common_subsequence(answer, gold), len(answer), len(gold))}


def _smoothed(common: int, found: int, wanted: int) -> float:
    if not common:
        return 0.0
    precision, recall = common / found, common / wanted
    return 2 * (precision * recall / (precision + recall + 1e-8))


def _grams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[i:] for i in range(n)), strict=False))


def _common_subsequence(left: Sequence[str], right: Sequence[str]) -> int:
    # Numbers, since rapidfuzz compares hashes, and a small number is its own.
    numbers: dict[str, int] = {}
    return int(LCSseq.similarity(*([numbers.setdefault(x, len(numbers)) for x in side] for side in (left, right))))


def corrected(answer: str, golds: Sequence[str]) -> dict[str, float]:
    """Compare as the paper says; every value is in [0, 1] and the best over the accepted answers, none of them blank.

    Both texts are normalised with their numbers kept. F1 and ROUGE are over jieba's tokens, without smoothing.
    """
    plain = normalise_keeping_numbers(answer)
    answer_tokens = _tokens(plain)
    values = dict.fromkeys(KEYS, 0.0)
    for gold in map(normalise_keeping_numbers, golds):
        gold_tokens = _tokens(gold)
        scores = {"em": float(plain == gold)}
        for n in (1, 2):
            answer_grams, gold_grams = Counter(_grams(answer_tokens, n)), Counter(_grams(gold_tokens, n))
            scores[f"rouge_{n}"] = _f((answer_grams & gold_grams).total(), answer_grams.total() + gold_grams.total())
        scores["f1"] = scores["rouge_1"]  # the same number by definition
        scores["rouge_l"] = _f(_common_subsequence(answer_tokens, gold_tokens), len(answer_tokens) + len(gold_tokens))
        values = {key: max(values[key], scores[key]) for key in KEYS}
    return values


def _f(common: int, both: int) -> float:
    return 2 * common / both if both else 0.0


class OmnievalOverlap(Scorer):
    NAME, VERSION = "omnieval_overlap", "1.1.0"
    KEYS = KEYS

    @staticmethod
    def reference(value: Any, name: str) -> list[str] | None:
        return read_accepted(value, name) or None

    def cells(self, item: Item, profile: str) -> Cells:
        answer, golds = item["prediction"], item["reference"]
        if profile == "corrected":
            golds = [gold for gold in golds or [] if fold(gold)]
        if not golds or answer is None:
            return dict.fromkeys(KEYS, item["state"] if golds else NOT_APPLICABLE)
        return (corrected if profile == "corrected" else official)(answer, golds)

    def conditions(self, profile: str) -> dict[str, str]:
        return {"tokenizer": f"jieba-{jieba.__version__}"}


SCORER = OmnievalOverlap

# SPDX-License-Identifier: Apache-2.0
"""How an answer is labelled by RGB's three metrics.

The labels follow the evaluation code of RGB (Chen et al., AAAI 2024, arXiv:2309.01431); the whole-number rule of
`bounded` and the `corrected` profile, which compares texts by `fold`, are ours.
"""

import re
from collections.abc import Sequence
from typing import Any

from .fold import fold
from .tally import is_list, strings

REJECTION = ("信息不足", "insufficient information")
FACTUAL_ERROR = ("事实性错误", "factual errors")
# The same in traditional characters, for `corrected`.
_ALSO = {REJECTION: ("資訊不足", "訊息不足"), FACTUAL_ERROR: ("事實性錯誤",)}
# Han, kana, bopomofo and hangul: scripts in which a letter beside a match does not make another word.
_CJK = re.compile("[\u2e80-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]")
_SUPERSCRIPTS = "[\u00b2\u00b3\u00b9\u2070-\u207e]"
# A number, as folded: with its sign (not a range's hyphen), fraction and power.
_NUMBER = re.compile(
    r"(?:(?<![^\W_])(?<![)\]%.\-])-[$€£¥]?)?"
    r"(?:(?:(?<![\d/.])\d{1,3} )?(?<![\d/.])\d{1,3}/\d{1,3}(?![\d/])|(?:(?<![^\W_])(?<!\.)\.)?\d+(?:[.,]\d+)*)"
    rf"[\u00bc-\u00be\u2150-\u215e]?(?:(?: ?[×*] ?10)?(?:{_SUPERSCRIPTS}+|\^[+-]?\d+)|e[+-]?\d+(?![^\W_]))?"
)


def parts(reference: Any, name: str = "reference") -> list[list[str]]:
    """Bring a gold answer to one list of accepted strings per needed part: of a string, or a list of either."""
    if isinstance(reference, str):
        return [strings([reference], name)]
    if not is_list(reference):
        raise ValueError(f"{name} is {type(reference).__name__}; expected a string or a list")
    return [strings([part] if isinstance(part, str) else part, f"{name}[{i}]") for i, part in enumerate(reference)]


def _squeeze(text: str, language: str) -> str:
    return text.replace(" ", "") if language == "zh" else text


def _read(text: str, language: str) -> str:
    return _squeeze(fold(text).casefold(), language)


def says(prediction: str, phrases: tuple[str, ...], language: str = "en", profile: str = "official") -> bool:
    """Whether the answer holds one of the protocol's fixed phrases; for "official" letter by letter."""
    if profile == "official":
        return any(phrase in _squeeze(prediction, language) for phrase in phrases)
    return any(_read(phrase, language) in _read(prediction, language) for phrase in phrases + _ALSO[phrases])


def label(prediction: str, gold: Any, language: str = "en", profile: str = "official") -> list[int]:
    """Label an answer as RGB's code does: [-1] for a rejection phrase, else per needed part whether it is there.

    1 where an accepted string is in the answer, case ignored, else 0. For "zh" "official" removes the answer's ASCII
    spaces and leaves those of golds and phrases, so that those with one never match; "corrected" compares all three as
    folded, and lets an empty gold match nothing.
    """
    if says(prediction, REJECTION, language, profile):
        return [-1]
    if profile == "official":
        answer = _squeeze(prediction, language).lower()
        return [int(any(s.lower() in answer for s in accepted)) for accepted in parts(gold)]
    answer = _read(prediction, language)
    golds = [[_read(s, language) for s in accepted] for accepted in parts(gold)]
    return [int(any(s and s in answer for s in accepted)) for accepted in golds]


def correct(labels: Sequence[int]) -> bool:
    """Whether every needed part is there: no 0, and a 1 (a rejection is neither)."""
    return 0 not in labels and 1 in labels


def bounded(prediction: str, gold: Any, language: str = "en", profile: str = "official") -> bool:
    """Whether the answer is correct by whole numbers and words: 70 is not found in 170, 70.5 or 70,000.

    Digits may stand beside letters (70km); Chinese, Japanese and Korean characters have no word edges. For "zh" a match
    may skip the prediction's spaces, but its edges are judged with the spaces in place. For "corrected" 5 is not found
    in -5, .5, 5/8, 5½ or 5² either.
    """
    if not correct(label(prediction, gold, language, profile)):
        return False
    return all(any(stands_whole(prediction, s, language, profile) for s in accepted) for accepted in parts(gold))


def stands_whole(text: str, accepted: str, language: str = "en", profile: str = "corrected") -> bool:
    """Whether a string stands in a text as a whole number or word, as `bounded` says it; an empty one does not."""
    if profile == "corrected":
        text, accepted = fold(text).casefold(), _read(accepted, language)
    text, accepted = text.lower(), accepted.lower()
    if not accepted or accepted not in _squeeze(text, language):
        return False
    raw = f"\0\0{text}\0\0"  # so that an edge always has two neighbours
    within = _within_numbers(raw) if profile == "corrected" else ()
    kept = [i for i, c in enumerate(raw) if c != " " or language != "zh"]
    answer = "".join(raw[i] for i in kept)
    start = answer.find(accepted)
    while start >= 0:
        a, z = kept[start], kept[start + len(accepted) - 1]
        runs_on = _runs_on(raw[a], raw[a - 1], raw[a - 2]) or _runs_on(raw[z], raw[z + 1], raw[z + 2])
        if not runs_on and a not in within and z + 1 not in within:
            return True
        start = answer.find(accepted, start + 1)
    return False


def _runs_on(edge: str, near: str, beyond: str) -> bool:
    """Whether a match's edge character lies inside a number or word, given its two neighbours outwards."""
    if edge.isdecimal():
        return near.isdecimal() or (near in ".," and beyond.isdecimal())
    return all(c.isalpha() and not _CJK.match(c) for c in (edge, near))


def _within_numbers(text: str) -> set[int]:
    return {place for number in _NUMBER.finditer(text) for place in range(number.start() + 1, number.end())}

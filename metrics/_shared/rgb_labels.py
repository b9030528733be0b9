# SPDX-License-Identifier: Apache-2.0
"""What RGB's three metrics share: their inputs, and how an answer is labelled.

The labels follow the evaluation code of RGB (Chen et al., AAAI 2024, arXiv:2309.01431); the whole-number rule
of `bounded` and the `corrected` profile are ours. Nothing here opens a connection or a file.
"""

import re
from collections.abc import Sequence
from typing import Any

import datasets

from .module import (
    STATES,
    TEXTS,
    Option,
    Shared,
    info,
)
from .tally import (
    is_list,
    strings,
)

_CITATION = """\
@inproceedings{chen2024benchmarking,
  title     = {Benchmarking Large Language Models in Retrieval-Augmented Generation},
  author    = {Chen, Jiawei and Lin, Hongyu and Han, Xianpei and Sun, Le},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume    = {38},
  number    = {16},
  pages     = {17754--17762},
  year      = {2024}
}
"""
LANGUAGE = Option('"en" (default) or "zh"; "zh" compares with spaces removed.', "en", ("en", "zh"))
COMMON = {"language": LANGUAGE, "states": STATES}
# What a gold answer may be, for the documentation of each.
GOLDS = """
        a string;
        a list of strings, ALL of which are needed, as in RGB's files;
        a list of lists of strings: of the outer list all are needed, of an inner list any one."""
REJECTION = ("信息不足", "insufficient information")
FACTUAL_ERROR = ("事实性错误", "factual errors")
# Han, kana, bopomofo and hangul: scripts in which a letter beside a match does not make another word.
_CJK = re.compile("[\u2e80-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]")


def parts(reference: Any, name: str = "reference") -> list[list[str]]:
    """Bring a gold answer to one shape: outer all needed, inner any one.

    Args:
        reference: a string; or a list of which every element is needed: a string or a list of accepted ones.
        name: what an error calls it.

    Returns:
        One list of accepted strings per needed part.

    Raises:
        ValueError: for any other shape.
    """
    if isinstance(reference, str):
        return [strings([reference], name)]
    if not is_list(reference):
        raise ValueError(f"{name} is {type(reference).__name__}; expected a string or a list")
    return [strings([part] if isinstance(part, str) else part, f"{name}[{i}]") for i, part in enumerate(reference)]


def _squeeze(text: str, language: str) -> str:
    return text.replace(" ", "") if language == "zh" else text


def _gold(text: str, language: str, profile: str) -> str:
    return _squeeze(text, language) if profile == "corrected" else text


def says(prediction: str, phrases: Sequence[str], language: str = "en", profile: str = "official") -> bool:
    """Whether the answer holds one of the protocol's fixed phrases, case-sensitively."""
    answer = _squeeze(prediction, language)
    return any(_gold(phrase, language, profile) in answer for phrase in phrases)


def label(prediction: str, gold: Any, language: str = "en", profile: str = "official") -> list[int]:
    """Label an answer as RGB's code does.

    Args:
        prediction: the model's answer.
        gold: the gold answer in any shape that `parts` reads.
        language: "zh" removes ASCII spaces from the prediction first.
        profile: "official" leaves the spaces of golds and phrases: in Chinese, those with one never match;
            "corrected" removes them there too, and lets an empty gold match nothing.

    Returns:
        [-1] for an answer with a rejection phrase, else 1 or 0 per needed part: whether an accepted string is
        in the answer, case ignored.
    """
    if says(prediction, REJECTION, language, profile):
        return [-1]
    answer = _squeeze(prediction, language).lower()
    golds = [[_gold(s, language, profile).lower() for s in accepted] for accepted in parts(gold)]
    return [int(any(s in answer and (s or profile == "official") for s in accepted)) for accepted in golds]


def correct(labels: Sequence[int]) -> bool:
    """Whether every needed part is there: no 0, and a 1 (a rejection is neither)."""
    return 0 not in labels and 1 in labels


def _runs_on(edge: str, near: str, beyond: str) -> bool:
    """Whether a match's edge character lies inside a number or word, given its two neighbours outwards."""
    if edge.isdecimal():
        return near.isdecimal() or (near in ".," and beyond.isdecimal())
    return all(c.isalpha() and not _CJK.match(c) for c in (edge, near))


def bounded(prediction: str, gold: Any, language: str = "en", profile: str = "official") -> bool:
    """Whether the answer is correct by whole numbers and words: 70 is not found in 170, 70.5 or 70,000.

    Digits may stand beside letters (70km); Chinese, Japanese and Korean characters have no word edges. For
    "zh" a match may skip the prediction's spaces, but its edges are judged with the spaces in place.
    """
    if not correct(label(prediction, gold, language, profile)):
        return False
    return all(
        any(stands_whole(prediction, _gold(s, language, profile), language) for s in accepted)
        for accepted in parts(gold)
    )


def stands_whole(text: str, accepted: str, language: str = "en") -> bool:
    """Whether a string stands in a text as a whole number or word, as `bounded` says it; an empty one does not."""
    accepted = accepted.lower()
    if not accepted or accepted not in _squeeze(text, language).lower():
        return False
    raw = f"\0\0{text.lower()}\0\0"  # so that an edge always has two neighbours
    kept = [i for i, c in enumerate(raw) if c != " " or language != "zh"]
    answer = "".join(raw[i] for i in kept)
    start = answer.find(accepted)
    while start >= 0:
        a, z = kept[start], kept[start + len(accepted) - 1]
        if not _runs_on(raw[a], raw[a - 1], raw[a - 2]) and not _runs_on(raw[z], raw[z + 1], raw[z + 2]):
            return True
        start = answer.find(accepted, start + 1)
    return False


class Rgb(Shared):
    """Goes before `evaluate.Metric` in the bases of RGB's metrics."""

    VERSION = "1.0.0"
    reference = staticmethod(parts)

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one answer, and its gold answer where there is one."""
        self.add_batch(predictions=[prediction], references=None if reference is None else [reference])


def rgb_info(description: str, documentation: str) -> Any:
    """Return what `_info` of RGB's metrics has to."""
    code, paper = "https://github.com/chen700564/RGB", "https://arxiv.org/abs/2309.01431"
    return info(description, _CITATION, documentation, datasets.Sequence(TEXTS), [code], [paper])

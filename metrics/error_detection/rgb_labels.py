# SPDX-License-Identifier: Apache-2.0
"""What RGB's three metrics share: how an answer is labelled, and how a judge is asked about it.

The labels follow the evaluation code of RGB (Chen et al., AAAI 2024, arXiv:2309.01431); the whole-number rule
of `bounded` and the `corrected` profile are ours. Nothing here opens a connection or a file.

A metric's folder is published alone, so all that the three share is in this one file, identical in each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from .tally import (
    ask,
    check_profile,
    fingerprint,
    is_list,
    strings,
)

VERSION = "1.0.0"
REJECTION = ("信息不足", "insufficient information")
FACTUAL_ERROR = ("事实性错误", "factual errors")
# Han, kana, bopomofo and hangul: scripts in which a letter beside a match does not make another word.
_CJK = re.compile("[\u2e80-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]")


def check_options(profile: str, language: str) -> None:
    """Raise ValueError unless both are known."""
    check_profile(profile)
    if language not in ("en", "zh"):
        raise ValueError(f"language is {language!r}; expected 'en' or 'zh'")


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
        return [[reference]]
    if not is_list(reference):
        raise ValueError(f"{name} is {type(reference).__name__}; expected a string or a list")
    return [
        [part] if isinstance(part, str) else [str(s) for s in strings(part, f"{name}[{i}]")]
        for i, part in enumerate(reference)
    ]


def columns(predictions: Any, references: Any = None, optional: bool = False) -> dict[str, list[Any]]:
    """Bring a batch to the declared feature shapes; None stays None.

    Raises:
        ValueError: for a wrong type, different lengths, or missing references that are not `optional`.
    """
    answers = strings(predictions, "predictions", null=True)
    if references is None and optional:
        return {"predictions": answers, "references": [None] * len(answers)}
    if not is_list(references):
        raise ValueError(f"references is {type(references).__name__}; expected a list, one per prediction")
    golds = [
        None if optional and reference is None else parts(reference, f"references[{i}]")
        for i, reference in enumerate(references)
    ]
    if len(golds) != len(answers):
        raise ValueError(f"{len(answers)} predictions but {len(golds)} references; give one per prediction")
    return {"predictions": answers, "references": golds}


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
    raw = f"\0\0{prediction.lower()}\0\0"  # so that an edge always has two neighbours
    kept = [i for i, c in enumerate(raw) if c != " " or language != "zh"]
    answer = "".join(raw[i] for i in kept)

    def whole(accepted: str) -> bool:
        start = answer.find(accepted) if accepted else -1
        while start >= 0:
            a, z = kept[start], kept[start + len(accepted) - 1]
            if not _runs_on(raw[a], raw[a - 1], raw[a - 2]) and not _runs_on(raw[z], raw[z + 1], raw[z + 2]):
                return True
            start = answer.find(accepted, start + 1)
        return False

    return all(any(whole(_gold(s, language, profile).lower()) for s in accepted) for accepted in parts(gold))


def verdicts(
    judge: Callable[[list[Any]], Sequence[Any]],
    build: Callable[[str, str], list[dict[str, str]]],
    read: Callable[[str], float | None],
    predictions: Sequence[str | None],
    questions: Any,
    reasons: Sequence[str],
) -> list[float | str]:
    """Ask the judge about every item that has an answer, in one batch.

    Args:
        judge: takes a list of chat-message lists, returns for each a text or an object with a `reason`.
        build: (question, answer) to chat messages.
        read: a reply to its value, or None where it cannot be read.
        predictions: n answers or None.
        questions: n questions.
        reasons: n reasons, "" where there is an answer.

    Returns:
        n values, or the reasons why there is none.

    Raises:
        ValueError: questions are missing or not n, or the judge did not return one reply per request.
    """
    if questions is None:
        raise ValueError("judge was given without questions; pass questions=[...], one per prediction")
    asked = strings(questions, "questions", len(predictions))
    batch = [build(str(q), p) for q, p in zip(asked, predictions, strict=True) if p is not None]
    texts, failed = ask(judge, batch)

    def value(text: str | None, why: str) -> float | str:
        read_as = None if text is None else read(text)
        return why or ("unparsable" if read_as is None else read_as)

    values = iter([value(text, why) for text, why in zip(texts, failed, strict=True)])
    return [why or next(values) for why in reasons]


def sign(name: str, profile: str, language: str, prompt: str | None = None, judge: Any = None, **more: str) -> str:
    """Return the signature of one of the three."""
    return fingerprint(name, VERSION, profile, prompt, judge, language=language, **more)
